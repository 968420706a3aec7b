// The compiler's output for each kernel: what was recorded (registers, spills, static shared
// memory, the instructions of its main loop), and machine code as cuobjdump prints it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/warp_access.h"

namespace model {

// The instructions of one warp by kind and, for instructions that move data, by bits per lane.
// LDGSTS is cp.async; LDSM is ldmatrix, by the number of its 8 x 8 matrices; mma is any instruction
// of the tensor cores; BAR is __syncthreads. An instruction that never takes part (predicate @!PT)
// is `other`.
struct InstructionMix {
  int ldg32, ldg64, ldg128;
  int lds32, lds64, lds128;
  int ldsm1, ldsm2, ldsm4;
  int sts32, sts64, sts128;
  int stg32, stg64, stg128;
  int ldgsts32, ldgsts64, ldgsts128;
  int ffma;
  int mma;
  int bar;
  int other;

  // How often the warp waits for loads of one kind, and the sum over these waits of the
  // instructions between the load and the first use of its result. Loads that were issued before a
  // wait began arrive with it.
  int gmem_waits, gmem_ahead;
  int smem_waits, smem_ahead;

  // Cycles, beyond one for each instruction, that the warp does not issue although no result is
  // missing: because the compiler said so in the instructions, and because the banks of the
  // register file have more to read than they can (sass_mix.awk).
  int stall_cycles, bank_cycles;

  int mma_products;  // multiply-adds of the warp's tensor core instructions

  int lds() const { return lds32 + lds64 + lds128 + ldsm1 + ldsm2 + ldsm4; }
  int all() const {  // instructions
    return ldg32 + ldg64 + ldg128 + lds() + sts32 + sts64 + sts128 + stg32 + stg64 + stg128 +
           ldgsts32 + ldgsts64 + ldgsts128 + ffma + mma + bar + other;
  }
};

struct CompiledKernel {
  std::string_view kernel;  // in C++ syntax: "thread_tiling_2d<128, 128, 8, 8, 8>"
  int compute_capability;   // 86 is cc 8.6; 90 was compiled for sm_90a
  int registers;            // per thread
  int spill_bytes;          // whether a thread stores to local memory because registers ran out
  int static_smem_bytes;    // per block
  InstructionMix loop;      // one iteration of the main loop, without its inner loop; zeros:
                            // not recorded, or there is none
  InstructionMix inner;     // one iteration of the inner loop that multiplies; zeros: there is none

  bool has_loop() const { return loop.all() > 0; }
};

// Every record of src/model/compiled_kernels.inc, which src/model/record_kernels.sh writes.
std::span<const CompiledKernel> compiled_kernels();

// A kernel's name as it is compared: compilers set spaces differently.
std::string without_spaces(std::string name);

// The record of `kernel` (compared without spaces) for the highest recorded compute capability up
// to `compute_capability`. Nothing for a kernel that is not recorded, or only for newer GPUs.
std::optional<CompiledKernel> find_compiled_kernel(std::string_view kernel, int compute_capability);

// The same among the records that have a main loop.
std::optional<CompiledKernel> find_compiled_loop(std::string_view kernel, int compute_capability);

// The shared-memory instructions of compiled kernels, from a disassembly with source lines.

struct SharedInstruction {
  enum class Kind { load, store, load_matrices };  // LDS, STS, LDSM
  Kind kind;
  int bytes;        // per lane; of LDSM 16
  bool predicated;  // lanes, or the whole warp, may leave it out
  int together;     // a warp executes instructions with the same number equally often
  struct SourceLine {
    std::string file;
    int line;
  };
  std::vector<SourceLine> places;  // outermost call first; empty if the code has no lines
};

struct SassKernel {
  std::string name;  // mangled
  std::vector<SharedInstruction> instructions;
};

// Reads the output of `nvdisasm -gi` for a cubin that was compiled with -lineinfo. `together`
// follows from the branches: of two instructions, the first is always followed by the second, the
// second always preceded by the first, and no loop has one without the other.
std::vector<SassKernel> read_sass(std::istream& disassembly);

// A kernel's loads from shared memory as they were compiled: the compiler merges loads of
// neighbouring words, and leaves out those whose value is already in a register.

// The loads of one line, or of several lines that the compilers book differently.
struct CompiledLine {
  int line = 0, helper_line = 0;    // as in LineCounts, in the kernel's file; the first of them
  std::vector<std::string> arrays;  // without repetition
  std::int64_t requests = 0;        // as written
  std::int64_t wavefronts = 0;
  int by_bytes[5] = {};  // instructions of 1, 2, 4, 8 and 16 bytes per lane in the compiled code

  // As compiled. Nothing if that is not known.
  std::optional<std::int64_t> compiled_requests, compiled_wavefronts;
};

struct CompiledLoads {
  std::vector<CompiledLine> lines;

  // The sums of all lines; of what is not known for one of them, nothing.
  CompiledLine all() const;
};

// For the traced blocks. `file` is that of the kernel's source, with its lines `first` to `last`.
// It is derived from two facts about the trace and the code:
//   - A warp executes an instruction as often as the other instructions of the same basic block,
//     among which may be a store of a line whose bytes are known.
//   - If a warp loads no word twice between two barriers, then no load can be left out, and the
//     compiled loads have the bytes of the written ones.
CompiledLoads compiled_loads(
    const Counts& counts, const SassKernel& kernel, const std::string& file, int first, int last);

// A line whose loads from shared memory a compiler may merge, if it unrolls the loop around them.
struct MergeableLine {
  int line, helper_line;
  std::string array;
  int loads;                 // that become one: 2 or 4
  double share;              // of the loads of the line that are like that
  double wavefronts;         // of such loads, as written
  double wavefronts_merged;  // of the one
};

// All lanes are aligned alike, and the warp loads the neighbouring words between the same barriers.
std::vector<MergeableLine> mergeable_lines(const Counts& counts);

}  // namespace model
