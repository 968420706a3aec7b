#include "model/warp_access.h"

#include <algorithm>

#include "model/async_copy.h"
#include "model/sectors.h"
#include "model/wavefronts.h"

namespace model {

namespace {

SharedCost cost_of(const Wavefronts& wavefronts) {
  return {static_cast<int>(wavefronts.size()), wavefronts.groups};
}

int sectors_of_bytes(std::uint64_t bytes, WarpGeometry warp) {
  return static_cast<int>((bytes + warp.sector_bytes - 1) / warp.sector_bytes);
}

}  // namespace

int global_sectors(const WarpAccess& access) {
  return static_cast<int>(sectors(access).size());
}

int global_lines(const WarpAccess& access) {
  int lines = 0;
  std::uint64_t previous = 0;
  for (const Sector& sector : sectors(access)) {
    const std::uint64_t line = sector.number / access.warp.sectors_a_line();
    if (lines == 0 || line != previous) ++lines;
    previous = line;
  }
  return lines;
}

int ideal_global_sectors(const WarpAccess& access) {
  std::array<std::uint64_t, kWarpSize> begins;
  std::size_t lanes = 0;
  for_each_lane(access.active, [&](int lane) { begins[lanes++] = access.address[lane]; });
  std::sort(begins.begin(), begins.begin() + lanes);
  const auto bytes = static_cast<std::uint64_t>(access.bytes);
  std::uint64_t distinct = lanes > 0 ? bytes : 0;
  for (std::size_t i = 1; i < lanes; ++i) distinct += std::min(bytes, begins[i] - begins[i - 1]);
  return sectors_of_bytes(distinct, access.warp);
}

int uncoalesced_sectors(const WarpAccess& access) {
  const std::uint64_t bytes = std::popcount(access.active) * access.bytes;
  return std::max(0, global_sectors(access) - sectors_of_bytes(bytes, access.warp));
}

SharedCost shared_load(const WarpAccess& access) {
  return cost_of(wavefronts_of_load(access));
}

SharedCost shared_store(const WarpAccess& access) {
  return cost_of(wavefronts_of_store(access));
}

SharedCost ldmatrix(const WarpAccess& access, int matrices) {
  return cost_of(wavefronts_of_ldmatrix(access, matrices));
}

AsyncCopyCost async_copy(const WarpAccess& to, const WarpAccess& from) {
  const AsyncCopySplit split = split_async_copy(to, from);
  return {static_cast<int>(split.sectors.size()), cost_of(split.wavefronts)};
}

}  // namespace model
