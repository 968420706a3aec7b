// The state of an mbarrier: PTX ISA 9.0, "Parallel synchronization and communication: mbarrier".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/cuda/tensor_map.h"
#include "simulator/machine/async_copies.h"

namespace machine {

class Mbarrier {
 public:
  static constexpr unsigned kMostArrivals = (1u << 20) - 1;
  static constexpr std::int64_t kMostBytes = (1 << 20) - 1;

  explicit Mbarrier(unsigned arrivals) : arrivals_(arrivals), missing_(arrivals) {}

  // An arrival of the phase must be missing (require_missing_arrival).
  void arrive() {
    --missing_;
    complete_phase();
  }
  // One more arrival, in this phase only.
  void expect_arrival() { ++missing_; }
  // The phase also waits for that many bytes, or has received them. Returns false, and does
  // nothing, if the sum is more than an mbarrier can hold.
  bool expect(std::int64_t bytes) {
    if (bytes_ + bytes > kMostBytes || bytes_ + bytes < -kMostBytes) return false;
    bytes_ += bytes;
    return true;
  }
  bool receive(std::int64_t bytes) {
    if (!expect(-bytes)) return false;
    complete_phase();
    return true;
  }

  std::uint64_t phase() const { return phase_; }  // the one in progress, from 0
  // Whether the last phase with that parity is complete.
  bool is_complete(unsigned parity) const { return phase_ % 2 != parity % 2; }
  unsigned arrivals() const { return arrivals_; }
  unsigned missing_arrivals() const { return missing_; }
  std::int64_t missing_bytes() const { return bytes_; }  // below 0: received before announced

 private:
  void complete_phase() {
    if (missing_ != 0 || bytes_ != 0) return;
    ++phase_;
    missing_ = arrivals_;
  }

  unsigned arrivals_, missing_;
  std::int64_t bytes_ = 0;
  std::uint64_t phase_ = 0;
};

// Tensor maps on the CPU: what tensor_map_2d (cuda/tensor_map.h) writes into one, and the boxes
// that the copy engine moves.

struct TensorMap {
  std::uint64_t mark;  // distinguishes a tensor map from other bytes
  char* matrix;
  std::uint64_t rows, columns, pitch_bytes;
  TensorBox box;
  model::Swizzle swizzle;
  TensorElement element;

  int element_bytes() const {
    return element == TensorElement::bfloat16 || element == TensorElement::float16 ? 2 : 4;
  }
  int row_bytes() const { return box.columns * element_bytes(); }
  std::size_t box_bytes() const { return static_cast<std::size_t>(box.rows) * row_bytes(); }
};

// Nothing if these bytes are not from tensor_map_2d.
std::optional<TensorMap> contents_of(const CUtensorMap& map);

// The part of a box that is inside of the matrix.
struct PartOfMatrix {
  char* first;  // its first element
  int rows, row_bytes;
  std::uint64_t pitch_bytes;
  int bytes_before, bytes_after;  // of each of these rows: outside, to the left and to the right
};
PartOfMatrix inside(const TensorMap& map, int x, int y);

// The box whose first element is in column x, row y, as it lies in shared memory from the shared
// address `at` on, which decides the swizzle.
void load_box(const TensorMap& map, int x, int y, std::uint32_t at, char* shared);
// The rows of a box in shared memory, one after the other; and those rows, into the matrix.
std::vector<char> read_box(const TensorMap& map, std::uint32_t at, const char* shared);
void store_box(const TensorMap& map, int x, int y, std::span<const char> rows);

// The copy engine of one block, and the barriers that its copies complete. A copy to shared memory
// arrives as late as possible: when a thread waits for a phase of its barrier that lacks nothing
// else, or arrives for the next one.

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

  // If the phase in progress lacks only copies, those that are in flight arrive.
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

// A thread's actions at the barriers of its block: those in shared memory (mbarrier) and the named
// ones. `place` is a return address in the kernel, for messages. A barrier is given by its address.

// Its memory may be used for other things.
void invalidate_mbarrier(void* barrier, const void* place);
// Returns the phase in which it arrived.
std::uint64_t arrive_at_mbarrier(void* barrier, unsigned count, const void* place);
// The same when the cp.async copies that this thread has issued so far have arrived. The phase
// waits for one more arrival if it `is_additional`.
void arrive_when_copied(void* barrier, bool is_additional, const void* place);
// The phase also waits for that many bytes of copies.
void expect_at_mbarrier(void* barrier, unsigned bytes, const void* place);
// Whether the phase with that parity is complete. If it is not, other threads run until it is, or
// until none can.
bool wait_for_mbarrier(void* barrier, unsigned parity, const void* place);
unsigned checked_parity(unsigned parity, const void* place);

// Barrier `id` for `threads` threads.
void sync_named_barrier(int id, int threads, const void* place);
void arrive_at_named_barrier(int id, int threads, const void* place);

// A thread's commands to the copy engine. `place` is a return address in the kernel, for messages.

inline constexpr int kMostDimensions = 5;  // of a tensor map

// Copies of the box that begins at these coordinates, the column first.
void load_box_async(
    void* shared, const CUtensorMap* map, std::span<const int> at, void* barrier,
    const void* place);
void store_box_async(
    const void* shared, const CUtensorMap* map, std::span<const int> at, const void* place);
// Copies of contiguous bytes.
void load_bytes_async(
    void* shared, const void* global, std::uint32_t bytes, void* barrier, const void* place);
void store_bytes_async(void* global, const void* shared, std::uint32_t bytes, const void* place);

struct Thread;

// Stores that were not waited for are made now. It is a hazard if one of them has not read shared
// memory, which the block gives back.
void end_bulk_stores(Thread& thread);

}  // namespace machine
