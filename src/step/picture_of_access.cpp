#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "model/sectors.h"
#include "pictures/lane_signs.h"
#include "step/access.h"
#include "step/parts.h"
#include "text/numbers.h"

namespace step {

namespace {

// Rows of 128 bytes, with the fetched sectors between bars.
std::vector<Line> picture_of_sectors(const model::WarpAccess& access, char chosen) {
  constexpr int kSectorsARow = model::kBanks / model::kSectorWords;
  std::map<std::uint64_t, std::array<std::string, kSectorsARow>> rows;
  for (const model::Sector& sector : model::sectors(access)) {
    std::string& signs = rows[sector.number / kSectorsARow][sector.number % kSectorsARow];
    for (const std::uint32_t lanes : model::lanes_at_words(access, sector)) {
      signs += pictures::sign_of(lanes);
    }
  }
  std::vector<Line> picture;
  for (const auto& [number, sectors] : rows) {
    Line line{{text::printed(
        "  from byte %9llu ",
        static_cast<unsigned long long>(number * model::kBanks * model::kWordBytes))}};
    for (const std::string& signs : sectors) {
      const bool fetched = !signs.empty();
      line.push_back({fetched ? "[" : " "});
      for (const char sign : fetched ? signs : std::string(model::kSectorWords, ' ')) {
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
  std::vector<Line> picture{{{"  bank           0       8       16      24"}}};
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
