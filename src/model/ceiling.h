// The highest speed that a kernel can reach on a GPU, from the time that each unit needs for its
// work.
//
// Assumptions. Every unit works all the time, at the boost clock (of a timed run: at the clock that
// was counted), and never waits. Blocks are distributed evenly, so the busiest SM has
// ceil(blocks / SMs); where tiles are cut along K, it has some whole tiles and the longest slice of
// another. Only the main loop counts, not the code before and after it, nor the launch itself (a
// few microseconds). So a ceiling is an upper bound, and a kernel comes near it if its warps hide
// all their latency.
//
// Limits. At 4096^3 an H200 reaches 0.66 to 0.99 of it with the fp32 stages. The rest is waiting,
// which a ceiling leaves out and the model of waiting (below) adds: for loads when there are few
// other warps to run (25 to 50 % occupancy once a thread has several results), at two barriers per
// tile, and for the epilogue. The naive kernel has so many requests in flight that nothing is lost.
// The async pipeline copies ahead and comes closest of the kernels that mostly multiply.
// results/h200-ceilings-4096.txt has, for every unit, the busy share by the model beside the
// hardware's. They agree within a few points, and the model names the busiest unit. L1 and shared
// memory are two units here but share one data stage in the hardware, so the traffic of cp.async is
// under L1 here and under shared memory there. The register banks are in the model of waiting, the
// instruction cache is in no model. As compiled, only the loop that multiplies counts: not those of
// warps that prepare its tiles (stage 17 splits A into two parts). For L2 the model has only the
// traffic that no L1 cache could save.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "model/compiled_kernel.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "model/warp_access.h"

namespace model {

enum UnitIndex { kFma, kIssue, kSmem, kL1, kL2, kDram, kTensor };
inline constexpr int kUnits = 7;

// FMA    fused multiply-adds: 32 per warp instruction on the SM's fp32 lanes, including idle lanes
// issue  instructions: each of an SM's four schedulers issues one warp instruction per cycle
// SMEM   wavefronts of shared memory, loads and stores: one per cycle and SM, on Turing half of one
// L1     128-byte lines that a request to global memory touches: one per cycle and SM. On Turing
//        the bytes of its sectors, 64 per cycle, can take longer
// L2     bytes of A and B that a block fetches once per K tile, its part of C, and sums of slices
// DRAM   the bytes of A, B and C, each once: what no cache can save
// tensor the products of tensor cores, at the rate of the GPU for the variant's instruction
inline constexpr std::array<std::string_view, kUnits> kUnitNames = {"FMA", "issue", "SMEM",  "L1",
                                                                    "L2",  "DRAM",  "tensor"};

inline constexpr int kSchedulers = 4;  // per SM, from cc 7.0 on

struct Ceiling {
  double tflops;                  // 2MNK operations in the time of the busiest unit
  UnitIndex bound_by;             // that unit
  std::array<double, kUnits> ms;  // time that each unit needs
  // That pass through each memory for the whole product. A wavefront of shared memory counts as
  // 128.
  std::array<double, kUnits> bytes;
  double copy_ms;            // busy time of the busiest unit for copies (L1, L2, DRAM, stores to
                             // SMEM), ...
  double multiply_ms;        // ... and for multiplications (FMA, tensor, issue, loads from SMEM)
  double no_overlap_tflops;  // if a block first copies and then multiplies, never both
  double blocks_per_sm;      // of the busiest SM, over the whole launch
  double busy_share;         // of the SMs, until the last block is done: 1 means no tail
  // Time that the copies of A and B in parts take before the kernel, at the bandwidth of DRAM; 0 if
  // there are none. It is in the rates, so the busiest unit is busy for the rest of the time.
  double before_ms;
};

struct Product {
  int M, N, K;
  bool reads_C;  // beta is not 0
  int sms = 0;   // among which tiles that are cut are shared out (ShareOut); 0: none is
};

// The most multiply-adds of that kind that an SM makes per cycle; 0 if it cannot make them. And of
// the whole GPU, per second at its clock, each counted as two operations.
double products_per_clock(const Gpu& gpu, Multiplier multiplier);
double peak_tflops(const Gpu& gpu, Multiplier multiplier);

// The bytes that making these copies reads and writes; 0 if the variant has none. With units, B is
// read once more before, to find them.
double bytes_of_parts(const Variant& variant, int M, int N, int K);

// K rounded up to whole tiles: the last one is filled with zeros and multiplied like the others.
int padded_K(const Product& product, const Variant& variant);

// The instructions that a warp of this variant multiplies with along K, as written.
double multiplications_of_a_warp(const Product& product, const Variant& variant);

// The additions of a warp along K, as written, where tensor cores multiply fp32 in parts: the sums
// of a K tile, and a subtraction for the low part of each element of A and B.
double additions_of_a_warp(const Product& product, const Variant& variant);

// The work of a warp along K: iterations of either loop. Because of unrolling, an iteration may
// cover several tiles or several steps of K.
struct Rounds {
  double loop;
  double inner;
};

// The iterations for a thread that makes `products` products in each of `K` steps, one tile of BK
// at a time (BK 0: no tiles). K is a multiple of BK. They are derived from the multiply-adds of the
// tensor cores if they have any, else from the FFMAs: beside tensor cores, an FFMA does something
// else. Without any multiplication there are no iterations.
Rounds rounds(const CompiledKernel& record, double products, int K, int BK);

// The loop iterations of a warp of this variant along K.
Rounds rounds_along_K(const Product& product, const Variant& variant, const CompiledKernel& record);

// For the source as written: every access that the trace counted is an instruction, every product
// is an FMA or part of a tensor core's instruction, and nothing else costs. Nothing if nothing is
// multiplied, no block was traced, or the GPU cannot multiply that way.
std::optional<Ceiling> ceiling_as_written(
    const Gpu& gpu, const Product& product, const Variant& variant, const Counts& counts);

// With the compiler's instructions in place of the source's. If the compiler merged several loads
// from shared memory into a wide one, their wavefronts are those of the wide one. Also nothing if
// the recorded loop multiplies nothing, because then its number of iterations is unknown.
std::optional<Ceiling> ceiling_as_compiled(
    const Gpu& gpu, const Product& product, const Variant& variant, const Counts& counts,
    const CompiledKernel& record);

// How many tiles of C the traced blocks computed. Where tiles are cut, a block with a slice of one
// counts for the share of K tiles that it has. So what was traced, divided by this, is the work of
// a whole tile, whichever mixture of whole tiles and slices a sample has. It includes that the
// slices' sums are stored and added up.
double traced_tiles(const Product& product, const Variant& variant, const Counts& counts);

// Per tile of C, on average over the traced ones: the compiled loads from shared memory along all
// of K, as requests, and their wavefronts. A block computes a tile, unless tiles are cut.
struct SharedLoads {
  double requests;
  double wavefronts;
};
SharedLoads shared_loads_as_compiled(
    const Product& product, const Variant& variant, const Counts& counts,
    const CompiledKernel& record);

// Computes the counts of a long product from those of two short ones. A kernel does the same for
// every tile along K, so each of its counts grows linearly with the number of tiles. `near` and
// `far` are the counts of the same blocks for two products that differ only in K. The result is for
// K = K_near + steps (K_far - K_near). It is exact if both products are longer than the kernel's
// pipeline, and if K does not change the rows' alignment to 128-byte lines, that is, if the
// difference is a multiple of 32 floats and of the tile. The worst requests are those of `far`.
//
// The same holds for blocks that compute several tiles of C, and for the number of these.
Counts extrapolated(const Counts& near, const Counts& far, std::int64_t steps);

// How fast a kernel is if its blocks also wait: the simplest model that predicts how busy each unit
// is.
//
// A block goes round a circle: it issues instructions, waits for shared memory, waits for global
// memory, and waits at its barriers. While it waits, the other resident blocks of the SM use the
// units, and two blocks that want the same unit queue for it. With few resident blocks the units
// are idle while all blocks wait: that is latency. With many, one unit is always busy: then the
// speed is the ceiling's.
//
// This is mean value analysis of a closed queueing network (Reiser and Lavenberg, 1980): a block
// that joins n - 1 others finds at each unit the queue that those n - 1 leave there on average. The
// customers are blocks, because barriers keep the warps of a block together. L1 and shared memory
// have one queue, because they share one data stage.
//
// Three things shorten a wait. Instructions between a load and the first use of its result run
// meanwhile. So do the other warps of the block, while one waits for shared memory. And while
// a tile is multiplied, those in flight behind it arrive.
//
// A barrier makes a block wait for the slowest of its loads. Blocks that run together need the same
// parts of A and B at about the same time, so the slowest load waits for DRAM, unless A and B fit
// in the L2 cache. Without barriers a warp waits for the slowest of the few loads that are under
// way together, and often all of them find their line in L1. The other warps of its block need the
// same lines and wait with it.
//
// Two things cost time although no result is missing. The compiler makes a warp wait between its
// instructions, usually because the next one needs the result of the one before; meanwhile the
// scheduler's other warps issue, if there are any. And an instruction waits while the banks of the
// register file read its operands; then no warp issues. Both are read from the machine code
// (sass_mix.awk).
//
// The L2 cache and DRAM serve all SMs at once. So they bound the speed of all blocks together, but
// a block queues only for its SM's port to the L2 cache.
//
// Limits. Only the main loop counts, as for a ceiling. The instruction cache, the queues inside the
// memory, and the rush for shared memory after a barrier are not in the model. Nothing in it was
// fitted: latencies were measured one by one, and the rest is counted. For the kernels that issue
// in most cycles it says 6 to 8 points more than ncu. src/model/ceiling_tests.cpp compares it with
// ncu.

// Cycles between an operation and the next one that needs its result.
struct Latencies {
  double smem;
  double l1;
  double l2;
  double dram;
  double barrier;
};

// As `make latency` measured them on an H200 (results/h200-latency.txt). Other GPUs of the table
// have not been measured and take these.
Latencies latencies();

struct Waiting {
  double tflops;
  std::array<double, kUnits> busy;  // share of the time, by UnitIndex
  UnitIndex busiest;
  int resident_blocks;         // of one SM
  double warps_per_scheduler;  // resident
  // How a block spends its time: the shares add up to 1.
  double issuing;  // or queueing for the schedulers, or between two instructions
  double waiting_for_smem;
  double waiting_for_gmem;
  double at_barriers;
};

// Requires the ceiling of the same kernel, as compiled. Nothing if no block fits.
std::optional<Waiting> with_waiting(
    const Gpu& gpu, const Product& product, const Variant& variant, const Ceiling& ceiling,
    const CompiledKernel& record, const Occupancy& occupancy);

}  // namespace model
