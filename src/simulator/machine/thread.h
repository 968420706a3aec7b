// A thread of a block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/cuda/collectives.h"
#include "simulator/cuda/vector_types.h"
#include "simulator/machine/async_copies.h"
#include "simulator/machine/collectives.h"
#include "simulator/machine/copy_engine.h"
#include "simulator/machine/tensor_cores.h"

namespace machine {

enum class State {
  kReady,
  kAtBarrier,
  kInCollective,
  kWaitsForRoom,
  kAtPhase,      // it waits for a phase of a barrier
  kInWarpgroup,  // it waits for the other threads of its warpgroup
  kYields,       // it lets others run, because it seems to wait for one of them
  kInStep,       // it goes on when the other lanes of its warp have paused, too
  kFaulty,
  kAstray,
  kDone
};

// What a thread that is in kAtPhase or kInWarpgroup waits for.
struct AsyncWait {
  BlockBarrier* barrier;
  unsigned parity;
  enum class Together { wgmma, registers } together;
  int value;  // groups in flight, or the number of registers
  const void* place;
};

struct BulkStore {
  TensorMap map;
  int x, y;
  const char* shared;
};

// The stores of the copy engine that one thread has started. They read shared memory, and write the
// matrix, when they are waited for.
struct BulkStores {
  struct Read {
    BulkStore store;
    std::vector<char> rows;
  };
  AsyncGroups<BulkStore> unread;
  AsyncGroups<Read> unwritten;
  std::uint64_t read = 0;       // in all
  const void* place = nullptr;  // of the last

  bool is_idle() const { return place == nullptr && unread.is_idle(); }
};

// A block has up to 1024 of them, so what every switch needs is in one line of the cache.
struct alignas(64) Thread {
  static constexpr int kNoFiber = -1;
  State state = State::kDone;
  int fiber = kNoFiber;  // that runs it, among the worker's
  uint3 index{};
  bool vote = false;  // at the block's barrier
  Collective collective{};
  std::uint64_t received = 0;
  bool received_nothing = false;    // the lane that it reads does not take part
  simt::Gathered gathered{};        // by kGather
  const void* last_read = nullptr;  // by an atomic or volatile access, and how many times in a row
  int times_read = 0;
  AsyncCopies copies;
  AsyncWait wait{};
  bool may_give_up = false;  // waiting for a phase, if nobody can continue otherwise
  int times_given_up = 0;    // since a thread of the block got what it waited for
  // Of the inline PTX that the thread runs, and the place of its running instruction; null if none.
  std::vector<char> scratch;
  const void* place_in_ptx = nullptr;
  bool carry = false;  // of its add.cc
  WgmmaOfThread wgmma;
  BulkStores stores;
};

// Completes the work that a waiting warpgroup has issued. Returns the error.
std::optional<WrongWgmma> complete_wgmma(
    std::span<Thread> warpgroup, int groups_in_flight, bool checks);

}  // namespace machine
