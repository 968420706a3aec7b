// Collective operations of a warp: lanes wait for each other and then exchange values.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace machine {

struct Thread;  // machine/thread.h

// What a waiting lane expects from other lanes of its warp.
enum class Exchange { kBarrier, kBallot, kShuffle, kActive };
struct Collective {
  Exchange kind;
  std::uint32_t mask;
  std::uint64_t value;  // the lane's own value
  int source;           // the lane that it reads (kShuffle)
  const void* place;    // (kActive)
};

// Releases the `waiting` lanes whose partners have arrived. Returns whether it released any. Lanes
// that are not `alive` have left the kernel. `may_be_all`: no lane can run, so lanes that ask which
// lanes are active need not wait for more.
bool release_collectives(
    std::span<Thread> lanes, std::uint32_t waiting, std::uint32_t alive, bool may_be_all);

// If no lane can be released: one that waits, and a clause that says what it waits for.
struct MissingLane {
  const Thread* waits;
  std::string what;
};
MissingLane missing_lane(std::span<const Thread> lanes, std::uint32_t alive);

}  // namespace machine
