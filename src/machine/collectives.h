// What the lanes of a warp do together: they wait for each other, and then exchange.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace machine {

struct Thread;  // machine/thread.h

// What a lane that waits for others of its warp wants of them.
enum class Exchange { kBarrier, kBallot, kShuffle, kActive };
struct Collective {
  Exchange kind;
  std::uint32_t mask;
  std::uint64_t value;  // that it gives
  int source;           // the lane that it asks (kShuffle)
  const void* place;    // (kActive)
};

// Lets those of the `waiting` lanes go on whose partners are there. Returns whether any can. Lanes
// that are not `alive` have left the kernel.
// `may_be_all`: no lane runs on its own, so those who ask who is active need not wait for more.
bool release_collectives(
    std::span<Thread> lanes, std::uint32_t waiting, std::uint32_t alive, bool may_be_all);

// Where none can: a lane that waits, and a clause that says what for.
struct MissingLane {
  const Thread* waits;
  std::string what;
};
MissingLane missing_lane(std::span<const Thread> lanes, std::uint32_t alive);

}  // namespace machine
