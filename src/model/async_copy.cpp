#include "model/async_copy.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace model {

namespace {

// Copies of 4 and 8 bytes: a wavefront reads a word from each bank of the global line and writes a
// word to each bank of shared memory, and lanes that share either bank wait for each other.
void serve_narrow_group(
    Wavefronts& wavefronts, const WarpAccess& to, const WarpAccess& from, std::uint32_t lanes) {
  const int banks = to.warp.row_bytes() / to.bytes;
  const auto bank = [&](const WarpAccess& access, int lane) {
    return access.address[lane] / access.bytes % banks;
  };
  std::array<std::uint32_t, kBanks> reading{}, writing{};  // lanes, by bank
  for_each_lane(lanes, [&](int lane) {
    reading[bank(from, lane)] |= 1u << lane;
    writing[bank(to, lane)] |= 1u << lane;
  });
  const auto waiting_for_each_other = [&](int lane) {
    return reading[bank(from, lane)] | writing[bank(to, lane)];
  };
  std::uint32_t most = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::uint32_t in_line = waiting_for_each_other(lane);
    if (std::popcount(in_line) > std::popcount(most)) most = in_line;
  });

  // Each of these lanes takes a wavefront of its own. Every other lane finds a wavefront without a
  // conflict, because it shares a bank with fewer lanes than there are wavefronts.
  const int group = wavefronts.groups++;
  const std::size_t first = wavefronts.size();
  for_each_lane(most, [&](int lane) { wavefronts.push_back({1u << lane, group}); });
  for_each_lane(lanes & ~most, [&](int lane) {
    Wavefront* const free =
        std::find_if(wavefronts.begin() + first, wavefronts.end(), [&](const Wavefront& wavefront) {
          return (wavefront.lanes & waiting_for_each_other(lane)) == 0;
        });
    free->lanes |= 1u << lane;
  });
}

// A 16-byte copy moves whole sectors if both halves go to one 32-byte piece of shared memory,
// otherwise single halves.
struct Move {
  std::uint64_t piece, sector;  // and the rows of all banks that they lie in
  std::uint64_t piece_row, sector_row;
  unsigned half;  // 4: both; else 2 * half of the sector + half of the piece
  std::uint32_t lanes;
};

using Moves = ShortList<Move, kWarpSize>;

std::pair<std::uint64_t, std::uint64_t> rows(const Move& move) {
  return {move.piece_row, move.sector_row};
}

// In the order of the rows that they write and read.
Moves wide_copy_moves(const WarpAccess& to, const WarpAccess& from, std::uint32_t lanes) {
  constexpr unsigned kBoth = 4, kHalfBytes = 16;
  struct Unit {
    std::uint64_t piece, sector;
    std::uint32_t lanes[kBoth];  // 2 * half of the sector + half of the piece
  };
  const int sector_bytes = to.warp.sector_bytes;
  const unsigned halves_a_sector = sector_bytes / kHalfBytes;
  ShortList<Unit, kWarpSize> units;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t sector = from.address[lane] / sector_bytes;
    const std::uint64_t piece = to.address[lane] / sector_bytes;
    const unsigned half = 2 * (from.address[lane] / kHalfBytes % halves_a_sector) +
                          to.address[lane] / kHalfBytes % halves_a_sector;
    Unit* known = std::find_if(units.begin(), units.end(), [&](const Unit& unit) {
      return unit.sector == sector && unit.piece == piece;
    });
    if (known == units.end()) units.push_back({piece, sector, {}});
    known->lanes[half] |= 1u << lane;
  });
  Moves moves;
  const int sectors_a_row = to.warp.row_bytes() / sector_bytes;
  for (const auto& [piece, sector, halves] : units) {
    const auto move = [&, piece = piece, sector = sector](unsigned half, std::uint32_t moved) {
      moves.push_back({piece, sector, piece / sectors_a_row, sector / sectors_a_row, half, moved});
    };
    const bool whole =
        halves_a_sector == 1 || ((halves[0] | halves[1]) && (halves[2] | halves[3]) &&
                                 (halves[0] | halves[2]) && (halves[1] | halves[3]));
    if (whole) {
      move(kBoth, halves[0] | halves[1] | halves[2] | halves[3]);
      continue;
    }
    for (unsigned half = 0; half < kBoth; ++half) {
      if (halves[half] != 0) move(half, halves[half]);
    }
  }
  std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
    return std::tuple(rows(a), a.half, a.sector, a.piece) <
           std::tuple(rows(b), b.half, b.sector, b.piece);
  });
  return moves;
}

// A wavefront makes the moves from one global line to one line of shared memory that take the same
// halves and that all keep, or all change, the parity of the sector's place in its line; each
// sector once.
void serve_wide(Wavefronts& wavefronts, const Moves& moves) {
  const auto alike = [](const Move& a, const Move& b) {
    return rows(a) == rows(b) && a.half == b.half &&
           ((a.sector ^ a.piece) & 1) == ((b.sector ^ b.piece) & 1);
  };
  std::array<std::size_t, kWarpSize> turn_of;
  int group = wavefronts.groups - 1;
  for (std::size_t m = 0; m < moves.size(); ++m) {
    std::uint32_t fitting = 0, taken = 0;  // wavefronts, one bit each
    for (std::size_t before = 0; before < m; ++before) {
      if (!alike(moves[before], moves[m])) continue;
      fitting |= 1u << turn_of[before];
      if (moves[before].sector == moves[m].sector) taken |= 1u << turn_of[before];
    }
    if (m == 0 || rows(moves[m - 1]) != rows(moves[m])) ++group;
    if ((fitting & ~taken) == 0) {
      turn_of[m] = wavefronts.size();
      wavefronts.push_back({moves[m].lanes, group});
    } else {
      turn_of[m] = std::countr_zero(fitting & ~taken);
      wavefronts[turn_of[m]].lanes |= moves[m].lanes;
    }
  }
}

Sectors sectors_of(const Moves& moves) {
  Sectors sectors;
  for (const Move& move : moves) {
    Sector* const behind = std::find_if(sectors.begin(), sectors.end(), [&](const Sector& sector) {
      return sector.number > move.sector;
    });
    sectors.insert(behind, {move.sector, move.lanes});
  }
  return sectors;
}

}  // namespace

AsyncCopySplit split_async_copy(const WarpAccess& to, const WarpAccess& from) {
  const std::uint32_t copying = to.active & from.active;
  WarpAccess filling = to;
  filling.active &= ~from.active;
  AsyncCopySplit split{{}, wavefronts_of_store(filling)};
  if (to.bytes == 16) {
    const int lanes_a_row = to.warp.lanes_a_group(to.bytes);
    const Moves moves = wide_copy_moves(to, from, copying);
    split.sectors = sectors_of(moves);
    serve_wide(split.wavefronts, moves);
    split.wavefronts.groups += (std::popcount(copying) + lanes_a_row - 1) / lanes_a_row;
    return split;
  }
  split.sectors = sectors(from);
  const int lanes_a_group = to.warp.lanes_a_group(to.bytes);
  const std::uint32_t first_group = ~std::uint32_t{0} >> (kWarpSize - lanes_a_group);
  for (int first_lane = 0; first_lane < to.warp.lanes; first_lane += lanes_a_group) {
    const std::uint32_t lanes = copying & first_group << first_lane;
    if (lanes != 0) serve_narrow_group(split.wavefronts, to, from, lanes);
  }
  return split;
}

}  // namespace model
