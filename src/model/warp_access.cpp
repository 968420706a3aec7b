#include "model/warp_access.h"

#include <algorithm>
#include <bit>

namespace model {

namespace {

constexpr int kSectorBytes = 32;
constexpr int kWordBytes = 4;
constexpr int kBanks = 32;
constexpr int kLineBytes = kBanks * kWordBytes;

// Calls visit(lane) for each lane of the mask, lowest first.
template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

// A set of at most 64 numbers, the most that one warp can name. The table is hashed and stays
// uninitialized except for its occupancy bits, so that an empty set costs nothing.
class SmallSet {
 public:
  // True where `key` was not there yet.
  bool insert(std::uint64_t key) {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    unsigned slot = static_cast<unsigned>((key * kGoldenRatio) >> 57);
    while (occupied_[slot / 64] >> (slot % 64) & 1) {
      if (keys_[slot] == key) return false;
      slot = (slot + 1) % kSlots;
    }
    occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    keys_[slot] = key;
    return true;
  }

 private:
  static constexpr unsigned kSlots = 128;
  std::uint64_t keys_[kSlots];
  std::uint64_t occupied_[kSlots / 64] = {};
};

// Bytes of bank that a lane occupies: a narrow lane takes its whole word.
int bank_bytes(int bytes) {
  return std::max(bytes, kWordBytes);
}

// Wavefronts of the lanes of one group, each `bytes` wide. A lane of 8 or 16 bytes covers 2 or 4
// neighbouring banks in full, so that counting words per bank is counting lanes' distinct addresses
// per aligned set of 2 or 4 banks.
int group_wavefronts(const WarpAccess& access, std::uint32_t lanes, int bytes) {
  const int shift = std::countr_zero(static_cast<unsigned>(bytes));
  const unsigned banks = kLineBytes >> shift;

  std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t unit = access.address[lane] >> shift;
    lowest = std::min(lowest, unit);
    highest = std::max(highest, unit);
  });
  if (highest - lowest < banks) return 1;  // two different units never share a bank

  std::uint32_t banks_in_use = 0;
  std::array<std::uint64_t, kBanks> first_unit;  // of a bank in use
  std::array<std::uint8_t, kBanks> more_units{};
  SmallSet seen;
  int fullest = 1;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t unit = access.address[lane] >> shift;
    const unsigned bank = unit % banks;
    if (!(banks_in_use >> bank & 1)) {
      banks_in_use |= std::uint32_t{1} << bank;
      first_unit[bank] = unit;
    } else if (unit != first_unit[bank] && seen.insert(unit)) {
      fullest = std::max(fullest, 1 + ++more_units[bank]);
    }
  });
  return fullest;
}

SharedCost in_groups(const WarpAccess& access, std::uint32_t active, int bytes, int lanes_a_group) {
  SharedCost cost{};
  const std::uint32_t first_group = ~std::uint32_t{0} >> (kWarpSize - lanes_a_group);
  for (int first_lane = 0; first_lane < kWarpSize; first_lane += lanes_a_group) {
    const std::uint32_t lanes = active & first_group << first_lane;
    if (lanes == 0) continue;
    cost.wavefronts += group_wavefronts(access, lanes, bytes);
    ++cost.groups;
  }
  return cost;
}

// Whether every two active lanes whose numbers differ in the bit `distance` share an address.
bool equal_in_pairs(const WarpAccess& access, int distance) {
  const std::uint32_t lower_lanes = distance == 1 ? 0x55555555 : 0x33333333;
  std::uint32_t pairs = access.active & access.active >> distance & lower_lanes;
  for (; pairs != 0; pairs &= pairs - 1) {
    const int lane = std::countr_zero(pairs);
    if (access.address[lane] != access.address[lane + distance]) return false;
  }
  return true;
}

// Distinct aligned pieces of global memory that the active lanes touch.
int distinct_pieces(const WarpAccess& access, int piece_bytes) {
  // Pieces in ascending order, which is nearly every access, are counted where they change.
  const auto piece_of = [&](int lane, int byte) {
    return (access.address[lane] + byte) / piece_bytes;
  };
  const int last_byte = access.bytes - 1;
  std::uint64_t previous = 0;
  int pieces = 0;
  bool ascending = true;
  for_each_lane(access.active, [&](int lane) {
    const std::uint64_t first = piece_of(lane, 0);
    const std::uint64_t last = piece_of(lane, last_byte);
    ascending &= pieces == 0 || first >= previous;
    pieces += (pieces == 0 || first != previous) + (last != first);
    previous = last;
  });
  if (ascending) return pieces;

  SmallSet seen;
  pieces = 0;
  for_each_lane(access.active, [&](int lane) {
    const std::uint64_t first = piece_of(lane, 0);
    const std::uint64_t last = piece_of(lane, last_byte);
    pieces += seen.insert(first);
    if (last != first) pieces += seen.insert(last);
  });
  return pieces;
}

}  // namespace

int global_sectors(const WarpAccess& access) {
  return distinct_pieces(access, kSectorBytes);
}

int global_lines(const WarpAccess& access) {
  return distinct_pieces(access, kLineBytes);
}

int ideal_global_sectors(const WarpAccess& access) {
  return (std::popcount(access.active) * access.bytes + kSectorBytes - 1) / kSectorBytes;
}

SharedCost shared_load(const WarpAccess& access) {
  const int bytes = bank_bytes(access.bytes);
  int lanes_a_group = kLineBytes / bytes;
  if (lanes_a_group < kWarpSize && (equal_in_pairs(access, 1) || equal_in_pairs(access, 2))) {
    lanes_a_group *= 2;
  }
  return in_groups(access, access.active, bytes, lanes_a_group);
}

SharedCost shared_store(const WarpAccess& access) {
  const int bytes = bank_bytes(access.bytes);
  return in_groups(access, access.active, bytes, kLineBytes / bytes);
}

SharedCost ldmatrix(const WarpAccess& access, int matrices) {
  constexpr int kRows = 8, kRowBytes = 16;
  const std::uint32_t rows = ~std::uint32_t{0} >> (kWarpSize - kRows * matrices);
  return in_groups(access, access.active & rows, kRowBytes, kRows);
}

namespace {

// Copies of 4 and 8 bytes: a wavefront takes a word from each bank of the global line and puts a
// word into each bank of shared memory, and the lanes that share either bank wait for each other.
int narrow_copy_wavefronts(const WarpAccess& to, const WarpAccess& from, std::uint32_t lanes) {
  const int banks = kLineBytes / to.bytes;
  const auto bank = [&](const WarpAccess& access, int lane) {
    return access.address[lane] / access.bytes % banks;
  };
  std::array<std::uint32_t, kBanks> reading{}, writing{};  // lanes, by bank
  for_each_lane(lanes, [&](int lane) {
    reading[bank(from, lane)] |= 1u << lane;
    writing[bank(to, lane)] |= 1u << lane;
  });
  int wavefronts = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::uint32_t in_line = reading[bank(from, lane)] | writing[bank(to, lane)];
    wavefronts = std::max(wavefronts, std::popcount(in_line));
  });
  return wavefronts;
}

// A 16-byte copy moves whole sectors where both halves go to one 32-byte piece of shared memory,
// and single halves elsewhere.
struct Move {
  std::uint64_t sector, piece;
  unsigned half;  // 4: both; else 2 * half of the sector + half of the piece
};

struct Moves {
  std::array<Move, 2 * kWarpSize> list;
  int count = 0;
};

Moves wide_copy_moves(const WarpAccess& to, const WarpAccess& from, std::uint32_t lanes) {
  constexpr unsigned kBoth = 4, kHalfBytes = 16;
  struct Unit {
    std::uint64_t sector, piece;
    unsigned halves;  // bit 2 * half of the sector + half of the piece
  };
  std::array<Unit, kWarpSize> units;
  int count = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t sector = from.address[lane] / kSectorBytes;
    const std::uint64_t piece = to.address[lane] / kSectorBytes;
    const unsigned half =
        2 * (from.address[lane] / kHalfBytes % 2) + to.address[lane] / kHalfBytes % 2;
    const auto end = units.begin() + count;
    const auto known = std::find_if(units.begin(), end, [&](const Unit& unit) {
      return unit.sector == sector && unit.piece == piece;
    });
    if (known == end) units[count++] = {sector, piece, 0};
    known->halves |= 1u << half;
  });
  Moves moves;
  for (int u = 0; u < count; ++u) {
    const auto [sector, piece, halves] = units[u];
    const bool whole =
        (halves & 0b0011) && (halves & 0b1100) && (halves & 0b0101) && (halves & 0b1010);
    for (unsigned half = 0; half < kBoth; ++half) {
      if (!whole && (halves >> half & 1)) moves.list[moves.count++] = {sector, piece, half};
    }
    if (whole) moves.list[moves.count++] = {sector, piece, kBoth};
  }
  return moves;
}

// A wavefront makes the moves from one global line to one line of shared memory that take the same
// halves and all keep, or all change, the parity of the sector's place in its line; each sector
// once.
int wide_copy_wavefronts(const Moves& moves) {
  constexpr std::uint64_t kSectorsALine = kLineBytes / kSectorBytes;
  const auto alike = [](const Move& a, const Move& b) {
    return a.sector / kSectorsALine == b.sector / kSectorsALine &&
           a.piece / kSectorsALine == b.piece / kSectorsALine && a.half == b.half &&
           ((a.sector ^ a.piece) & 1) == ((b.sector ^ b.piece) & 1);
  };
  std::array<int, 2 * kWarpSize> turn{};  // how many like moves of the same sector come before
  int wavefronts = 0;
  for (int m = 0; m < moves.count; ++m) {
    bool is_first_of_its_turn = true;
    for (int before = 0; before < m; ++before) {
      if (!alike(moves.list[before], moves.list[m])) continue;
      turn[m] += moves.list[before].sector == moves.list[m].sector;
    }
    for (int before = 0; before < m; ++before) {
      if (alike(moves.list[before], moves.list[m]) && turn[before] == turn[m]) {
        is_first_of_its_turn = false;
      }
    }
    wavefronts += is_first_of_its_turn;
  }
  return wavefronts;
}

}  // namespace

AsyncCopyCost async_copy(const WarpAccess& to, const WarpAccess& from) {
  const std::uint32_t copying = to.active & from.active;
  WarpAccess filling = to;
  filling.active &= ~from.active;
  AsyncCopyCost cost{.sectors = 0, .shared = shared_store(filling)};
  if (to.bytes == 16) {
    constexpr int kLanesALine = 8;
    const Moves moves = wide_copy_moves(to, from, copying);
    cost.sectors = moves.count;
    cost.shared.wavefronts += wide_copy_wavefronts(moves);
    cost.shared.groups += (std::popcount(copying) + kLanesALine - 1) / kLanesALine;
    return cost;
  }
  cost.sectors = global_sectors(from);
  const int lanes_a_group = kLineBytes / to.bytes;
  const std::uint32_t first_group = ~std::uint32_t{0} >> (kWarpSize - lanes_a_group);
  for (int first_lane = 0; first_lane < kWarpSize; first_lane += lanes_a_group) {
    const std::uint32_t lanes = copying & first_group << first_lane;
    if (lanes == 0) continue;
    cost.shared.wavefronts += narrow_copy_wavefronts(to, from, lanes);
    ++cost.shared.groups;
  }
  return cost;
}

}  // namespace model
