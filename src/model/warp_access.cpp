#include "model/warp_access.h"

#include "model/async_copy.h"
#include "model/sectors.h"
#include "model/wavefronts.h"

namespace model {

namespace {

SharedCost cost_of(const Wavefronts& wavefronts) {
  return {static_cast<int>(wavefronts.size()), wavefronts.groups};
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
  const int sector_bytes = access.warp.sector_bytes;
  return (std::popcount(access.active) * access.bytes + sector_bytes - 1) / sector_bytes;
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
