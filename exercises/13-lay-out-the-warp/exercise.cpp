#include <algorithm>
#include <bit>

#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

// The costliest line that loads from an array.
const model::LineCounts* load_of(const grade::Case& c, const std::string& array) {
  const model::LineCounts* most = nullptr;
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array != array || line.direction != model::Direction::load) continue;
    if (most == nullptr || line.worst_pieces > most->worst_pieces) most = &line;
  }
  return most;
}

// Two wavefronts is the best that 16-byte loads of a warp can take; it is four where the loads of
// neighbours are not merged.
bool is_merged(const grade::Case& c, const char* array) {
  const model::LineCounts* line = load_of(c, array);
  return line == nullptr || line->worst_pieces <= 2;
}

bool sound(const grade::Case& c) {
  return c.right() && !model::has_hazard(*c.row.counts);
}

// "the loads of Bs take 4 wavefronts, 2 would do: lane 0 wants column 0 of the tile, lane 1 column
// 4, lane 2 column 8, lane 3 column 12"
std::string wanted_by_lanes(const grade::Case& c, const char* array, const char* line_name) {
  const model::LineCounts* line = load_of(c, array);
  if (line == nullptr) return "";
  const int width = static_cast<int>(c.measures.at(array[0] == 'A' ? "BM" : "BN"));
  std::string text =
      text::printed("the loads of %s take %d wavefronts, 2 would do:", array, line->worst_pieces);
  for (int lane = 0; lane < 4; ++lane) {
    text += text::printed(
        "%s lane %d wants %s %d", lane > 0 ? "," : "", lane, line_name,
        static_cast<int>(line->worst.address[lane] / 4 % width));
  }
  return text;
}

std::string wanted_of_As(const grade::Case& c) {
  return wanted_by_lanes(c, "As", "row");
}

std::string wanted_of_Bs(const grade::Case& c) {
  return wanted_by_lanes(c, "Bs", "column");
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "lay out the warp: C = A^T * B, 4 x 16 results per lane, fewest wavefronts",
    .product = {.A = grade::Order::transposed},
    .variants =
        {{{"BM", 64}, {"BN", 128}, {"BK", 8}, {"WM", 32}, {"WN", 64}, {"TM", 4}, {"TN", 16}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{64, 128, 8}, random.tiles(64, 128, 8 * random.between(2, 4))}, 64, 128, 8);
        },
    .targets =
        {{"wavefronts of loads", "smem_load_wavefronts", "M*N*K/(WM*WN) * 2*(TM/4 + TN/4)", true,
          false, 2},
         {"floats loaded", "smem_load_floats", "M*N*K/(WM*WN) * 32*(TM + TN)", true, true},
         {"global sectors", "gmem_load_sectors + gmem_store_sectors",
          "(M*N*K/BM + M*N*K/BN + M*N)/8"}},
    .hints =
        {{[](const grade::Case& c) {
            return c.never_written || model::has_hazard(*c.row.counts) || !c.right();
          },
          "each pair of a lane_row from 0 to 7 and a lane_col from 0 to 3 must belong to exactly "
          "one lane"},
         {[](const grade::Case& c) {
            return sound(c) && !is_merged(c, "As") && !is_merged(c, "Bs");
          },
          "neither the loads of As nor those of Bs are merged: of one of the two, lanes l and l "
          "XOR 1 should want the same float4, and of the other, lanes l and l XOR 2",
          "", [](const grade::Case& c) { return wanted_of_As(c) + "; " + wanted_of_Bs(c); }},
         {[](const grade::Case& c) { return sound(c) && !is_merged(c, "Bs"); },
          "the loads of As take two wavefronts, but those of Bs take four, and there are four "
          "times as many of them. They are merged as well if lanes l and l XOR 2 have the same "
          "lane_col, and lanes l and l XOR 1 the same lane_row",
          "", wanted_of_Bs},
         {[](const grade::Case& c) { return sound(c) && !is_merged(c, "As"); },
          "the loads of Bs take two wavefronts, but those of As take four: both are merged if "
          "neighbours share both in turn, for example lanes l and l XOR 1 the same lane_row, and "
          "lanes l and l XOR 2 the same lane_col",
          "", wanted_of_As}},
};
