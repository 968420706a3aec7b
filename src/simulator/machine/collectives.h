// Collective operations of a warp: lanes wait for each other and then exchange values.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "model/warp_access.h"
#include "simulator/machine/observer.h"

namespace machine {

struct Thread;  // machine/thread.h

// An instruction that all lanes of a warp execute together. When the last has arrived, it is called
// once with the operands of every lane, and leaves each lane's results there.
struct WarpInstruction {
  const char* name;
  void (*execute)(const std::array<void*, model::kWarpSize>& operands);
};

// What a waiting lane expects from other lanes of its warp.
enum class Exchange { kBarrier, kBallot, kShuffle, kGather, kInstruction, kActive };
struct Collective {
  Exchange kind;
  std::uint32_t mask;
  std::uint64_t value;                           // the lane's own value
  int source;                                    // the lane that it reads (kShuffle)
  const void* place;                             // (kActive)
  const WarpInstruction* instruction = nullptr;  // (kInstruction)
  void* operands = nullptr;
};

// What a lane that does not take part in a shuffle gives. Its parts of 2, 4 and 8 bytes are NaNs,
// so floats that depend on it are, too.
inline constexpr std::uint64_t kNothing = 0x7ffd7fd57fd57fd5u;
// Whether a value of that many bytes seems to depend on it: a NaN made from it, or a multiple of it
// and something small. A comparison with it is not noticed, nor a product.
bool depends_on_nothing(std::uint64_t value, int bytes);

// The running lane executes an instruction together with all other lanes of its warp.
void execute_together(const WarpInstruction& instruction, void* operands);

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
