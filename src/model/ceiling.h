// The highest speed that a kernel can reach on a GPU, from the time that each unit needs for its
// work.
//
// Assumptions. Every unit works all the time, at the boost clock, and never waits. Blocks are
// distributed evenly, so the busiest SM has ceil(blocks / SMs); where tiles are cut along K, it has
// some whole tiles and the longest part of another. Only the main loop counts, not the code before
// and after it, nor the launch itself (a few microseconds). So a ceiling is an upper bound, and a
// kernel comes near it if its warps hide all their latency.
//
// Limits. At 4096^3 an H200 reaches 0.66 to 0.99 of it with the fp32 stages. The rest is waiting,
// which this model leaves out and waiting.h adds: for loads when there are few other warps to run
// (25 to 50 % occupancy once a thread has several results), at two barriers per tile, and for the
// epilogue. The naive kernel has so many requests in flight that nothing is lost. The async
// pipeline copies ahead and comes closest of the kernels that mostly multiply.
// results/h200-ceilings-4096.txt has, for every unit, the busy share by the model beside the
// hardware's. They agree within a few points, and the model names the busiest unit. L1 and shared
// memory are two units here but share one data stage in the hardware, so the traffic of cp.async is
// under L1 here and under shared memory there. The register banks are in waiting.h, the instruction
// cache is in no model. For L2 the model has only the traffic that no L1 cache could save.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "model/compiled_kernel.h"
#include "model/counts.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace model {

enum UnitIndex { kFma, kIssue, kSmem, kL1, kL2, kDram, kTensor };
inline constexpr int kUnits = 7;

// FMA    fused multiply-adds: 32 per warp instruction on the SM's fp32 lanes, including idle lanes
// issue  instructions: each of an SM's four schedulers issues one warp instruction per cycle
// SMEM   wavefronts of shared memory, loads and stores: one per cycle and SM
// L1     128-byte lines that a request to global memory touches: one per cycle and SM
// L2     bytes of A and B that a block fetches once per K tile, its part of C, and sums of parts
// DRAM   the bytes of A, B and C, each once: what no cache can save
// tensor the products of tensor cores, at the rate of the GPU for the variant's instruction
inline constexpr std::array<std::string_view, kUnits> kUnitNames = {"FMA", "issue", "SMEM",  "L1",
                                                                    "L2",  "DRAM",  "tensor"};

inline constexpr int kSchedulers = 4;  // per SM, from cc 7.0 on

struct Ceiling {
  double tflops;                  // 2MNK operations in the time of the busiest unit
  UnitIndex bound_by;             // that unit
  std::array<double, kUnits> ms;  // time that each unit needs
  double copy_ms;            // busy time of the busiest unit for copies (L1, L2, DRAM, stores to
                             // SMEM), ...
  double multiply_ms;        // ... and for multiplications (FMA, tensor, issue, loads from SMEM)
  double no_overlap_tflops;  // if a block first copies and then multiplies, never both
  double blocks_per_sm;      // of the busiest SM, over the whole launch
  double busy_share;         // of the SMs, until the last block is done: 1 means no tail
};

struct Product {
  int M, N, K;
  bool reads_C;  // beta is not 0
  int sms = 0;   // among which tiles that are cut are shared out (model/share_out.h); 0: none is
};

// The most multiply-adds of that kind, counted as two operations, per second; 0 if the GPU cannot
// make them.
double peak_tflops(const Gpu& gpu, Multiplier multiplier);

// K rounded up to whole tiles: the last one is filled with zeros and multiplied like the others.
int padded_K(const Product& product, const Variant& variant);

// The instructions that a warp of this variant multiplies with along K, as written.
double multiplications_of_a_warp(const Product& product, const Variant& variant);

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

// How many tiles of C the traced blocks computed. Where tiles are cut, a block with a part of one
// counts for the share of K tiles that it has. So what was traced, divided by this, is the work of
// a whole tile, whichever mixture of whole tiles and parts a sample has. It includes that the
// parts' sums are stored and added up.
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

}  // namespace model
