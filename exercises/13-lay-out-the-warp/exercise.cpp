#include <algorithm>

#include "grade/exercise.h"

namespace {

// The most wavefronts of one load of an array. 16-byte loads of a warp take two at best, four where
// no two neighbours want the same.
int wavefronts(const grade::Case& c, const std::string& array) {
  int most = 0;
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array == array && line.shared && line.direction == model::Direction::load) {
      most = std::max(most, line.worst_pieces);
    }
  }
  return most;
}

bool sound(const grade::Case& c) {
  return c.right() && !model::has_hazard(*c.row.counts);
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "lay out the warp: C = A^T * B, 4 x 16 results a lane, the fewest wavefronts",
    .product = {.A = grade::Order::transposed},
    .variants =
        {{{"BM", 64}, {"BN", 128}, {"BK", 8}, {"WM", 32}, {"WN", 64}, {"TM", 4}, {"TN", 16}}},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {64, 128, 8}, {64 * random.between(1, 2), 128, 8 * random.between(2, 4)}};
        },
    .targets =
        {{"wavefronts of loads", "smem_load_wavefronts", "M*N*K/(WM*WN) * 2*(TM/4 + TN/4)"},
         {"floats loaded", "smem_load_floats", "M*N*K/(WM*WN) * 32*(TM + TN)", true, true},
         {"global sectors", "gmem_load_sectors + gmem_store_sectors",
          "(M*N*K/BM + M*N*K/BN + M*N)/8"}},
    .hints =
        {{[](const grade::Case& c) {
            return c.never_written || model::has_hazard(*c.row.counts) || !c.right();
          },
          "every pair of a lane_row from 0 to 7 and a lane_col from 0 to 3 must belong to one "
          "lane, "
          "and to one only"},
         {[](const grade::Case& c) {
            return sound(c) && wavefronts(c, "As") > 2 && wavefronts(c, "Bs") > 2;
          },
          "neither the loads of As nor those of Bs are merged: lanes l and l XOR 1 should want the "
          "same of one of the two, and lanes l and l XOR 2 the same of the other"},
         {[](const grade::Case& c) { return sound(c) && wavefronts(c, "Bs") > 2; },
          "the loads of As take two wavefronts, those of Bs four: there are four times as many of "
          "those. Where lanes l and l XOR 2 have the same column, they are merged as well"},
         {[](const grade::Case& c) { return sound(c) && wavefronts(c, "As") > 2; },
          "the loads of Bs take two wavefronts, those of As four: where lanes l and l XOR 1 have "
          "the "
          "same row, and l and l XOR 2 the same column, both are merged"}},
};
