// What the compiler made of each kernel, recorded: registers, spills, static shared memory, and the
// instructions of its main loop.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace model {

// Instructions of one warp by kind and, where they move data, bits per lane. LDGSTS is cp.async;
// mma is any instruction of the tensor cores; BAR is __syncthreads. What never takes part
// (predicate @!PT) is `other`.
struct InstructionMix {
  int ldg32, ldg64, ldg128;
  int lds32, lds64, lds128;
  int sts32, sts64, sts128;
  int stg32, stg64, stg128;
  int ldgsts32, ldgsts64, ldgsts128;
  int ffma;
  int mma;
  int bar;
  int other;

  int lds() const { return lds32 + lds64 + lds128; }
  int all() const;
};

struct CompiledKernel {
  std::string_view kernel;  // as C++ spells it: "thread_tiling_2d<128, 128, 8, 8, 8>"
  int compute_capability;   // 86 is cc 8.6; 90 was compiled for sm_90a
  int registers;            // of a thread
  int spill_bytes;          // a thread stores to local memory because registers ran out
  int static_smem_bytes;    // of a block
  InstructionMix loop;      // one round of the main loop, without those of the loop in it; zeros:
                            // not recorded, or there is none
  InstructionMix inner;     // one round of the loop in it that multiplies; zeros: there is none

  bool has_loop() const { return loop.all() > 0; }
};

// What happens on the way along K, a warp: rounds of either loop. A round may be several tiles or
// several steps of K, as far as the compiler unrolled.
struct Rounds {
  double loop;
  double inner;
};

// Rounds of a thread that has `results` results to sum over `K` steps, a tile of BK steps at a time
// (BK 0: no tiles). K is a multiple of BK. FFMAs tell; without any there are no rounds.
Rounds rounds(const CompiledKernel& record, double results, int K, int BK);

// Every record of src/model/compiled_kernels.inc, which src/model/record_kernels.sh writes.
std::span<const CompiledKernel> compiled_kernels();

// The record of `kernel` (compared without spaces) for the highest recorded compute capability up
// to `compute_capability`; none for a kernel that is not recorded, or only for newer GPUs.
std::optional<CompiledKernel> find_compiled_kernel(std::string_view kernel, int compute_capability);

// The same among the records that have a main loop.
std::optional<CompiledKernel> find_compiled_loop(std::string_view kernel, int compute_capability);

}  // namespace model
