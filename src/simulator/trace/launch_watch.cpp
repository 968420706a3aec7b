#include "simulator/trace/launch_watch.h"

#include <omp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "simulator/machine/worker.h"
#include "simulator/trace/audit.h"
#include "simulator/trace/trace.h"
#include "simulator/trace/warp_tracer.h"

namespace trace {

std::uint32_t BlockOrder::release(
    std::int64_t block, int thread, std::uint64_t state, std::uint64_t address) {
  used_ = true;
  const std::lock_guard guard(lock_);
  const auto number = static_cast<std::uint32_t>(places_.size());
  const auto [entry, is_new] = numbers_.try_emplace(address, number);
  if (is_new) places_.emplace_back();
  Released& place = places_[entry->second];
  auto& [last_state, last] =
      place.last.try_emplace({block, thread}, ~std::uint64_t{0}, 0).first->second;
  if (last_state == state) return last;
  last_state = state;
  last = static_cast<std::uint32_t>(releases_.size());
  releases_.push_back({block, thread, address});
  place.of_block[block].push_back(static_cast<std::uint32_t>(place.releases.size()));
  place.releases.push_back(last);
  return last;
}

void BlockOrder::add(std::uint32_t release, Instant at, const Fenced& wide, const Fenced& any) {
  const std::lock_guard guard(lock_);
  Release& known = releases_[release];
  known.at = std::max(known.at, at);
  known.wide.add(wide);
  known.any.add(any);
}

BlockOrder::Read BlockOrder::read(std::uint64_t address) {
  if (!is_used()) return {};
  const std::lock_guard guard(lock_);
  const auto number = numbers_.find(address);
  if (number == numbers_.end()) return {};
  return {number->second, static_cast<std::uint32_t>(places_[number->second].releases.size())};
}

void BlockOrder::end_block(
    std::int64_t block, std::vector<Acquired> acquired,
    std::vector<std::vector<std::uint32_t>> known) {
  const std::lock_guard guard(lock_);
  blocks_[block] = {std::move(acquired), std::move(known)};
}

std::vector<BlockOrder::Read> BlockOrder::reads_of(
    const Access& access, Strictness strictness) const {
  std::vector<Read> reads;
  const auto block = blocks_.find(access.block);
  if (block == blocks_.end()) return reads;
  const auto& [acquired, known] = block->second;
  if (strictness == Strictness::any_thread) {
    for (const Acquired& some : acquired) {
      if (some.at <= access.at) reads.push_back(some.read);
    }
  } else if (access.knows > 0) {
    for (const std::uint32_t number : known[access.knows - 1]) {
      reads.push_back(acquired[number].read);
    }
  }
  return reads;
}

bool BlockOrder::is_before(
    const Access& first, int thread, const Access& second, Strictness strictness) const {
  const auto fenced = [&](const Release& release) -> const Fenced& {
    return strictness == Strictness::any_scope ? release.any : release.wide;
  };
  const auto has_first = [&](const Release& release) {
    if (release.block != first.block) return false;
    if (release.address == first.stored_to && release.thread == thread && first.at <= release.at) {
      return true;
    }
    const Fenced& before = fenced(release);
    return thread == kAnyThread || strictness == Strictness::any_thread
               ? first.at < before.latest()
               : before.has(thread, first.at);
  };
  std::vector<Read> reads = reads_of(second, strictness);
  for (const Read& read : reads) {
    const Released& place = places_[read.place];
    const auto releases = place.of_block.find(first.block);
    if (releases == place.of_block.end()) continue;
    for (const std::uint32_t position : releases->second) {
      if (position < read.count && has_first(releases_[place.releases[position]])) return true;
    }
  }
  // Through other blocks. A read of more stores to a place includes a read of fewer.
  std::unordered_map<std::uint32_t, std::uint32_t> seen;  // by place
  while (!reads.empty()) {
    const Read read = reads.back();
    reads.pop_back();
    for (std::uint32_t& next = seen[read.place]; next < read.count; ++next) {
      const Release& release = releases_[places_[read.place].releases[next]];
      if (has_first(release)) return true;
      const auto other = blocks_.find(release.block);
      if (other == blocks_.end()) continue;
      for (const Acquired& some : other->second.acquired) {
        if (fenced(release).has(some.thread, some.at)) reads.push_back(some.read);
      }
    }
  }
  return false;
}

namespace {

using Way = Touch::Way;

bool stores(const Touch& touch) {
  return touch.way >= Way::store;
}

bool is_atomic(const Touch& touch) {
  return touch.way == Way::atomic_load || touch.way == Way::atomic_store;
}

bool is_read_only_and_stored(const Touch& a, const Touch& b) {
  return (a.way == Way::read_only_load && stores(b)) || (b.way == Way::read_only_load && stores(a));
}

BlockOrder::Access access_of(const Touch& touch, std::uint64_t address) {
  return {touch.block, touch.at, touch.knows, touch.way == Way::atomic_store ? address : 0};
}

// The first address of both touches whose order is not determined; none if all are ordered.
std::optional<std::uint64_t> unordered_byte(
    const Touch& a, const Touch& b, const BlockOrder& order, Strictness strictness) {
  const std::uint64_t end = std::min(a.end, b.end);
  std::uint64_t byte = std::max(a.begin, b.begin);
  for (; byte < end && order.is_used(); byte = std::min(a.next_part(byte), b.next_part(byte))) {
    const BlockOrder::Access of_a = access_of(a, byte), of_b = access_of(b, byte);
    if (!order.is_before(of_a, a.thread_at(byte), of_b, strictness) &&
        !order.is_before(of_b, b.thread_at(byte), of_a, strictness)) {
      break;
    }
  }
  return byte < end ? std::optional(byte) : std::nullopt;
}

bool store_the_same(const Touch& a, const Touch& b) {
  return a.way == Way::store && b.way == Way::store && a.value == b.value && a.value != kNoValue;
}

// Whether a flag is set by one and read by the other.
bool are_of_a_flag(const Touch& a, const Touch& b) {
  return (a.is_flag && b.way == Way::atomic_load) || (b.is_flag && a.way == Way::atomic_load);
}

// The first address that the two must not both touch.
std::optional<std::uint64_t> conflict(const Touch& a, const Touch& b, const BlockOrder& order) {
  if (!stores(a) && !stores(b)) return std::nullopt;
  if (is_read_only_and_stored(a, b)) return std::max(a.begin, b.begin);
  if (a.block == b.block || (is_atomic(a) && is_atomic(b)) || are_of_a_flag(a, b)) {
    return std::nullopt;
  }
  return unordered_byte(a, b, order, Strictness::all);
}

// The remedy that is missing between two blocks.
model::Remedy remedy(const Touch& a, const Touch& b, const BlockOrder& order) {
  using model::Remedy;
  if (a.way == Way::narrow_store || b.way == Way::narrow_store) return Remedy::atomic_of_the_gpu;
  if (!unordered_byte(a, b, order, Strictness::any_scope)) return Remedy::fence_of_the_gpu;
  if (!unordered_byte(a, b, order, Strictness::any_thread)) return Remedy::barrier_at_fence;
  if (is_atomic(a) || is_atomic(b)) return Remedy::both_atomic;
  if (stores(a) && stores(b) && a.place == b.place) return Remedy::one_owner;
  return machine::waits_for_all() ? Remedy::grid_barrier : Remedy::fence_and_atomic;
}

model::Hazard::Actor actor(const Touch& touch, const std::vector<std::uint32_t>& places) {
  return {-1, 0, stores(touch), places};
}

// The touches of one place and way that reach furthest. If nothing orders blocks, those of two
// different blocks are enough.
class Reaching {
 public:
  explicit Reaching(bool keeps_all) : keeps_all_(keeps_all) {}
  const std::vector<Touch>& touches() const { return touches_; }

  void drop_before(std::uint64_t byte) {
    std::erase_if(touches_, [&](const Touch& touch) { return touch.end <= byte; });
  }
  void add(const Touch& touch) {
    const auto same = std::find_if(touches_.begin(), touches_.end(), [&](const Touch& known) {
      return known.block == touch.block;
    });
    if (keeps_all_ || (same == touches_.end() && touches_.size() < 2)) {
      touches_.push_back(touch);
    } else if (same != touches_.end()) {
      if (touch.end > same->end) *same = touch;
    } else {
      Touch& shorter = touches_[touches_[1].end < touches_[0].end];
      if (touch.end > shorter.end) shorter = touch;
    }
  }

 private:
  bool keeps_all_;
  std::vector<Touch> touches_;
};

}  // namespace

bool Touch::extend(const Touch& more) {
  const bool overlaps = more.begin < end;
  if (!extend_range(more)) return false;
  is_flag |= more.is_flag || (overlaps && store_the_same(*this, more));
  if (value != more.value) value = kNoValue;
  return true;
}

bool Touch::extend_range(const Touch& more) {
  if (thread == BlockOrder::kAnyThread) {
    if (more.begin < begin || more.begin > end) return false;
    end = std::max(end, more.end);
    return true;
  }
  if (more.thread == thread && more.pitch == pitch && more.begin >= begin && more.end <= end) {
    return pitch == 0 || (more.begin == begin && more.end == end);
  }
  if (more.begin != end || more.pitch != 0) return false;
  if (pitch == 0 && more.thread == thread) {
    end = more.end;
    return true;
  }
  const std::uint64_t width = pitch == 0 ? end - begin : pitch;
  if (more.end - more.begin != width || more.thread != thread_at(end - 1) + 1) return false;
  pitch = static_cast<std::uint32_t>(width);
  end = more.end;
  return true;
}

void compact(std::vector<Touch>& touches) {
  const auto what = [](const Touch& t) {
    return std::tie(t.array, t.block, t.at, t.knows, t.way, t.place);
  };
  std::sort(touches.begin(), touches.end(), [&](const Touch& a, const Touch& b) {
    return std::tuple_cat(what(a), std::tie(a.begin, a.end)) <
           std::tuple_cat(what(b), std::tie(b.begin, b.end));
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < touches.size(); ++i) {
    if (what(touches[i]) == what(touches[kept]) && touches[kept].extend(touches[i])) continue;
    touches[++kept] = touches[i];
  }
  if (!touches.empty()) touches.resize(kept + 1);
}

std::uint32_t LaunchTouches::number_of(const std::vector<std::uint32_t>& places) {
  const std::lock_guard guard(lock_);
  return numbers_.try_emplace(places, numbers_.size()).first->second;
}

void LaunchTouches::add(std::span<const Touch> touches) {
  const std::lock_guard guard(lock_);
  touches_.insert(touches_.end(), touches.begin(), touches.end());
}

void LaunchTouches::add_guess(const std::vector<std::uint32_t>& places) {
  const std::lock_guard guard(lock_);
  guesses_.insert(places);
}

void LaunchTouches::add_update(const std::vector<std::uint32_t>& places, bool always) {
  const std::lock_guard guard(lock_);
  bool& known = updates_.try_emplace(places, true).first->second;
  known = known && always;
}

bool LaunchTouches::is_of_guess(const model::Hazard& hazard) const {
  using model::Remedy;
  const bool with_atomic = hazard.remedy == Remedy::only_atomics ||
                           hazard.remedy == Remedy::barrier_or_atomics ||
                           hazard.remedy == Remedy::warp_barrier_or_atomics;
  return with_atomic && ((!hazard.first.stores && guesses_.contains(hazard.first.places)) ||
                         (!hazard.second.stores && guesses_.contains(hazard.second.places)));
}

std::vector<machine::Touched> LaunchTouches::all(
    std::span<const machine::KernelArray> arrays) const {
  std::vector<Touch> touches = touches_;
  for (Touch& touch : touches) {  // equal ones are merged
    const Way way = touch.way == Way::read_only_load ? Way::load
                    : touch.way == Way::narrow_store ? Way::atomic_store
                                                     : touch.way;
    touch = {.array = touch.array, .begin = touch.begin, .end = touch.end, .way = way};
  }
  compact(touches);
  std::vector<machine::Touched> all;
  for (const Touch& touch : touches) {
    const std::uintptr_t begin = arrays[touch.array].begin;
    all.push_back({begin + touch.begin, begin + touch.end, stores(touch), is_atomic(touch)});
  }
  return all;
}

std::vector<model::Hazard> LaunchTouches::hazards(
    const BlockOrder& order, std::span<const machine::KernelArray> arrays) {
  // The numbers of places depend on which block ran first; the places do not.
  std::vector<std::uint32_t> ranks(numbers_.size());
  std::vector<std::vector<std::uint32_t>> places;
  for (const auto& [place, number] : numbers_) {
    ranks[number] = static_cast<std::uint32_t>(places.size());
    places.push_back(place);
  }
  for (Touch& touch : touches_) {
    touch.place = ranks[touch.place];
    // From here on an address, as those of the order are.
    touch.begin += arrays[touch.array].begin;
    touch.end += arrays[touch.array].begin;
  }
  std::sort(touches_.begin(), touches_.end(), [](const Touch& a, const Touch& b) {
    const auto key = [](const Touch& t) {
      return std::tuple(t.array, t.begin, t.end, t.block, t.at, t.knows, t.way, t.place, t.thread);
    };
    return key(a) < key(b);
  });

  // Elements to which several blocks store the same value.
  Touch* last = nullptr;
  for (Touch& touch : touches_) {
    if (touch.way != Way::store) continue;
    const auto place = [](const Touch& t) { return std::tie(t.array, t.begin, t.end); };
    if (last != nullptr && place(*last) == place(touch) && store_the_same(*last, touch)) {
      last->is_flag = touch.is_flag = true;
    }
    last = &touch;
  }

  std::vector<model::Hazard> found;
  std::set<std::tuple<std::uint32_t, model::HazardKind, std::uint32_t, std::uint32_t>> known;
  std::map<std::pair<std::uint32_t, Way>, Reaching> reaching;
  const auto is_guess = [&](const Touch& load, const Touch& other) {
    return !stores(load) && is_atomic(other) && guesses_.contains(places[load.place]);
  };
  const auto report = [&](const Touch& before, const Touch& touch, std::uint64_t byte) {
    if (is_guess(before, touch) || is_guess(touch, before)) return;
    const bool read_only = is_read_only_and_stored(before, touch);
    // The lower block is named first, and within one block the load.
    const bool swap =
        std::pair(touch.block, stores(touch)) < std::pair(before.block, stores(before));
    const Touch &first = swap ? touch : before, &second = swap ? before : touch;
    const machine::KernelArray& array = arrays[touch.array];
    const auto kind = read_only ? model::HazardKind::read_only_is_stored
                      : stores(before) && stores(touch) && array.result
                          ? model::HazardKind::race_on_result
                      : store_the_same(before, touch) ? model::HazardKind::same_value
                                                      : model::HazardKind::race_between_blocks;
    if (!known.emplace(touch.array, kind, first.place, second.place).second) return;
    found.push_back(
        {kind, array.name, byte - array.begin, first.block, actor(first, places[first.place]),
         actor(second, places[second.place])});
    found.back().other_block = second.block;
    const auto updates = [&](const Touch& one) {
      const auto update = updates_.find(places[one.place]);
      return update != updates_.end() && update->second && !is_atomic(one);
    };
    if (!read_only) {
      found.back().remedy = updates(before) && updates(touch) ? model::Remedy::atomic_update
                                                              : remedy(before, touch, order);
    }
  };
  for (std::size_t i = 0; i < touches_.size(); ++i) {
    const Touch& touch = touches_[i];
    if (i == 0 || touches_[i - 1].array != touch.array) reaching.clear();
    for (auto& [unused, others] : reaching) {
      others.drop_before(touch.begin);
      for (const Touch& before : others.touches()) {
        const auto byte = conflict(before, touch, order);
        if (!byte) continue;
        report(before, touch, *byte);
        break;
      }
    }
    reaching.try_emplace({touch.place, touch.way}, Reaching(order.is_used()))
        .first->second.add(touch);
  }
  // A flag with a hazard needs no note.
  std::vector<std::pair<std::string, std::uint64_t>> wrong;
  for (const model::Hazard& hazard : found) {
    if (!model::is_note(hazard.kind)) wrong.emplace_back(hazard.array, hazard.byte);
  }
  std::erase_if(found, [&](const model::Hazard& hazard) {
    return model::is_note(hazard.kind) &&
           std::ranges::find(wrong, std::pair(hazard.array, hazard.byte)) != wrong.end();
  });
  return found;
}

namespace {

// For all launches of a host function: whose blocks are traced, and which words of the result they
// wrote.
class Tracing : public machine::LaunchObserver {
 public:
  Tracing(const machine::Machine& machine, std::span<const machine::GlobalArray> matrices)
      : machine_(machine), matrices_(matrices) {}

  void begin_launch(const machine::RequestedLaunch& launch) override {
    audit_of_launch_ = machine_.audit;
    if (machine_.hazards) {
      watch_.emplace(matrices_);
      watch_->memory_is_known = all_traced_;
    }
    if (machine_.recorder == nullptr) return;
    model::Recording& recording = machine_.recorder->launches.emplace_back();
    recording.kernel = launch.kernel;
    recording.warp = machine_.gpu->warp;
    recording.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    recording.block = {launch.block.x, launch.block.y, launch.block.z};
  }

  // A recording follows the order of the grid, and an audit needs a single thread. If blocks wait
  // for each other, their actions depend on their order, so a fixed order is used.
  int most_workers() const override {
    const bool in_order = machine_.recorder != nullptr || machine_.audit != nullptr ||
                          (watch_ && watch_->depends_on_order());
    return in_order ? 1 : omp_get_max_threads();
  }

  std::unique_ptr<machine::BlockObserver> observe_blocks(
      const machine::KernelMemory& memory) override {
    return std::make_unique<WarpTracer>(
        machine_.gpu->warp, memory, watch_ ? &*watch_ : nullptr, machine_.recorder,
        is_audited() ? std::exchange(audit_of_launch_, nullptr) : nullptr);
  }

  void add_hazards_between_blocks(
      std::vector<model::Hazard>& hazards, std::span<const machine::KernelArray> arrays) override {
    if (!watch_) return;
    if (machine_.touched) machine_.touched(watch_->touches.all(arrays));
    std::vector<model::Hazard> found = watch_->touches.hazards(watch_->order, arrays);
    for (const model::Hazard& hazard : found) model::add(hazards, hazard);
    // The tracers of the blocks do not know of each other's guesses.
    std::erase_if(
        hazards, [&](const model::Hazard& hazard) { return watch_->touches.is_of_guess(hazard); });
    if (machine_.recorder == nullptr) return;
    // Known only after the launch, so no single event causes it.
    model::Recording& recording = machine_.recorder->launches.back();
    for (const model::Hazard& hazard : found) {
      if (recording.events.empty()) break;
      recording.hazards.push_back({hazard, recording.events.size() - 1});
    }
  }

  void end_launch(bool whole) override {
    if (!watch_) return;
    all_traced_ &= whole;
    const std::span<const std::uint64_t> writers = watch_->writers.words();
    if (all_traced_) written_.resize(writers.size());
    for (std::size_t word = 0; all_traced_ && word < writers.size(); ++word) {
      if (writers[word] != 0) written_[word] = true;
    }
    if (machine_.wrote) machine_.wrote(writers);
  }

  void end_aside() override { all_traced_ &= written_.empty(); }

  // Elements of C that no thread of any launch wrote, as one hazard. This is known only if all
  // blocks were traced and none was abandoned, and if what was traced came last.
  std::optional<model::Hazard> never_written(const model::Counts& counts) const {
    const auto first = std::find(written_.begin(), written_.end(), false);
    const auto result = std::find_if(
        matrices_.begin(), matrices_.end(),
        [](const machine::GlobalArray& matrix) { return matrix.all_written; });
    if (first == written_.end() || result == matrices_.end()) return std::nullopt;
    if (model::has_fatal(counts) || !all_traced_) return std::nullopt;
    model::Hazard hazard{model::HazardKind::never_written, result->name, 0, 0, {}, {}};
    hazard.byte = 4 * static_cast<std::uint64_t>(first - written_.begin());
    hazard.extent = std::count(first, written_.end(), false);
    return hazard;
  }

 private:
  bool is_audited() const {
    return machine_.audit != nullptr && why_no_audit().empty() &&
           machine_.audit->accesses < machine_.audit->most_accesses;
  }

  const machine::Machine& machine_;
  std::span<const machine::GlobalArray> matrices_;
  model::Audit* audit_of_launch_ = nullptr;  // until its first block takes it
  std::optional<LaunchWatch> watch_;         // of the launch; empty if hazards are not looked for
  std::vector<bool> written_;                // of the words of the result, by any launch
  bool all_traced_ = true;                   // every block of every launch
};

}  // namespace

model::Counts trace(
    const machine::Machine& machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host) {
  Tracing tracing(machine, arrays);
  model::Counts counts = machine::run_observed(machine, arrays, tracing, host);
  if (const auto hazard = tracing.never_written(counts)) counts.hazards.push_back(*hazard);
  return counts;
}

}  // namespace trace
