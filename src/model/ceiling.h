// How fast a kernel can be at most on a GPU: the time that each unit needs for its share.
//
// The assumptions. Every unit works all the time, at the boost clock, and waits for nobody; blocks
// are dealt out evenly, so that the SM with the most has ceil(blocks / SMs); only the main loop
// counts, not what stands before and after it, and not the launch itself (a few microseconds). So a
// ceiling is a bound, and a kernel whose warps hide all their waiting comes near it.
//
// Where it is off. At 4096^3 an H200 reaches 0.66 to 0.99 of it with the fp32 stages. What is
// missing is waiting, which the model leaves out: for a load's answer where few warps are there to
// take over (25 to 50 % occupancy once a thread has several results), at two barriers a tile, and
// for the epilogue. The naive kernel has so many requests in flight that nothing is missing, and
// the async pipeline copies ahead and comes closest of those that multiply for most of the time.
// results/h200-ceilings-4096.txt has, for every unit, the share of the time that the model says
// beside what the hardware counted: they lie within a few points of each other, and the busiest is
// the one named. L1 and shared memory are two units here and share one data stage in the hardware;
// so what cp.async moves stands under L1 here and under shared memory there. Registers' own banks
// and the instruction cache are not in the model; of L2 the model knows the traffic that no L1
// cache could spare.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "model/compiled_kernel.h"
#include "model/counts.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace model {

enum UnitIndex { kFma, kIssue, kSmem, kL1, kL2, kDram };
inline constexpr int kUnits = 6;

// FMA    fused multiply-adds: 32 of a warp instruction on the SM's fp32 lanes, idle lanes included
// issue  instructions: each of an SM's four schedulers issues one warp instruction a cycle
// SMEM   wavefronts of shared memory, loads and stores: one a cycle and SM
// L1     128-byte lines that a request to global memory touches: one a cycle and SM
// L2     bytes of A and B that a block fetches once a K tile, and its part of C
// DRAM   the bytes of A, B and C, each once: what no cache can spare
inline constexpr std::array<std::string_view, kUnits> kUnitNames = {"FMA", "issue", "SMEM",
                                                                    "L1",  "L2",    "DRAM"};

inline constexpr int kSchedulers = 4;  // of an SM, from cc 7.0 on

struct Ceiling {
  double tflops;                  // 2MNK operations in the time of the busiest unit
  UnitIndex bound_by;             // that unit
  std::array<double, kUnits> ms;  // what each unit needs
  double copy_ms;                 // what copying needs of its busiest unit (L1, L2, DRAM, stores to
                                  // SMEM), ...
  double multiply_ms;             // ... and multiplying (FMA, issue, loads from SMEM)
  double no_overlap_tflops;       // where a block first copies and then multiplies, never both
  double busy_share;              // of the SMs, until the last block is done: 1 is no tail
};

struct Product {
  int M, N, K;
  bool reads_C;  // beta is not 0
};

// K up to whole tiles: the last one is filled with zeros and multiplied like the others.
int padded_K(const Product& product, const Variant& variant);

// What a warp of this variant goes through along K.
Rounds rounds_along_K(const Product& product, const Variant& variant, const CompiledKernel& record);

// As the source says it: every access that the trace counted is an instruction, every product is an
// FMA, and nothing else costs. None where nothing is multiplied or no block was traced.
std::optional<Ceiling> ceiling_as_written(
    const Gpu& gpu, const Product& product, const Variant& variant, const Counts& counts);

// With the compiler's instructions in place of the source's. Where the compiler made one wide load
// from shared memory of several, their wavefronts are those of the wide one. Also none where the
// recorded loop has no FFMA, because then nothing tells how often it goes round.
std::optional<Ceiling> ceiling_as_compiled(
    const Gpu& gpu, const Product& product, const Variant& variant, const Counts& counts,
    const CompiledKernel& record);

// Of a block, on average over the traced ones: requests that load from shared memory as compiled,
// along all of K, and their wavefronts.
struct SharedLoads {
  double requests;
  double wavefronts;
};
SharedLoads shared_loads_as_compiled(
    const Product& product, const Variant& variant, const Counts& counts,
    const CompiledKernel& record);

}  // namespace model
