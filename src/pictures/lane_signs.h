// How a picture made of text names lanes: by one character.
#pragma once

#include <bit>
#include <cstdint>

namespace pictures {

// 0 to 9, then a to v.
inline char lane_sign(int lane) {
  return static_cast<char>(lane < 10 ? '0' + lane : 'a' + lane - 10);
}

// '.' is nobody, '*' more than one lane.
inline char sign_of(std::uint32_t lanes) {
  return lanes == 0 ? '.' : std::has_single_bit(lanes) ? lane_sign(std::countr_zero(lanes)) : '*';
}

}  // namespace pictures
