#include "simt/warp_log.h"

#include <algorithm>
#include <bit>

namespace simt {
namespace {

enum TrafficIndex { kGmemLoads, kGmemStores, kSmemLoads, kSmemStores, kAsyncGmem, kAsyncSmem };

constexpr Traffic Counts::*kTraffic[] = {&Counts::gmem_loads, &Counts::gmem_stores,
                                         &Counts::smem_loads, &Counts::smem_stores,
                                         &Counts::async_gmem, &Counts::async_smem};

// The bytes modulo which the place of a load or store matters to its cost (model/warp_access.h).
constexpr int kAlignment[] = {128, 128, 16, 16};

template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

void include(PerThread& figure, std::int64_t value, bool first) {
  figure.min = first ? value : std::min(figure.min, value);
  figure.max = first ? value : std::max(figure.max, value);
  figure.sum += value;
}

void add(PerThread& to, const PerThread& from, bool first) {
  const std::int64_t sum = to.sum + from.sum;
  include(to, from.min, first);
  include(to, from.max, false);
  to.sum = sum;
}

}  // namespace

void add(Counts& to, const Counts& from) {
  if (from.threads_traced == 0) return;
  const bool first = to.threads_traced == 0;
  for (Traffic Counts::*member : kTraffic) {
    Traffic& t = to.*member;
    const Traffic& f = from.*member;
    add(t.accesses, f.accesses, first);
    add(t.floats, f.floats, first);
    add(t.bytes, f.bytes, first);
    t.requests += f.requests;
    t.pieces += f.pieces;
    t.ideal_pieces += f.ideal_pieces;
    t.bank_conflicts += f.bank_conflicts;
    t.lines += f.lines;
  }
  for (std::size_t w = 0; w < to.widenable.size(); ++w) {
    to.widenable[w].requests += from.widenable[w].requests;
    to.widenable[w].wavefronts_64 += from.widenable[w].wavefronts_64;
    to.widenable[w].wavefronts_128 += from.widenable[w].wavefronts_128;
  }
  to.blocks_traced += from.blocks_traced;
  to.threads_traced += from.threads_traced;
}

WarpTracer::WarpTracer(std::span<const GlobalArray> arrays,
                       std::span<const std::byte> shared_memory)
    : arrays_(arrays), shared_memory_(shared_memory), remembered_(kRemembered) {
  for (Lane& lane : lanes_) {
    lane.tokens.resize(kTokens);
    lane.addresses.resize(2 * kTokens);
    lane.log = {lane.tokens.data(), lane.tokens.data() + kTokens, lane.addresses.data()};
  }
}

void WarpTracer::begin_block(int threads) {
  threads_.assign(threads, {});
  for (Lane& lane : lanes_) lane.path = 0;
}

void WarpTracer::end_block() {
  for (const Tally& thread : threads_) {
    const bool first = counts.threads_traced++ == 0;
    for (int t = 0; t < kTraffics; ++t) {
      Traffic& traffic = counts.*kTraffic[t];
      include(traffic.accesses, thread.accesses[t], first);
      include(traffic.floats, thread.bytes[t] / 4, first);
      include(traffic.bytes, thread.bytes[t], first);
    }
  }
  ++counts.blocks_traced;
}

void WarpTracer::fold(int warp, std::uint32_t running) {
  std::vector<Party> all = parties(running);
  merge(all);
  for (const Party& party : all) {
    for_each_lane(party.lanes, [&](int l) {
      Lane& lane = lanes_[l];
      lane.path = party.path;
      std::copy(lane.tokens.data() + party.tokens_used, lane.log.next_token, lane.tokens.data());
      std::copy(lane.addresses.data() + party.addresses_used, lane.log.next_address,
                lane.addresses.data());
      lane.log.next_token -= party.tokens_used;
      lane.log.next_address -= party.addresses_used;
      Tally& thread = threads_[warp * kWarpSize + l];
      thread.add(party.tally);
      thread.add(lane.tally);
      lane.tally = {};
    });
  }
}

std::vector<WarpTracer::Party> WarpTracer::parties(std::uint32_t running) const {
  std::vector<Party> all;
  for (int l = 0; l < kWarpSize; ++l) {
    const Lane& lane = lanes_[l];
    const std::span<const Token> tokens(lane.tokens.data(), lane.log.next_token);
    const bool is_running = running >> l & 1u;
    if (tokens.empty() && !is_running) continue;
    auto same = std::find_if(all.begin(), all.end(), [&](const Party& party) {
      return party.running == is_running && party.path == lane.path &&
             std::equal(tokens.begin(), tokens.end(), party.tokens.begin(), party.tokens.end());
    });
    if (same == all.end()) {
      all.push_back({.lanes = 0, .tokens = tokens, .path = lane.path, .running = is_running});
      same = all.end() - 1;
    }
    same->lanes |= 1u << l;
  }
  return all;
}

void WarpTracer::merge(std::vector<Party>& parties) {
  std::vector<Party*> together;
  while (true) {
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
    } while (parties.size() == 1 && !together[0]->finished());
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
    case Kind::kStep:
      return;
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
    case Kind::kLoad:
      return count_access(gather(token, together), kSmemLoads, kGmemLoads, together);
    case Kind::kStore:
      return count_access(gather(token, together), kSmemStores, kGmemStores, together);
    case Kind::kAsyncCopy: {
      const WarpAccess from = gather(token, together);
      return count_async_copy(from, gather(token, together), together);
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

WarpAccess WarpTracer::gather(Token token, std::span<Party* const> together) {
  WarpAccess access{0, bytes_of(token), {}};
  for (Party* party : together) {
    access.active |= party->lanes;
    const std::size_t index = party->addresses_used++;
    for_each_lane(party->lanes, [&](int l) { access.address[l] = lanes_[l].addresses[index]; });
  }
  return access;
}

void WarpTracer::count_access(const WarpAccess& access, int in_shared, int in_global,
                              std::span<Party* const> together) {
  const std::uintptr_t address = access.address[std::countr_zero(access.active)];
  const auto holds = [address](const void* data, std::size_t bytes) {
    return address - reinterpret_cast<std::uintptr_t>(data) < bytes;
  };
  if (holds(shared_memory_.data(), shared_memory_.size())) {
    count(in_shared, access, cost_of(in_shared, access), together);
  } else if (std::any_of(arrays_.begin(), arrays_.end(), [&](const GlobalArray& array) {
               return holds(array.data, array.bytes);
             })) {
    count(in_global, access, cost_of(in_global, access), together);
  }
}

void WarpTracer::count_async_copy(WarpAccess from, const WarpAccess& to,
                                  std::span<Party* const> together) {
  // A lane that only fills with zeros reads nothing: its source is logged as null.
  for_each_lane(from.active, [&](int l) {
    if (from.address[l] == 0) from.active &= ~(1u << l);
  });
  const AsyncCopyCost cost = async_copy(to, from);
  const Cost writes{cost.shared.wavefronts, cost.shared.groups, cost.shared.bank_conflicts()};
  const Cost reads{cost.sectors, ideal_global_sectors(from), 0, global_lines(from)};
  for (int traffic : {kAsyncSmem, kSmemStores}) count(traffic, to, writes, together);
  if (from.active == 0) return;
  for (int traffic : {kAsyncGmem, kGmemLoads}) count(traffic, from, reads, together);
}

void WarpTracer::count(int traffic, const WarpAccess& access, const Cost& cost,
                       std::span<Party* const> together) {
  Traffic& total = counts.*kTraffic[traffic];
  total.requests += 1;
  total.pieces += cost.pieces;
  total.ideal_pieces += cost.ideal;
  total.bank_conflicts += cost.bank_conflicts;
  total.lines += cost.lines;
  if (cost.widenable) {
    Widenable& widenable = counts.widenable[cost.pieces];
    widenable.requests += 1;
    widenable.wavefronts_64 += cost.wavefronts_64;
    widenable.wavefronts_128 += cost.wavefronts_128;
  }
  for (Party* party : together) {
    if ((party->lanes & ~access.active) == 0) {
      party->tally.add(traffic, access.bytes);
    } else {
      for_each_lane(party->lanes & access.active,
                    [&](int l) { lanes_[l].tally.add(traffic, access.bytes); });
    }
  }
}

const WarpTracer::Cost& WarpTracer::cost_of(int traffic, const WarpAccess& access) {
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

WarpTracer::Cost WarpTracer::compute_cost(int traffic, const WarpAccess& access) {
  if (traffic == kGmemLoads || traffic == kGmemStores) {
    return {global_sectors(access), ideal_global_sectors(access), 0, global_lines(access)};
  }
  const SharedCost cost = traffic == kSmemLoads ? shared_load(access) : shared_store(access);
  Cost result{cost.wavefronts, cost.groups, cost.bank_conflicts()};
  if (traffic == kSmemLoads && access.bytes == 4) add_wider(access, result);
  return result;
}

void WarpTracer::add_wider(const WarpAccess& access, Cost& cost) {
  const auto word = [&](int lane) { return access.address[lane] / 4 % 4; };
  const std::uint64_t first = word(std::countr_zero(access.active));
  cost.widenable = true;
  for_each_lane(access.active, [&](int l) { cost.widenable &= word(l) == first; });
  if (!cost.widenable) return;
  // The request for the first of two or four words stands for the wide one, the others for none.
  WarpAccess wide = access;
  wide.bytes = 8;
  if (first % 2 == 0) cost.wavefronts_64 = shared_load(wide).wavefronts;
  wide.bytes = 16;
  if (first == 0) cost.wavefronts_128 = shared_load(wide).wavefronts;
}

}  // namespace simt
