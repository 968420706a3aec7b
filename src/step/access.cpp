#include "step/access.h"

#include "pictures/block_requests.h"

namespace step {

char lane_sign(int lane) {
  return static_cast<char>(lane < 10 ? '0' + lane : 'a' + lane - 10);
}

std::vector<Turn> turns_of(const model::WarpAccess& access, model::Direction direction) {
  std::vector<Turn> turns;
  for (const pictures::Wavefront& wavefront : pictures::wavefronts(access, direction)) {
    turns.push_back({0, wavefront.group});
    for (const pictures::Wavefront::Bank& bank : wavefront.banks) turns.back().lanes |= bank.lanes;
  }
  return turns;
}

}  // namespace step
