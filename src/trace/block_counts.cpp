#include "trace/block_counts.h"

#include <algorithm>
#include <bit>

#include "machine/lanes.h"

namespace trace {
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
  in_flight_.begin_block(threads);
}

void BlockCounts::end_block() {
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
  words_.barrier();
}

void BlockCounts::request(
    Site& site, const model::WarpAccess& access, const RequestCost& cost, int warp,
    std::span<Party* const> together) {
  model::LineCounts& total = site.counts;
  total.executions += std::popcount(access.active);
  total.requests += 1;
  total.pieces += cost.pieces;
  total.ideal_pieces += cost.ideal;
  total.bank_conflicts += cost.bank_conflicts;
  total.uncoalesced += cost.uncoalesced;
  total.lines += cost.lines;
  if (site.traffic == kSmemLoads) {
    const std::int64_t bytes = in_flight_.bytes_of_warp(warp);
    total.in_flight_bytes += bytes;
    total.in_flight_most = std::max(total.in_flight_most, bytes);
  }
  if (cost.widenable) {
    model::Widenable& widenable = counts_.widenable[cost.pieces];
    widenable.requests += 1;
    widenable.wavefronts_64 += cost.wavefronts_64;
    widenable.wavefronts_128 += cost.wavefronts_128;
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
  }
  const auto tally = [&](Tally& of) {
    of.add(site.traffic, access.bytes);
    if (site.traffic == kAsyncGmem) of.add(kGmemLoads, access.bytes);
    if (site.traffic == kAsyncSmem) of.add(kSmemStores, access.bytes);
  };
  for (Party* party : together) {
    if ((party->lanes & ~access.active) == 0) {
      tally(party->tally);
    } else {
      machine::for_each_lane(party->lanes & access.active, [&](int l) {
        tally(threads_[geometry_.thread_of(warp, l)]);
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
  Tally& tally = threads_[thread];
  const auto bytes = static_cast<int>(cost.bytes);
  tally.add(site.traffic, bytes);
  if (site.traffic == kAsyncGmem) {
    tally.add(kGmemLoads, bytes);
    counts_.box_requests += 1;
    counts_.box_sectors += cost.sectors;
    counts_.box_sectors_delivered += cost.delivered;
  }
  if (site.traffic == kAsyncSmem) tally.add(kSmemStores, bytes);
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
    // cp.async is both a global load and a shared store.
    if (site.traffic == kAsyncGmem) add_requests(all.gmem_loads, site.counts);
    if (site.traffic == kAsyncSmem) add_requests(all.smem_stores, site.counts);
    if (site.traffic == kGmemLoads && is_atomic(kind_of(site.token))) {
      all.atomic_requests += site.counts.requests;
      all.atomic_sectors += site.counts.pieces;
    }
    if (is_ldmatrix(kind_of(site.token))) {
      all.ldmatrix_requests += site.counts.requests;
      all.ldmatrix_wavefronts += site.counts.pieces;
    }
    all.lines.push_back(site.counts);
    all.lines.back().places = sites.places_of(site);
  }
  return all;
}

}  // namespace trace
