#include "model/wavefronts.h"

#include <algorithm>
#include <array>
#include <bit>

namespace model {

namespace {

// The bytes of bank that a lane occupies: a narrow lane occupies a whole word.
int bank_bytes(int bytes) {
  return std::max(bytes, kWordBytes);
}

// The wavefronts of the lanes of one group, each `bytes` wide. A lane of 8 or 16 bytes covers 2 or
// 4 neighbouring banks completely, so here a bank is an aligned set of 2 or 4, and a unit is what a
// lane needs from it. A lane is served in the first wavefront in which its bank is free or provides
// its unit already.
void serve_group(Wavefronts& wavefronts, const WarpAccess& access, std::uint32_t lanes, int bytes) {
  const int shift = std::countr_zero(static_cast<unsigned>(bytes));
  const unsigned banks = access.warp.row_bytes() >> shift;
  const int group = wavefronts.groups++;

  std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t unit = access.address[lane] >> shift;
    lowest = std::min(lowest, unit);
    highest = std::max(highest, unit);
  });
  if (highest - lowest < banks) {  // two different units never share a bank
    wavefronts.push_back({lanes, group});
    return;
  }

  const std::size_t first = wavefronts.size();
  std::array<std::uint64_t, kBanks * kWarpSize> units;  // of each bank, wavefront after wavefront
  std::array<std::uint8_t, kBanks> turns{};             // wavefronts in which a bank is in use
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t unit = access.address[lane] >> shift;
    const unsigned bank = unit & (banks - 1);
    std::uint64_t* const begin = units.data() + bank * kWarpSize;
    std::uint64_t* const end = begin + turns[bank];
    std::uint64_t* const known = std::find(begin, end, unit);
    if (known == end) {
      *end = unit;
      ++turns[bank];
    }
    const std::size_t turn = first + (known - begin);
    if (turn == wavefronts.size()) wavefronts.push_back({0, group});
    wavefronts[turn].lanes |= std::uint32_t{1} << lane;
  });
}

Wavefronts in_groups(const WarpAccess& access, std::uint32_t active, int bytes, int lanes_a_group) {
  Wavefronts wavefronts;
  const std::uint32_t first_group = ~std::uint32_t{0} >> (kWarpSize - lanes_a_group);
  for (int first_lane = 0; first_lane < access.warp.lanes; first_lane += lanes_a_group) {
    const std::uint32_t lanes = active & first_group << first_lane;
    if (lanes != 0) serve_group(wavefronts, access, lanes, bytes);
  }
  return wavefronts;
}

// Whether every two active lanes whose numbers differ in the bit `distance` have the same address.
bool equal_in_pairs(const WarpAccess& access, int distance) {
  const std::uint32_t lower_lanes = distance == 1 ? 0x55555555 : 0x33333333;
  std::uint32_t pairs = access.active & access.active >> distance & lower_lanes;
  for (; pairs != 0; pairs &= pairs - 1) {
    const int lane = std::countr_zero(pairs);
    if (access.address[lane] != access.address[lane + distance]) return false;
  }
  return true;
}

}  // namespace

Wavefronts wavefronts_of_load(const WarpAccess& access) {
  if (access.matrices > 0) return wavefronts_of_ldmatrix(access, access.matrices);
  const int bytes = bank_bytes(access.bytes);
  int lanes_a_group = access.warp.lanes_a_group(bytes);
  if (lanes_a_group < access.warp.lanes &&
      (equal_in_pairs(access, 1) || equal_in_pairs(access, 2))) {
    lanes_a_group *= 2;
  }
  return in_groups(access, access.active, bytes, lanes_a_group);
}

Wavefronts wavefronts_of_store(const WarpAccess& access) {
  const int bytes = bank_bytes(access.bytes);
  return in_groups(access, access.active, bytes, access.warp.lanes_a_group(bytes));
}

Wavefronts wavefronts_of_ldmatrix(const WarpAccess& access, int matrices) {
  constexpr int kRows = 8, kRowBytes = 16;
  const std::uint32_t rows = ~std::uint32_t{0} >> (kWarpSize - kRows * matrices);
  return in_groups(access, access.active & rows, kRowBytes, kRows);
}

ShortList<std::uint32_t, kBanks> lanes_at_banks(const WarpAccess& access, std::uint32_t lanes) {
  ShortList<std::uint32_t, kBanks> at_banks;
  for (int bank = 0; bank < access.warp.banks; ++bank) at_banks.push_back(0);
  for_each_lane(lanes, [&](int lane) {
    for_each_word(access, lane, [&](std::uint64_t word) {
      at_banks[word % access.warp.banks] |= 1u << lane;
    });
  });
  return at_banks;
}

}  // namespace model
