// A stage of the ladder, as data: the table itself stands in gemm_steps.cu.
#pragma once

#include <span>
#include <vector>

#include "model/error.h"

namespace model {

// C (MxN) = alpha * A (MxK) * B (KxN) + beta * C, row-major: what every kernel takes.
using Kernel =
    void(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C);

struct KernelRef {
  Kernel* function = nullptr;
  const char* name = "";  // as C++ spells it: "thread_tiling_2d<128, 128, 8, 8, 8>"
};

// One choice of tile sizes. Sizes that a stage does not have are 0.
struct Variant {
  const char* name;      // what --variant takes: "128x128x8"
  int BM, BN, BK;        // a block computes BM x BN of C, BK of K at a time
  int WM, WN;            // a warp's part of it
  int TM, TN;            // a thread's part of it
  int pipeline;          // tiles in flight
  int block_x, block_y;  // threads of a block
  int shared_bytes;      // dynamic shared memory of a block
  KernelRef kernel;      // where rows of A, B and C are 16-byte aligned
  KernelRef kernel_any;  // for every other shape and pointer; the same one in scalar stages

  int threads() const { return block_x * block_y; }
};

// What one thread of an interior block does, as formulas in M, N, K, the variant's sizes, `threads`
// and `reads_C` (1 where beta is not 0). src/model/formula.h evaluates them.
struct Predicted {
  const char* gmem_loads;   // accesses: a float4 counts once
  const char* gmem_floats;  // floats loaded
  const char* smem_loads;
  const char* smem_floats;
  const char* gmem_stores;
  const char* smem_stores;
  const char* async_copies;
};

// Asked after the stage's chapter; the answer is computed. Beside what Predicted's formulas may
// name, this one's may name `pipeline` and what src/report/questions.h adds of a traced run.
struct Question {
  const char* text;
  const char* answer;        // a formula
  const char* unit;          // of the answer
  const char* because;       // in one or two sentences
  bool of_32_lanes = false;  // one of them speaks of 32 lanes, and so of no other geometry
};

// Everything that differs from stage to stage stands here: no other file knows a stage by its
// number or how many there are. Numbers ascend, but need not follow each other.
struct Stage {
  int number;
  const char* name;
  const char* idea;  // one or two sentences
  int needs;         // lowest compute capability with the hardware it is about, 0 for any
  Predicted predicted;
  std::vector<Variant> variants;  // the first is the default
  std::vector<Question> questions = {};
  Precision precision = kFp32;  // how its multipliers round, for the bound of its error
  bool conflict_free = false;   // no load from shared memory and no store to it waits for a bank
};

// The stage with that number; null where there is none.
inline const Stage* find_stage(std::span<const Stage> stages, int number) {
  for (const Stage& stage : stages) {
    if (stage.number == number) return &stage;
  }
  return nullptr;
}

// One compilation of gemm_steps.cu: for the GPU, traced on the CPU, or plain on the CPU.
struct StageTable {
  std::span<const Stage> stages;
  // Which of a variant's kernels `run` launches for these matrices.
  const KernelRef& (*kernel_for)(
      const Variant& variant, int N, int K, const float* A, const float* B, const float* C);
  // Computes C with `variant` on that machine. A, B, C: that machine's memory. Any M, N, K >= 0.
  void (*run)(
      const Variant& variant, int M, int N, int K, float alpha, const float* A, const float* B,
      float beta, float* C);
};

}  // namespace model
