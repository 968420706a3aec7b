#include "simulator/trace/warp_tracer.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
#include <utility>

#include "simulator/machine/fault.h"
#include "simulator/trace/hooks.h"

namespace trace {

// calloc provides zero pages without writing them.
ResultWriters::ResultWriters(std::span<const machine::GlobalArray> matrices) {
  for (const machine::GlobalArray& matrix : matrices) {
    if (matrix.result) count_ += matrix.bytes / 4;
  }
  words_.reset(static_cast<std::uint64_t*>(std::calloc(count_ + 1, sizeof(std::uint64_t))));
  if (words_ == nullptr) throw std::bad_alloc();
}

WarpTracer::WarpTracer(
    model::WarpGeometry geometry, const machine::KernelMemory& memory, LaunchWatch* launch,
    model::Recorder* recorder, model::Audit* audit)
    : geometry_(geometry),
      is_shared_(shared_words(memory.arrays)),
      sites_(memory.arrays, paths_),
      log_(geometry),
      counts_(geometry),
      watch_(geometry, memory, sites_, paths_, launch),
      record_(recorder, memory.arrays),
      memory_(memory),
      audit_(audit) {}

void WarpTracer::go_on() {
  if (!audited_ && an_audit_runs) AuditedBlock::leave_unfinished();
  hooks.stacks = memory_.stacks;
  hooks.locals = machine::thread_locals();
  hooks.is_shared = is_shared_.data();
  hooks.looks_for_hazards = watch_.looks();
  hooks.device = machine::device_addresses();
  if (!watch_.looks_for_unwritten()) hooks.device.bytes = 0;
  hooks.kernel = memory_.code;
  hooks.watch = &watch_;
  hooks.local_stores = &local_stores_;
}

WarpTracer::~WarpTracer() {
  audited_.reset();
  hooks = {};
}

void WarpTracer::begin_block(std::int64_t block, int threads) {
  log_.begin_block(threads);
  counts_.begin_block(block, threads);
  part_loads_.assign(threads, {});
  watch_.begin_block(block, threads);
  record_.begin_block(block);
  copies_.clear();
  has_multiplied_ = false;
  audited_.reset();  // of an abandoned block
  if (audit_ != nullptr) {
    audited_.emplace(memory_, threads, *std::exchange(audit_, nullptr));
  }
  if (record_.is_on()) record_.begin_or_end(model::RecordedEvent::Kind::block_begin);
}

void WarpTracer::end_block() {
  if (audited_) audited_->end();
  audited_.reset();
  watch_.end_block();
  counts_.end_block(false);
  if (!record_.is_on()) return;
  record_.begin_or_end(model::RecordedEvent::Kind::block_end);
  record_hazards();
}

// The threads' actions after that are not hazards.
void WarpTracer::cut_block() {
  stop();
  if (audited_ && an_audit_runs) AuditedBlock::leave_unfinished();
  audited_.reset();
  counts_.end_block(true);
  if (record_.is_on()) record_.begin_or_end(model::RecordedEvent::Kind::block_end);
}

void WarpTracer::crash(const model::Hazard& hazard) {
  if (record_.is_on()) record_.crash(hazard);
}

// The value that the lane stored last is still in memory, unless the store failed. An atomic may be
// still to come, because a thread that waits pauses before it.
void WarpTracer::settle_store() {
  if (hooks.log == nullptr || hooks.log->value == nullptr) return;
  const std::uintptr_t address = hooks.log->value[-1];
  const int bytes = bytes_of(hooks.log->store);
  if (kind_of(hooks.log->store) == Kind::kAtomicStore) {
    *hooks.log->value = kNoValue;
  } else if (machine::array_with(memory_.arrays, address, bytes) != nullptr) {
    settle(*hooks.log);
  }
  hooks.log->value = nullptr;
}

void WarpTracer::resume(int thread, std::span<const char> stack) {
  settle_store();
  hooks.log = &log_.lane_of(thread);
  hooks.part_load = &part_loads_[thread];
  watch_.will_run(thread);
  hooks.stack_floor = reinterpret_cast<std::uintptr_t>(stack.data()) + kStackReserve;
  hooks.stack_top = hooks.stack_floor - kStackReserve + stack.size();
  hooks.sums = hooks.stack_top;
  if (has_multiplied_) watch_sums();
  if (audited_) audited_->resume(stack);
}

void WarpTracer::watch_sums() {
  const std::span<const char> sums = machine::sums_in_flight();
  const auto begin = reinterpret_cast<std::uintptr_t>(sums.data());
  hooks.sums = sums.empty() ? hooks.stack_top : std::min(begin, hooks.stack_top);
}

void WarpTracer::outside_kernel(bool outside) {
  hooks.outside_kernel = outside;
}

void WarpTracer::stop() {
  settle_store();
  hooks.log = nullptr;
}

bool WarpTracer::barrier(std::span<const bool> left) {
  counts_.barrier();
  watch_.barrier(left, log_);
  if (record_.is_on()) {
    // Every waiting thread is inside __syncthreads; threads that have left are nowhere.
    const std::vector<Token>& paths = log_.paths();
    const auto waits = std::ranges::find_if(paths, [](Token path) { return path != 0; });
    record_.event(
        model::RecordedEvent::Kind::barrier,
        waits == paths.end() ? std::vector<std::uint32_t>{} : paths_.places_of_call(*waits), {},
        -1);
    record_hazards();
  }
  return !watch_.is_fatal();
}

// Folds the logs as far as they determine the order of the warp's instructions.
bool WarpTracer::fold(int warp, std::uint32_t running) {
  stop();
  if (audited_) audited_->pause();
  warp_ = warp;
  watch_.begin_fold(warp, running);
  std::vector<Party> parties = log_.parties(warp, running);
  Merge merge(parties, paths_);
  for (Together together = merge.next(); !together.empty(); together = merge.next()) {
    do {
      execute(together);
    } while (merge.stay_together() && !watch_.is_fatal());
    if (!watch_.is_fatal()) continue;
    if (record_.is_on()) record_hazards();
    return false;
  }
  for (const Party& party : parties) counts_.add(warp, party);
  log_.drop_used(warp, parties);
  return true;
}

void WarpTracer::execute(Together together) {
  const Token token = together[0]->next();
  const Token path = together[0]->path;
  for (Party* party : together) ++party->tokens_used;
  switch (kind_of(token)) {
    case Kind::kStep:
      return paths_.came_to(path, place_of(token));
    case Kind::kEnter: {
      const Token called = paths_.called(path, place_of(token));
      for (Party* party : together) party->path = called;
      return;
    }
    case Kind::kExit: {
      const Token caller = paths_.caller(path);
      for (Party* party : together) party->path = caller;
      return;
    }
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kAtomicLoad:
    case Kind::kAtomicStore:
    case Kind::kLockLoad:
    case Kind::kVolatileLoad:
    case Kind::kVolatileStore: {
      const model::WarpAccess made = log_.gather(token, together);
      if (!has_value(kind_of(token)) || !watch_.looks()) return access(made, token, together);
      const model::WarpAccess values = log_.gather(token, together);
      return access(made, token, together, &values.address);
    }
    case Kind::kLdmatrix:
    case Kind::kStmatrix: {
      constexpr int kRows = 8;
      model::WarpAccess rows = log_.gather(token, together);
      rows.matrices = matrices_of(token);
      rows.active &= ~std::uint32_t{0} >> (model::kWarpSize - kRows * rows.matrices);
      return access(rows, token, together);
    }
    case Kind::kAsyncCopy: {
      const model::WarpAccess from = log_.gather(token, together);
      return copy(from, log_.gather(token, together), token, together);
    }
    case Kind::kAction: {
      const model::WarpAccess first = log_.gather(token, together);
      return tell(first, log_.gather(token, together), token, path);
    }
  }
}

void WarpTracer::tell(
    const model::WarpAccess& first, const model::WarpAccess& second, Token token, Token path) {
  using Event = model::RecordedEvent::Kind;
  using enum machine::Action::Kind;
  std::optional<Event> event;
  for (std::uint32_t left = first.active; left != 0;) {
    const int l = std::countr_zero(left);
    const machine::Action action = unpacked(first.address[l], second.address[l]);
    // The lanes of a warp multiply together, and those with the same mask arrive together.
    std::uint32_t lanes = 1u << l;
    if (action.kind == multiply || action.kind == multiply_by || action.kind == mma) lanes = left;
    for (int other = l; action.kind == warp_barrier && other < model::kWarpSize; ++other) {
      lanes |= left & std::uint32_t{second.address[other] == action.value} << other;
    }
    if (const auto recorded = act(thread_of(l), lanes, action, token, path)) event = recorded;
    left &= ~lanes;
  }
  if (!record_.is_on()) return;
  if (event) {
    model::WarpAccess lanes{.active = first.active, .bytes = 0, .address = {}, .warp = geometry_};
    if (event == Event::wait) lanes = second;
    record_.event(*event, paths_.places_of(path, place_of(token)), lanes, warp_);
  }
  record_hazards();
}

// Returns the event of a recording that it is of, if any.
std::optional<model::RecordedEvent::Kind> WarpTracer::act(
    int thread, std::uint32_t lanes, machine::Action action, Token token, Token path) {
  using Act = machine::Action::Kind;
  if (action.kind == Act::load || action.kind == Act::store) action.copy = &copies_[action.value];
  if (action.copy != nullptr) count(thread, action, token, path);
  // A warp has 16 of the 64 rows, and all columns.
  if (action.kind == Act::multiply) counts_.mma(16, action.number, action.depth);
  if (action.kind == Act::mma) counts_.mma(action.number, 8, action.depth);
  watch_.act(thread, lanes, action, path, token);
  if (action.kind == Act::load) counts_.box_starts(watch_.box_bytes_in_flight(thread));
  return record_.is_on() ? record_.action(thread, action) : std::nullopt;
}

// The copy engine's accesses to shared memory have bytes, but their wavefronts were not measured.
void WarpTracer::count(int thread, const machine::Action& action, Token token, Token path) {
  const bool loads = action.kind == machine::Action::Kind::load;
  const machine::PartOfMatrix& part = action.copy->matrix;
  const auto first = reinterpret_cast<std::uintptr_t>(part.first);
  const Token global =
      make_token(place_of(token), loads ? Kind::kAsyncCopy : Kind::kStore, kBoxSite);
  Site* const matrix = part.rows > 0 ? sites_.find(path, global, first) : nullptr;
  const std::int64_t whole_row = part.bytes_before + part.row_bytes + part.bytes_after;
  const model::BoxCost cost = model::box_cost(
      {first, part.rows, part.row_bytes, part.pitch_bytes, part.bytes_before, part.bytes_after,
       static_cast<std::int64_t>(action.copy->bytes) - part.rows * whole_row});
  if (matrix != nullptr) counts_.box(*matrix, cost, thread);
  if (loads && part.rows == 0) counts_.box_outside(cost);
  const Token shared =
      make_token(place_of(token), loads ? Kind::kAsyncCopy : Kind::kLoad, kBoxSite);
  Site* const tile =
      sites_.find(path, shared, reinterpret_cast<std::uintptr_t>(action.copy->shared));
  if (tile != nullptr) {
    counts_.box(*tile, {static_cast<std::int64_t>(action.copy->bytes), 0, 0, 0, 0}, thread);
  }
}

void WarpTracer::access(
    const model::WarpAccess& access, Token token, Together together, const StoredValues* values) {
  const std::uintptr_t address = access.first();
  const Token path = together[0]->path;
  watch_.atomic_access(token, access, warp_);
  if (Site* site = sites_.find(path, token, address)) {
    request(*site, access, costs_.of(site->traffic, access), together, values);
  } else {
    watch_.stray(path, token, access, warp_);
  }
  watch_.atomic_access_made(token, access, warp_);
}

void WarpTracer::copy(
    model::WarpAccess from, const model::WarpAccess& to, Token token, Together together) {
  // A lane that fills with zeros reads nothing.
  machine::for_each_lane(from.active, [&](int l) {
    if (from.address[l] != 0 && (from.address[l] & kFills) == 0) return;
    from.active &= ~(1u << l);
    if (from.address[l] != 0) from.filling |= 1u << l;
    from.address[l] &= ~kFills;
  });
  machine::for_each_lane(from.active, [&](int l) { watch_.will_copy(thread_of(l), from.bytes); });
  const Token path = together[0]->path;
  const auto side = [&](const model::WarpAccess& access, const model::WarpAccess& other,
                        const RequestCost& cost) {
    if (access.active == 0) return;
    const std::uintptr_t address = access.first();
    if (Site* site = sites_.find(path, token, address)) {
      request(*site, access, cost, together, nullptr, &other);
    } else {
      watch_.stray(path, token, access, warp_);
    }
  };
  const auto [sectors, wavefronts] = model::split_async_copy(to, from);
  side(to, from, {wavefronts.size(), wavefronts.groups, wavefronts.bank_conflicts()});
  side(
      from, to,
      {sectors.size(), model::ideal_global_sectors(from), 0, model::uncoalesced_sectors(from),
       model::global_lines(from)});
}

void WarpTracer::request(
    Site& site, const model::WarpAccess& access, const RequestCost& cost, Together together,
    const StoredValues* values, const model::WarpAccess* other) {
  counts_.request(site, access, cost, warp_, together, other, watch_.bytes_in_flight(warp_));
  watch_.request(site, access, warp_, values);
  if (!record_.is_on()) return;
  record_.request(site, sites_, access, cost, warp_);
  record_hazards();
}

void WarpTracer::record_hazards() {
  std::vector<model::Hazard> found = watch_.take_new();
  std::erase_if(found, [](const model::Hazard& hazard) { return model::is_note(hazard.kind); });
  record_.hazards(found);
}

model::Counts WarpTracer::result() const {
  model::Counts all = counts_.result(sites_);
  all.warp = geometry_;
  if (watch_.looks()) all.hazards = watch_.found();
  all.local_bytes = hooks.deepest - hooks.above_kernel;
  return all;
}

namespace {

// The latest event in which that thread of the block touches that byte from that site; kNone if
// there is none.
std::size_t find_event(
    const model::Recording& recording, std::int64_t block, std::int64_t thread,
    const std::vector<std::uint32_t>& places, std::uint64_t byte) {
  const int warp = recording.warp.warp_of(static_cast<int>(thread)),
            lane = recording.warp.lane_of(static_cast<int>(thread));
  for (std::size_t i = recording.events.size(); i-- > 0;) {
    const model::RecordedEvent& event = recording.events[i];
    if (event.kind != model::RecordedEvent::Kind::request || event.block != block ||
        event.warp != warp || !(event.access.active >> lane & 1u)) {
      continue;
    }
    const std::uint64_t word = byte / 4 * 4, from = event.access.address[lane];
    const bool touches = from < word + 4 && word < from + event.access.bytes;
    if (touches && recording.sites[event.site].places == places) return i;
  }
  return model::RecordedHazard::kNone;
}

}  // namespace

EventRecord::EventRecord(model::Recorder* recorder, const std::vector<machine::KernelArray>& arrays)
    : recorder_(recorder),
      arrays_(arrays),
      launch_(recorder != nullptr ? &recorder->launches.back() : nullptr) {
  if (launch_ == nullptr || !launch_->arrays.empty()) return;
  for (const machine::KernelArray& array : arrays) {
    launch_->arrays.push_back({array.name, array.bytes, array.shared});
  }
}

void EventRecord::begin_block(std::int64_t block) {
  block_ = block;
  recording_ = recorder_ != nullptr && recorder_->records(block) ? launch_ : nullptr;
}

void EventRecord::add(model::RecordedEvent event) {
  std::vector<model::RecordedEvent>& events = recording_->events;
  if (events.size() >= recorder_->most_events) {
    recording_->complete = false;
    return;
  }
  if (event.kind != model::RecordedEvent::Kind::block_begin && !events.empty()) {
    const model::RecordedEvent& last = events.back();
    event.epoch = last.epoch + (last.kind == model::RecordedEvent::Kind::barrier);
  }
  events.push_back(std::move(event));
}

void EventRecord::request(
    Site& site, const Sites& sites, const model::WarpAccess& access, const RequestCost& cost,
    int warp) {
  if (site.recorded < 0) {
    site.recorded = static_cast<int>(recording_->sites.size());
    recording_->sites.push_back(
        {static_cast<int>(sites.array_of(site)), site.counts.direction,
         is_atomic(kind_of(site.token)), 0, sites.places_of(site)});
  }
  model::RecordedEvent event{model::RecordedEvent::Kind::request, block_, warp};
  event.site = site.recorded;
  event.access = access;
  machine::for_each_lane(
      access.active, [&](int l) { event.access.address[l] -= site.array->begin; });
  event.pieces = cost.pieces;
  event.ideal = cost.ideal;
  event.bank_conflicts = cost.bank_conflicts;
  event.uncoalesced = cost.uncoalesced;
  add(event);
}

void EventRecord::event(
    model::RecordedEvent::Kind kind, std::vector<std::uint32_t> places,
    const model::WarpAccess& lanes, int warp) {
  std::vector<model::RecordedSite>& sites = recording_->sites;
  auto site = std::ranges::find_if(
      sites, [&](const auto& known) { return known.array < 0 && known.places == places; });
  if (site == sites.end()) {
    sites.push_back({.places = std::move(places)});
    site = sites.end() - 1;
  }
  model::RecordedEvent event{kind, block_, warp};
  event.site = static_cast<int>(site - sites.begin());
  event.access = lanes;
  // An mma that follows another at the same place in the code is of the same event.
  std::vector<model::RecordedAction>& actions = recording_->actions;
  const model::RecordedEvent& last = recording_->events.back();
  if (kind == model::RecordedEvent::Kind::action && last.warp == warp && last.site == event.site &&
      actions.back().kind == model::RecordedAction::Kind::mma) {
    ++(actions.end() - 2)->value;
    return actions.pop_back();
  }
  add(event);
}

void EventRecord::begin_or_end(model::RecordedEvent::Kind kind) {
  add({kind, block_});
}

std::optional<model::RecordedEvent::Kind> EventRecord::action(
    int thread, const machine::Action& action) {
  using From = machine::Action::Kind;
  using To = model::RecordedAction::Kind;
  using Event = model::RecordedEvent::Kind;
  if (action.kind == From::commit) return Event::commit;
  if (action.kind == From::wait_for_groups) return Event::wait;
  if (action.kind == From::warp_barrier) return Event::warp_barrier;
  const std::pair<From, To> known[] = {
      {From::arrive, To::arrive},
      {From::wait, To::wait},
      {From::load, To::box},
      {From::multiply, To::multiply},
      {From::multiplied, To::multiplied},
      {From::init, To::init},
      {From::mma, To::mma}};
  const auto* const kind = std::ranges::find(known, action.kind, &std::pair<From, To>::first);
  if (action.kind == From::multiply_by) recording_->actions.back().bits = 0;
  if (kind == std::end(known)) return std::nullopt;
  if (recording_->actions.size() >= recorder_->most_events) {
    recording_->complete = false;
    return std::nullopt;
  }
  model::RecordedAction recorded{kind->second, block_, thread, recording_->events.size()};
  recorded.value = action.value;
  recorded.named = action.id;
  recorded.depth = action.depth;
  if (kind->second != To::multiply && kind->second != To::mma) recorded.barrier = action.number;
  const auto place = [&](std::uintptr_t address, int& array, std::uint64_t& byte) {
    const machine::KernelArray* const holds = machine::array_with(arrays_, address);
    if (holds == nullptr) return;
    array = static_cast<int>(holds - arrays_.data());
    byte = address - holds->begin;
  };
  const auto address_of = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  if (action.copy != nullptr) {
    const machine::PartOfMatrix& part = action.copy->matrix;
    if (part.rows > 0) place(address_of(part.first), recorded.matrix, recorded.first);
    recorded.rows = part.rows;
    recorded.row_bytes = part.row_bytes;
    recorded.pitch_bytes = part.pitch_bytes;
    place(address_of(action.copy->shared), recorded.array, recorded.to);
    recorded.bytes = action.copy->bytes;
    recorded.swizzle = action.copy->swizzle;
    recorded.value = action.copy->phase;
  } else if (action.kind == From::init) {
    place(action.value, recorded.array, recorded.to);
  } else if (kind->second == To::multiply) {
    const std::uint32_t first = model::decoded(action.value).start;
    place(address_of(machine::pointer_to_shared(first, arrays_)), recorded.array, recorded.to);
    recorded.rows = static_cast<int>(action.number);
    recorded.bits = 256 / action.depth;
  } else if (kind->second == To::mma) {
    recorded.rows = static_cast<int>(action.number);
    recorded.bits = static_cast<int>(action.value);
    recorded.value = 1;
  }
  recording_->actions.push_back(recorded);
  return Event::action;
}

void EventRecord::hazards(std::span<const model::Hazard> found) {
  if (!recording_->complete) return;
  for (const model::Hazard& hazard : found) {
    const auto event_of = [&](std::int64_t block, const model::Hazard::Actor& actor) {
      return find_event(*recording_, block, actor.thread, actor.places, hazard.byte);
    };
    model::RecordedHazard recorded{hazard, recording_->events.size() - 1};
    recorded.first = event_of(hazard.block, hazard.first);
    if (hazard.second.thread >= 0) {
      recorded.second =
          event_of(hazard.other_block < 0 ? hazard.block : hazard.other_block, hazard.second);
    }
    recording_->hazards.push_back(recorded);
  }
}

void EventRecord::crash(const model::Hazard& hazard) {
  recording_->hazards.push_back({hazard, recording_->events.size() - 1});
}

}  // namespace trace
