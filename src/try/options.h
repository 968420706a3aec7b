// The flags of make try, in addition to those of gemm_steps that it accepts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flags/flags.h"
#include "lab/run.h"
#include "model/gpus.h"

namespace attempt {

extern const char* const kUsage;  // the text for --help

struct Options {
  flags::Flags flags;
  double limit_s = 0;  // for sgemm, or for main
  bool name_threads = false;
  std::optional<int> registers;  // per thread, from --registers
  std::string show;              // the page to write; empty: print tables
  std::vector<int> kernels;      // the rows to print, from --kernels; empty: all
  // For a whole program:
  int launches = 1;                    // of each kernel that are traced, from --launches
  bool keep_going = false;             // after a kernel's fatal hazard
  std::string file;                    // its path, from --file
  std::vector<std::string> arguments;  // behind --
};

// Throws a Refusal.
Options parse_options(int argc, char** argv);

// What nvcc made of a user's file, if make has an nvcc (try.sh).

// The path of a file that make leaves beside this program: "build/try/yours.registers" for
// ".registers".
std::string beside_the_program(const std::string& ending);

// The architecture that nvcc is to compile for, so that the code is that of this GPU: "86", "90a".
std::string architecture_of(const model::Gpu& gpu);

// Why nvcc did not compile the file, as a sentence; empty if it did, or if there is no nvcc.
std::string why_not_compiled();

// The registers per thread of `kernel` (compared without spaces) on a GPU of that compute
// capability, or for the nearest older architecture that was compiled. They are read from the file
// that make leaves beside the program, "<program>.registers", in the format of
// src/model/ptxas_registers.awk. Nothing if there is no such file, or it does not contain the
// kernel.
std::optional<int> compiled_registers(const std::string& kernel, int compute_capability);

// Finds the kernel (compared without spaces) in the disassembly that make leaves beside the
// program, "PROGRAM.sm_86.sass". Requires the lines of `measurement`.
lab::SharedLoads shared_loads_of(
    const lab::Measurement& measurement, const std::string& kernel, const model::Gpu& gpu);

}  // namespace attempt
