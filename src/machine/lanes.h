// The lanes of a warp as the bits of a mask.
#pragma once

#include <bit>
#include <cstdint>

namespace machine {

template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

}  // namespace machine
