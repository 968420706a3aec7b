// A kernel's loads from shared memory as they were compiled: the compiler merges loads of
// neighbouring words, and leaves out those whose value is already in a register.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/counts.h"
#include "model/sass.h"

namespace model {

// The loads of one line, or of several lines that the compilers book differently.
struct CompiledLine {
  int line = 0, helper_line = 0;    // as in LineCounts; the first of them
  std::vector<std::string> arrays;  // without repetition
  std::int64_t requests = 0;        // as written
  std::int64_t wavefronts = 0;
  int by_bytes[5] = {};  // instructions of 1, 2, 4, 8 and 16 bytes per lane in the compiled code

  // As compiled. Nothing if that cannot be told.
  std::optional<std::int64_t> compiled_requests, compiled_wavefronts;
};

struct CompiledLoads {
  std::vector<CompiledLine> lines;

  // Of all lines, as compiled; nothing if that cannot be told for one of them.
  std::optional<std::int64_t> requests() const;
  std::optional<std::int64_t> wavefronts() const;
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
  double wavefronts;         // of such loads, as written
  double wavefronts_merged;  // of the one
};

// All lanes are aligned alike, and the warp loads the neighbouring words between the same barriers.
std::vector<MergeableLine> mergeable_lines(const Counts& counts);

}  // namespace model
