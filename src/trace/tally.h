// What one thread did, by kind of traffic.
#pragma once

#include <array>
#include <cstdint>

#include "model/counts.h"

namespace trace {

enum TrafficIndex {
  kGmemLoads,
  kGmemStores,
  kSmemLoads,
  kSmemStores,
  kAsyncGmem,
  kAsyncSmem,
  kTraffics
};

inline constexpr model::Traffic model::Counts::*kTraffic[kTraffics] = {
    &model::Counts::gmem_loads,  &model::Counts::gmem_stores, &model::Counts::smem_loads,
    &model::Counts::smem_stores, &model::Counts::async_gmem,  &model::Counts::async_smem};

struct Tally {
  std::array<std::int64_t, kTraffics> accesses{}, bytes{};
  void add(int traffic, int access_bytes) {
    accesses[traffic] += 1;
    bytes[traffic] += access_bytes;
  }
  void add(const Tally& more) {
    for (int t = 0; t < kTraffics; ++t) {
      accesses[t] += more.accesses[t];
      bytes[t] += more.bytes[t];
    }
  }
};

}  // namespace trace
