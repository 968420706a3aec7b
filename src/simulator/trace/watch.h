// Finds hazards in the requests of a block's warps.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/warp_access.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/trace/hazard_watch.h"
#include "simulator/trace/hooks.h"
#include "simulator/trace/launch_watch.h"
#include "simulator/trace/source_lines.h"
#include "simulator/trace/thread_order.h"
#include "simulator/trace/warp_log.h"

namespace trace {

// By lane, as Kind's has_value() says.
using StoredValues = std::array<std::uint64_t, model::kWarpSize>;

class Watch {
 public:
  // All arguments must outlive this object. `launch` is null if hazards are not looked for.
  Watch(
      model::WarpGeometry geometry, const machine::KernelMemory& memory, Sites& sites,
      const CallPaths& paths, LaunchWatch* launch);

  bool looks() const { return launch_ != nullptr; }
  bool looks_for_unwritten() const { return looks() && launch_->memory_is_known; }
  // If true, the block must be abandoned.
  bool is_fatal() const { return fatal_; }
  // Whether the running block has a hazard that is more than a note.
  bool found_hazard() const;

  void begin_block(std::int64_t block, int threads);
  void end_block();

  // These are called while a thread runs, before its actions are folded, because they let waiting
  // blocks continue.
  void will_run(int thread) { running_ = thread; }
  void will_fence() { ++fences_; }
  // An atomic or volatile store. `narrow`: its scope is the block.
  void will_store(const void* pointer, bool narrow);
  void will_count(const void* pointer);
  // An exchange or a compare-and-swap; and that the latter found what the thread had expected.
  void will_lock(const void* pointer);
  void has_swapped(const void* pointer, int bytes);
  // The thread uses this index, a misuse that it tells now. Its functions' local variables are
  // between `stack` and `stack_top`.
  void will_use_bad_index(
      std::int64_t index, std::uintptr_t stack, std::uintptr_t stack_top,
      const LocalStores& stores);

  // The following functions do nothing if hazards are not looked for.

  // A thread of these lanes may not yet have done the last action that is folded.
  void begin_fold(int warp, std::uint32_t running);
  // `values` is null if what is stored is not known.
  void request(
      const Site& site, model::WarpAccess access, int warp, const StoredValues* values = nullptr);
  // An access without a known site.
  void stray(Token path, Token token, const model::WarpAccess& access, int warp);
  // How an atomic or volatile access, to any memory, orders threads. Called before request().
  void atomic_access(Token token, const model::WarpAccess& access, int warp);
  // The same, called after request().
  void atomic_access_made(Token token, const model::WarpAccess& access, int warp);
  // An action of these lanes of the thread's warp, of which it is the first.
  void act(int thread, std::uint32_t lanes, const machine::Action& action, Token path, Token token);
  // Fatal if threads wait for each other at different barriers.
  void barrier(std::span<const bool> left, const WarpLog& log);

  // All hazards so far, except those between blocks.
  std::vector<model::Hazard> found() const;
  // The hazards of this block that were not taken yet.
  std::vector<model::Hazard> take_new();

  // The bytes that a warp has requested by cp.async and not yet waited for, which are followed in
  // any case. A thread requests some.
  std::int64_t bytes_in_flight(int warp) const { return threads_.bytes_in_flight(warp); }
  void will_copy(int thread, int bytes) { threads_.will_copy(thread, bytes); }

  // The bytes of boxes that may be in flight as far as the thread knows: it has neither waited for
  // them nor heard from a thread that has. How the threads take turns does not matter.
  std::int64_t box_bytes_in_flight(int thread);

 private:
  struct Box {
    AgentAction copy;
    std::int64_t bytes;
  };
  // The access by `thread` to these bytes of the site's array.
  HazardWatch::Access access_of(
      const Site& site, std::uintptr_t address, std::size_t bytes, int thread) const {
    return {
        sites_.array_of(site),
        address - site.array->begin,
        static_cast<int>(bytes),
        {thread, site.number}};
  }
  // The same for the place of `token`, where an action makes such an access; none if the address is
  // in no array.
  std::optional<HazardWatch::Access> access_at(
      int thread, Token path, Token token, Kind kind, Token log2_bytes, std::uintptr_t address,
      std::size_t bytes);
  void misuse(int thread, const machine::Action& action, Token path, Token token);
  void use_barrier(int thread, std::uint32_t barrier, bool by_copies, Token path, Token token);
  void load_tile(int thread, const machine::Action& action, Token path, Token token);
  void store_tile(int thread, const machine::Action& action, Token path, Token token);
  void learn(int thread, int agent, std::uint64_t count);
  void joined_multiply(int thread);
  void follow_copies(int thread, const machine::Action& action);
  void touch_sources(int thread);
  void look_for_undefined(
      const Site& site, const model::WarpAccess& access, int warp, const StoredValues& values);
  void read_operand(int thread, const machine::Action& action, Token path, Token token);
  // `by`: a copy from the matrix.
  void part_of_matrix(
      int thread, const machine::PartOfMatrix& part, bool stores, Token path, Token token,
      AgentAction by = {});
  void touch(
      const Site& site, const model::WarpAccess& access, int warp, const StoredValues& values);
  void foreign_local(Token path, Token token, bool stores, std::uintptr_t address, int thread);
  void put_writer(const HazardWatch::Access& access);
  void add_touch(const HazardWatch::Access& access, Touch::Way way, std::uint64_t value = kNoValue);
  std::uint32_t known_by(int thread);
  void note_guess(const Site& site, int thread, std::uintptr_t address);
  void add_other(const model::Hazard& hazard);
  void acquire(int thread, std::uintptr_t address);
  bool is_global(std::uintptr_t address) const;
  bool all_come_to(const HazardWatch::Found& found) const;
  void note_who_came();
  void note_update(const Site& site, const model::WarpAccess& access, int warp);
  bool is_update(std::uint32_t site) const {
    return site < updates_.size() && updates_[site] == Update::always;
  }
  model::Remedy remedy(const HazardWatch::Found& found, bool all_come) const;
  model::Hazard hazard_of(const HazardWatch::Found& found, bool all_come) const;
  model::Hazard::Actor actor_of(HazardWatch::Actor actor) const;

  int thread_of(int warp, int lane) const { return geometry_.thread_of(warp, lane); }

  const model::WarpGeometry geometry_;
  const machine::KernelMemory& memory_;
  Sites& sites_;
  const CallPaths& paths_;
  LaunchWatch* const launch_;
  const machine::MemoryRange locals_;
  HazardWatch threads_;  // array numbers are indices into memory_.arrays
  BarrierWatch barriers_;
  AsyncAgents agents_;
  std::vector<Box> boxes_;  // of the block, that may be in flight
  std::vector<model::Hazard> others_;
  std::size_t threads_taken_ = 0, others_taken_ = 0;
  std::size_t threads_before_ = 0, others_before_ = 0;  // found in earlier blocks
  bool fatal_ = false;
  // The latest bad index, if a store beyond the end of a local array made it.
  std::optional<std::pair<std::int64_t, LocalStores::Places>> index_made_by_;
  std::int64_t block_ = -1, block_threads_ = 0;
  // By site: the threads of that block that came to it, as bits.
  struct Came {
    std::int64_t block = -1;
    std::array<std::uint64_t, machine::kMostThreadsInBlock / 64> threads{};
  };
  std::vector<Came> came_;
  std::vector<bool> all_come_;  // for each of threads_.found(), if its block has ended

  // In this block, the places of the first shuffle that gave an undefined value, if there is one.
  std::vector<std::uint32_t> undefined_;

  // By warp: its latest loads since its last barrier.
  struct LatestLoads {
    struct Load {
      std::uint32_t site;
      model::WarpAccess access;
    };
    std::vector<Load> loads;
    std::size_t next = 0;
  };
  std::vector<LatestLoads> latest_loads_;
  // By site: whether it is an access of an update such as `sum += x`, each time.
  std::vector<Update> updates_;

  // Of compare-and-swaps that found what was expected, but are not folded yet, by thread. `number`
  // counts the thread's locks, made or folded.
  struct Swap {
    std::uintptr_t address;
    int bytes;
    std::uint64_t number;
  };
  std::vector<std::deque<Swap>> swaps_;
  std::vector<std::uint64_t> locks_made_, locks_folded_;
  std::size_t swaps_to_fold_ = 0;

  // For the order of the blocks:
  int running_ = 0;
  std::uint64_t fences_ = 0, barriers_passed_ = 0;  // of the block
  // By thread: its strong stores to global memory that are not folded, as BlockOrder::release
  // numbers them, or kNone if none of its block's fences was before, or kNarrow.
  static constexpr std::uint32_t kNarrow = HazardWatch::kNone - 1;
  std::vector<std::deque<std::uint32_t>> releases_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> last_release_;  // by thread: and its state
  std::vector<BlockOrder::Acquired> acquired_;
  std::size_t acquired_before_ = 0;                                     // the last barrier
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> counts_read_;  // by thread and place
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_known_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> last_known_;  // by thread: state and number
  // By thread: the last atomic read in the last fold if it may come later; 0: none.
  std::vector<std::uintptr_t> read_last_;
  std::uint32_t will_go_on_ = 0;              // lanes of the warp that is folded
  std::vector<Touch> touches_;                // of the block
  std::vector<std::uint32_t> place_of_site_;  // numbered by LaunchTouches; kNone: not requested yet
};

}  // namespace trace
