// A stage, as data; gemm_steps.cu has the table of stages.
#pragma once

#include <span>
#include <vector>

#include "model/error.h"

namespace model {

// C (MxN) = alpha * A (MxK) * B (KxN) + beta * C, row-major: the parameters of every kernel.
using Kernel =
    void(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C);

struct KernelRef {
  Kernel* function = nullptr;
  const char* name = "";  // in C++ syntax: "thread_tiling_2d<128, 128, 8, 8, 8>"
};

struct Predicted;
struct Contrast;

// How the tiles of C become blocks.
enum class Sharing {
  grid,       // a block per tile, in a grid with C's rows and columns
  ordered,    // a block per tile, in an order of the kernel's own
  cut,        // the same, but the tiles of the last wave are cut along K (model/share_out.h)
  persistent  // a block per SM, each with several tiles one after the other
};

// What multiplies: FFMAs, or one of the tensor cores' instructions, or three of them for a product.
// They differ in precision and rate.
enum class Multiplier { ffma, mma_tf32, wgmma_tf32, wgmma_bf16, wgmma_3xtf32 };

// One choice of tile sizes. Sizes that a stage does not have are 0.
struct Variant {
  const char* name;        // the value for --variant: "128x128x8"
  int BM, BN, BK;          // a block computes BM x BN of C, BK of K at a time
  int WM, WN;              // a warp's part of it
  int TM, TN;              // a thread's part of it
  int pipeline;            // tiles in flight
  int block_x, block_y;    // threads of a block
  int shared_bytes;        // bytes of dynamic shared memory per block
  KernelRef kernel;        // if rows of A, B and C are 16-byte aligned
  KernelRef kernel_any;    // for every other shape and pointer; the same kernel in scalar stages
  bool for_small = false;  // may run in place of an earlier one where C is small (model/choice.h)
  Sharing sharing = Sharing::grid;
  Multiplier multiplier = Multiplier::ffma;
  // The variant that runs, with its kernel_any, in place of this one for every other shape and
  // pointer. Null: this one does, with its own.
  const Variant* otherwise = nullptr;
  const Predicted* predicted = nullptr;  // null: the stage's
  const Contrast* contrast = nullptr;    // null: its kernel is the stage's

  int threads() const { return block_x * block_y; }
};

// Whether copies of A and B, rounded to bf16 before, are multiplied.
inline bool multiplies_bf16(const Variant& variant) {
  return variant.multiplier == Multiplier::wgmma_bf16;
}

// Of A and B, as the kernel reads them.
inline int bytes_of_element(const Variant& variant) {
  return multiplies_bf16(variant) ? 2 : 4;
}

// What runs if rows of A, B and C are 16-byte aligned, or are not.
inline const Variant& launched(const Variant& variant, bool aligned) {
  return aligned || variant.otherwise == nullptr ? variant : *variant.otherwise;
}

// What one thread of an interior block does, as formulas in M, N, K, the variant's sizes, `threads`
// and `reads_C` (1 if beta is not 0). src/model/formula.h evaluates them.
struct Predicted {
  const char* gmem_loads;   // accesses: a float4 counts once
  const char* gmem_floats;  // floats loaded
  const char* smem_loads;
  const char* smem_floats;
  const char* gmem_stores;
  const char* smem_stores;
  const char* async_copies;
};

// A question after the stage's chapter. The program computes the answer. The formula may use the
// names in Predicted's formulas, `pipeline`, and what src/report/predicted.h adds from a traced
// run.
struct Question {
  const char* text;
  const char* answer;        // a formula
  const char* unit;          // of the answer
  const char* because;       // in one or two sentences
  bool of_32_lanes = false;  // it is about 32 lanes, so it is not asked on the paper GPU
};
inline constexpr bool kOf32Lanes = true;

// What is not as in its stage for a variant with another kernel, which stands beside the stage's as
// a contrast. It has no swizzles that threads would have to know.
struct Contrast {
  const char* name;
  const char* idea;
  Precision precision;
  std::vector<Question> questions;
};

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

// Everything that differs from stage to stage is here. No other file knows a stage by its number,
// or the number of stages. Numbers ascend but may have gaps.
struct Stage {
  int number;
  const char* name;
  const char* idea;  // one or two sentences
  int needs;         // lowest compute capability with the hardware that it uses, 0 for any
  Predicted predicted;
  std::vector<Variant> variants;  // the first is for large products (model/choice.h)
  std::vector<Question> questions = {};
  Precision precision = kFp32;  // how it rounds, for its error bound
  bool conflict_free = false;   // no load from or store to shared memory has a bank conflict
  int runs_from = 0;  // lowest compute capability with instructions that its kernels must have
  bool only_there = false;  // later ones do not have them
  // Its warps have different tasks: the predicted counts are those of the thread that does most of
  // each.
  bool specialized = false;
  std::vector<RowSwizzle> swizzles = {};
};

inline Precision precision_of(const Stage& stage, const Variant& variant) {
  return variant.contrast != nullptr ? variant.contrast->precision : stage.precision;
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
  // The kernel of a variant that `run` launches for these matrices.
  const KernelRef& (*kernel_for)(
      const Variant& variant, int N, int K, const float* A, const float* B, const float* C);
  // Computes C with `variant` on that machine, whose GPU has `sms` SMs; with 0, no tile is cut. A,
  // B and C are in that machine's memory. Any M, N, K >= 0.
  void (*run)(
      const Variant& variant, int sms, int M, int N, int K, float alpha, const float* A,
      const float* B, float beta, float* C);
  // The same product once more, with the same elements of A and B as the last `run`: copies of them
  // in other formats, if the variant takes any, are not made again.
  decltype(run) run_again;
};

}  // namespace model
