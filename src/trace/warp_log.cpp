#include "trace/warp_log.h"

#include <algorithm>
#include <bit>

#include "trace/bad_index.h"

namespace trace {
namespace {

enum TrafficIndex { kGmemLoads, kGmemStores, kSmemLoads, kSmemStores, kAsyncGmem, kAsyncSmem };

constexpr model::Traffic model::Counts::*kTraffic[] = {
    &model::Counts::gmem_loads,  &model::Counts::gmem_stores, &model::Counts::smem_loads,
    &model::Counts::smem_stores, &model::Counts::async_gmem,  &model::Counts::async_smem};

// The bytes modulo which the place of a load or store matters to its cost
// (src/model/warp_access.h).
constexpr int kAlignment[] = {128, 128, 16, 16};

template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

void include(model::PerThread& figure, std::int64_t value, bool first) {
  figure.min = first ? value : std::min(figure.min, value);
  figure.max = first ? value : std::max(figure.max, value);
  figure.sum += value;
}

void add(model::PerThread& to, const model::PerThread& from, bool first) {
  const std::int64_t sum = to.sum + from.sum;
  include(to, from.min, first);
  include(to, from.max, false);
  to.sum = sum;
}

// For two counts of requests, of a line or of all lines.
template <class To, class From>
void add_requests(To& to, const From& from) {
  to.requests += from.requests;
  to.pieces += from.pieces;
  to.ideal_pieces += from.ideal_pieces;
  to.bank_conflicts += from.bank_conflicts;
  to.lines += from.lines;
}

}  // namespace

// Keeps the first of what is the same hazard.
void add(std::vector<model::Hazard>& hazards, const model::Hazard& more) {
  const auto known = std::find_if(hazards.begin(), hazards.end(), [&](const model::Hazard& hazard) {
    return hazard.kind == more.kind && hazard.array == more.array &&
           hazard.first.places == more.first.places && hazard.second.places == more.second.places;
  });
  if (known == hazards.end()) {
    hazards.push_back(more);
  } else if (more.block < known->block) {
    *known = more;
  }
}

void add(std::vector<model::LineCounts>& lines, const model::LineCounts& more) {
  const auto known = std::find_if(lines.begin(), lines.end(), [&](const model::LineCounts& line) {
    return line.line == more.line && line.places == more.places && line.array == more.array &&
           line.bytes == more.bytes && line.direction == more.direction;
  });
  if (known == lines.end()) {
    lines.push_back(more);
    return;
  }
  known->executions += more.executions;
  known->in_flight_bytes += more.in_flight_bytes;
  known->in_flight_most = std::max(known->in_flight_most, more.in_flight_most);
  add_requests(*known, more);
  // The same example, whichever thread came first.
  if (more.worst_pieces > known->worst_pieces ||
      (more.worst_pieces == known->worst_pieces && more.worst_block < known->worst_block)) {
    known->worst_pieces = more.worst_pieces;
    known->worst_block = more.worst_block;
    known->worst = more.worst;
  }
}

void add(model::Counts& to, const model::Counts& from) {
  for (const model::Hazard& hazard : from.hazards) add(to.hazards, hazard);
  if (from.threads_traced == 0) return;
  const bool first = to.threads_traced == 0;
  for (model::Traffic model::Counts::*member : kTraffic) {
    model::Traffic& t = to.*member;
    const model::Traffic& f = from.*member;
    add(t.accesses, f.accesses, first);
    add(t.floats, f.floats, first);
    add(t.bytes, f.bytes, first);
    add_requests(t, f);
  }
  for (std::size_t w = 0; w < to.widenable.size(); ++w) {
    to.widenable[w].requests += from.widenable[w].requests;
    to.widenable[w].wavefronts_64 += from.widenable[w].wavefronts_64;
    to.widenable[w].wavefronts_128 += from.widenable[w].wavefronts_128;
  }
  to.blocks_traced += from.blocks_traced;
  to.threads_traced += from.threads_traced;
  to.barriers += from.barriers;
  for (const model::LineCounts& line : from.lines) add(to.lines, line);
}

model::Hazard out_of_bounds(
    std::span<const TracedArray> arrays, std::uintptr_t address, int bytes, std::int64_t block,
    const model::Hazard::Actor& actor) {
  // What is further away than an index of 32 bits reaches is a stray pointer.
  constexpr std::uint64_t kNear = std::uint64_t{1} << 33;
  model::Hazard hazard{model::HazardKind::out_of_bounds, "", address, block, actor, {}};
  std::uint64_t nearest = kNear;
  for (const TracedArray& array : arrays) {
    if (array.bytes == 0 || array.owner != 0) continue;
    const std::uintptr_t end = array.begin + array.bytes;
    const std::uint64_t distance = address < array.begin   ? array.begin - address
                                   : address + bytes > end ? address + bytes - end
                                                           : 0;
    if (distance >= nearest) continue;
    nearest = distance;
    hazard.array = array.name;
    hazard.shared = array.shared;
    hazard.byte = address - array.begin;
    hazard.extent = static_cast<std::int64_t>(array.bytes);
  }
  return hazard;
}

WarpTracer::WarpTracer(
    std::vector<TracedArray> arrays, std::vector<MemoryRange> uncounted, std::uint64_t* writers)
    : arrays_(std::move(arrays)),
      uncounted_(std::move(uncounted)),
      remembered_(kRemembered),
      writers_(writers) {
  for (Lane& lane : lanes_) {
    lane.tokens.resize(kTokens);
    lane.addresses.resize(2 * kTokens);
  }
}

void WarpTracer::record(Recorder& recorder) {
  recorder_ = &recorder;
  launch_ = &recorder.launches.back();
  for (const TracedArray& array : arrays_) {
    launch_->arrays.push_back({array.name, array.bytes, array.shared});
  }
}

void WarpTracer::begin_block(std::int64_t block, int threads) {
  block_ = block;
  fatal_ = false;
  for (Lane& lane : lanes_) {
    lane.log = {lane.tokens.data(), lane.tokens.data() + kTokens, lane.addresses.data()};
    lane.tally = {};
  }
  hazards_.begin_block(block, threads);
  in_flight_.begin_block(threads);
  threads_.assign(threads, {});
  thread_paths_.assign(threads, 0);
  last_places_.assign(threads, {});
  recording_ = recorder_ != nullptr && recorder_->records(block) ? launch_ : nullptr;
  hazards_recorded_ = hazards_.found().size();
  other_hazards_recorded_ = other_hazards_.size();
  record_block_event(model::RecordedEvent::Kind::block_begin);
}

void WarpTracer::barrier(std::span<const bool> left) {
  ++counts_.barriers;
  hazards_.barrier();
  if (looks_for_hazards()) require_one_barrier(left);
  record_block_event(model::RecordedEvent::Kind::barrier);
}

void WarpTracer::require_one_barrier(std::span<const bool> left) {
  const auto waiting = std::find(left.begin(), left.end(), false) - left.begin();
  for (std::size_t t = 0; t < left.size(); ++t) {
    if (!left[t] && thread_paths_[t] == thread_paths_[waiting]) continue;
    model::Hazard hazard{model::HazardKind::barrier_divergence, "", 0, block_, {}, {}};
    const Token path = thread_paths_[waiting], other = thread_paths_[t];
    hazard.first = {waiting, 0, false, places_of(paths_[path].parent, paths_[path].call)};
    hazard.second = {
        static_cast<std::int64_t>(t), 0, left[t],
        left[t] ? last_places_[t] : places_of(paths_[other].parent, paths_[other].call)};
    other_hazards_.push_back(hazard);
    fatal_ = true;
    return;
  }
}

void WarpTracer::end_block() {
  hazards_.end_block();
  record_block_event(model::RecordedEvent::Kind::block_end);
  for (const Tally& thread : threads_) {
    const bool first = counts_.threads_traced++ == 0;
    for (int t = 0; t < kTraffics; ++t) {
      model::Traffic& traffic = counts_.*kTraffic[t];
      include(traffic.accesses, thread.accesses[t], first);
      include(traffic.floats, thread.bytes[t] / 4, first);
      include(traffic.bytes, thread.bytes[t], first);
    }
  }
  ++counts_.blocks_traced;
}

model::Counts WarpTracer::result() const {
  model::Counts all = counts_;
  for (const Site& site : sites_) {
    add_requests(all.*kTraffic[site.traffic], site.counts);
    // cp.async is a global load and a shared store as well.
    if (site.traffic == kAsyncGmem) add_requests(all.gmem_loads, site.counts);
    if (site.traffic == kAsyncSmem) add_requests(all.smem_stores, site.counts);
    all.lines.push_back(site.counts);
    all.lines.back().places = places_of(site);
  }
  if (writers_ == nullptr) return all;
  all.hazards = other_hazards_;
  for (const HazardWatch::Found& found : hazards_.found()) {
    all.hazards.push_back(hazard_of(found));
  }
  return all;
}

std::vector<std::uint32_t> WarpTracer::places_of(const Site& site) const {
  return places_of(site.path, place_of(site.token));
}

std::vector<std::uint32_t> WarpTracer::places_of(Token path, Token place) const {
  std::vector<std::uint32_t> places{place};
  for (; path != 0; path = paths_[path].parent) {
    places.insert(places.begin(), paths_[path].call);
  }
  return places;
}

model::Hazard WarpTracer::hazard_of(const HazardWatch::Found& found) const {
  return {found.kind,  arrays_[found.array].name, found.byte,
          found.block, actor_of(found.first),     actor_of(found.second)};
}

model::Hazard::Actor WarpTracer::actor_of(HazardWatch::Actor actor) const {
  if (actor.site == HazardWatch::kNone) return {};
  const Site& site = sites_[actor.site];
  return {actor.thread, 0, site.counts.direction != model::Direction::load, places_of(site)};
}

void WarpTracer::fold(int warp, std::uint32_t running) {
  warp_ = warp;
  std::vector<Party> all = parties(running);
  merge(all);
  if (fatal_) {
    if (recording_ != nullptr) record_hazards();
    return;
  }
  for (const Party& party : all) {
    const std::vector<Token> steps = last_steps(party);
    for_each_lane(party.lanes, [&](int l) {
      Lane& lane = lanes_[l];
      thread_paths_[thread_of(l)] = party.path;
      if (!steps.empty()) last_places_[thread_of(l)] = steps;
      std::copy(lane.tokens.data() + party.tokens_used, lane.log.next_token, lane.tokens.data());
      std::copy(
          lane.addresses.data() + party.addresses_used, lane.log.next_address,
          lane.addresses.data());
      lane.log.next_token -= party.tokens_used;
      lane.log.next_address -= party.addresses_used;
      Tally& thread = threads_[warp * model::kWarpSize + l];
      thread.add(party.tally);
      thread.add(lane.tally);
      lane.tally = {};
    });
  }
}

// Where a party that left the kernel was before: its last steps but for the one that all ways out
// of a function share.
std::vector<Token> WarpTracer::last_steps(const Party& party) const {
  constexpr std::size_t kEnough = 6;
  std::vector<Token> steps;
  if (party.running) return steps;
  // Behind the kernel's exit there are those of the functions that launch it.
  std::size_t end = 0;
  for (std::size_t i = party.tokens.size(); i-- > 0;) {
    const Kind kind = kind_of(party.tokens[i]);
    if (kind != Kind::kExit && kind != Kind::kStep) break;
    if (kind == Kind::kExit) end = i;
  }
  if (end == 0) return steps;
  for (std::size_t i = end - 1; i-- > 0 && steps.size() < kEnough;) {
    const Token token = party.tokens[i];
    if (kind_of(token) == Kind::kStep) steps.insert(steps.begin(), place_of(token));
  }
  return steps;
}

std::vector<WarpTracer::Party> WarpTracer::parties(std::uint32_t running) const {
  std::vector<Party> all;
  for (int l = 0; l < model::kWarpSize; ++l) {
    const Lane& lane = lanes_[l];
    const std::span<const Token> tokens(lane.tokens.data(), lane.log.next_token);
    const bool is_running = running >> l & 1u;
    if (tokens.empty() && !is_running) continue;
    const Token path = thread_paths_[thread_of(l)];
    auto same = std::find_if(all.begin(), all.end(), [&](const Party& party) {
      return party.running == is_running && party.path == path &&
             std::equal(tokens.begin(), tokens.end(), party.tokens.begin(), party.tokens.end());
    });
    if (same == all.end()) {
      all.push_back({.lanes = 0, .tokens = tokens, .path = path, .running = is_running});
      same = all.end() - 1;
    }
    same->lanes |= 1u << l;
  }
  return all;
}

void WarpTracer::merge(std::vector<Party>& parties) {
  std::vector<Party*> together;
  while (!fatal_) {
    const Party* first = nullptr;
    for (const Party& party : parties) {
      if (!party.finished()) {
        if (first == nullptr || before(party, *first)) first = &party;
      } else if (party.running) {
        return;
      }
    }
    if (first == nullptr) return;
    together.clear();
    for (Party& party : parties) {
      if (!party.finished() && party.path == first->path && party.next() == first->next()) {
        together.push_back(&party);
      }
    }
    do {
      step(together);
    } while (parties.size() == 1 && !together[0]->finished() && !fatal_);
  }
}

bool WarpTracer::before(const Party& a, const Party& b) const {
  // Where a lane is inside a call, the place of that call stands for it in the calling function.
  struct Position {
    Token path, place;
  };
  const auto caller = [this](Position p) -> Position {
    return {paths_[p.path].parent, paths_[p.path].call};
  };
  Position x{a.path, place_of(a.next())}, y{b.path, place_of(b.next())};
  while (paths_[x.path].depth > paths_[y.path].depth) x = caller(x);
  while (paths_[y.path].depth > paths_[x.path].depth) y = caller(y);
  while (x.path != y.path) {
    x = caller(x);
    y = caller(y);
  }
  if (x.place != y.place) return x.place < y.place;
  return paths_[a.path].depth > paths_[b.path].depth;
}

void WarpTracer::step(std::span<Party* const> together) {
  const Token token = together[0]->next();
  for (Party* party : together) ++party->tokens_used;
  switch (kind_of(token)) {
    case Kind::kStep: {
      Path& path = paths_[together[0]->path];
      if (path.entry == 0) path.entry = place_of(token);
      return;
    }
    case Kind::kEnter: {
      const Token path = called(together[0]->path, place_of(token));
      for (Party* party : together) party->path = path;
      return;
    }
    case Kind::kExit: {
      const Token path = paths_[together[0]->path].parent;
      for (Party* party : together) party->path = path;
      return;
    }
    case Kind::kWarpBarrier:
    case Kind::kCommit:
    case Kind::kWait:
      return follow(kind_of(token), token, together);
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kAtomicLoad:
    case Kind::kAtomicStore:
      return count_access(gather(token, together), token, together);
    case Kind::kAsyncCopy: {
      const model::WarpAccess from = gather(token, together);
      return count_async_copy(from, gather(token, together), token, together);
    }
    case Kind::kBadIndex: {
      const model::WarpAccess type = gather(token, together);
      return report_bad_index(type, gather(token, together), together[0]->path, token);
    }
  }
}

Token WarpTracer::called(Token path, Token call) {
  for (Token p = path + 1; p < paths_.size(); ++p) {
    if (paths_[p].parent == path && paths_[p].call == call) return p;
  }
  paths_.push_back({path, call, paths_[path].depth + 1});
  return paths_.size() - 1;
}

model::WarpAccess WarpTracer::gather(Token token, std::span<Party* const> together) {
  model::WarpAccess access{0, bytes_of(token), {}};
  for (Party* party : together) {
    access.active |= party->lanes;
    const std::size_t index = party->addresses_used++;
    for_each_lane(party->lanes, [&](int l) { access.address[l] = lanes_[l].addresses[index]; });
  }
  return access;
}

void WarpTracer::follow(Kind kind, Token token, std::span<Party* const> together) {
  model::WarpAccess lanes{};
  for (const Party* party : together) lanes.active |= party->lanes;
  const Token path = together[0]->path;
  const auto record = [&](model::RecordedEvent::Kind as) {
    if (recording_ == nullptr) return;
    record_event(as, places_of(path, place_of(token)), lanes);
  };
  if (kind == Kind::kWarpBarrier) {
    hazards_.warp_barrier(warp_);
    return record(model::RecordedEvent::Kind::warp_barrier);
  }
  if (kind == Kind::kWait) {
    lanes = gather(token, together);
    for_each_lane(lanes.active, [&](int l) {
      hazards_.wait(thread_of(l), lanes.address[l]);
      in_flight_.wait(thread_of(l), lanes.address[l]);
    });
    return record(model::RecordedEvent::Kind::wait);
  }
  for_each_lane(lanes.active, [&](int l) {
    hazards_.commit(thread_of(l));
    in_flight_.commit(thread_of(l));
  });
  record(model::RecordedEvent::Kind::commit);
}

void WarpTracer::record_request(Site& site, const model::WarpAccess& access, const Cost& cost) {
  if (recording_ == nullptr) return;
  if (site.recorded < 0) {
    site.recorded = static_cast<int>(recording_->sites.size());
    recording_->sites.push_back(
        {static_cast<int>(site.array - arrays_.data()), site.counts.direction,
         kind_of(site.token) >= Kind::kAtomicLoad, 0, places_of(site)});
  }
  model::RecordedEvent event{model::RecordedEvent::Kind::request, block_, warp_};
  event.site = site.recorded;
  event.access = access;
  for_each_lane(access.active, [&](int l) { event.access.address[l] -= site.array->begin; });
  event.pieces = cost.pieces;
  event.ideal = cost.ideal;
  event.bank_conflicts = cost.bank_conflicts;
  add_event(*recorder_, *recording_, event);
  record_hazards();
}

void WarpTracer::record_event(
    model::RecordedEvent::Kind kind, std::vector<std::uint32_t> places,
    const model::WarpAccess& lanes) {
  std::vector<model::RecordedSite>& sites = recording_->sites;
  auto site = std::find_if(sites.begin(), sites.end(), [&](const model::RecordedSite& known) {
    return known.array < 0 && known.places == places;
  });
  if (site == sites.end()) {
    sites.push_back({.places = std::move(places)});
    site = sites.end() - 1;
  }
  const bool of_warp = kind != model::RecordedEvent::Kind::barrier;
  model::RecordedEvent event{kind, block_, of_warp ? warp_ : -1};
  event.site = static_cast<int>(site - sites.begin());
  event.access = lanes;
  add_event(*recorder_, *recording_, event);
}

void WarpTracer::record_block_event(model::RecordedEvent::Kind kind) {
  if (recording_ == nullptr) return;
  if (kind == model::RecordedEvent::Kind::barrier) {
    // Every thread that waits is inside of __syncthreads, and those that have left are nowhere.
    const auto waits = std::find_if(
        thread_paths_.begin(), thread_paths_.end(), [](Token path) { return path != 0; });
    record_event(
        kind,
        waits == thread_paths_.end() ? std::vector<std::uint32_t>{}
                                     : places_of(paths_[*waits].parent, paths_[*waits].call),
        {});
  } else {
    add_event(*recorder_, *recording_, {kind, block_});
  }
  record_hazards();
}

void WarpTracer::record_hazards() {
  if (!recording_->complete) return;
  const auto record = [&](const model::Hazard& hazard) {
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
  };
  for (; hazards_recorded_ < hazards_.found().size(); ++hazards_recorded_) {
    record(hazard_of(hazards_.found()[hazards_recorded_]));
  }
  for (; other_hazards_recorded_ < other_hazards_.size(); ++other_hazards_recorded_) {
    record(other_hazards_[other_hazards_recorded_]);
  }
}

bool WarpTracer::has_entered(Token function, Token bytes) const {
  return std::any_of(paths_.begin(), paths_.end(), [&](const Path& path) {
    return path.entry - function < bytes;
  });
}

void WarpTracer::watch_astray(
    Token path, Token token, bool stores, const model::WarpAccess& access) {
  for_each_lane(access.active, [&](int l) {
    if (fatal_) return;
    const std::uintptr_t address = access.address[l];
    const bool uncounted = std::any_of(
        uncounted_.begin(), uncounted_.end(),
        [&](const MemoryRange& range) { return address - range.begin < range.bytes; });
    if (uncounted) return;
    const Site* site = site_of(path, token, address);
    if (site != nullptr && site->array->holds(address, access.bytes)) {
      model::WarpAccess lane = access;
      lane.active = 1u << l;
      return watch(*site, lane);
    }
    other_hazards_.push_back(out_of_bounds(
        arrays_, address, access.bytes, block_,
        {thread_of(l), 0, stores, places_of(path, place_of(token))}));
    fatal_ = true;
  });
}

void WarpTracer::report_bad_index(
    const model::WarpAccess& type, const model::WarpAccess& index, Token path, Token token) {
  if (!looks_for_hazards()) return;
  const int l = std::countr_zero(type.active);
  const BadIndex bad = bad_index(type.address[l], index.address[l]);
  model::Hazard hazard{model::HazardKind::index_out_of_range, bad.array, 0, block_, {}, {}};
  hazard.first = {thread_of(l), 0, false, places_of(path, place_of(token))};
  hazard.index = bad.index;
  hazard.extent = bad.extent;
  other_hazards_.push_back(hazard);
  fatal_ = true;
}

void WarpTracer::watch(const Site& site, model::WarpAccess access) {
  const std::size_t array = site.array - arrays_.data();
  const bool stores = site.counts.direction != model::Direction::load && site.traffic != kAsyncGmem;
  std::uint32_t astray = 0;
  for_each_lane(access.active, [&](int l) {
    astray |= std::uint32_t{!site.array->holds(access.address[l], access.bytes)} << l;
  });
  if (astray != 0) {
    model::WarpAccess others = access;
    others.active = astray;
    watch_astray(site.path, site.token, stores, others);
    access.active &= ~astray;
  }
  const auto actor = [&](int lane) { return HazardWatch::Actor{thread_of(lane), site.number}; };
  const auto byte = [&](int lane) { return access.address[lane] - site.array->begin; };

  std::uint64_t any_address_bit = 0;
  for (const std::uint64_t address : access.address) any_address_bit |= address;
  if (any_address_bit % access.bytes != 0) {
    for_each_lane(access.active, [&](int l) {
      if (access.address[l] % access.bytes == 0) return;
      hazards_.misaligned(array, byte(l), actor(l));
      fatal_ = true;
    });
  }
  const Kind kind = kind_of(site.token);
  if (kind == Kind::kAtomicLoad) return;  // its store says it all
  if (site.array->shared) {
    const auto touch = kind == Kind::kAtomicStore                         ? &HazardWatch::atomic
                       : site.counts.direction == model::Direction::load  ? &HazardWatch::load
                       : site.counts.direction == model::Direction::store ? &HazardWatch::store
                                                                          : &HazardWatch::copy;
    for_each_lane(
        access.active, [&](int l) { (hazards_.*touch)(array, byte(l), access.bytes, actor(l)); });
  } else if (site.array->result && site.counts.direction == model::Direction::store) {
    watch_result(site, access);
  }
}

void WarpTracer::watch_result(const Site& site, const model::WarpAccess& access) {
  const std::uint64_t atomically =
      kind_of(site.token) == Kind::kAtomicStore ? kAtomically : std::uint64_t{0};
  for_each_lane(access.active, [&](int l) {
    const std::uint64_t byte = access.address[l] - site.array->begin;
    const std::uint64_t me = (block_ * threads_.size() + thread_of(l) + 1) | atomically;
    for (std::uint64_t word = byte / 4; word <= (byte + access.bytes - 1) / 4; ++word) {
      const std::uint64_t before = __atomic_exchange_n(&writers_[word], me, __ATOMIC_RELAXED);
      const bool same_thread = (before | kAtomically) == (me | kAtomically);
      const bool both_atomic = (before & me & kAtomically) != 0;
      if (before == 0 || same_thread || both_atomic || race_on_result_known_) continue;
      race_on_result_known_ = true;
      const std::int64_t other = (before & ~kAtomically) - 1,
                         others_block = other / threads_.size();
      model::Hazard hazard{
          model::HazardKind::race_on_result, site.array->name, word * 4, block_, {}, {}};
      hazard.first = {thread_of(l), 0, true, places_of(site)};
      hazard.second = {
          other % static_cast<std::int64_t>(threads_.size()), 0, true, places_of(site)};
      hazard.other_block = others_block;
      other_hazards_.push_back(hazard);
    }
  });
}

WarpTracer::Site* WarpTracer::site_of(Token path, Token token, std::uintptr_t address) {
  const auto is_it = [&](const Site& site) {
    return site.path == path && site.token == token && site.array->holds(address);
  };
  Site*& last = last_sites_[(token >> kPlaceShift ^ path * 31) % kSites];
  if (last != nullptr && is_it(*last)) return last;
  const auto known = std::find_if(sites_.begin(), sites_.end(), is_it);
  if (known != sites_.end()) return last = &*known;
  const auto array = std::find_if(
      arrays_.begin(), arrays_.end(), [&](const TracedArray& a) { return a.holds(address); });
  if (array == arrays_.end()) return nullptr;
  if (array->owner != 0 && !has_entered(array->owner, array->owner_bytes)) return nullptr;
  if (array->shared && looks_for_hazards()) hazards_.watch(array - arrays_.begin(), array->bytes);

  const Kind kind = kind_of(token);
  const bool loads = kind == Kind::kLoad || kind == Kind::kAtomicLoad;
  const bool shared = array->shared;
  Site site{path, token, &*array, 0, static_cast<std::uint32_t>(sites_.size()), {}};
  site.traffic = kind == Kind::kAsyncCopy ? (shared ? kAsyncSmem : kAsyncGmem)
                 : loads                  ? (shared ? kSmemLoads : kGmemLoads)
                                          : (shared ? kSmemStores : kGmemStores);
  site.counts.array = array->name;
  site.counts.shared = shared;
  site.counts.direction = kind == Kind::kAsyncCopy ? model::Direction::copy
                          : loads                  ? model::Direction::load
                                                   : model::Direction::store;
  site.counts.bytes = bytes_of(token);
  return last = &sites_.emplace_back(site);
}

void WarpTracer::count_access(
    const model::WarpAccess& access, Token token, std::span<Party* const> together) {
  const std::uintptr_t address = access.address[std::countr_zero(access.active)];
  Site* site = site_of(together[0]->path, token, address);
  if (site != nullptr) {
    count(*site, access, cost_of(site->traffic, access), together);
  } else if (looks_for_hazards()) {
    const Kind kind = kind_of(token);
    const bool stores = kind == Kind::kStore || kind == Kind::kAtomicStore;
    watch_astray(together[0]->path, token, stores, access);
  }
}

void WarpTracer::count_async_copy(
    model::WarpAccess from, const model::WarpAccess& to, Token token,
    std::span<Party* const> together) {
  // A lane that only fills with zeros reads nothing: its source is logged as null.
  for_each_lane(from.active, [&](int l) {
    if (from.address[l] == 0) from.active &= ~(1u << l);
  });
  for_each_lane(from.active, [&](int l) { in_flight_.copy(thread_of(l), from.bytes); });
  const model::AsyncCopyCost cost = model::async_copy(to, from);
  const auto count_side = [&](const model::WarpAccess& side, const Cost& side_cost, bool stores) {
    if (side.active == 0) return;
    const std::uintptr_t address = side.address[std::countr_zero(side.active)];
    Site* site = site_of(together[0]->path, token, address);
    if (site != nullptr) {
      count(*site, side, side_cost, together);
    } else if (looks_for_hazards()) {
      watch_astray(together[0]->path, token, stores, side);
    }
  };
  count_side(to, {cost.shared.wavefronts, cost.shared.groups, cost.shared.bank_conflicts()}, true);
  count_side(
      from, {cost.sectors, model::ideal_global_sectors(from), 0, model::global_lines(from)}, false);
}

void WarpTracer::count(
    Site& site, const model::WarpAccess& access, const Cost& cost,
    std::span<Party* const> together) {
  model::LineCounts& total = site.counts;
  total.executions += std::popcount(access.active);
  total.requests += 1;
  total.pieces += cost.pieces;
  total.ideal_pieces += cost.ideal;
  total.bank_conflicts += cost.bank_conflicts;
  total.lines += cost.lines;
  if (site.traffic == kSmemLoads) {
    const std::int64_t bytes = in_flight_.bytes_of_warp(warp_);
    total.in_flight_bytes += bytes;
    total.in_flight_most = std::max(total.in_flight_most, bytes);
  }
  if (cost.widenable) {
    model::Widenable& widenable = counts_.widenable[cost.pieces];
    widenable.requests += 1;
    widenable.wavefronts_64 += cost.wavefronts_64;
    widenable.wavefronts_128 += cost.wavefronts_128;
  }
  if (cost.pieces > total.worst_pieces) {
    total.worst_pieces = cost.pieces;
    total.worst_block = block_;
    total.worst = access;
    for_each_lane(access.active, [&](int l) { total.worst.address[l] -= site.array->begin; });
  }
  if (looks_for_hazards()) watch(site, access);
  record_request(site, access, cost);
  const auto tally = [&](Tally& of) {
    of.add(site.traffic, access.bytes);
    if (site.traffic == kAsyncGmem) of.add(kGmemLoads, access.bytes);
    if (site.traffic == kAsyncSmem) of.add(kSmemStores, access.bytes);
  };
  for (Party* party : together) {
    // Only a cp.async that fills with zeros is active in a part of a party.
    if ((party->lanes & ~access.active) == 0) {
      tally(party->tally);
    } else {
      for_each_lane(party->lanes & access.active, [&](int l) { tally(lanes_[l].tally); });
    }
  }
}

const WarpTracer::Cost& WarpTracer::cost_of(int traffic, const model::WarpAccess& access) {
  // A loop repeats the lanes' distances from each other and, sooner or later, the alignment.
  const std::uint64_t base = access.address[std::countr_zero(access.active)];
  Request request{
      access.active, access.bytes, traffic, static_cast<int>(base % kAlignment[traffic]), {}};
  for_each_lane(access.active, [&](int l) { request.distances[l] = access.address[l] - base; });

  const std::uint64_t mixed = (request.distances[1] + request.distances[31] * 3 +
                               request.alignment * 5 + traffic * 1031 + access.active) *
                              0x9e3779b97f4a7c15u;
  Remembered& slot = remembered_[mixed >> 54];
  static_assert(kRemembered == 1 << (64 - 54));
  if (slot.request != request) slot = {request, compute_cost(traffic, access)};
  return slot.cost;
}

WarpTracer::Cost WarpTracer::compute_cost(int traffic, const model::WarpAccess& access) {
  if (traffic == kGmemLoads || traffic == kGmemStores) {
    return {
        model::global_sectors(access), model::ideal_global_sectors(access), 0,
        model::global_lines(access)};
  }
  const model::SharedCost cost =
      traffic == kSmemLoads ? model::shared_load(access) : model::shared_store(access);
  Cost result{cost.wavefronts, cost.groups, cost.bank_conflicts()};
  if (traffic == kSmemLoads && access.bytes == 4) add_wider(access, result);
  return result;
}

void WarpTracer::add_wider(const model::WarpAccess& access, Cost& cost) {
  const auto word = [&](int lane) { return access.address[lane] / 4 % 4; };
  const std::uint64_t first = word(std::countr_zero(access.active));
  cost.widenable = true;
  for_each_lane(access.active, [&](int l) { cost.widenable &= word(l) == first; });
  if (!cost.widenable) return;
  // The request for the first of two or four words stands for the wide one, the others for none.
  model::WarpAccess wide = access;
  wide.bytes = 8;
  if (first % 2 == 0) cost.wavefronts_64 = model::shared_load(wide).wavefronts;
  wide.bytes = 16;
  if (first == 0) cost.wavefronts_128 = model::shared_load(wide).wavefronts;
}

}  // namespace trace
