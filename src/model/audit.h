// The result of an audit of the tracer: plain data, filled by trace/.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace model {

// What the first block of each launch really did to memory, compared with what was announced to the
// tracer.
struct Audit {
  // After this many accesses, or this time, the rest runs unaudited.
  std::int64_t most_accesses = 50'000;
  double most_s = 3600;
  int every = 1;   // one in this many warps of a block is audited, starting with the first
  int blocks = 0;  // the number that were audited
  std::int64_t accesses = 0;  // the number compared with announcements
  bool whole = true;          // all threads finished before the limit was reached

  // An access that was not announced, or an announcement without an access.
  struct Surprise {
    // In the program's code, the outermost call first, as in LineCounts; the rest is 0.
    std::array<std::uint32_t, 8> places;
    std::int64_t thread;  // of the block
    std::uint64_t address;
    bool stores, announced;
    int line = 0;  // as in LineCounts
  };
  std::vector<Surprise> surprises;  // the first for each place and kind

  bool complete() const { return blocks > 0 && surprises.empty(); }
};

}  // namespace model
