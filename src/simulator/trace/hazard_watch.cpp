#include "simulator/trace/hazard_watch.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include "model/warp_access.h"
#include "simulator/trace/source_lines.h"

namespace trace {
namespace {

// Data layouts shared by gcc and clang (gcc/ubsan.cc; compiler-rt/lib/ubsan/ubsan_value.h).
struct TypeDescriptor {
  std::uint16_t kind;
  std::uint16_t info;  // bit 0: signed
  char name[1];        // "'float [8][128]'", of any length
};
struct OutOfBoundsData {
  const char* file;
  std::uint32_t line, column;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};

std::string_view line_of(std::string_view source, std::uint32_t line) {
  for (; line > 1 && !source.empty(); --line) {
    source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
  }
  return source.substr(0, source.find('\n'));
}

// The name before the brackets that contain position `at`: "As" for "As[k][m]".
std::string_view name_before(std::string_view text, std::size_t at) {
  if (at >= text.size()) return "";
  int depth = text[at] == '[' ? 1 : 0;
  std::size_t end = at + 1;
  while (end > 0) {
    const char c = text[end - 1];
    depth += (c == ']') - (c == '[');
    if (depth == 0 && c != '[' && c != ' ') break;
    --end;
  }
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::size_t begin = end;
  while (begin > 0 && is_name(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

}  // namespace

IndexedArray array_indexed(const void* data) {
  const auto& bad = *static_cast<const OutOfBoundsData*>(data);
  std::string_view type = bad.array->name;
  if (type.starts_with('\'') && type.ends_with('\'')) type = type.substr(1, type.size() - 2);
  IndexedArray result{"", 0};
  if (const std::size_t bracket = type.find('['); bracket != type.npos) {
    std::from_chars(type.data() + bracket + 1, type.data() + type.size(), result.extent);
  }
  const std::string source = source_text(bad.file);
  const std::string_view name =
      bad.column > 0 ? name_before(line_of(source, bad.line), bad.column - 1) : "";
  result.name = name.empty() ? "an array " + std::string(type) : std::string(name);
  return result;
}

void BarrierWatch::begin_block(std::int64_t block, int threads) {
  block_ = block;
  count_ = 0;
  left_.assign(threads, std::nullopt);
  said_several_ = said_left_ = false;
}

std::vector<model::Hazard> BarrierWatch::barrier(
    std::span<const bool> left, const WarpLog& log, const CallPaths& paths) {
  const std::vector<Token>& at = log.paths();
  const auto hazard = [&](model::HazardKind kind, std::size_t waits, std::size_t other) {
    model::Hazard made{kind, "", 0, block_, {}, {}};
    made.first = {static_cast<std::int64_t>(waits), 0, false, paths.places_of_call(at[waits])};
    made.second = {
        static_cast<std::int64_t>(other), 0, left[other],
        left[other] ? log.last_places(static_cast<int>(other)) : paths.places_of_call(at[other])};
    return made;
  };
  const auto first_waiting = [&](std::size_t from, std::size_t end) {
    return static_cast<std::size_t>(
        std::find(left.begin() + from, left.begin() + end, false) - left.begin());
  };

  std::vector<model::Hazard> found;
  const std::size_t waits = first_waiting(0, left.size());
  std::optional<std::size_t> elsewhere, gone, gone_between;
  for (std::size_t warp = 0; warp < left.size(); warp += geometry_.lanes) {
    const std::size_t end = std::min<std::size_t>(left.size(), warp + geometry_.lanes);
    const std::size_t lane = first_waiting(warp, end);
    for (std::size_t t = warp; t < end; ++t) {
      if (left[t]) {
        if (!left_[t]) left_[t] = count_;
        if (!gone) gone = t;
        if (!gone_between && *left_[t] > 0) gone_between = t;
      } else if (at[t] != at[lane]) {
        return {hazard(model::HazardKind::barrier_divergence, lane, t)};
      } else if (at[t] != at[waits] && !elsewhere) {
        elsewhere = t;
      }
    }
  }
  ++count_;
  // Warps that meet at different barriers must reach the same number of them.
  if ((said_several_ || elsewhere) && gone_between) {
    return {hazard(model::HazardKind::barrier_divergence, waits, *gone_between)};
  }
  if (elsewhere && !std::exchange(said_several_, true)) {
    found.push_back(hazard(model::HazardKind::several_barriers, waits, *elsewhere));
  }
  if (gone && !std::exchange(said_left_, true)) {
    found.push_back(hazard(model::HazardKind::threads_left, waits, *gone));
  }
  return found;
}

WatchedCells::WatchedCells(const std::vector<machine::KernelArray>& arrays) {
  for (const machine::KernelArray& array : arrays) {
    const std::size_t bytes = array.shared || array.watched ? array.bytes : 0;
    arrays_.push_back({std::vector<Page*>(bytes / 4 / kPageWords + 1), bytes, array.shared});
  }
}

void WatchedCells::begin_block() {
  ++serial_;
  for (Page** place : in_use_) {
    free_.push_back(*place);
    *place = nullptr;
  }
  in_use_.clear();
  split_.clear();
  more_.clear();
}

WatchedCells::Page* WatchedCells::new_page(const Array& array, Page*& place) {
  if (!array.stays) in_use_.push_back(&place);
  if (free_.empty()) return &pages_.emplace_back();
  Page* const page = free_.back();
  free_.pop_back();
  page->fill({});
  return page;
}

void WatchedCells::split(Cell& word) {
  std::array<Cell, 4>& parts = split_.emplace_back();
  parts.fill(word);
  if (const MoreOfCell* known = more(word)) {
    for (Cell& part : parts) {
      const MoreOfCell copy = *known;
      part.more_in = 0;
      make_more(part) = copy;
    }
  }
  word.split = static_cast<std::uint32_t>(split_.size() - 1);
  word.split_in = serial_;
}

MoreOfCell& WatchedCells::make_more(Cell& cell) {
  if (cell.more_in != serial_) {
    cell.more = static_cast<std::uint32_t>(more_.size());
    cell.more_in = serial_;
    more_.emplace_back();
  }
  return more_[cell.more];
}

namespace {

constexpr auto kNoContent = static_cast<std::uint32_t>(kNoValue);

// What a store of `bytes` bytes leaves in the cell that is `offset` bytes behind its start.
std::uint32_t content_of(std::uint64_t value, int bytes, std::uint64_t offset) {
  if (value == kNoValue || value == kUnchanged) return kNoContent;
  if (bytes > 8) return static_cast<std::uint32_t>((value + offset) * kNoValue >> 32);
  const std::uint64_t rest = value >> 8 * offset;
  return static_cast<std::uint32_t>(bytes < 4 ? rest & 0xff : rest);
}

constexpr HazardWatch::Actor kNobody{0, HazardWatch::kNone};

bool is_somebody(HazardWatch::Actor actor) {
  return actor.site != HazardWatch::kNone;
}

// Adds a lane to the lanes of its warp that made the same access at the same moment. Entries from
// before `start` are dropped, because they are ordered with everything that follows. So are the
// lane's own, because what is ordered with its later access is ordered with them, too.
void add(
    std::vector<Together>& all, std::uint64_t key, std::uint32_t lane, std::uint32_t site,
    ThreadOrder::Moment start) {
  const Together added{key, lane, site};
  std::erase_if(all, [&](Together& known) {
    const bool is_older = known.key < key || (known.key == key && known.site != site);
    if (is_older && known.warp() == added.warp() && known.how() == added.how()) {
      known.lanes &= ~lane;
    }
    return known.moment() < start || known.lanes == 0;
  });
  for (Together& known : all) {
    if (known.takes(added)) return;
  }
  all.push_back(added);
}

}  // namespace

void HazardWatch::end_block() {
  barrier();
  report_races_with_flags();
}

void HazardWatch::report_races_with_flags() {
  for (const Found& found : races_with_flags_) {
    const MoreOfCell* const more = cells_.more(cells_.at(found.array, found.byte));
    if (more == nullptr || !more->is_flag) report(found);
  }
  races_with_flags_.clear();
}

void HazardWatch::begin_block(std::int64_t block, int threads) {
  report_races_with_flags();  // of an abandoned block
  block_ = block;
  cells_.begin_block();
  order_.begin_block(threads);
  reads_of_nothing_.clear();  // of an abandoned block
  copies_.assign(threads, {});
  bytes_in_flight_.assign(geometry_.warps_of(threads), 0);
  arrivals_.clear();
  agent_copies_.clear();
  is_copied_from_.assign(arrays_.size(), false);
  arrived_.clear();
}

HazardWatch::Actor HazardWatch::unordered_store(
    const Cell& cell, int thread, std::uint64_t place, bool after_all) const {
  if (cell.is_stored_by_agent()) {
    const int agent = cell.store_thread() - Cell::kFirstAgent;
    if (order_.knows(thread, {agent, cell.store_moment()})) return kNobody;
    return {thread_of_site_[cell.store_site], cell.store_site};
  }
  const auto is_before = [&](int other) {
    return order_.is_before(cell.store_moment(), other, thread, place);
  };
  Actor found =
      is_before(cell.store_thread()) ? kNobody : Actor{cell.store_thread(), cell.store_site};
  for (std::uint32_t lanes = cell.lanes; lanes != 0; lanes &= lanes - 1) {
    if (is_somebody(found) == after_all) break;
    const int other =
        geometry_.thread_of(geometry_.warp_of(cell.store_thread()), std::countr_zero(lanes));
    found = is_before(other) ? kNobody : Actor{other, cell.store_site};
  }
  return found;
}

HazardWatch::Actor HazardWatch::unordered_agent_load(const Cell& cell, int thread) const {
  const MoreOfCell* const more = cells_.more(cell);
  if (more == nullptr) return kNobody;
  for (const auto& [by, site] : more->agent_reads) {
    if (!order_.knows(thread, by)) return {thread_of_site_[site], site};
  }
  return kNobody;
}

HazardWatch::Actor HazardWatch::copier(const Cell& cell) const {
  if (cell.pending_in != cells_.serial()) return kNobody;
  return {cell.store_thread(), cell.store_site};
}

HazardWatch::Actor HazardWatch::unfenced_store(
    const Cell& cell, int thread, bool of_barrier) const {
  if (cell.is_stored_by_agent()) return kNobody;
  const bool fenced =
      order_.is_fenced(cell.store_moment(), cell.store_thread(), thread, of_barrier);
  return fenced ? kNobody : Actor{cell.store_thread(), cell.store_site};
}

model::HazardKind HazardWatch::kind_of_unordered(const Cell& cell) {
  return cell.is_stored_by_agent() ? tile_not_waited_for : race;
}

HazardWatch::Actor HazardWatch::unordered(
    const Together& others, int thread, std::uint64_t place) const {
  if (others.moment() < order_.block_start()) return kNobody;
  for (std::uint32_t lanes = others.lanes; lanes != 0; lanes &= lanes - 1) {
    const int other = geometry_.thread_of(others.warp(), std::countr_zero(lanes));
    if (!order_.is_before(others.moment(), other, thread, place)) return {other, others.site};
  }
  return kNobody;
}

// Atomics do not race with each other, nor with volatile accesses of another warp. Within a warp, a
// volatile access is treated as before Volta, when lanes ran in lockstep.
bool HazardWatch::may_meet(const Together& others, int thread, How how) const {
  if (how == How::plain || others.how() == How::plain) return false;
  const bool both_volatile = how == How::is_volatile && others.how() == How::is_volatile;
  return !both_volatile || others.warp() != geometry_.warp_of(thread);
}

HazardWatch::Actor HazardWatch::unordered_atomic(
    const Cell& cell, int thread, How how, std::uint64_t place) const {
  const MoreOfCell* const more = cells_.more(cell);
  if (more == nullptr) return kNobody;
  if (order_.has_read(thread, place)) return kNobody;
  for (const Together& others : more->atomics) {
    if (may_meet(others, thread, how)) continue;
    if (const Actor other = unordered(others, thread, place); is_somebody(other)) return other;
  }
  return kNobody;
}

HazardWatch::Actor HazardWatch::unordered_load(
    const Cell& cell, int thread, How how, std::uint64_t place, bool only_plain) const {
  const auto passes = [&](const Together& others) {
    return may_meet(others, thread, how) || (only_plain && others.how() != How::plain);
  };
  for (const Together& others : cell.loads) {
    if (passes(others)) continue;
    if (const Actor other = unordered(others, thread, place); is_somebody(other)) return other;
  }
  const MoreOfCell* const more = cells_.more(cell);
  if (more == nullptr) return kNobody;
  for (const Together& others : more->loads) {
    if (passes(others)) continue;
    if (const Actor other = unordered(others, thread, place); is_somebody(other)) return other;
  }
  return kNobody;
}

void HazardWatch::note_load(Cell& cell, Actor actor, How how, ThreadOrder::Moment moment) {
  const int warp = geometry_.warp_of(actor.thread);
  const std::uint64_t key = Together::key_of(moment, warp, how);
  const std::uint32_t lane = 1u << geometry_.lane_of(actor.thread);
  for (Together& known : cell.loads) {
    if (known.takes({key, lane, actor.site})) return;
  }
  bool all_plain_of_other_warps = how == How::plain && !order_.has_edges();
  for (Together& known : cell.loads) {
    // Replaces an older load that finds no race that this load does not find, too.
    const bool same_but_before =
        known.warp() == warp && known.how() == how && known.moment() < order_.warp_start(warp);
    if (known.moment() < order_.block_start() || same_but_before) {
      known = {key, lane, actor.site};
      return;
    }
    all_plain_of_other_warps &= known.warp() != warp && known.how() == How::plain;
  }
  // Two warps out of three are enough: a thread that stores there races with at least one of them.
  if (all_plain_of_other_warps && cell.loads[0].warp() != cell.loads[1].warp()) return;
  add(cells_.make_more(cell).loads, key, lane, actor.site, order_.block_start());
}

void HazardWatch::note_plain_store(Cell& cell, Actor actor) {
  cell.stored = order_.now(actor.thread) << Cell::kThreadBits | std::uint64_t(actor.thread);
  cell.store_site = actor.site;
  cell.value = kNoContent;
  cell.lanes = 0;
  // An access that is ordered with this store is also ordered with the accesses before it.
  cell.loads = {};
  if (const MoreOfCell* more = cells_.more(cell)) {
    const bool is_flag = more->is_flag;
    cells_.make_more(cell) = {};
    cells_.make_more(cell).is_flag = is_flag;
  }
}

// They race with the stores that follow, too, but one race is enough.
void HazardWatch::forget_loads(Cell& cell, std::uint32_t site) {
  for (Together& known : cell.loads) {
    if (known.site == site) known = {};
  }
  if (cells_.more(cell) == nullptr) return;
  std::erase_if(
      cells_.make_more(cell).loads, [&](const Together& known) { return known.site == site; });
}

void HazardWatch::load(const Access& access, How how) {
  const auto& [array, byte, bytes, actor] = access;
  const std::uint32_t serial = cells_.serial();
  const std::uintptr_t begin = begin_of(array);
  const bool strong = how != How::plain;
  cells_.for_each(array, byte, bytes, [&](Cell& cell, std::uint64_t at, const Cell& word) {
    const bool hazard =
        reports(access, at, copy_not_waited_for, copier(cell)) ||
        reports(
            access, at, kind_of_unordered(cell), unordered_store(cell, actor.thread, begin + at),
            strong) ||
        reports(access, at, race, unordered_atomic(cell, actor.thread, how, begin + at), strong);
    const bool is_stored = (bytes < 4 ? cell : word).is_initialized(serial);
    if (arrays_[array].shared && !is_stored && !hazard) {
      reads_of_nothing_.push_back({{array, at, 1, actor}, false});
    }
    note_load(cell, actor, how, order_.now(actor.thread));
  });
}

void HazardWatch::copy_from(const Access& access) {
  load(access);
  const int thread = access.actor.thread;
  is_copied_from_[access.array] = true;
  copy_sites_.insert(access.actor.site);
  copies_[thread].issue({access, true, {.moment = order_.now(thread)}});
}

void HazardWatch::agent_copy_from(const Access& access, AgentAction by) {
  is_copied_from_[access.array] = true;
  agent_copies_.push_back({access, true, by});
}

HazardWatch::Actor HazardWatch::reading(const Access& access) const {
  if (!is_copied_from_[access.array]) return kNobody;
  const int thread = access.actor.thread;
  const auto is_read = [&](const CopyUnderWay& copy) {
    return copy.reads && copy.array == access.array && copy.byte < access.byte + access.bytes &&
           access.byte < copy.byte + copy.bytes;
  };
  for (const CopyUnderWay& copy : agent_copies_) {
    if (is_read(copy) && !order_.knows(thread, copy.by)) return copy.actor;
  }
  for (const auto& copies : copies_) {
    for (const CopyUnderWay& copy : copies.in_flight()) {
      if (is_read(copy) && order_.is_before(copy.by.moment, copy.actor.thread, thread)) {
        return copy.actor;
      }
    }
  }
  return kNobody;
}

void HazardWatch::report_race_with_flag(const Found& found) {
  const bool is_known = std::ranges::any_of(races_with_flags_, [&](const Found& known) {
    return known.array == found.array && known.byte == found.byte &&
           known.first.site == found.first.site && known.second.site == found.second.site;
  });
  if (!is_known) races_with_flags_.push_back(found);
}

void HazardWatch::store(const Access& access, How how, std::uint64_t value) {
  const auto& [array, byte, bytes, actor] = access;
  // A volatile store after a fence is a flag, and not code from before Volta.
  if (how == How::is_volatile && order_.has_fenced(actor.thread)) how = How::atomic;
  const std::uint32_t serial = cells_.serial();
  const std::uintptr_t begin = begin_of(array);
  const bool reads = value == kUnchanged;
  if (!reads) reports(access, byte, source_changed, reading(access));
  cells_.for_each(array, byte, bytes, [&](Cell& cell, std::uint64_t at, Cell& word) {
    const std::uint32_t content = content_of(value, bytes, at - byte);
    const Actor agent = unordered_agent_load(cell, actor.thread);
    const Actor storer = unordered_store(cell, actor.thread, begin + at, true);
    const bool by_agent = is_somebody(storer) && cell.is_stored_by_agent();
    const Actor atomic = unordered_atomic(cell, actor.thread, how, begin + at);
    const Actor writer = is_somebody(storer) ? storer : atomic;
    const bool set_again =
        is_somebody(writer) && !by_agent && content != kNoContent && content == cell.value;
    const bool together = set_again && cell.request == request_;
    const auto races_with_load = [&](bool only_plain) {
      const Actor loader =
          reads ? kNobody : unordered_load(cell, actor.thread, how, begin + at, only_plain);
      const bool copies = is_somebody(loader) && copy_sites_.contains(loader.site);
      const bool may_be_of_a_flag = !only_plain && how == How::plain;
      if (!reports(access, at, copies ? source_changed : race, loader, may_be_of_a_flag))
        return false;
      forget_loads(cell, loader.site);
      return true;
    };
    const Actor copying = is_somebody(storer) ? kNobody : copier(cell);
    if (set_again) cells_.make_more(cell).is_flag = true;
    reports(access, at, tile_in_use, agent) || reports(access, at, copy_not_waited_for, copying) ||
        reports(access, at, kind_of_unordered(cell), set_again ? kNobody : storer, reads) ||
        races_with_load(true) || races_with_load(false) ||
        reports(access, at, race, set_again ? kNobody : writer, reads) ||
        reports(access, at, same_value, set_again && !together ? writer : kNobody);
    if (reads) return note_load(cell, actor, how, order_.now(actor.thread));
    cell.initialized_in = word.initialized_in = serial;
    if (how != How::plain) {
      const std::uint64_t key =
          Together::key_of(order_.now(actor.thread), geometry_.warp_of(actor.thread), how);
      add(cells_.make_more(cell).atomics, key, 1u << geometry_.lane_of(actor.thread), actor.site,
          order_.block_start());
    } else if (together) {
      const auto bit = [&](int thread) { return 1u << geometry_.lane_of(thread); };
      cell.lanes |= bit(cell.store_thread()) | bit(actor.thread);
    } else {
      cell.pending_in = 0;
      note_plain_store(cell, actor);
    }
    cell.value = content;
    cell.request = request_;
  });
}

void HazardWatch::update(const Access& access) {
  const auto& [array, byte, bytes, actor] = access;
  if (!arrays_[array].shared) return;
  const std::uint32_t serial = cells_.serial();
  cells_.for_each(array, byte, bytes, [&](const Cell& cell, std::uint64_t at, const Cell& word) {
    if (word.is_initialized(serial) || is_somebody(copier(cell))) return;
    reads_of_nothing_.push_back({{array, at, 1, actor}, true});
  });
}

void HazardWatch::copy(const Access& access) {
  const auto& [array, byte, bytes, actor] = access;
  cells_.for_each(array, byte, bytes, [&](Cell& cell, std::uint64_t at, const Cell&) {
    reports(access, at, race, unordered_store(cell, actor.thread)) ||
        reports(access, at, race, unordered_load(cell, actor.thread, How::plain)) ||
        reports(access, at, race, unordered_atomic(cell, actor.thread, How::plain));
    reports(access, at, tile_in_use, unordered_agent_load(cell, actor.thread));
    note_plain_store(cell, actor);
    cell.pending_in = cells_.serial();
  });
  copies_[actor.thread].issue({access});
}

void HazardWatch::use_barrier(const Access& access, bool by_copies) {
  const auto& [array, byte, bytes, actor] = access;
  cells_.for_each(array, byte, bytes, [&](const Cell& cell, std::uint64_t at, const Cell&) {
    if (at != byte) return;
    const Actor unfenced = by_copies ? unfenced_store(cell, actor.thread, true) : kNobody;
    reports(access, at, kind_of_unordered(cell), unordered_store(cell, actor.thread)) ||
        reports(access, at, not_fenced, unfenced);
  });
}

void HazardWatch::agent_store(const Access& access, AgentAction by) {
  const auto& [array, byte, bytes, actor] = access;
  if (thread_of_site_.size() <= actor.site) thread_of_site_.resize(actor.site + 1, 0);
  thread_of_site_[actor.site] = actor.thread;
  const std::uint32_t serial = cells_.serial();
  cells_.for_each(array, byte, bytes, [&](Cell& cell, std::uint64_t at, Cell& word) {
    reports(access, at, tile_in_use, unordered_agent_load(cell, actor.thread)) ||
        reports(access, at, kind_of_unordered(cell), unordered_store(cell, actor.thread)) ||
        reports(access, at, race, unordered_load(cell, actor.thread, How::plain)) ||
        reports(access, at, not_fenced, unfenced_store(cell, actor.thread));
    note_plain_store(cell, actor);
    cell.stored = by.moment << Cell::kThreadBits | std::uint64_t(Cell::kFirstAgent + by.agent);
    cell.pending_in = 0;
    cell.initialized_in = word.initialized_in = serial;
  });
}

void HazardWatch::agent_load(const Access& access, AgentAction by) {
  const auto& [array, byte, bytes, actor] = access;
  if (thread_of_site_.size() <= actor.site) thread_of_site_.resize(actor.site + 1, 0);
  thread_of_site_[actor.site] = actor.thread;
  const std::uint32_t serial = cells_.serial();
  cells_.for_each(array, byte, bytes, [&](Cell& cell, std::uint64_t at, const Cell& word) {
    const bool hazard =
        reports(access, at, copy_not_waited_for, copier(cell)) ||
        reports(access, at, kind_of_unordered(cell), unordered_store(cell, actor.thread)) ||
        reports(access, at, not_fenced, unfenced_store(cell, actor.thread));
    const bool is_stored = (bytes < 4 ? cell : word).is_initialized(serial);
    if (!is_stored && !hazard) reads_of_nothing_.push_back({{array, at, 1, actor}, false});
    std::vector<MoreOfCell::AgentRead>& reads = cells_.make_more(cell).agent_reads;
    const auto known = std::ranges::find(
        reads, by.agent, [](const MoreOfCell::AgentRead& read) { return read.by.agent; });
    if (known == reads.end()) {
      reads.push_back({by, actor.site});
    } else {
      *known = {by, actor.site};
    }
  });
}

void HazardWatch::will_copy(int thread, int bytes) {
  bytes_in_flight_[geometry_.warp_of(thread)] += bytes;
  copies_[thread].issue({{0, 0, 0, {thread, kNone}}, false, {}, bytes});
}

void HazardWatch::commit(int thread) {
  copies_[thread].commit();
}

void HazardWatch::wait(int thread, std::uint64_t groups_in_flight) {
  copies_[thread].wait(
      groups_in_flight, [&](const CopyUnderWay& copy) { arrived(copy, order_.now(thread)); });
}

void HazardWatch::arrived(const CopyUnderWay& copy, ThreadOrder::Moment moment) {
  bytes_in_flight_[geometry_.warp_of(copy.actor.thread)] -= copy.bytes_in_flight;
  if (copy.bytes_in_flight > 0) return;
  if (copy.reads && order_.has_fences()) arrived_.push_back(copy);
  cells_.for_each(copy.array, copy.byte, copy.bytes, [&](Cell& cell, std::uint64_t, Cell& word) {
    if (copy.reads) return note_load(cell, copy.actor, How::plain, moment);
    cell.pending_in = 0;
    cell.initialized_in = word.initialized_in = cells_.serial();
    cell.stored = moment << Cell::kThreadBits | std::uint64_t(copy.actor.thread);
    cell.store_site = copy.actor.site;
  });
}

void HazardWatch::arrive_copied(int thread, std::uint32_t barrier, std::uint64_t phase) {
  arrivals_[barrier].push_back({thread, copies_[thread].issued(), order_.now(thread), phase});
}

void HazardWatch::completed(std::uint32_t barrier, std::uint64_t phase) {
  std::erase_if(arrivals_[barrier], [&](const CopyArrival& arrival) {
    if (arrival.phase > phase) return false;
    copies_[arrival.thread].wait_for_first(
        arrival.copies, [&](const CopyUnderWay& copy) { arrived(copy, arrival.moment); });
    return true;
  });
}

void HazardWatch::barrier() {
  for (const ReadOfNothing& read : reads_of_nothing_) {
    const Cell& cell = cells_.at(read.array, read.byte);
    const bool stored_since =
        cell.store_moment() >= order_.block_start() && cell.store_thread() != read.actor.thread;
    const MoreOfCell* const more = read.by_atomic ? nullptr : cells_.more(cell);
    const bool added_since = more != nullptr && !more->atomics.empty();
    if (stored_since || added_since) continue;
    report({uninitialized, read.actor, kNobody, read.array, read.byte, block_});
  }
  reads_of_nothing_.clear();
  order_.barrier();
}

void HazardWatch::note_misaligned(const Access& access) {
  report({misaligned, access.actor, kNobody, access.array, access.byte, block_});
}

bool HazardWatch::race_at_places_of(const Found& found) const {
  const auto sites_of = [](const Found& one) {
    return std::minmax({one.first.site, one.second.site});
  };
  return std::ranges::any_of(found_, [&](const Found& one) {
    return one.kind == race && one.array == found.array && sites_of(one) == sites_of(found);
  });
}

void HazardWatch::report(Found found, bool may_be_of_a_flag) {
  if (may_be_of_a_flag && found.kind == race) return report_race_with_flag(found);
  found.of_warps = geometry_.warp_of(found.first.thread) != geometry_.warp_of(found.second.thread);
  const auto known = std::ranges::find_if(found_, [&](const Found& one) {
    return one.kind == found.kind && one.array == found.array &&
           one.first.site == found.first.site && one.second.site == found.second.site;
  });
  if (known == found_.end()) {
    found_.push_back(found);
  } else {
    known->of_warps |= found.of_warps;
  }
}

}  // namespace trace
