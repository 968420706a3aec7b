// What a kernel may not do with shared memory, and with C: found in the order in which warps run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/async_groups.h"
#include "model/counts.h"

namespace trace {

// Watches one block at a time. An epoch lasts from one barrier of the block to the next, and within
// it only __syncwarp orders two threads, if they are of one warp.
class HazardWatch {
 public:
  // An access, by the number that its site has for the caller.
  struct Actor {
    int thread;
    std::uint32_t site;
  };
  struct Found {
    model::HazardKind kind;
    Actor first, second;  // second.site == kNone where there is only one
    std::size_t array;
    std::uint64_t byte;  // from the array's begin
    std::int64_t block;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Watches shared memory of so many bytes under the caller's number; again is no harm.
  void watch(std::size_t array, std::size_t bytes);

  void begin_block(std::int64_t block, int threads);
  void load(std::size_t array, std::uint64_t byte, int bytes, Actor actor);
  void store(std::size_t array, std::uint64_t byte, int bytes, Actor actor);
  void atomic(std::size_t array, std::uint64_t byte, int bytes, Actor actor);
  void copy(std::size_t array, std::uint64_t byte, int bytes, Actor actor);  // cp.async, issued
  void commit(int thread);
  void wait(int thread, std::uint64_t groups_in_flight);
  void warp_barrier(int warp) { ++warp_epochs_[warp]; }
  void barrier();
  void end_block() { barrier(); }
  void misaligned(std::size_t array, std::uint64_t byte, Actor actor);

  // One of every kind, array and pair of sites: the first.
  const std::vector<Found>& found() const { return found_; }

 private:
  struct Side {  // who touched a word last, in the epoch
    std::uint64_t epoch = 0;
    std::uint32_t warp_epoch = 0;
    Actor actor{0, kNone};
    bool atomic = false;
  };
  struct Word {
    Side write, read, other_read;      // the reads of two different threads
    std::uint64_t initialized_in = 0;  // serial number of the block
    std::uint64_t pending_in = 0;      // the same, while a cp.async is on its way
  };
  struct Copy {
    std::size_t array;
    std::uint64_t byte;
    int bytes;
    Actor actor;
  };

  template <class Visit>
  void for_each_word(std::size_t array, std::uint64_t byte, int bytes, Visit visit);
  bool unordered(const Side& side, int thread) const;
  void write(Word& word, std::size_t array, std::uint64_t byte, Actor actor, bool atomic = false);
  void report(
      model::HazardKind kind, Actor first, Actor second, std::size_t array, std::uint64_t byte);

  std::vector<std::vector<Word>> arrays_;  // empty until the array is first touched
  std::vector<std::size_t> array_words_;
  std::vector<machine::AsyncGroups<Copy>> copies_;  // of each thread
  std::vector<std::uint32_t> warp_epochs_;
  std::vector<Found> reads_of_nothing_;  // in this epoch: a race if somebody writes there in it
  std::vector<Found> found_;
  std::int64_t block_ = 0;
  std::uint64_t serial_ = 0, epoch_ = 0;
};

}  // namespace trace
