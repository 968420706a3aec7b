#include "simulator/trace/warp_log.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "simulator/machine/fault.h"

namespace trace {

Token CallPaths::called(Token path, Token call) {
  for (Token p = path + 1; p < paths_.size(); ++p) {
    if (paths_[p].parent == path && paths_[p].call == call) return p;
  }
  paths_.push_back({path, call, paths_[path].depth + 1});
  return paths_.size() - 1;
}

bool CallPaths::has_entered(Token function, Token bytes) const {
  return std::any_of(paths_.begin(), paths_.end(), [&](const Path& path) {
    return path.entry - function < bytes;
  });
}

std::vector<std::uint32_t> CallPaths::places_of(Token path, Token place) const {
  std::vector<std::uint32_t> places{place};
  for (; path != 0; path = paths_[path].parent) {
    places.insert(places.begin(), paths_[path].call);
  }
  return places;
}

bool CallPaths::goes_before(Position a, Position b) const {
  // A lane inside a call is represented in the calling function by the place of that call.
  const auto caller = [this](Position p) -> Position {
    return {paths_[p.path].parent, paths_[p.path].call};
  };
  Position x = a, y = b;
  while (paths_[x.path].depth > paths_[y.path].depth) x = caller(x);
  while (paths_[y.path].depth > paths_[x.path].depth) y = caller(y);
  while (x.path != y.path) {
    x = caller(x);
    y = caller(y);
  }
  if (x.place != y.place) return x.place < y.place;
  return paths_[a.path].depth > paths_[b.path].depth;
}

std::span<Party* const> Merge::next() {
  together_.clear();
  const Party* first = nullptr;
  const auto position = [](const Party& party) {
    return CallPaths::Position{party.path, place_of(party.next())};
  };
  for (const Party& party : parties_) {
    if (!party.finished()) {
      if (first == nullptr || paths_.goes_before(position(party), position(*first))) first = &party;
    } else if (party.running) {
      return {};
    }
  }
  if (first == nullptr) return {};
  for (Party& party : parties_) {
    if (!party.finished() && party.path == first->path && party.next() == first->next()) {
      together_.push_back(&party);
    }
  }
  return together_;
}

namespace {

std::vector<Token> last_steps(const Party& party) {
  constexpr std::size_t kEnough = 6;
  std::vector<Token> steps;
  if (party.running) return steps;
  // After the kernel's exit come the exits of the functions that launch it.
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

}  // namespace

void WarpLog::select(int warp) {
  if (warp == warp_) return;
  const bool all_used = std::all_of(lanes_->begin(), lanes_->end(), [](const Lane& lane) {
    return lane.log.next_token == lane.tokens.data();
  });
  if (!all_used) set_aside_[warp_] = std::exchange(lanes_, nullptr);
  if (auto before = set_aside_.extract(warp)) lanes_ = std::move(before.mapped());
  if (lanes_ == nullptr) lanes_ = std::make_unique<Lanes>();
  warp_ = warp;
}

void WarpLog::begin_block(int threads) {
  set_aside_.clear();
  for (Lane& lane : *lanes_) lane.clear();
  warp_ = 0;
  paths_.assign(threads, 0);
  last_places_.assign(threads, {});
}

std::vector<Party> WarpLog::parties(int warp, std::uint32_t running) {
  select(warp);
  std::vector<Party> all;
  for (int l = 0; l < geometry_.lanes; ++l) {
    const Lane& lane = (*lanes_)[l];
    const std::span<const Token> tokens(lane.tokens.data(), lane.log.next_token);
    const bool is_running = running >> l & 1u;
    if (tokens.empty() && !is_running) continue;
    const Token path = paths_[geometry_.thread_of(warp, l)];
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

model::WarpAccess WarpLog::gather(Token token, std::span<Party* const> together) const {
  model::WarpAccess access{0, bytes_of(token), {}, geometry_};
  for (Party* party : together) {
    access.active |= party->lanes;
    const std::size_t index = party->addresses_used++;
    machine::for_each_lane(
        party->lanes, [&](int l) { access.address[l] = (*lanes_)[l].addresses[index]; });
  }
  return access;
}

void WarpLog::drop_used(int warp, std::span<const Party> parties) {
  for (const Party& party : parties) {
    const std::vector<Token> steps = last_steps(party);
    machine::for_each_lane(party.lanes, [&](int l) {
      const int thread = geometry_.thread_of(warp, l);
      paths_[thread] = party.path;
      if (!steps.empty()) last_places_[thread] = steps;
      Lane& lane = (*lanes_)[l];
      std::copy(lane.tokens.data() + party.tokens_used, lane.log.next_token, lane.tokens.data());
      std::copy(
          lane.addresses.data() + party.addresses_used, lane.log.next_address,
          lane.addresses.data());
      lane.log.next_token -= party.tokens_used;
      lane.log.next_address -= party.addresses_used;
    });
  }
}

Site* Sites::find_or_make(Token path, Token token, std::uintptr_t address) {
  const auto known = std::find_if(sites_.begin(), sites_.end(), [&](const Site& site) {
    return is_site(site, path, token, address);
  });
  if (known != sites_.end()) return &*known;
  const machine::KernelArray* const array = machine::array_with(arrays_, address);
  if (array == nullptr) return nullptr;
  if (array->owner != 0 && !paths_.has_entered(array->owner, array->owner_bytes)) return nullptr;

  const Kind kind = kind_of(token);
  const bool loads = is_load(kind);
  const bool shared = array->shared;
  Site site{path, token, array, 0, static_cast<std::uint32_t>(sites_.size()), {}};
  site.traffic = kind == Kind::kAsyncCopy ? (shared ? kAsyncSmem : kAsyncGmem)
                 : loads                  ? (shared ? kSmemLoads : kGmemLoads)
                                          : (shared ? kSmemStores : kGmemStores);
  site.counts.array = array->name;
  site.counts.shared = shared;
  site.counts.direction = kind == Kind::kAsyncCopy ? model::Direction::copy
                          : loads                  ? model::Direction::load
                                                   : model::Direction::store;
  site.counts.bytes = bytes_of(token);
  return &sites_.emplace_back(site);
}

namespace {

// Of the `fours`-th four words of memory.
std::uint64_t key_of(std::uint64_t fours, int warp, std::uint32_t site) {
  return (fours & 0xffffffff) | static_cast<std::uint64_t>(warp) << 32 |
         static_cast<std::uint64_t>(site) << 42;
}

}  // namespace

void RepeatedWords::request(Site& site, const model::WarpAccess& access, int warp) {
  const bool loads = site.traffic == kSmemLoads;
  if (!loads && site.traffic != kSmemStores) return;
  const std::uint64_t address = access.first();
  const int first = static_cast<int>(address / 4 % 4), words = (access.bytes + 3) / 4;
  const auto wanted = static_cast<std::uint8_t>(((1u << words) - 1) << first);
  std::uint8_t& of_warp = of_warps_[key_of(address / 16, warp, 0)];
  const bool repeats = (of_warp & wanted) != 0;
  of_warp |= wanted;
  if (!loads) return;
  model::Merging& merging = site.counts.merging;
  merging.watched += 1;
  merging.repeated += repeats;
  if (repeats || words > 2) return;
  std::uint8_t& of_site = of_sites_[key_of(address / 16, warp, site.number + 1)];
  of_site |= wanted;
  const auto pair = static_cast<std::uint8_t>(first < 2 ? 0b0011 : 0b1100);
  if (words == 1 && (of_site & pair) == pair) merging.in_pairs += 2;
  if (of_site == 0b1111) merging.in_fours += 4 / words;
}

void RepeatedWords::barrier() {
  of_warps_.clear();
  of_sites_.clear();
}

namespace {

// The cost of a load or store depends on its address modulo these bytes (src/model/warp_access.h),
// on a real GPU and on one whose lines are shorter.
constexpr int kAlignment[] = {128, 128, 16, 16};

// Adds the cost that a load of one or two words per lane would have as a load of two or four.
void add_wider(const model::WarpAccess& access, RequestCost& cost) {
  const auto word = [&](int lane) { return access.address[lane] / 4 % 4; };
  const std::uint64_t first = word(std::countr_zero(access.active));
  bool aligned = true;
  machine::for_each_lane(access.active, [&](int l) { aligned &= word(l) == first; });
  if (!aligned) return;
  // The request for the first of two or four words counts as the wide one; the others count as
  // none.
  model::WarpAccess wide = access;
  wide.bytes = 8;
  if (first % 2 == 0 && access.bytes == 4)
    cost.wavefronts_64 = model::wavefronts_of_load(wide).size();
  wide.bytes = 16;
  if (first == 0) cost.wavefronts_128 = model::wavefronts_of_load(wide).size();
}

RequestCost compute(int traffic, const model::WarpAccess& access) {
  if (traffic == kGmemLoads || traffic == kGmemStores) {
    return {
        model::sectors(access).size(), model::ideal_global_sectors(access), 0,
        model::uncoalesced_sectors(access), model::global_lines(access)};
  }
  const model::Wavefronts wavefronts = traffic == kSmemLoads ? model::wavefronts_of_load(access)
                                                             : model::wavefronts_of_store(access);
  RequestCost result{wavefronts.size(), wavefronts.groups, wavefronts.bank_conflicts()};
  const bool may_widen = access.matrices == 0 && (access.bytes == 4 || access.bytes == 8);
  if (traffic == kSmemLoads && may_widen) add_wider(access, result);
  return result;
}

}  // namespace

const RequestCost& RequestCosts::of(int traffic, const model::WarpAccess& access) {
  // A loop repeats the distances between the lanes' addresses and, sooner or later, the alignment.
  const std::uint64_t base = access.first();
  RememberedRequest request{
      access.active,
      access.bytes,
      access.matrices,
      traffic,
      static_cast<int>(base % kAlignment[traffic]),
      {}};
  machine::for_each_lane(
      access.active, [&](int l) { request.distances[l] = access.address[l] - base; });

  const std::uint64_t last = request.distances[access.warp.lanes - 1];
  const std::uint64_t mixed = (request.distances[1] + last * 3 + request.alignment * 5 +
                               traffic * 1031 + access.active + access.matrices) *
                              0x9e3779b97f4a7c15u;
  Remembered& slot = remembered_[mixed >> 54];
  static_assert(kRemembered == 1 << (64 - 54));
  if (slot.request != request) slot = {request, compute(traffic, access)};
  return slot.cost;
}

namespace {

void add_wide(model::Merging::Wide& wide, int wavefronts) {
  if (wavefronts == 0) return;
  wide.requests += 1;
  wide.wavefronts += wavefronts;
  wide.most = std::max(wide.most, wavefronts);
}

}  // namespace

void BlockCounts::begin_block(std::int64_t block, int threads) {
  block_ = block;
  threads_.assign(threads, {});
  sectors_ = conflicts_ = {};
}

std::optional<double> BlockCounts::Requests::mean() const {
  if (requests == 0) return std::nullopt;
  return static_cast<double>(pieces) / static_cast<double>(requests);
}

void BlockCounts::end_block(bool is_cut) {
  for (Tally& thread : threads_) {
    thread.add_copies();
    const bool first = counts_.threads_traced++ == 0;
    for (int t = 0; t < kTraffics; ++t) {
      model::Traffic& traffic = counts_.*kTraffic[t];
      include(traffic.accesses, thread.accesses[t], first);
      include(traffic.floats, thread.bytes[t] / 4, first);
      include(traffic.bytes, thread.bytes[t], first);
    }
  }
  include(counts_.block_sectors, sectors_.mean());
  include(counts_.block_conflicts, conflicts_.mean());
  ++counts_.blocks_traced;
  counts_.blocks_cut += is_cut;
  words_.barrier();
}

void BlockCounts::request(
    Site& site, const model::WarpAccess& access, const RequestCost& cost, int warp,
    std::span<Party* const> together, const model::WarpAccess* other,
    std::int64_t bytes_in_flight) {
  model::LineCounts& total = site.counts;
  total.executions += std::popcount(access.active);
  total.requests += 1;
  total.pieces += cost.pieces;
  total.ideal_pieces += cost.ideal;
  total.bank_conflicts += cost.bank_conflicts;
  total.uncoalesced += cost.uncoalesced;
  total.lines += cost.lines;
  if (site.traffic == kGmemLoads || site.traffic == kAsyncGmem) {
    sectors_.add(cost.pieces);
  } else if (site.traffic != kGmemStores) {
    conflicts_.add(cost.bank_conflicts);
  }
  if (site.traffic == kSmemLoads) {
    total.in_flight_bytes += bytes_in_flight;
    total.in_flight_most = std::max(total.in_flight_most, bytes_in_flight);
  }
  if (site.traffic == kSmemLoads) {
    add_wide(total.merging.by_64, cost.wavefronts_64);
    add_wide(total.merging.by_128, cost.wavefronts_128);
  }
  if (counts_.blocks_traced == 0) words_.request(site, access, warp);
  if (cost.pieces > total.worst_pieces) {
    total.worst_pieces = cost.pieces;
    total.worst_block = block_;
    total.worst = access;
    machine::for_each_lane(
        access.active, [&](int l) { total.worst.address[l] -= site.array->begin; });
    if (other != nullptr) total.worst_other = *other;
  }
  if (site.traffic == kAsyncSmem && access.bytes == 16) {
    counts_.wavefronts_beyond_fills += cost.pieces - model::wavefronts_of_store(access).size();
  }
  for (Party* party : together) {
    if ((party->lanes & ~access.active) == 0) {
      party->tally.add(site.traffic, access.bytes);
    } else {
      machine::for_each_lane(party->lanes & access.active, [&](int l) {
        threads_[geometry_.thread_of(warp, l)].add(site.traffic, access.bytes);
      });
    }
  }
}

void BlockCounts::box(Site& site, const model::BoxCost& cost, int thread) {
  model::LineCounts& total = site.counts;
  total.executions += 1;
  total.requests += 1;
  total.pieces += cost.sectors;
  total.ideal_pieces += cost.ideal_sectors;
  total.uncoalesced += cost.sectors - cost.ideal_sectors;
  total.lines += cost.lines;
  threads_[thread].add(site.traffic, static_cast<int>(cost.bytes));
  if (site.traffic == kAsyncGmem) {
    sectors_.add(static_cast<int>(cost.sectors));
    counts_.box_requests += 1;
    counts_.box_sectors += cost.sectors;
    counts_.box_sectors_delivered += cost.delivered;
  }
  if (site.traffic == kAsyncSmem) conflicts_.add(0);
}

void BlockCounts::box_outside(const model::BoxCost& cost) {
  counts_.boxes_outside += 1;
  counts_.box_sectors_delivered += cost.delivered;
}

void BlockCounts::add(int warp, const Party& party) {
  machine::for_each_lane(
      party.lanes, [&](int l) { threads_[geometry_.thread_of(warp, l)].add(party.tally); });
}

model::Counts BlockCounts::result(const Sites& sites) const {
  model::Counts all = counts_;
  for (const Site& site : sites.all()) {
    // Barriers and operands of wgmma in shared memory: only hazards are looked for there.
    if (site.counts.requests == 0 && site.array->shared) continue;
    add_requests(all.*kTraffic[site.traffic], site.counts);
    if (site.traffic == kGmemLoads && is_atomic(kind_of(site.token))) {
      all.atomic_requests += site.counts.requests;
      all.atomic_sectors += site.counts.pieces;
    }
    if (kind_of(site.token) == Kind::kLdmatrix) {
      all.ldmatrix_requests += site.counts.requests;
      all.ldmatrix_wavefronts += site.counts.pieces;
    }
    all.lines.push_back(site.counts);
    all.lines.back().places = sites.places_of(site);
  }
  for (const auto& [copies, both] : kCopies) {
    add_requests(all.*kTraffic[both], all.*kTraffic[copies]);
  }
  return all;
}

}  // namespace trace
