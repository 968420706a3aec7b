// Finds forbidden uses of shared data by the threads of a block. It follows the order in which the
// warps ran, which is one of the orders that a GPU may choose.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/warp_access.h"
#include "simulator/machine/async_copies.h"
#include "simulator/machine/memory.h"
#include "simulator/trace/hooks.h"
#include "simulator/trace/thread_order.h"
#include "simulator/trace/warp_log.h"

namespace trace {

// Decodes what the compiler's check of array bounds (-fsanitize=bounds-strict) reports.

// An array, and its dimension that an index is outside of.
struct IndexedArray {
  std::string name;  // in the source, or its type without the source
  std::int64_t extent;
};

// `data` is the first argument of __ubsan_handle_out_of_bounds.
IndexedArray array_indexed(const void* data);

// Checks whether the threads of a block may meet at the barriers where they do.
//
// CUDA C++ programming guide, independent thread scheduling: since Volta __syncthreads() is
// "enforced per thread and thus will not succeed until reached by all non-exited threads in the
// block". So a barrier does not wait for threads that have left. It is allowed in conditional code
// only if the condition "evaluates identically across the entire thread block", so warps that wait
// at different barriers are undefined, too, though today's GPUs let them pass: the block goes on.
// (PTX defines bar.sync by its number, so two of those in one function are one barrier here.)

class BarrierWatch {
 public:
  explicit BarrierWatch(model::WarpGeometry geometry) : geometry_(geometry) {}
  void begin_block(std::int64_t block, int threads);

  // The findings about a barrier that all threads have reached, except those that have `left`: one
  // that ends the block, or the others once per block.
  std::vector<model::Hazard> barrier(
      std::span<const bool> left, const WarpLog& log, const CallPaths& paths);

 private:
  const model::WarpGeometry geometry_;
  std::int64_t block_ = 0;
  std::uint32_t count_ = 0;  // number of barriers so far
  // Per thread that has left: the number of barriers it reached.
  std::vector<std::optional<std::uint32_t>> left_;
  bool said_several_ = false, said_left_ = false;
};

// The last accesses to each byte of an array that a later access may race with.

enum class How : std::uint64_t { plain, atomic, is_volatile };

// The lanes of one warp that made the same access at the same moment. A lane's second access at
// that moment, from another site, races with nothing that its first does not race with.
struct Together {
  std::uint64_t key = 0;  // moment, warp, How
  std::uint32_t lanes = 0, site = 0;

  static constexpr int kHowBits = 2, kWarpBits = 10;
  static std::uint64_t key_of(ThreadOrder::Moment moment, int warp, How how) {
    return (moment << kWarpBits | std::uint64_t(warp)) << kHowBits |
           static_cast<std::uint64_t>(how);
  }
  ThreadOrder::Moment moment() const { return key >> (kHowBits + kWarpBits); }
  int warp() const { return static_cast<int>(key >> kHowBits & ((1u << kWarpBits) - 1)); }
  How how() const { return static_cast<How>(key & 3u); }
  // Adds the lanes of another, or returns false if they are to be kept apart.
  bool takes(const Together& more) {
    if (key != more.key || (site != more.site && (lanes & more.lanes) == 0)) return false;
    lanes |= more.lanes;
    return true;
  }
};

// Four bytes, or one byte if the word was accessed in parts. `more` is used only for a third group
// of `loads` or for atomics.
struct Cell {
  std::uint64_t stored = 0;  // moment and thread of the last plain store, or moment and agent
  std::uint32_t store_site = 0;
  std::uint32_t initialized_in = 0;  // serial number of the block
  std::array<Together, 2> loads{};
  std::uint32_t pending_in = 0;         // serial number of the block, while a cp.async is in flight
  std::uint32_t more = 0, more_in = 0;  // index in WatchedCells::more(), valid in that block
  std::uint32_t split = 0, split_in = 0;  // index of the bytes' cells, valid in that block
  // Of the last plain or volatile store: what it stored, its request, and if several lanes stored
  // that there by one instruction, these lanes.
  std::uint32_t value = 0, request = 0, lanes = 0;

  // For a word that was split: whether any of its bytes is initialized, because the padding of a
  // struct is never stored.
  bool is_initialized(std::uint32_t serial) const { return initialized_in == serial; }

  static constexpr int kThreadBits = 24;  // a block may have used many barriers, which are agents
  static constexpr int kFirstAgent = 1 << 10;  // a block has no more threads
  ThreadOrder::Moment store_moment() const { return stored >> kThreadBits; }
  int store_thread() const { return static_cast<int>(stored & ((1u << kThreadBits) - 1)); }
  bool is_stored_by_agent() const { return store_thread() >= kFirstAgent; }
};

// The rare data that do not fit into a cell.
struct MoreOfCell {
  std::vector<Together> loads, atomics;
  bool is_flag = false;  // several threads stored one value there, in no order
  // The last read by each agent (src/simulator/trace/thread_order.h) since the last store.
  struct AgentRead {
    AgentAction by;
    std::uint32_t site;
  };
  std::vector<AgentRead> agent_reads;
};

// The cells of all arrays, for one block at a time. Cells are created when the block first touches
// their part of an array, because a block touches little of global memory.
class WatchedCells {
 public:
  explicit WatchedCells(const std::vector<machine::KernelArray>& arrays);
  void begin_block();
  std::uint32_t serial() const { return serial_; }

  // Calls visit(cell, byte, word) for each cell of these bytes; `word` is the cell itself, or the
  // cell that was split.
  template <class Visit>
  void for_each(std::size_t array, std::uint64_t byte, int bytes, Visit visit) {
    const std::uint64_t end = std::min<std::uint64_t>(byte + bytes, arrays_[array].bytes);
    while (byte < end) {
      Cell& word = cell_of(arrays_[array], byte / 4);
      const bool whole = byte % 4 == 0 && end - byte >= 4;
      if (whole && word.split_in != serial_) {
        visit(word, byte, word);
        byte += 4;
      } else {
        if (word.split_in != serial_) split(word);
        std::array<Cell, 4>& parts = split_[word.split];
        const std::uint64_t word_end = std::min(end, byte / 4 * 4 + 4);
        for (; byte < word_end; ++byte) visit(parts[byte % 4], byte, word);
      }
    }
  }

  const Cell& at(std::size_t array, std::uint64_t byte) {
    const Cell& word = cell_of(arrays_[array], byte / 4);
    return word.split_in == serial_ ? split_[word.split][byte % 4] : word;
  }

  // more() finds the part that does not fit into a cell; make_more() creates it.
  const MoreOfCell* more(const Cell& cell) const {
    return cell.more_in == serial_ ? &more_[cell.more] : nullptr;
  }
  MoreOfCell& make_more(Cell& cell);

 private:
  static constexpr std::size_t kPageWords = 64;
  using Page = std::array<Cell, kPageWords>;
  struct Array {
    std::vector<Page*> pages;
    std::size_t bytes = 0;
    bool stays = false;  // its cells are kept from block to block
  };

  Cell& cell_of(Array& array, std::uint64_t word) {
    Page*& page = array.pages[word / kPageWords];
    if (page == nullptr) page = new_page(array, page);
    return (*page)[word % kPageWords];
  }
  Page* new_page(const Array& array, Page*& place);
  void split(Cell& word);

  std::vector<Array> arrays_;
  std::deque<Page> pages_;  // all pages
  std::vector<Page*> free_;
  std::vector<Page**> in_use_;  // used by this block
  std::deque<std::array<Cell, 4>> split_;
  std::deque<MoreOfCell> more_;
  std::uint32_t serial_ = 0;
};

// Watches one block at a time, byte by byte.
class HazardWatch {
 public:
  // Who makes an access: its thread, and the caller's number for its site.
  struct Actor {
    int thread;
    std::uint32_t site;
  };
  struct Access {
    std::size_t array;
    std::uint64_t byte;  // from the start of the array
    int bytes;
    Actor actor;
  };
  struct Found {
    model::HazardKind kind;
    Actor first, second;  // second.site == kNone if there is only one
    std::size_t array;
    std::uint64_t byte;  // from the start of the array
    std::int64_t block;
    bool of_warps = false;  // of different warps, at least once
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Watches shared memory, from which a block may load only what it stored there, and what is to be
  // watched of global memory. `arrays` must outlive this object.
  HazardWatch(model::WarpGeometry geometry, const std::vector<machine::KernelArray>& arrays)
      : geometry_(geometry), arrays_(arrays), order_(geometry), cells_(arrays) {}

  void begin_block(std::int64_t block, int threads);
  void load(const Access& access, How how = How::plain);
  // The lanes of one request follow.
  void begin_request() { ++request_; }
  void store(const Access& access, How how = How::plain, std::uint64_t value = kNoValue);
  // A cp.async, at its issue.
  void copy(const Access& access);
  // The load of its source, after copy().
  void copy_from(const Access& access);
  // The same for a copy by an agent.
  void agent_copy_from(const Access& access, AgentAction by);
  // Loads by copies that are complete now, and not taken yet, if other blocks may wait for them.
  std::vector<Access> take_arrived() { return std::exchange(arrived_, {}); }
  // The load of an atomic; its store follows.
  void update(const Access& access);
  // A cp.async will read that many bytes, which are in flight until the thread waits for them.
  void will_copy(int thread, int bytes);
  std::int64_t bytes_in_flight(int warp) const { return bytes_in_flight_[warp]; }
  void commit(int thread);
  void wait(int thread, std::uint64_t groups_in_flight);
  // Of the threads' accesses: what else orders them is told to it, except barriers of the block.
  ThreadOrder& order() { return order_; }
  const ThreadOrder& order() const { return order_; }
  void barrier();
  // Barriers in shared memory: the initialization is a store. Uses of the barrier must come after
  // it, and uses by the copy engine after a fence, too.
  void use_barrier(const Access& access, bool by_copies);
  // The thread arrives when its copies so far are complete; they are once `phase` of the barrier
  // is.
  void arrive_copied(int thread, std::uint32_t barrier, std::uint64_t phase);
  void completed(std::uint32_t barrier, std::uint64_t phase);
  // A store or load by an agent (trace/thread_order.h) that a thread started.
  void agent_store(const Access& access, AgentAction by);
  void agent_load(const Access& access, AgentAction by);
  void end_block();
  void note_misaligned(const Access& access);

  // The first hazard for each kind, array and pair of sites.
  const std::vector<Found>& found() const { return found_; }
  // Whether the same two places also race.
  bool race_at_places_of(const Found& found) const;

 private:
  using enum model::HazardKind;

  struct CopyUnderWay : Access {
    bool reads = false;       // its source; otherwise what it stores
    AgentAction by = {};      // or the moment of a cp.async
    int bytes_in_flight = 0;  // if not 0, nothing else is known of it
  };
  // At a barrier, when the thread's first copies have arrived.
  struct CopyArrival {
    int thread;
    std::uint64_t copies;
    ThreadOrder::Moment moment;  // of the thread
    std::uint64_t phase;         // of the barrier
  };

  // A load of memory to which no thread has stored. If another thread writes there in the same
  // epoch, it is a race instead, unless both are atomics.
  struct ReadOfNothing : Access {
    bool by_atomic;
  };

  // The one who started a copy that may still read these bytes.
  Actor reading(const Access& access) const;
  // From that moment of its thread on, the copy acts like a store by the thread.
  void arrived(const CopyUnderWay& copy, ThreadOrder::Moment moment);
  // An earlier access by another thread that must be ordered with this one but is not; kNone if
  // there is none.
  // `place`: the cell's address if locks order threads at present. Of lanes that stored together,
  // a load must come after one, a store after all.
  Actor unordered_store(
      const Cell& cell, int thread, std::uint64_t place = 0, bool after_all = false) const;
  Actor unordered_agent_load(const Cell& cell, int thread) const;
  // The kind of an unordered store: a race, or a copy that was not waited for.
  static model::HazardKind kind_of_unordered(const Cell& cell);
  // The thread that has a cp.async to these bytes in flight.
  Actor copier(const Cell& cell) const;
  Actor unfenced_store(const Cell& cell, int thread, bool of_barrier = false) const;
  Actor unordered(const Together& others, int thread, std::uint64_t place) const;
  Actor unordered_atomic(const Cell& cell, int thread, How how, std::uint64_t place = 0) const;
  Actor unordered_load(
      const Cell& cell, int thread, How how, std::uint64_t place = 0,
      bool only_plain = false) const;
  std::uintptr_t begin_of(std::size_t array) const {
    return order_.has_edges() ? arrays_[array].begin : 0;
  }
  bool may_meet(const Together& others, int thread, How how) const;
  void note_load(Cell& cell, Actor actor, How how, ThreadOrder::Moment moment);
  void forget_loads(Cell& cell, std::uint32_t site);
  void note_plain_store(Cell& cell, Actor actor);
  void report_races_with_flags();
  // Reports a hazard with another access, if it is somebody's; false: it is nobody's. If one of the
  // two accesses of a race is an atomic or volatile one that `may_be_of_a_flag`, nobody knows yet.
  bool reports(
      const Access& access, std::uint64_t byte, model::HazardKind kind, Actor other,
      bool may_be_of_a_flag = false) {
    if (other.site == kNone) return false;
    report({kind, other, access.actor, access.array, byte, block_}, may_be_of_a_flag);
    return true;
  }
  void report(Found found, bool may_be_of_a_flag = false);
  void report_race_with_flag(const Found& found);

  const model::WarpGeometry geometry_;
  const std::vector<machine::KernelArray>& arrays_;
  ThreadOrder order_;
  WatchedCells cells_;
  std::vector<machine::AsyncGroups<CopyUnderWay>> copies_;      // per thread
  std::vector<std::int64_t> bytes_in_flight_;                   // per warp
  std::map<std::uint32_t, std::vector<CopyArrival>> arrivals_;  // by barrier
  std::vector<CopyUnderWay> agent_copies_;                      // what agents read of global memory
  std::vector<bool> is_copied_from_;                            // by array, in this block
  std::set<std::uint32_t> copy_sites_;                          // where a cp.async loads its source
  std::vector<Access> arrived_;
  std::vector<ReadOfNothing> reads_of_nothing_;  // in this epoch
  // Races of a plain store and an atomic or volatile read, which are none if the element turns out
  // to be a flag.
  std::vector<Found> races_with_flags_;  // in this block
  std::vector<Found> found_;
  std::vector<int> thread_of_site_;  // the last that started an agent's action there
  std::int64_t block_ = 0;
  std::uint32_t request_ = 0;
};

}  // namespace trace
