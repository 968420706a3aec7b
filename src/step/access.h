// The lanes and words of one access, for its pictures.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "model/counts.h"
#include "model/warp_access.h"

namespace step {

constexpr int kBanks = 32;
constexpr std::uint64_t kWordBytes = 4;

template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

template <class Visit>
void for_each_word(const model::WarpAccess& access, std::uint32_t lanes, Visit visit) {
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t first = access.address[lane] / kWordBytes;
    const std::uint64_t last = (access.address[lane] + access.bytes - 1) / kWordBytes;
    for (std::uint64_t word = first; word <= last; ++word) visit(lane, word);
  });
}

// How a lane is drawn: 0 to 9, then a to v.
char lane_sign(int lane);

// Lanes that shared memory serves at once. The second turn of a group has had to wait.
struct Turn {
  std::uint32_t lanes;
  int group;
};
std::vector<Turn> turns_of(const model::WarpAccess& access, model::Direction direction);

}  // namespace step
