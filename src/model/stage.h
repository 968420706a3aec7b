// A stage, as data: gemm_steps.cu has the table. Its formulas, the work of its blocks, and which of
// its variants suits a product.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"
#include "model/gpus.h"

struct OnlyIf;  // simulator/cuda/only_if.h

namespace model {

// C (MxN) = alpha * A (MxK) * B (KxN) + beta * C, row-major: the parameters of most kernels.
using Kernel =
    void(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C);

struct Variant;

// C; or C again, of the same elements of A and B, whose copies in other formats are kept; or only
// what comes before a kernel that multiplies parts.
enum class Makes { product, product_again, parts };

// What a launch of a variant's kernel computes, on a GPU with `sms` SMs; with 0, no tile is cut. A,
// B and C are in the memory of the machine that runs it. Any M, N, K >= 0.
struct Task {
  const Variant& variant;
  int sms, M, N, K;
  float alpha;
  const float *A, *B;
  float beta;
  float* C;
  Makes makes = Makes::product;
};

struct KernelRef {
  const void* function = nullptr;
  const char* name = "";  // in C++ syntax: "thread_tiling_2d<128, 128, 8, 8, 8>"
  // Launches it, and what comes before and behind it, if that condition holds.
  void (*launch)(const Task& task, const OnlyIf& only_if) = nullptr;
};

struct Predicted;
struct Contrast;

// How the tiles of C become blocks.
enum class Sharing {
  grid,       // a block per tile, in a grid with C's rows and columns
  ordered,    // a block per tile or slice of one (ShareOut), in an order of the kernel's own
  persistent  // a block per SM, each with several tiles one after the other
};

// How the tiles of C are shared out among the SMs of a GPU. The first `whole` tiles have a block
// each. Each of the others is cut along K into `slices` slices, with a block each: `depth` K tiles,
// and in the last slice what is left. Blocks are numbered whole tiles first, then the first slices
// of all cut tiles, then the second slices, and so on.
struct ShareOut {
  int whole;
  int slices;      // of a tile that is cut; 1 if none is
  int depth;       // K tiles
  int blocks = 0;  // that compute them all, with as many or one more each; 0: one for each
};

// The slices of K in the stages with a copy engine: as many as there are SMs for. To add them up
// takes a kernel of its own, so each SM must be spared at least 64 K tiles (measured on an H200).
ShareOut slices_of_K(int tiles, int k_tiles, int sms);

// How many there are to compute: whole tiles, and slices of those that are cut.
constexpr int slices_of(const ShareOut& shares, int tiles) {
  return shares.whole + (tiles - shares.whole) * shares.slices;
}

// What multiplies: FFMAs, or one of the tensor cores' instructions, or three of them for a product.
// They differ in precision and rate.
enum class Multiplier { ffma, mma_tf32, wgmma_tf32, wgmma_bf16, wgmma_3xtf32, wgmma_3xf16 };

// One choice of tile sizes. Sizes that a stage does not have are 0.
struct Variant {
  const char* name;        // the value for --variant: "128x128x8"
  int BM, BN, BK;          // a block computes BM x BN of C, BK of K at a time
  int WM, WN;              // a warp's part of it
  int TM, TN;              // a thread's part of it
  int pipeline;            // tiles in flight
  int block_x, block_y;    // threads of a block
  int shared_bytes;        // bytes of dynamic shared memory per block
  KernelRef kernel;        // if rows of the matrices that it reads or stores are 16-byte aligned
  KernelRef kernel_any;    // for every other shape and pointer; the same kernel in scalar stages
  bool for_small = false;  // may run in place of an earlier one where C is small (suited_variant)
  bool for_few_results = false;  // or only where C has few results for what is read
  Sharing sharing = Sharing::grid;
  // Decides for `tiles` tiles of C with `k_tiles` K tiles each which of them are cut. Null: none
  // is.
  ShareOut (*share_out)(int tiles, int k_tiles, int sms) = nullptr;
  Multiplier multiplier = Multiplier::ffma;
  bool has_maps = false;   // in place of A and B, it gets what the copy engine needs
  bool has_units = false;  // it multiplies parts of numbers that have units of their own
  // The variant that runs in place of this one if A and B are not for it; it may have one, too. The
  // GPU decides that, in each run. Null: this one takes all matrices.
  const Variant* stand_in = nullptr;
  const Predicted* predicted = nullptr;  // null: its lesson's
  const Contrast* contrast = nullptr;    // null: its kernel is the stage's

  int threads() const { return block_x * block_y; }
};

// The variant that ran, which is so many stand-ins away from the first.
inline const Variant& that_ran(const Variant& first, int stood_in) {
  return stood_in == 0 ? first : that_ran(*first.stand_in, stood_in - 1);
}

// Whether every row of a matrix with that many columns starts at a multiple of 16 bytes.
inline bool rows_are_aligned(const float* matrix, int columns) {
  constexpr int kBytes = 16;
  return reinterpret_cast<std::uintptr_t>(matrix) % kBytes == 0 &&
         columns * sizeof(float) % kBytes == 0;
}

// The kernel of a variant that is launched for these matrices. One with maps only stores to C.
inline const KernelRef& kernel_for(
    const Variant& variant, int N, int K, const float* A, const float* B, const float* C) {
  const bool reads = rows_are_aligned(A, K) && rows_are_aligned(B, N);
  const bool aligned = rows_are_aligned(C, N) && (variant.has_maps || reads);
  return aligned ? variant.kernel : variant.kernel_any;
}

// Whether copies of A and B, rounded to bf16 before, are multiplied.
inline bool multiplies_bf16(const Variant& variant) {
  return variant.multiplier == Multiplier::wgmma_bf16;
}

// Whether the run begins with copies of A and B in two parts each.
inline bool multiplies_parts(const Variant& variant) {
  return variant.multiplier == Multiplier::wgmma_3xf16;
}

// The warps of a block that return at once. Where one warpgroup copies, one of its warps does, and
// the others stay only to split A.
inline int warps_that_return(const Variant& variant) {
  const bool idle = variant.sharing == Sharing::persistent;
  return idle && variant.multiplier != Multiplier::wgmma_3xtf32 ? 3 : 0;
}

// Of A and B, as the kernel reads them.
inline int bytes_of_element(const Variant& variant) {
  return multiplies_bf16(variant) ? 2 : 4;
}

// What one thread of an interior block does, as formulas in M, N, K, the variant's sizes, `threads`
// and `reads_C` (1 if beta is not 0). evaluate() computes them.
struct Predicted {
  const char* gmem_loads = "0";   // accesses: a float4 counts once
  const char* gmem_floats = "0";  // floats loaded
  const char* smem_loads = "0";
  const char* smem_floats = "0";
  const char* gmem_stores = "0";
  const char* smem_stores = "0";
  const char* async_copies = "0";
};

// A question after the stage's chapter. The program computes the answer. The formula may use the
// names in Predicted's formulas, `pipeline`, and what src/show/report/known.h adds from a
// traced run.
struct Question {
  const char* text;
  const char* answer;        // a formula
  const char* unit;          // of the answer
  const char* because;       // in one or two sentences
  bool of_32_lanes = false;  // it is about 32 lanes, so it is not asked on the paper GPU
};
inline constexpr bool kOf32Lanes = true;

// A tile in shared memory whose rows are swizzled: chunk c of 16 bytes of row r lies at
// c ^ r % keys.
struct RowSwizzle {
  const char* tile;  // "A"
  int keys;
  // What lanes that are served together read: the chunks with these numbers, from this many rows.
  std::vector<int> chunks;
  int rows;
  const char* read_by;  // "one matrix of ldmatrix"
  // What a lane XORs the number of its chunk with to come to each of the next steps along K; empty
  // if these are in other rows.
  std::vector<int> walk;
};

// What the program says of a kernel: school/lesson/lessons.h.
struct Lesson {
  const char* idea = "";  // one or two sentences
  Predicted predicted = {};
  bool conflict_free = false;  // no load from or store to shared memory has a bank conflict
  std::vector<Question> questions = {};
  std::vector<RowSwizzle> swizzles = {};
};

// What is not as in its stage for a variant with another kernel, which stands beside the stage's as
// a contrast.
struct Contrast {
  const char* name;
  Precision precision;
  Lesson lesson;
};

// The lowest compute capabilities for a stage; 0 for any.
struct Needs {
  int hardware = 0;         // with the hardware that it uses
  int instructions = 0;     // with instructions that its kernels must have
  bool only_there = false;  // later ones do not have them
};
inline constexpr Needs kCpAsync{80}, kMma{80, 80}, kTma{90, 90}, kWgmma{90, 90, true};

// Everything that differs from stage to stage is here. No other file knows a stage by its number,
// or the number of stages. Numbers ascend but may have gaps.
struct Stage {
  int number;
  const char* name;
  Lesson lesson;
  std::vector<Variant> variants = {};  // the first is for large products (suited_variant)
  Needs needs = {};
  Precision precision = kFp32;  // how it rounds, for its error bound
};

// One thread starts the copies for all, so threads have different tasks: the predicted counts are
// those of the thread that does most of each.
inline bool is_specialized(const Stage& stage) {
  return !stage.variants.empty() && stage.variants.front().has_maps;
}

inline const Lesson& lesson_of(const Stage& stage, const Variant& variant) {
  return variant.contrast != nullptr ? variant.contrast->lesson : stage.lesson;
}

inline Precision precision_of(const Stage& stage, const Variant& variant) {
  return variant.contrast != nullptr ? variant.contrast->precision : stage.precision;
}

// Of a stand-in: that of the first stage whose kernels multiply like it.
inline Precision precision_of(std::span<const Stage> stages, const Variant& stand_in) {
  for (const Stage& stage : stages) {
    if (stage.variants.empty()) continue;
    if (stage.variants.front().multiplier == stand_in.multiplier) return stage.precision;
  }
  return kFp32;
}

// The stage with that number; null if there is none.
inline const Stage* find_stage(std::span<const Stage> stages, int number) {
  for (const Stage& stage : stages) {
    if (stage.number == number) return &stage;
  }
  return nullptr;
}

// One compilation of gemm_steps.cu: for the GPU, traced on the CPU, or plain on the CPU.
struct StageTable {
  std::span<const Stage> stages;
  void (*run)(Task task);  // on that machine
  // How many stand-ins away from the variant of the last run the one is that ran (that_ran). Waits
  // for it.
  int (*stood_in)() = nullptr;
};

// A kernel, as a stage's number and a variant's name name it in every copy of the table; "" is the
// stage's first. Throws std::logic_error if there is none.
struct NamedKernel {
  const Stage& stage;
  const Variant& variant;
};
NamedKernel find_kernel(const StageTable& table, int number, std::string_view variant = "");

// Evaluates the formulas of the stage table, so that the formula that a reader sees is the one that
// is computed.

struct Named {
  std::string_view name;
  double value;
};

// The value of `formula`: numbers, names, + - * / ( ), ceil(x), min(x, y, ...) and max(x, y, ...),
// with the usual precedence.
// Throws std::invalid_argument with the formula and the place (the first character is 1) for
// anything else, for a division by zero, and for brackets that are nested more than 100 deep.
double evaluate(std::string_view formula, std::span<const Named> names);

// How a variant shares out the tiles of a product. With Sharing::persistent, block b computes the
// tiles b, b + blocks, b + 2 blocks, ..., and there is one for each SM; with 0 SMs, one for each
// tile. With 0 SMs no tile is cut.
ShareOut share_out(const Variant& variant, int M, int N, int K, int sms);
inline ShareOut share_out(const Task& t) {
  return share_out(t.variant, t.M, t.N, t.K, t.sms);
}
int tiles_of(const Variant& variant, int M, int N);

// Whether a block computes several tiles, or several slices of tiles.
bool is_in_turns(const ShareOut& shares, int tiles);

// The number of blocks.
int blocks_of(const ShareOut& shares, int tiles);

// The work of the SM that is done last, in whole tiles. The slices are chosen so that no SM takes
// longer for its other slices than for a first one.
double most_tiles(const ShareOut& shares, int tiles, int k_tiles, int sms);

// The work of those blocks, in whole tiles.
double tiles_computed(
    const ShareOut& shares, int tiles, int k_tiles, const std::vector<std::int64_t>& blocks);

// The floats that the slices' sums take in memory; 0 if no tile is cut.
std::int64_t floats_of_sums(const ShareOut& shares, const Variant& variant, int tiles);

// Blocks that represent all others, in ascending order: every slice of the last tile, and a whole
// tile if there is one, else every slice of the first. Few, since they are traced one by one.
// If blocks compute several tiles: one with most of them, and the one with the last.
std::vector<std::int64_t> sample_of(const ShareOut& shares, int tiles);

// Which variant of a stage suits a product on a GPU.

// How the tiles of C are spread over the SMs.
struct Spread {
  long long tiles;    // one for each block
  long long results;  // that the busiest SM computes: whole tiles, even where C ends within one
  long long warps;    // of the busiest SM, if all its blocks were resident at the same time
  // That the busiest SM needs for one step of K: its products take that long, and on tensor cores,
  // which multiply faster than tiles arrive, also its loads at its share of what the L2 cache
  // delivers. If tiles are cut along K, slices of one step are done at the same time. 0 if the GPU
  // has no clock.
  double clocks;
};
Spread spread(const Variant& variant, const Gpu& gpu, int M, int N, int K = 0);

// The variant for large products: the first whose shared memory a block can have on `gpu`. If none
// can, the very first.
const Variant& first_variant(const Stage& stage, const Gpu& gpu);

// The variant of `stage` for C (M x N) on `gpu`. The stage has at least one.
//
// A larger tile makes fewer loads per result, so the choice begins with first_variant(). But a
// small C has few large tiles. Then some SMs compute fewer tiles than others, or none, and the
// product takes as long as the busiest SM. So a later variant that fits and is marked `for_small`
// is taken if it leaves the busiest SM at most 3/4 of the clocks of the one chosen so far. With the
// fp32 units, these are 3/4 of the results, and the margin pays for the additional loads. With
// tensor cores, whose clocks include the loads, the margin depends on the tile. If it has at least
// half of the other's results, its instructions are nearly as wide, and 4/5 of the clocks are
// enough: on an H200 in stage 16, 192x128 at 3072 x 3072 x 3072 has 0.79 of the clocks of 256x128
// and takes 0.79 of the time. A much smaller tile reuses less of what it loads to registers and is
// waited for more often, so its clocks must be at most 7/10: 64x64 was not worth it with 0.75 of
// those of 128x128 (stage 16 at 1024 x 1024 x 1024), and with 0.62 it was (stage 17 there).
//
// Warps hide each other's waiting, unless the stage has tiles in flight for that. So if the busiest
// SM would have fewer than 12 warps (3 per scheduler) in a stage without a pipeline, a later
// variant is also taken if it gives that SM more warps and no more results.
//
// If C gives each SM at least three of the first variant's tiles, that variant is chosen, unless
// much of the tiles' area lies outside of C. Twice the rows and columns never get a smaller tile,
// but a few more may: 11 x 11 tiles are at most one for each of 132 SMs, and of 12 x 12 tiles, 12
// SMs compute two. The paper GPU has no clock and nothing to gain: it gets the first variant.
//
// C has few results for what is read if it has at most one for 16 numbers of the larger matrix, and
// that has at least 2^22. The product then takes as long as that matrix takes to arrive, or K to go
// through. So the variant with the fewest clocks is chosen, and those for few results, too, can be.
// With K = 0 nothing is known of it.
const Variant& suited_variant(const Stage& stage, const Gpu& gpu, int M, int N, int K = 0);

// The variant of another stage to set beside `variant`: the one with the same name, so that only
// the idea differs, else the one that suits.
const Variant& comparable_variant(
    const Variant& variant, const Stage& other, const Gpu& gpu, int M, int N, int K = 0);

// What `gpu` lacks to run the kernels of `stage`, in a few words: "needs sm_80". Empty if nothing.
std::string why_not_run(const Stage& stage, const Gpu& gpu);

// Whether they can be traced for it. Instructions of a whole warp exchange data between 32 lanes,
// and a block must have the shared memory of one of the variants.
bool is_traceable(const Stage& stage, const Gpu& gpu);

}  // namespace model
