#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/sectors.h"
#include "pictures/block_requests.h"
#include "step/access.h"
#include "step/parts.h"
#include "text/numbers.h"

namespace step {

namespace {

// Rows as long as L1's lines, with the fetched sectors between bars.
std::vector<Line> picture_of_sectors(const model::WarpAccess& access, char chosen) {
  const std::size_t sectors_a_row = access.warp.sectors_a_line();
  std::map<std::uint64_t, std::vector<std::string>> rows;
  for (const model::Sector& sector : model::sectors(access)) {
    std::vector<std::string>& row = rows[sector.number / sectors_a_row];
    row.resize(sectors_a_row);
    std::string& signs = row[sector.number % sectors_a_row];
    for (const std::uint32_t lanes : model::lanes_at_words(access, sector)) {
      signs += pictures::sign_of(lanes);
    }
  }
  std::vector<Line> picture;
  for (const auto& [number, sectors] : rows) {
    Line line{{text::printed(
        "  from byte %9llu ", static_cast<unsigned long long>(number * access.warp.line_bytes))}};
    for (const std::string& signs : sectors) {
      const bool fetched = !signs.empty();
      line.push_back({fetched ? "[" : " "});
      for (const char sign : fetched ? signs : std::string(access.warp.sector_words(), ' ')) {
        line.push_back({std::string(1, sign)});
        if (sign == chosen) line.back().colour = text::Colour::bold;
      }
      line.push_back({fetched ? "]" : " "});
    }
    picture.push_back(line);
  }
  return picture;
}

// A row for each wavefront in shared memory, with its banks side by side.
std::vector<Line> picture_of_banks(
    const model::WarpAccess& access, const model::Wavefronts& turns, char chosen) {
  std::string banks = "  bank           ";
  for (int bank = 0; bank < access.warp.banks; bank += 8) {
    banks += text::pad_right(text::printed("%d", bank), 8);
  }
  banks.erase(banks.find_last_not_of(' ') + 1);
  std::vector<Line> picture{{{banks}}};
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Line line{{text::printed("  wavefront %3zu  ", i + 1)}};
    for (const std::uint32_t lanes : model::lanes_at_banks(access, turns[i].lanes)) {
      const char sign = pictures::sign_of(lanes);
      line.push_back({std::string(1, sign)});
      if (sign == chosen) line.back().colour = text::Colour::bold;
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
  const char chosen = pictures::lane_sign(state.lane);
  if (!array->shared) return picture_of_sectors(event.access, chosen);
  return picture_of_banks(event.access, wavefronts_at(scene, state.at), chosen);
}

}  // namespace step
