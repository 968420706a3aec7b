// The shared-memory instructions of compiled kernels, from a disassembly with source lines.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace model {

struct SharedInstruction {
  enum class Kind { load, store, load_matrices };  // LDS, STS, LDSM
  Kind kind;
  int bytes;        // per lane; of LDSM 16
  bool predicated;  // lanes, or the whole warp, may leave it out
  int together;     // a warp executes instructions with the same number equally often
  struct Place {
    std::string file;
    int line;
  };
  std::vector<Place> places;  // outermost call first; empty if the code has no lines
};

struct SassKernel {
  std::string name;  // mangled
  std::vector<SharedInstruction> instructions;
};

// Reads the output of `nvdisasm -gi` for a cubin that was compiled with -lineinfo. `together`
// follows from the branches: of two instructions, the first is always followed by the second, the
// second always preceded by the first, and the same loops contain both.
std::vector<SassKernel> read_sass(std::istream& disassembly);

}  // namespace model
