#include "step/parts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "step/access.h"
#include "text/numbers.h"

namespace step {

namespace {

// 32 words side by side: who wants each.
using Row = std::array<char, kBanks>;

void put(Row& row, std::uint64_t word, int lane) {
  char& cell = row[word % kBanks];
  cell = cell == 0 ? lane_sign(lane) : '*';
}

std::vector<Line> picture_of_sectors(const model::WarpAccess& access, char chosen) {
  constexpr int kSectorWords = 8;
  std::map<std::uint64_t, Row> rows;
  for_each_word(access, access.active, [&](int lane, std::uint64_t word) {
    put(rows[word / kBanks], word, lane);
  });
  std::vector<Line> picture;
  for (const auto& [number, row] : rows) {
    Line line{{text::printed(
        "  from byte %9llu ", static_cast<unsigned long long>(number * kBanks * kWordBytes))}};
    for (int sector = 0; sector < kBanks / kSectorWords; ++sector) {
      const auto begin = row.begin() + sector * kSectorWords;
      const bool fetched = std::any_of(begin, begin + kSectorWords, [](char c) { return c != 0; });
      line.push_back({fetched ? "[" : " "});
      for (auto cell = begin; cell != begin + kSectorWords; ++cell) {
        const char sign = *cell != 0 ? *cell : fetched ? '.' : ' ';
        line.push_back({std::string(1, sign)});
        if (sign == chosen) line.back().colour = text::Colour::bold;
      }
      line.push_back({fetched ? "]" : " "});
    }
    picture.push_back(line);
  }
  return picture;
}

std::vector<Line> picture_of_banks(
    const model::WarpAccess& access, model::Direction direction, int pieces, char chosen) {
  const std::vector<Turn> turns = turns_of(access, direction);
  std::vector<Line> picture{{{"  bank           0       8       16      24"}}};
  // Copies by cp.async are served by rules of their own: there a row is no turn.
  const bool are_wavefronts = static_cast<int>(turns.size()) == pieces;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Row row{};
    for_each_word(
        access, turns[i].lanes, [&](int lane, std::uint64_t word) { put(row, word, lane); });
    Line line{{are_wavefronts ? text::printed("  wavefront %3zu  ", i + 1) : std::string(17, ' ')}};
    for (const char lane : row) {
      line.push_back({std::string(1, lane != 0 ? lane : '.')});
      if (lane != 0 && lane == chosen) line.back().colour = text::Colour::bold;
    }
    picture.push_back(line);
  }
  return picture;
}

}  // namespace

std::vector<Line> picture_of_access(const StepScene& scene, const StepState& state) {
  const model::RecordedEvent& event = scene.recording.events[state.at];
  const model::RecordedArray* array = array_of(scene, event);
  if (array == nullptr) return {};
  const char chosen = lane_sign(state.lane);
  if (!array->shared) return picture_of_sectors(event.access, chosen);
  return picture_of_banks(event.access, site_of(scene, event)->direction, event.pieces, chosen);
}

}  // namespace step
