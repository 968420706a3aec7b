#include "model/warp_access.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

namespace model {

namespace {

int sectors_of_bytes(std::uint64_t bytes, WarpGeometry warp) {
  return static_cast<int>((bytes + warp.sector_bytes - 1) / warp.sector_bytes);
}

}  // namespace

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
  return std::max(0, sectors(access).size() - sectors_of_bytes(bytes, access.warp));
}

namespace {

void touch(Sectors& sectors, std::uint64_t number, int lane) {
  const std::uint32_t bit = std::uint32_t{1} << lane;
  // The addresses of nearly every request ascend.
  if (sectors.empty() || sectors.end()[-1].number < number) {
    sectors.push_back({number, bit});
    return;
  }
  Sector* const at = std::lower_bound(
      sectors.begin(), sectors.end(), number,
      [](const Sector& sector, std::uint64_t wanted) { return sector.number < wanted; });
  if (at->number == number) {
    at->lanes |= bit;
  } else {
    sectors.insert(at, {number, bit});
  }
}

}  // namespace

Sectors sectors(const WarpAccess& access) {
  Sectors touched;
  const int shift = std::countr_zero(access.warp.sector_bytes);
  for_each_lane(access.active, [&](int lane) {
    const std::uint64_t first = access.address[lane] >> shift;
    const std::uint64_t last = (access.address[lane] + access.bytes - 1) >> shift;
    touch(touched, first, lane);
    if (last != first) touch(touched, last, lane);
  });
  return touched;
}

ShortList<std::uint32_t, kSectorWords> lanes_at_words(
    const WarpAccess& access, const Sector& sector) {
  const int words = access.warp.sector_words();
  ShortList<std::uint32_t, kSectorWords> lanes;
  for (int word = 0; word < words; ++word) lanes.push_back(0);
  for_each_lane(sector.lanes, [&](int lane) {
    for_each_word(access, lane, [&](std::uint64_t word) {
      if (word / words == sector.number) lanes[word % words] |= 1u << lane;
    });
  });
  return lanes;
}

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

  const int first = wavefronts.size();
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
    const int turn = first + static_cast<int>(known - begin);
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
  if (access.matrices > 0) {
    constexpr int kRows = 8, kRowBytes = 16;
    const std::uint32_t rows = ~std::uint32_t{0} >> (kWarpSize - kRows * access.matrices);
    return in_groups(access, access.active & rows, kRowBytes, kRows);
  }
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

namespace {

// Copies of 4 and 8 bytes: a wavefront reads a word from each bank of the global line and writes a
// word to each bank of shared memory, and lanes that share either bank wait for each other. Lanes
// that fill only write.
void serve_narrow_group(
    Wavefronts& wavefronts, const WarpAccess& to, const WarpAccess& from, std::uint32_t lanes) {
  const int banks = to.warp.row_bytes() / to.bytes;
  const auto bank = [&](const WarpAccess& access, int lane) {
    return access.address[lane] / access.bytes % banks;
  };
  const auto copies = [&](int lane) { return (from.active >> lane & 1) != 0; };
  std::array<std::uint32_t, kBanks> reading{}, writing{};  // lanes, by bank
  for_each_lane(lanes, [&](int lane) {
    if (copies(lane)) reading[bank(from, lane)] |= 1u << lane;
    writing[bank(to, lane)] |= 1u << lane;
  });
  const auto waiting_for_each_other = [&](int lane) {
    return (copies(lane) ? reading[bank(from, lane)] : 0) | writing[bank(to, lane)];
  };
  std::uint32_t most = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::uint32_t in_line = waiting_for_each_other(lane);
    if (std::popcount(in_line) > std::popcount(most)) most = in_line;
  });

  // Each of these lanes takes a wavefront of its own. Every other lane finds a wavefront without a
  // conflict, because it shares a bank with fewer lanes than there are wavefronts.
  const int group = wavefronts.groups++;
  const int first = wavefronts.size();
  for_each_lane(most, [&](int lane) { wavefronts.push_back({1u << lane, group}); });
  for_each_lane(lanes & ~most, [&](int lane) {
    Wavefront* const free =
        std::find_if(wavefronts.begin() + first, wavefronts.end(), [&](const Wavefront& wavefront) {
          return (wavefront.lanes & waiting_for_each_other(lane)) == 0;
        });
    free->lanes |= 1u << lane;
  });
}

constexpr unsigned kBoth = 4;  // halves

// A move of 16-byte copies: a sector, or one half of it, to a 32-byte piece of shared memory.
struct Move {
  // The rows of all banks that the piece and the sector lie in.
  std::uint64_t piece_row, sector_row;
  unsigned half;  // kBoth; else 2 * half of the sector + half of the piece
  std::uint64_t sector;
  bool changes;  // the parity of the sector's place in its row
  std::uint32_t lanes;
  // Which of the wavefronts with equal rows, half and `changes` makes this move.
  bool paired = false;
  int turn = 0;
};

using Moves = ShortList<Move, kWarpSize>;

// In any order. Adds what they read to `sectors`. A sector whose halves both go to the same piece
// moves whole and is read once; but if it fills several pieces of a row, it moves by halves.
Moves wide_copy_moves(
    const WarpAccess& to, const WarpAccess& from, std::uint32_t lanes, Sectors& sectors) {
  constexpr unsigned kHalfBytes = 16;
  struct Unit {
    std::uint64_t piece, sector;
    std::uint32_t lanes[kBoth];  // 2 * half of the sector + half of the piece
    bool fills_piece() const { return (lanes[0] | lanes[2]) && (lanes[1] | lanes[3]); }
    bool reads_sector() const { return (lanes[0] | lanes[1]) && (lanes[2] | lanes[3]); }
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
  for (const Unit& unit : units) {
    const auto fills_in_this_row = [&](const Unit& other) {
      return other.sector == unit.sector && other.fills_piece() &&
             other.piece / sectors_a_row == unit.piece / sectors_a_row;
    };
    const auto read = [&](std::uint32_t by) {
      Sector* const behind = std::find_if(sectors.begin(), sectors.end(), [&](const Sector& other) {
        return other.number > unit.sector;
      });
      sectors.insert(behind, {unit.sector, by});
    };
    const auto move = [&](unsigned half, std::uint32_t moved) {
      moves.push_back(
          {unit.piece / sectors_a_row, unit.sector / sectors_a_row, half, unit.sector,
           ((unit.piece ^ unit.sector) & 1) != 0, moved});
    };
    const std::uint32_t all = unit.lanes[0] | unit.lanes[1] | unit.lanes[2] | unit.lanes[3];
    const bool reads_once = halves_a_sector == 1 || (unit.fills_piece() && unit.reads_sector());
    if (reads_once) read(all);
    if (reads_once && std::count_if(units.begin(), units.end(), fills_in_this_row) <= 1) {
      move(kBoth, all);
      continue;
    }
    for (unsigned half = 0; half < kBoth; ++half) {
      if (unit.lanes[half] == 0) continue;
      move(half, unit.lanes[half]);
      if (!reads_once) read(unit.lanes[half]);
    }
  }
  return moves;
}

// A wavefront makes the moves from one global row to one row of shared memory that take the same
// half and that all keep, or all change, the parity of the sector's place; each sector once. A
// sector with moves of both kinds makes these in pairs, in wavefronts without the other sectors.
void serve_wide(Wavefronts& wavefronts, Moves moves) {
  const auto from_same = [](const Move& a, const Move& b) {
    return std::tie(a.piece_row, a.half, a.sector) == std::tie(b.piece_row, b.half, b.sector);
  };
  for (Move& move : moves) {
    int before = 0, alike = 0, others = 0;
    for (const Move& other : moves) {
      if (!from_same(other, move)) continue;
      before += other.changes == move.changes && &other < &move;
      ++(other.changes == move.changes ? alike : others);
    }
    const int pairs = std::min(alike, others);
    move.paired = before < pairs;
    move.turn = move.paired ? before : before - pairs;
  }
  const auto rows = [](const Move& move) { return std::tie(move.piece_row, move.sector_row); };
  const auto wavefront = [&](const Move& move) {
    return std::tuple_cat(rows(move), std::tie(move.half, move.paired, move.changes, move.turn));
  };
  std::sort(moves.begin(), moves.end(), [&](const Move& a, const Move& b) {
    return std::tuple_cat(wavefront(a), std::tie(a.sector)) <
           std::tuple_cat(wavefront(b), std::tie(b.sector));
  });
  int group = wavefronts.groups - 1;
  const Move* before = nullptr;
  for (const Move& move : moves) {
    if (before == nullptr || rows(*before) != rows(move)) ++group;
    if (before == nullptr || wavefront(*before) != wavefront(move)) {
      wavefronts.push_back({0, group});
    }
    (wavefronts.end() - 1)->lanes |= move.lanes;
    before = &move;
  }
}

}  // namespace

AsyncCopySplit split_async_copy(const WarpAccess& to, const WarpAccess& from) {
  const std::uint32_t copying = to.active & from.active;
  const std::uint32_t together = copying | (to.bytes < 16 ? to.active & from.filling : 0);
  WarpAccess apart = to;
  apart.active &= ~together;
  AsyncCopySplit split{{}, wavefronts_of_store(apart)};
  const int lanes_a_group = to.warp.lanes_a_group(to.bytes);
  if (to.bytes == 16) {
    serve_wide(split.wavefronts, wide_copy_moves(to, from, together, split.sectors));
    split.wavefronts.groups += (std::popcount(together) + lanes_a_group - 1) / lanes_a_group;
    return split;
  }
  split.sectors = sectors(from);
  const std::uint32_t first_group = ~std::uint32_t{0} >> (kWarpSize - lanes_a_group);
  for (int first_lane = 0; first_lane < to.warp.lanes; first_lane += lanes_a_group) {
    const std::uint32_t lanes = together & first_group << first_lane;
    if (lanes != 0) serve_narrow_group(split.wavefronts, to, from, lanes);
  }
  return split;
}

BoxCost box_cost(const Box& box) {
  constexpr std::int64_t kSector = 32, kLine = 128, kMoved = 16;
  const auto rounded_up = [](std::int64_t bytes) { return (bytes + kSector - 1) / kSector; };
  BoxCost cost{box.rows * box.row_bytes, 0, 0, 0, rounded_up(box.bytes_of_other_rows)};
  if (cost.bytes == 0) return cost;
  std::int64_t counted = 0;  // sectors before this one
  for (std::int64_t row = 0; row < box.rows; ++row) {
    const auto begin =
        static_cast<std::int64_t>(box.address + static_cast<std::uint64_t>(row) * box.pitch_bytes);
    const std::int64_t end = begin + box.row_bytes;
    const std::int64_t first = begin / kSector, last = rounded_up(end);
    const std::int64_t rest = (end + kMoved - 1) / kMoved * kMoved - end;  // of its last piece
    cost.delivered += rounded_up(end + rest) - first + rounded_up(box.bytes_before) +
                      rounded_up(std::max<std::int64_t>(0, box.bytes_after - rest));
    cost.sectors += std::max(last, counted) - std::max(first, counted);
    counted = std::max(last, counted);
    cost.lines += (end + kLine - 1) / kLine - begin / kLine;
  }
  cost.ideal_sectors = rounded_up(cost.bytes);
  return cost;
}

namespace {

void add(PerThread& to, const PerThread& from, bool first) {
  const std::int64_t sum = to.sum + from.sum;
  include(to, from.min, first);
  include(to, from.max, false);
  to.sum = sum;
}

}  // namespace

void add_requests(Requests& to, const Requests& from) {
  for (std::int64_t Requests::*member : kOfRequests) to.*member += from.*member;
}

void include(PerThread& figure, std::int64_t value, bool first) {
  figure.min = first ? value : std::min(figure.min, value);
  figure.max = first ? value : std::max(figure.max, value);
  figure.sum += value;
}

void include(OfBlocks& figure, std::optional<double> value) {
  if (!value) return;
  figure.least = std::min(figure.least.value_or(*value), *value);
  figure.most = std::max(figure.most.value_or(*value), *value);
}

void add(std::vector<Hazard>& hazards, const Hazard& more) {
  const auto known = std::find_if(hazards.begin(), hazards.end(), [&](const Hazard& hazard) {
    return hazard.kind == more.kind && hazard.array == more.array &&
           hazard.first.places == more.first.places && hazard.second.places == more.second.places;
  });
  if (known == hazards.end()) {
    hazards.push_back(more);
  } else if (more.block < known->block) {
    *known = more;
  }
}

bool is_same_access(const LineCounts& a, const LineCounts& b) {
  return a.line == b.line && a.helper_line == b.helper_line && a.helper_file == b.helper_file &&
         a.places == b.places && a.array == b.array && a.bytes == b.bytes &&
         a.direction == b.direction;
}

void add(std::vector<LineCounts>& lines, const LineCounts& more) {
  const auto known = std::find_if(lines.begin(), lines.end(), [&](const LineCounts& line) {
    return is_same_access(line, more);
  });
  if (known == lines.end()) {
    lines.push_back(more);
    return;
  }
  add_requests(*known, more);
  const auto sums = sums_of(*known);
  const auto of_more = sums_of(more);
  for (std::size_t i = 0; i < sums.size(); ++i) *sums[i] += *of_more[i];
  known->in_flight_most = std::max(known->in_flight_most, more.in_flight_most);
  for (Merging::Wide Merging::*wide : {&Merging::by_64, &Merging::by_128}) {
    int& most = (known->merging.*wide).most;
    most = std::max(most, (more.merging.*wide).most);
  }
  // The same example hazard, whichever thread came first.
  if (more.worst_pieces > known->worst_pieces ||
      (more.worst_pieces == known->worst_pieces && more.worst_block < known->worst_block)) {
    known->worst_pieces = more.worst_pieces;
    known->worst_block = more.worst_block;
    known->worst = more.worst;
    known->worst_other = more.worst_other;
  }
}

void add(Counts& to, const Counts& from) {
  for (const Hazard& hazard : from.hazards) add(to.hazards, hazard);
  if (from.threads_traced == 0) return;
  const bool first = to.threads_traced == 0;
  for (Traffic Counts::*member : kTraffic) {
    Traffic& t = to.*member;
    const Traffic& f = from.*member;
    add(t.accesses, f.accesses, first);
    add(t.floats, f.floats, first);
    add(t.bytes, f.bytes, first);
    add_requests(t, f);
  }
  for (std::int64_t Counts::*member : kSums) to.*member += from.*member;
  for (OfBlocks Counts::*member : {&Counts::block_sectors, &Counts::block_conflicts}) {
    include(to.*member, (from.*member).least);
    include(to.*member, (from.*member).most);
  }
  to.blocks_cut += from.blocks_cut;
  to.warp = from.warp;
  to.local_bytes = std::max(to.local_bytes, from.local_bytes);
  for (const LineCounts& line : from.lines) add(to.lines, line);
}

}  // namespace model
