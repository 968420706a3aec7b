#include "simulator/trace/watch.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "model/tensor_core.h"
#include "simulator/machine/collectives.h"
#include "simulator/machine/device_heap.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/tensor_cores.h"
#include "simulator/machine/worker.h"
#include "simulator/trace/hazard_watch.h"

namespace trace {
namespace {

constexpr std::uint32_t kNone = HazardWatch::kNone;

How how_of(Kind kind) {
  if (kind == Kind::kVolatileLoad || kind == Kind::kVolatileStore) return How::is_volatile;
  return is_atomic(kind) ? How::atomic : How::plain;
}

bool loads(const Site& site) {
  return is_load(kind_of(site.token)) || site.traffic == kAsyncGmem;
}

}  // namespace

Watch::Watch(
    model::WarpGeometry geometry, const machine::KernelMemory& memory, Sites& sites,
    const CallPaths& paths, LaunchWatch* launch)
    : geometry_(geometry),
      memory_(memory),
      sites_(sites),
      paths_(paths),
      launch_(launch),
      locals_(machine::thread_locals()),
      threads_(geometry, memory.arrays),
      barriers_(geometry) {}

// Whether each thread of the block came to the place of one of the two accesses: then a barrier may
// stand there.
bool Watch::all_come_to(const HazardWatch::Found& found) const {
  for (const HazardWatch::Actor& actor : {found.first, found.second}) {
    if (actor.site >= came_.size() || came_[actor.site].block != block_) continue;
    std::int64_t count = 0;
    for (const std::uint64_t some : came_[actor.site].threads) count += std::popcount(some);
    if (count == block_threads_) return true;
  }
  return false;
}

void Watch::note_who_came() {
  for (std::size_t i = all_come_.size(); i < threads_.found().size(); ++i) {
    all_come_.push_back(all_come_to(threads_.found()[i]));
  }
}

void Watch::begin_block(std::int64_t block, int threads) {
  note_who_came();  // to an abandoned block's places
  block_ = block;
  block_threads_ = threads;
  fatal_ = false;
  threads_.begin_block(block, threads);
  barriers_.begin_block(block, threads);
  agents_.begin_block();
  boxes_.clear();
  threads_taken_ = threads_before_ = threads_.found().size();
  others_taken_ = others_before_ = others_.size();
  fences_ = barriers_passed_ = 0;
  releases_.assign(threads, {});
  last_release_.assign(threads, {kNone, 0});
  acquired_.clear();
  acquired_before_ = 0;
  counts_read_.clear();
  numbers_known_.clear();
  swaps_.assign(threads, {});
  locks_made_.assign(threads, 0);
  locks_folded_.assign(threads, 0);
  swaps_to_fold_ = 0;
  last_known_.assign(threads, {0, 0});
  read_last_.assign(threads, 0);
  touches_.clear();  // of an abandoned block
  latest_loads_.assign(geometry_.warps_of(threads), {});
  undefined_.clear();
}

void Watch::end_block() {
  threads_.end_block();
  note_who_came();
  if (!looks()) return;
  if (!acquired_.empty()) {
    std::vector<std::vector<std::uint32_t>> known(numbers_known_.size());
    for (const auto& [which, number] : numbers_known_) known[number - 1] = which;
    launch_->order.end_block(block_, std::exchange(acquired_, {}), std::move(known));
  } else if (!threads_.order().has_fences()) {
    // Nothing orders this block with another.
    for (Touch& touch : touches_) {
      touch.at = touch.pitch = 0;
      touch.thread = BlockOrder::kAnyThread;
    }
  }
  // An update under a lock needs no atomic, but what the lock lacks.
  const bool locks = std::ranges::any_of(locks_made_, [](std::uint64_t made) { return made > 0; });
  for (std::uint32_t site = 0; site < updates_.size(); ++site) {
    if (updates_[site] == Update::unknown) continue;
    const bool always = updates_[site] == Update::always && !locks;
    launch_->touches.add_update(sites_.places_of(sites_[site]), always);
  }
  if (touches_.empty()) return;
  compact(touches_);
  launch_->touches.add(touches_);
}

// A store to the elements that its lanes have just loaded is an update, and so are these loads.
void Watch::note_update(const Site& site, const model::WarpAccess& access, int warp) {
  constexpr std::size_t kKept = 4;
  LatestLoads& latest = latest_loads_[warp];
  if (updates_.size() <= site.number) updates_.resize(site.number + 1, Update::unknown);
  if (loads(site)) {
    if (latest.loads.size() < kKept) latest.loads.emplace_back();
    latest.loads[latest.next++ % kKept] = {site.number, access};
    return;
  }
  const auto is_loaded_by = [&](const LatestLoads::Load& load) {
    std::uint32_t same = load.access.bytes == access.bytes ? load.access.active : 0;
    machine::for_each_lane(access.active & same, [&](int l) {
      if (load.access.address[l] != access.address[l]) same &= ~(1u << l);
    });
    return (access.active & ~same) == 0;
  };
  Update update = Update::not_always;
  for (const LatestLoads::Load& load : latest.loads) {
    if (!is_loaded_by(load)) continue;
    update = Update::always;
    updates_[load.site] = Update::always;
  }
  Update& known = updates_[site.number];
  if (known != Update::not_always) known = update;
}

bool Watch::is_global(std::uintptr_t address) const {
  return !locals_.holds(address) && !memory_.stacks.holds(address);
}

void Watch::will_store(const void* pointer, bool narrow) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (!looks() || !is_global(address)) return;
  releases_[running_].push_back(
      narrow ? kNarrow
      : fences_ == 0
          ? kNone
          : launch_->order.release(block_, running_, fences_ + barriers_passed_, address));
}

void Watch::will_count(const void* pointer) {
  if (looks() && is_global(reinterpret_cast<std::uintptr_t>(pointer))) launch_->counts = true;
}

void Watch::will_lock(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (looks() && !memory_.stacks.holds(address)) ++locks_made_[running_];
}

void Watch::has_swapped(const void* pointer, int bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (!looks() || memory_.stacks.holds(address)) return;
  if (locks_made_[running_] == locks_folded_[running_]) return;  // it is folded already
  swaps_[running_].push_back({address, bytes, locks_made_[running_]});
  ++swaps_to_fold_;
}

// A plain load whose value the thread then expects in a compare-and-swap, as in the loop of the
// programming guide: if the value is no longer there, the thread tries again.
void Watch::note_guess(const Site& site, int thread, std::uintptr_t address) {
  for (const Swap& swap : swaps_[thread]) {
    if (address - swap.address < static_cast<std::uintptr_t>(swap.bytes)) {
      return launch_->touches.add_guess(sites_.places_of(site));
    }
  }
}

void Watch::atomic_access(Token token, const model::WarpAccess& access, int warp) {
  if (!looks() || how_of(kind_of(token)) == How::plain || !is_load(kind_of(token))) return;
  machine::for_each_lane(access.active, [&](int l) {
    const int thread = thread_of(warp, l);
    acquire(thread, access.address[l]);
    if ((will_go_on_ >> l & 1) != 0) read_last_[thread] = access.address[l];
    if (kind_of(token) != Kind::kLockLoad) return;
    threads_.order().lock(thread, access.address[l]);
    ++locks_folded_[thread];
    std::deque<Swap>& swaps = swaps_[thread];
    if (swaps.empty() || swaps.front().number > locks_folded_[thread]) return;
    swaps.pop_front();
    --swaps_to_fold_;
  });
}

void Watch::acquire(int thread, std::uintptr_t address) {
  threads_.order().atomic_load(thread, address);
  if (!is_global(address)) return;
  const BlockOrder::Read read = launch_->order.read(address);
  if (read.count == 0) return;
  std::uint32_t& count = counts_read_[{thread, read.place}];
  if (std::exchange(count, read.count) == read.count) return;
  acquired_.push_back({thread, threads_.order().instant(thread), read});
}

// A number for those acquired stores of the block that come before the thread's current actions.
std::uint32_t Watch::known_by(int thread) {
  if (acquired_.empty()) return 0;
  const ThreadOrder& order = threads_.order();
  const std::uint64_t state = order.changes() + acquired_.size();
  auto& [last_state, last] = last_known_[thread];
  if (last_state == state) return last;
  std::vector<std::uint32_t> known;
  for (std::uint32_t i = 0; i < acquired_.size(); ++i) {
    const BlockOrder::Acquired& some = acquired_[i];
    if (i < acquired_before_ || order.is_before_now(some.at, some.thread, thread)) {
      known.push_back(i);
    }
  }
  const auto next = static_cast<std::uint32_t>(numbers_known_.size() + 1);
  last = known.empty() ? 0 : numbers_known_.try_emplace(std::move(known), next).first->second;
  last_state = state;
  return last;
}

void Watch::begin_fold(int warp, std::uint32_t running) {
  if (!looks()) return;
  will_go_on_ = running;
  const std::size_t first = thread_of(warp, 0);
  const std::size_t end = std::min(first + geometry_.lanes, read_last_.size());
  for (std::size_t t = first; t < end; ++t) {
    if (read_last_[t] == 0) continue;
    acquire(static_cast<int>(t), std::exchange(read_last_[t], 0));
  }
}

void Watch::atomic_access_made(Token token, const model::WarpAccess& access, int warp) {
  if (!looks() || how_of(kind_of(token)) == How::plain || !is_store(kind_of(token))) return;
  machine::for_each_lane(access.active, [&](int l) {
    const int thread = thread_of(warp, l);
    threads_.order().atomic_store(thread, access.address[l], kind_of(token) == Kind::kAtomicStore);
    if (!is_global(access.address[l])) return;
    const std::uint32_t release = releases_[thread].front();
    releases_[thread].pop_front();
    if (release >= kNarrow) return;
    const ThreadOrder& order = threads_.order();
    const std::pair now{release, order.changes()};
    if (std::exchange(last_release_[thread], now) == now) return;
    launch_->order.add(
        release, order.instant(thread), order.fenced_before(thread, true),
        order.fenced_before(thread, false));
  });
}

void Watch::request(
    const Site& site, model::WarpAccess access, int warp, const StoredValues* values) {
  if (!looks()) return;
  std::uint32_t astray = 0;
  machine::for_each_lane(access.active, [&](int l) {
    astray |= std::uint32_t{!site.array->holds(access.address[l], access.bytes)} << l;
  });
  if (astray != 0) {
    model::WarpAccess others = access;
    others.active = astray;
    stray(site.path, site.token, others, warp);
    access.active &= ~astray;
  }

  std::uint64_t any_address_bit = 0;
  for (const std::uint64_t address : access.address) any_address_bit |= address;
  if (any_address_bit % access.bytes != 0) {
    machine::for_each_lane(access.active, [&](int l) {
      if (access.address[l] % access.bytes == 0) return;
      threads_.note_misaligned(
          access_of(site, access.address[l], access.bytes, thread_of(warp, l)));
      fatal_ = true;
    });
  }
  if (!undefined_.empty() && values != nullptr) look_for_undefined(site, access, warp, *values);
  if (!site.array->shared && !site.array->watched) return;
  machine::for_each_lane(machine::kernels_may_allocate ? access.active : 0, [&](int l) {
    const auto piece = machine::piece_missed(*site.array, access.address[l], access.bytes);
    if (!piece || fatal_) return;
    others_.push_back(machine::out_of_bounds(
        {&*piece, 1}, access.address[l], access.bytes, block_,
        {thread_of(warp, l), 0, !loads(site), sites_.places_of(site)}));
    fatal_ = true;
  });
  static constexpr StoredValues kNone = [] {
    StoredValues none{};
    none.fill(kNoValue);
    return none;
  }();
  if (values == nullptr) values = &kNone;
  touch(site, access, warp, *values);
}

void Watch::look_for_undefined(
    const Site& site, const model::WarpAccess& access, int warp, const StoredValues& values) {
  machine::for_each_lane(access.active, [&](int l) {
    if (values[l] == kNoValue || values[l] == kUnchanged) return;
    if (!machine::depends_on_nothing(values[l], access.bytes)) return;
    model::Hazard hazard{
        model::HazardKind::undefined_used,
        site.array->name,
        access.address[l] - site.array->begin,
        block_,
        {thread_of(warp, l), 0, true, sites_.places_of(site)},
        {thread_of(warp, l), 0, false, undefined_}};
    add_other(hazard);
  });
}

// In the block, and, if it is global memory, in the launch. The store of an atomic covers its load.
void Watch::touch(
    const Site& site, const model::WarpAccess& access, int warp, const StoredValues& values) {
  const Kind kind = kind_of(site.token);
  if (kind == Kind::kLockLoad) return;
  const How how = how_of(kind);
  const bool copies = kind == Kind::kAsyncCopy && site.array->shared, only_loads = loads(site);
  const bool in_launch = !site.array->shared && kind != Kind::kAtomicLoad;
  if (came_.size() <= site.number) came_.resize(site.number + 1);
  Came& came = came_[site.number];
  if (std::exchange(came.block, block_) != block_) came.threads = {};
  const int first = thread_of(warp, 0);
  threads_.begin_request();
  if (!is_atomic(kind)) note_update(site, access, warp);
  came.threads[first / 64] |= std::uint64_t{access.active} << first % 64;
  machine::for_each_lane(access.active, [&](int l) {
    const int thread = thread_of(warp, l);
    const HazardWatch::Access made = access_of(site, access.address[l], access.bytes, thread);
    if (kind == Kind::kAtomicLoad) {
      threads_.update(made);
    } else if (copies) {
      threads_.copy(made);
    } else if (kind == Kind::kAsyncCopy) {
      threads_.copy_from(made);
    } else if (only_loads) {
      if (swaps_to_fold_ > 0 && how == How::plain) note_guess(site, thread, access.address[l]);
      threads_.load(made, how);
    } else {
      threads_.store(made, how, values[l]);
    }
    if (!in_launch) return;
    using Way = Touch::Way;
    const bool strong = how != How::plain, only_reads = only_loads || values[l] == kUnchanged;
    const Way way = only_reads                             ? (strong ? Way::atomic_load : Way::load)
                    : !strong                              ? Way::store
                    : releases_[thread].front() == kNarrow ? Way::narrow_store
                                                           : Way::atomic_store;
    add_touch(made, way, values[l]);
    if (!only_loads) put_writer(made);
  });
}

void Watch::add_touch(const HazardWatch::Access& access, Touch::Way way, std::uint64_t value) {
  const auto& [array, byte, bytes, actor] = access;
  const auto [thread, site] = actor;
  if (place_of_site_.size() <= site) place_of_site_.resize(site + 1, kNone);
  std::uint32_t& place = place_of_site_[site];
  if (place == kNone) place = launch_->touches.number_of(sites_.places_of(sites_[site]));
  Touch touch{
      static_cast<std::uint32_t>(array),
      threads_.order().instant(thread),
      byte,
      byte + bytes,
      block_,
      place,
      known_by(thread)};
  touch.way = way;
  if (way == Touch::Way::store && value != kNoValue) {
    touch.value = value ^ static_cast<std::uint64_t>(bytes) << 56;
  }
  // Loads are many, so they keep only the range.
  if (way >= Touch::Way::store) touch.thread = static_cast<std::int16_t>(thread);
  if (!touches_.empty()) {
    Touch& last = touches_.back();
    if (last.array == touch.array && last.at == touch.at && last.way == way &&
        last.place == place && last.knows == touch.knows && last.extend(touch)) {
      return;
    }
  }
  constexpr std::size_t kMany = 1 << 16;
  if (touches_.size() >= kMany && std::has_single_bit(touches_.size())) compact(touches_);
  touches_.push_back(touch);
}

void Watch::put_writer(const HazardWatch::Access& access) {
  if (!memory_.arrays[access.array].result) return;
  const std::uint64_t me = block_ * block_threads_ + access.actor.thread + 1;
  const std::uint64_t last = (access.byte + access.bytes - 1) / 4;
  for (std::uint64_t word = access.byte / 4; word <= last; ++word) launch_->writers.put(word, me);
}

void Watch::stray(Token path, Token token, const model::WarpAccess& access, int warp) {
  if (!looks()) return;
  machine::for_each_lane(access.active, [&](int l) {
    if (fatal_) return;
    const std::uintptr_t address = access.address[l];
    const Kind kind = kind_of(token);
    const bool stores = is_store(kind) || (kind == Kind::kAsyncCopy && locals_.holds(address));
    const bool allowed = !stores || memory_.uncounted_may_be_stored_to;
    const bool uncounted =
        allowed && !(memory_.has_host_variables && machine::host_variable_at(address) != nullptr) &&
        std::any_of(
            memory_.uncounted.begin(), memory_.uncounted.end(),
            [&](const machine::MemoryRange& range) { return range.holds(address); });
    if (uncounted) return;
    if (memory_.stacks.holds(address))
      return foreign_local(path, token, stores, address, thread_of(warp, l));
    const Site* site = sites_.find(path, token, address);
    if (site != nullptr && site->array->holds(address, access.bytes)) {
      model::WarpAccess lane = access;
      lane.active = 1u << l;
      return request(*site, lane, warp);
    }
    others_.push_back(machine::out_of_bounds(
        memory_.arrays, address, access.bytes, block_,
        {thread_of(warp, l), 0, stores, paths_.places_of(path, place_of(token))}));
    fatal_ = true;
  });
}

void Watch::foreign_local(
    Token path, Token token, bool stores, std::uintptr_t address, int thread) {
  const auto owner =
      static_cast<std::int64_t>((address - memory_.stacks.begin) / machine::kStackBytes);
  model::Hazard hazard{model::HazardKind::foreign_local, "", 0, block_, {}, {}};
  hazard.first = {thread, 0, stores, paths_.places_of(path, place_of(token))};
  if (owner != thread) hazard.second.thread = owner;
  others_.push_back(hazard);
  fatal_ = true;
}

void Watch::will_use_bad_index(
    std::int64_t index, std::uintptr_t stack, std::uintptr_t stack_top, const LocalStores& stores) {
  const auto places = stores.that_made(index, stack, stack_top);
  index_made_by_.reset();
  if (places) index_made_by_.emplace(index, *places);
}

void Watch::misuse(int thread, const machine::Action& action, Token path, Token token) {
  model::Hazard hazard{static_cast<model::HazardKind>(action.id), "", 0, block_, {}, {}};
  hazard.first = {thread, 0, false, paths_.places_of(path, place_of(token))};
  const bool is_undefined = hazard.kind == model::HazardKind::nothing_shuffled;
  if (is_undefined && undefined_.empty()) undefined_ = hazard.first.places;
  hazard.index = static_cast<std::int64_t>(action.value);
  hazard.extent = action.number;
  if (hazard.kind == model::HazardKind::unwritten) {
    const auto* const array = machine::array_with(memory_.arrays, action.value);
    if (array == nullptr) return;
    hazard.array = array->name;
    hazard.byte = action.value - array->begin;
    hazard.extent = static_cast<std::int32_t>(action.number);
    hazard.index = static_cast<std::int64_t>(hazard.byte) / std::abs(hazard.extent);
  }
  if (hazard.kind == model::HazardKind::sum_in_flight) {
    hazard.second = {thread, 0, false, {static_cast<std::uint32_t>(action.value)}};
  }
  if (hazard.kind != model::HazardKind::index_out_of_range) return add_other(hazard);
  const IndexedArray array = array_indexed(&__executable_start + action.number);
  hazard.array = array.name;
  hazard.extent = array.extent;
  if (index_made_by_ && index_made_by_->first == hazard.index) {
    const LocalStores::Places& places = index_made_by_->second;
    hazard.second = {thread, 0, true, {places.begin(), places.end()}};
  }
  others_.push_back(hazard);
  fatal_ = true;
}

void Watch::follow_copies(int thread, const machine::Action& action) {
  using Act = machine::Action::Kind;
  if (action.kind == Act::commit) threads_.commit(thread);
  if (action.kind == Act::wait_for_groups) threads_.wait(thread, action.value);
  if (action.kind == Act::arrive_copied)
    threads_.arrive_copied(thread, action.number, action.value);
  if (action.kind == Act::wait) threads_.completed(action.number, action.value);
}

void Watch::act(
    int thread, std::uint32_t lanes, const machine::Action& action, Token path, Token token) {
  using Act = machine::Action::Kind;
  follow_copies(thread, action);
  if (!looks()) return;
  const int warp = geometry_.warp_of(thread);
  const std::uint64_t phase = AsyncAgents::place(action.number, action.value);
  switch (action.kind) {
    case Act::commit:
    case Act::mma:
      return;
    case Act::wait_for_groups:
      return touch_sources(thread);
    case Act::warp_barrier:
      latest_loads_[warp] = {};
      return threads_.order().warp_barrier(warp, lanes, static_cast<std::uint32_t>(action.value));
    case Act::fence:
      return threads_.order().fence(thread, action.value != 0);
    case Act::read_only_load: {
      const Site* site = sites_.find(path, token, action.value);
      if (site == nullptr || !site->array->watched) return;
      return add_touch(
          access_of(*site, action.value, bytes_of(token), thread), Touch::Way::read_only_load);
    }
    case Act::misuse:
      return misuse(thread, action, path, token);
    case Act::init: {
      agents_.init(action.number, action.value);
      const auto store = access_at(thread, path, token, Kind::kStore, 3, action.value, 8);
      if (store) threads_.store(*store);
      return;
    }
    case Act::arrive:
    case Act::arrive_copied:
      use_barrier(thread, action.number, false, path, token);
      return threads_.order().arrive(thread, phase);
    case Act::wait:
      touch_sources(thread);
      use_barrier(thread, action.number, false, path, token);
      threads_.order().atomic_load(thread, phase);
      return learn(thread, agents_.number(AsyncAgents::Kind::copies, action.number), action.copies);
    case Act::barrier_fence:
    case Act::proxy_fence:
      return threads_.order().proxy_fence(thread, action.kind == Act::barrier_fence);
    case Act::load:
      return load_tile(thread, action, path, token);
    case Act::store:
      return store_tile(thread, action, path, token);
    case Act::multiply:
      read_operand(thread, action, path, token);
      return machine::for_each_lane(
          lanes, [&](int l) { joined_multiply(geometry_.thread_of(warp, l)); });
    case Act::multiply_by:
      return read_operand(thread, action, path, token);
    case Act::stores_read:
    case Act::multiplied: {
      const bool multiplied = action.kind == Act::multiplied;
      const int agent =
          multiplied
              ? agents_.number(AsyncAgents::Kind::tensor_cores, thread / machine::kWarpgroupThreads)
              : agents_.number(AsyncAgents::Kind::stores, thread);
      if (multiplied && action.value > 0) {
        threads_.order().atomic_load(
            thread, AsyncAgents::place_of_multiply(agent, action.value - 1));
      }
      return learn(thread, agent, action.value);
    }
  }
}

// The thread takes part in the wgmma that its warp started last.
void Watch::joined_multiply(int thread) {
  const int agent =
      agents_.number(AsyncAgents::Kind::tensor_cores, thread / machine::kWarpgroupThreads);
  const std::size_t started = agents_.started(geometry_.warp_of(thread));
  threads_.order().arrive(thread, AsyncAgents::place_of_multiply(agent, started - 1));
}

// The thread learns that the agent's first `count` actions are complete.
void Watch::learn(int thread, int agent, std::uint64_t count) {
  const std::vector<ThreadOrder::Moment>& actions = agents_.actions(agent);
  const std::uint64_t known = std::min<std::uint64_t>(count, actions.size());
  if (known > 0) threads_.order().learn_action(thread, {agent, actions[known - 1]});
}

void Watch::use_barrier(
    int thread, std::uint32_t barrier, bool by_copies, Token path, Token token) {
  const std::uintptr_t address = agents_.address(barrier);
  if (address == 0) return;
  const auto use = access_at(thread, path, token, Kind::kLoad, 3, address, 8);
  if (use) threads_.use_barrier(*use, by_copies);
}

std::optional<HazardWatch::Access> Watch::access_at(
    int thread, Token path, Token token, Kind kind, Token log2_bytes, std::uintptr_t address,
    std::size_t bytes) {
  const Site* site = sites_.find(path, make_token(place_of(token), kind, log2_bytes), address);
  if (site == nullptr) return std::nullopt;
  return access_of(*site, address, bytes, thread);
}

// Checks the part of a matrix that a copy reads or writes.
void Watch::part_of_matrix(
    int thread, const machine::PartOfMatrix& part, bool stores, Token path, Token token,
    AgentAction by) {
  if (part.rows == 0) return;
  const auto first = reinterpret_cast<std::uintptr_t>(part.first);
  const Token access =
      make_token(place_of(token), stores ? Kind::kStore : Kind::kAsyncCopy, kBoxSite);
  Site* const site = sites_.find(path, access, first);
  for (int row = 0; row < part.rows; ++row) {
    const std::uintptr_t address = first + row * part.pitch_bytes;
    if (site == nullptr || !site->array->holds(address, part.row_bytes)) {
      others_.push_back(machine::out_of_bounds(
          memory_.arrays, address, part.row_bytes, block_,
          {thread, 0, stores, paths_.places_of(path, place_of(token))}));
      fatal_ = true;
      return;
    }
    if (!site->array->watched) continue;
    const HazardWatch::Access row_of = access_of(*site, address, part.row_bytes, thread);
    add_touch(row_of, stores ? Touch::Way::store : Touch::Way::load);
    if (by.agent >= 0) threads_.agent_copy_from(row_of, by);
    if (stores) put_writer(row_of);
  }
}

void Watch::load_tile(int thread, const machine::Action& action, Token path, Token token) {
  const machine::Action::BoxCopy& copy = *action.copy;
  use_barrier(thread, action.number, true, path, token);
  const AgentAction by =
      agents_.act(agents_.number(AsyncAgents::Kind::copies, action.number), threads_.order());
  part_of_matrix(thread, copy.matrix, false, path, token, by);
  const auto store = access_at(
      thread, path, token, Kind::kAsyncCopy, kBoxSite,
      reinterpret_cast<std::uintptr_t>(copy.shared), copy.bytes);
  if (!store) return;
  threads_.agent_store(*store, by);
  boxes_.push_back({by, static_cast<std::int64_t>(copy.bytes)});
}

std::int64_t Watch::box_bytes_in_flight(int thread) {
  std::erase_if(boxes_, [&](const Box& box) { return threads_.order().knows(thread, box.copy); });
  std::int64_t bytes = 0;
  for (const Box& box : boxes_) bytes += box.bytes;
  return bytes;
}

void Watch::store_tile(int thread, const machine::Action& action, Token path, Token token) {
  const machine::Action::BoxCopy& copy = *action.copy;
  part_of_matrix(thread, copy.matrix, true, path, token);
  const auto load = access_at(
      thread, path, token, Kind::kLoad, kBoxSite, reinterpret_cast<std::uintptr_t>(copy.shared),
      copy.bytes);
  if (!load) return;
  const int agent = agents_.number(AsyncAgents::Kind::stores, thread);
  threads_.agent_load(*load, agents_.act(agent, threads_.order()));
}

// The first warp of a warpgroup to come to a wgmma starts the agent's action, and each warp must be
// ordered after the operand's stores.
void Watch::read_operand(int thread, const machine::Action& action, Token path, Token token) {
  const int warpgroup = thread / machine::kWarpgroupThreads;
  const int agent = agents_.number(AsyncAgents::Kind::tensor_cores, warpgroup);
  std::vector<ThreadOrder::Moment>& actions = agents_.actions(agent);
  const int warp = geometry_.warp_of(thread);
  const std::size_t number = action.kind == machine::Action::Kind::multiply
                                 ? agents_.start(warp)
                                 : agents_.started(warp) - 1;
  if (number == actions.size()) actions.push_back(threads_.order().act());
  const machine::OperandTile tile{action.value, action.major};
  std::uintptr_t shared = 0;  // the operand lies in one array, in which addresses differ by this
  machine::for_each_piece(tile, static_cast<int>(action.number), [&](std::uint32_t piece) {
    if (shared == 0) {
      const char* const first = machine::pointer_to_shared(piece, memory_.arrays);
      shared = reinterpret_cast<std::uintptr_t>(first) - piece;
    }
    const auto load = access_at(thread, path, token, Kind::kLoad, kBoxSite, shared + piece, 16);
    if (load) threads_.agent_load(*load, {agent, actions[number]});
  });
}

// Keeps the first of equal hazards.
void Watch::add_other(const model::Hazard& hazard) {
  const bool known = std::any_of(others_.begin(), others_.end(), [&](const model::Hazard& other) {
    return other.kind == hazard.kind && other.first.places == hazard.first.places &&
           other.second.places == hazard.second.places;
  });
  if (!known) others_.push_back(hazard);
}

// For other blocks, a copy reads its source until it is waited for.
void Watch::touch_sources(int thread) {
  for (HazardWatch::Access load : threads_.take_arrived()) {
    load.actor.thread = thread;
    add_touch(load, Touch::Way::load);
  }
}

void Watch::barrier(std::span<const bool> left, const WarpLog& log) {
  if (!looks()) return;
  threads_.barrier();
  latest_loads_.assign(latest_loads_.size(), {});
  ++barriers_passed_;
  acquired_before_ = acquired_.size();
  for (const model::Hazard& hazard : barriers_.barrier(left, log, paths_)) {
    add_other(hazard);
    fatal_ |= model::is_fatal(hazard.kind);
  }
}

bool Watch::found_hazard() const {
  const auto is_hazard = [](const auto& found) { return !model::is_note(found.kind); };
  return std::ranges::any_of(std::span(threads_.found()).subspan(threads_before_), is_hazard) ||
         std::ranges::any_of(std::span(others_).subspan(others_before_), is_hazard);
}

std::vector<model::Hazard> Watch::found() const {
  std::vector<model::Hazard> all = others_;
  for (std::size_t i = 0; i < threads_.found().size(); ++i) {
    const HazardWatch::Found& found = threads_.found()[i];
    // What is no flag everywhere needs no note.
    if (found.kind == model::HazardKind::same_value && threads_.race_at_places_of(found)) continue;
    all.push_back(hazard_of(found, i < all_come_.size() ? all_come_[i] : all_come_to(found)));
  }
  return all;
}

std::vector<model::Hazard> Watch::take_new() {
  std::vector<model::Hazard> taken;
  for (; threads_taken_ < threads_.found().size(); ++threads_taken_) {
    taken.push_back(hazard_of(threads_.found()[threads_taken_], true));
  }
  std::erase_if(
      taken, [&](const model::Hazard& hazard) { return launch_->touches.is_of_guess(hazard); });
  taken.insert(taken.end(), others_.begin() + others_taken_, others_.end());
  others_taken_ = others_.size();
  return taken;
}

model::Hazard Watch::hazard_of(const HazardWatch::Found& found, bool all_come) const {
  const machine::KernelArray& array = memory_.arrays[found.array];
  model::Hazard hazard{found.kind,
                       array.name,
                       found.byte,
                       found.block,
                       actor_of(found.first),
                       actor_of(found.second)};
  const bool both_store = hazard.first.stores && hazard.second.stores;
  const bool is_race =
      found.kind == model::HazardKind::race || found.kind == model::HazardKind::same_value;
  if (is_race && array.result && both_store) {
    hazard.kind = model::HazardKind::race_on_result;
  }
  hazard.remedy = remedy(found, all_come);
  return hazard;
}

model::Remedy Watch::remedy(const HazardWatch::Found& found, bool all_come) const {
  using model::Remedy;
  const Kind kind = kind_of(sites_[found.first.site].token);
  const bool atomic = is_atomic(kind);
  if (found.kind == model::HazardKind::misaligned) {
    return is_matrix(kind) ? Remedy::row_of_16_bytes
           : atomic        ? Remedy::atomic_in_place
                           : Remedy::block_barrier;
  }
  if (found.kind != model::HazardKind::race) return Remedy::block_barrier;
  if (is_update(found.first.site) && is_update(found.second.site)) return Remedy::atomic_update;
  if (found.first.site == found.second.site && !loads(sites_[found.first.site]) && !atomic) {
    return Remedy::one_owner;
  }
  if (atomic != is_atomic(kind_of(sites_[found.second.site].token))) {
    return !found.of_warps ? Remedy::warp_barrier_or_atomics
           : all_come      ? Remedy::barrier_or_atomics
                           : Remedy::only_atomics;
  }
  if (!found.of_warps) return Remedy::warp_barrier;
  if (machine::waits_for_all() && !memory_.arrays[found.array].shared) return Remedy::grid_barrier;
  return all_come ? Remedy::block_barrier : Remedy::barrier_outside;
}

model::Hazard::Actor Watch::actor_of(HazardWatch::Actor actor) const {
  if (actor.site == HazardWatch::kNone) return {};
  const Site& site = sites_[actor.site];
  const bool stores = !loads(site);
  return {actor.thread, 0, stores, sites_.places_of(site)};
}

}  // namespace trace
