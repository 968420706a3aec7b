// The order between the actions of a block's threads, as far as CUDA guarantees it.
//
// A moment is a number that grows with every barrier, fence and block. A thread that crosses one
// gets a new moment, so an access is identified by its thread and the thread's moment.
//
// CUDA C++ programming guide: __syncthreads() orders all threads of a block, __syncwarp(mask) "the
// threads participating in the barrier"; shuffles and votes "do not imply a memory barrier". An
// atomic alone orders nothing. But what a thread did before a fence is visible to a thread that
// reads, by an atomic or volatile access, what the first thread stored after the fence. An arrival
// at an mbarrier or a named barrier releases everything that the thread did or knows to those who
// wait for that phase.
//
// An agent is an asynchronous unit that acts for threads: the copy engine for one mbarrier, the
// tensor cores for one warpgroup. No barrier of threads orders an agent's actions, only a wait for
// them does. A thread that knows of the wait knows of the action.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/warp_access.h"

namespace trace {

// A moment of a block, from its start.
using Instant = std::uint32_t;

// For each thread of a block, its actions before an instant.
struct Fenced {
  Instant all = 0;                             // of every thread
  std::vector<std::pair<int, Instant>> later;  // of these threads more, in order
  Instant latest() const;                      // of any thread
  bool has(int thread, Instant at) const;
  void add(const Fenced& more);
};

// An action of an agent, and its moment.
struct AgentAction {
  int agent = -1;
  std::uint64_t moment = 0;
};

class ThreadOrder {
 public:
  using Moment = std::uint64_t;

  explicit ThreadOrder(model::WarpGeometry geometry) : geometry_(geometry) {}

  void begin_block(int threads);
  void barrier();
  // Some lanes of `warp` reached a __syncwarp(mask); others may have reached it before.
  void warp_barrier(int warp, std::uint32_t lanes, std::uint32_t mask);
  // Of its block's scope, or `wide`: of all blocks.
  void fence(int thread, bool wide = false);
  // A fence between the thread's accesses and those of agents; for a barrier's initialization only,
  // or for all.
  void proxy_fence(int thread, bool only_barriers);
  // An arrival; a wait that has passed is an atomic_load(). Each phase of each barrier is a place
  // of its own.
  void arrive(int thread, std::uint64_t place);
  // A new action of an agent; then `thread` learns that it is complete, and so are those before.
  Moment act();
  void learn_action(int thread, AgentAction action);
  // `updates`: it follows a load by the same atomic.
  void atomic_store(int thread, std::uint64_t place, bool updates);
  void atomic_load(int thread, std::uint64_t place);
  // An exchange or a compare-and-swap. The trace follows the lanes of a warp as if they took a lock
  // together, so it does not know which lane holds the lock when. Threads that use the same lock
  // are therefore treated as ordered.
  void lock(int thread, std::uint64_t place);

  // The moment of a thread's current actions.
  Moment now(int thread) const { return now_[thread]; }
  // Everything at earlier moments comes before anything that the block, or the warp, does now.
  Moment block_start() const { return block_start_; }
  Moment warp_start(int warp) const { return warp_start_[warp]; }
  // Whether the thread crossed a fence since the block's last barrier.
  bool has_fenced(int thread) const { return fenced_[thread] >= block_start_; }
  // Whether anything besides barriers of a whole warp or block orders threads at present.
  bool has_edges() const { return has_edges_; }

  // Whether the thread's current actions come after an atomic read of that place, and no atomic
  // store came after that.
  bool has_read(int thread, std::uint64_t place) const;

  // For other blocks, which see a block only through its fences. Moments from the block's start:
  Instant instant(int thread) const { return instant(now_[thread]); }
  // The moments before one of the block's fences that itself comes before the thread's current
  // actions; all fences count, or only wide ones.
  Fenced fenced_before(int thread, bool wide) const;
  bool has_fences() const { return has_fences_; }
  bool is_before_now(Instant at, int other, int thread) const {
    return is_before(began_ + at, other, thread);
  }
  // The number of changes of the order so far.
  std::uint64_t changes() const { return changes_; }

  // Whether `thread` knows that an agent's action is complete.
  bool knows(int thread, AgentAction action) const {
    return action.moment < began_ || known_actions_of(thread, action.agent) >= action.moment;
  }
  // Whether `other`, after what it did at `moment`, perhaps to a barrier, crossed a proxy fence
  // that comes before what `thread` does now.
  bool is_fenced(Moment moment, int other, int thread, bool of_barrier) const;

  // Whether the actions of `other` at `moment` come before the current actions of `thread`. A lock
  // orders nothing at its own place.
  bool is_before(Moment moment, int other, int thread, std::uint64_t place = 0) const {
    if (moment < block_start_ || other == thread) return true;
    const int warp = geometry_.warp_of(thread);
    if (geometry_.warp_of(other) == warp && moment < warp_start_[warp]) return true;
    return has_edges_ && (moment <= known(thread, other) || share_a_lock(other, thread, place));
  }

 private:
  using Known = std::vector<Moment>;  // per thread of the block: the last moment known
  // Threads that learn the same share it: after a barrier::wait, those of the whole block.
  using Shared = std::shared_ptr<const Known>;

  Moment known(int thread, int other) const {
    return known_[thread] == nullptr ? 0 : (*known_[thread])[other];
  }
  Moment known_actions_of(int thread, int agent) const {
    const Known& known = known_actions_[thread];
    return static_cast<std::size_t>(agent) < known.size() ? known[agent] : 0;
  }
  void join_actions(int first, std::uint32_t lanes);
  void release(int thread, std::uint64_t place, Moment own);
  bool share_a_lock(int other, int thread, std::uint64_t not_at) const;
  void join(int warp, std::uint32_t lanes);
  void learn(int thread, const Shared& more);

  Instant instant(Moment moment) const {
    return moment < began_ ? 0 : static_cast<Instant>(moment - began_);
  }

  // With its thread's knowledge at that time.
  struct Fence {
    Moment at, block_start, warp_start;
    bool wide;
    Shared known;
  };
  struct Round {  // for a __syncwarp with one mask
    std::uint32_t mask, came;
  };

  const model::WarpGeometry geometry_;
  Moment clock_ = 0, block_start_ = 0, began_ = 0;  // began_: the block's first
  bool has_edges_ = false;
  std::vector<Moment> now_, fenced_;  // by thread
  std::vector<Moment> warp_start_;
  std::vector<std::vector<Round>> rounds_;         // by warp
  std::vector<std::vector<std::uint64_t>> locks_;  // by thread
  // By place: who read it since its last atomic store, at which moment. Not before the first fence.
  std::unordered_map<std::uint64_t, std::vector<std::pair<int, Moment>>> readers_;
  std::vector<Shared> known_;  // by thread; null: barriers are enough
  // By place, since the block's last barrier.
  std::unordered_map<std::uint64_t, std::shared_ptr<Known>> released_;

  struct ProxyFence {
    Moment at;
    bool only_barriers;
  };
  std::vector<std::vector<ProxyFence>> proxy_fences_;          // by thread, in order
  std::vector<Known> known_actions_;                           // by thread, of each agent
  std::unordered_map<std::uint64_t, Known> released_actions_;  // by place
  bool has_agents_ = false;

  std::vector<std::vector<Fence>> fences_;  // by thread, in order; of earlier epochs the last
  bool has_fences_ = false;                 // in the block
  std::uint64_t changes_ = 0;
};

// The numbers and the latest actions of a block's agents.

class AsyncAgents {
 public:
  enum class Kind { copies, tensor_cores, stores };

  void begin_block() {
    numbers_.clear();
    actions_.clear();
    barriers_.clear();
    started_.clear();
  }
  // Of the copies that a barrier counts, of the tensor cores for a warpgroup, of a thread's stores.
  int number(Kind kind, std::uint32_t of) {
    return numbers_.try_emplace({kind, of}, static_cast<int>(numbers_.size())).first->second;
  }
  // The agent's actions, in order: threads count those that are complete.
  std::vector<ThreadOrder::Moment>& actions(int agent) { return actions_[agent]; }
  // A new one.
  AgentAction act(int agent, ThreadOrder& order) {
    return {agent, actions_[agent].emplace_back(order.act())};
  }
  // The number of multiplications that a warp has started; start() adds one to it afterwards.
  std::size_t start(int warp) { return started_[warp]++; }
  std::size_t started(int warp) const { return started_.at(warp); }

  // The address of each barrier, by number; 0 if it is named.
  void init(std::uint32_t barrier, std::uintptr_t address) {
    if (barriers_.size() <= barrier) barriers_.resize(barrier + 1, 0);
    barriers_[barrier] = address;
  }
  std::uintptr_t address(std::uint32_t barrier) const {
    return barrier < barriers_.size() ? barriers_[barrier] : 0;
  }
  // Places for ThreadOrder, which no address equals.
  static std::uint64_t place(std::uint32_t barrier, std::uint64_t phase) {
    return std::uint64_t{1} << 63 | std::uint64_t{barrier} << 40 | phase;
  }
  static std::uint64_t place_of_multiply(int agent, std::uint64_t number) {
    return std::uint64_t{1} << 62 | place(static_cast<std::uint32_t>(agent), number);
  }

 private:
  std::map<std::pair<Kind, std::uint32_t>, int> numbers_;
  std::map<int, std::vector<ThreadOrder::Moment>> actions_;
  std::map<int, std::size_t> started_;
  std::vector<std::uintptr_t> barriers_;
};

}  // namespace trace
