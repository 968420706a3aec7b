// What the copy engine does for one block, and the barriers that tell its threads about it. A copy
// to shared memory arrives when it is last possible: when a thread waits for a phase of its barrier
// that lacks nothing else, or arrives for the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "machine/async_copies.h"
#include "machine/mbarrier.h"
#include "machine/tensor_map.h"

namespace machine {

// An arrival at a barrier that comes when the first `issued` cp.async copies of a thread have.
struct ArrivalOfCopies {
  AsyncCopies* copies;
  std::uint64_t issued;
};

struct BulkLoad {
  TensorMap map;
  int x, y;
  char* shared;
};

// A barrier of a block, in shared memory or, if its id is not negative, named.
struct BlockBarrier {
  Mbarrier state;
  std::uint32_t number;  // in the block, from 0
  char* shared;          // null: it is named, or was invalidated
  int id = -1;
  std::deque<BulkLoad> on_the_way = {};
  std::vector<ArrivalOfCopies> arrivals_on_the_way = {};
  std::uint32_t copies = 0;  // that have arrived

  // If the phase in progress lacks only copies, those that are on the way arrive.
  void receive_copies();
  // Whether a thread that waits for that parity may continue, once these copies have arrived.
  bool may_pass(unsigned parity);
};

class AsyncProxy {
 public:
  void begin_block() { barriers_.clear(); }

  // The barrier at this address; null if none was initialized there.
  BlockBarrier* find(const void* shared);
  BlockBarrier& add(void* shared, unsigned arrivals);
  // That named barrier: new, if no thread of the block used it.
  BlockBarrier& named(int id, unsigned arrivals);
  // Whether any barrier lies in these bytes of shared memory.
  const BlockBarrier* in(const void* shared, std::size_t bytes) const;

 private:
  std::deque<BlockBarrier> barriers_;  // never move
};

// "1 of 2 arrivals is missing, and 4096 bytes of copies are missing"
std::string missing_in(const Mbarrier& barrier);

}  // namespace machine
