// What an audit of the tracer came to: plain data, filled by trace/.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace model {

// What the first block of each launch really did to memory, held against what the tracer was told
// of.
struct Audit {
  std::int64_t most_accesses = 50'000;  // after so many the rest runs unaudited
  int every = 1;              // of so many warps of a block one is audited, the first to begin with
  int blocks = 0;             // that were audited
  std::int64_t accesses = 0;  // that were held against the announcements
  bool whole = true;          // they all came to their ends before there were too many

  // An access that nobody announced, or an announcement that no access followed.
  struct Surprise {
    // In the program's code, the outermost call first, as in LineCounts; the rest is 0.
    std::array<std::uint32_t, 8> places;
    std::int64_t thread;  // of the block
    std::uint64_t address;
    bool stores, announced;
    int line = 0;  // as in LineCounts
  };
  std::vector<Surprise> surprises;  // the first of each place and kind

  bool complete() const { return blocks > 0 && surprises.empty(); }
};

}  // namespace model
