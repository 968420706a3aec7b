// A thread of a block.
#pragma once

#include <cstdint>

#include "cuda/vector_types.h"
#include "machine/async_copies.h"
#include "machine/collectives.h"
#include "machine/fiber.h"

namespace machine {

enum class State {
  kReady,
  kAtBarrier,
  kInCollective,
  kWaitsForRoom,
  kYields,  // it lets others run, because it seems to wait for one of them
  kFaulty,
  kAstray,
  kDone
};

struct Thread {
  Fiber fiber;
  State state = State::kDone;
  uint3 index{};
  bool vote = false;  // at the block's barrier
  Collective collective{};
  std::uint64_t received = 0;
  bool received_nothing = false;    // the lane that it reads does not take part
  const void* last_read = nullptr;  // by an atomic or volatile access, and how many times in a row
  int times_read = 0;
  AsyncCopies copies;
};

}  // namespace machine
