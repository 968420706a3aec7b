#include "pictures/warp_times.h"

#include <algorithm>

namespace pictures {

namespace {

// What a warp asks of the units between two barriers.
struct Demand {
  double load_cycles = 0, store_cycles = 0, result_cycles = 0;
  bool reads_tiles = false;
};

// [span][warp]
std::vector<std::vector<Demand>> demands_of(const BlockRequests& block, const Pace& pace) {
  const int warps = block.warp.warps_of(block.threads);
  std::vector<std::vector<Demand>> demands;
  for (const Request& request : block.requests) {
    while (static_cast<int>(demands.size()) <= request.epoch) demands.emplace_back(warps);
    Demand& demand = demands[request.epoch][request.warp];
    const double l2_cycles = block.warp.sector_bytes * request.pieces / pace.l2_bytes;
    if (!request.shared && request.direction == model::Direction::load) {
      demand.load_cycles += l2_cycles;
    } else if (!request.shared) {
      demand.result_cycles += l2_cycles;
    } else if (request.direction == model::Direction::store) {
      demand.store_cycles += request.pieces;  // a wavefront per cycle
    } else {
      demand.reads_tiles = true;
    }
  }
  return demands;
}

}  // namespace

std::vector<WarpSpan> warp_times(const TracedStage& stage, const Pace& pace) {
  std::vector<WarpSpan> all;
  double now = 0;
  const auto demands = demands_of(stage.block, pace);
  for (std::size_t span = 0; span < demands.size(); ++span) {
    double l2_free = now, shared_free = now, last = now;
    const std::size_t first = all.size();
    for (std::size_t warp = 0; warp < demands[span].size(); ++warp) {
      const Demand& demand = demands[span][warp];
      WarpSpan one{static_cast<int>(span), static_cast<int>(warp),  now, 0, 0, 0, 0,
                   demand.reads_tiles,     demand.result_cycles > 0};
      one.loaded = now;
      if (demand.load_cycles > 0) one.loaded = l2_free += demand.load_cycles;
      one.stored = one.loaded;
      if (demand.store_cycles > 0) {
        one.stored = shared_free = std::max(one.loaded, shared_free) + demand.store_cycles;
      }
      if (one.stores_C) one.stored = l2_free = std::max(one.stored, l2_free) + demand.result_cycles;
      one.multiplied = one.stored + (one.reads_tiles ? pace.multiply : 0);
      last = std::max(last, one.multiplied);
      all.push_back(one);
    }
    // Behind C stands no barrier.
    for (std::size_t i = first; i < all.size(); ++i) {
      all[i].end = all[i].stores_C ? all[i].multiplied : last;
    }
    now = last;
  }
  return all;
}

}  // namespace pictures
