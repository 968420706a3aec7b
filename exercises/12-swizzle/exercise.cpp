#include "school/grade/exercise.h"

namespace {

// Whether loads from shared memory, or stores to it, have conflicts.
bool conflicts(const grade::Case& c, model::Direction direction) {
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.shared && line.direction == direction && line.bank_conflicts > 0) return true;
  }
  return false;
}

bool misaligned(const grade::Case& c) {
  return model::has_hazard(*c.row.counts) &&
         c.row.counts->hazards.front().kind == model::HazardKind::misaligned;
}

bool sound(const grade::Case& c) {
  return c.right() && !model::has_hazard(*c.row.counts);
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "swizzle: the lower triangle of A * A^T, no bank conflicts and no padding",
    .product = {.lower_triangle_of_AAt = true},
    .variants = {{{"BM", 32}, {"BN", 32}, {"BK", 32}, {"TM", 4}, {"TN", 4}}},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {32, 32, 32},
              {96, 96, 32 * random.between(2, 3)},
              {9 * 32, 9 * 32, 32, 0, true},
              {32, 32, random.long_K(32), 0, true}};
        },
    .targets =
        {{"shared bytes", "smem_bytes", "4*(BM*BK + BK*BN)", false},
         {"bank conflicts", "bank_conflicts", "0"},
         {"wavefronts of stores", "smem_store_wavefronts", "M/BM*(M/BM + 1)/2 * (BM + BN)*K/32"},
         {"wavefronts of loads", "smem_load_wavefronts", "M/BM*(M/BM + 1)/2 * 2*6*K"},
         {"shared loads", "smem_loads", "M/BM*(M/BM + 1)/2 * BM*BN*K*(1/TM + 1/TN)/4"},
         {"global loads", "gmem_loads", "M/BM*(M/BM + 1)/2 * (BM + BN)*K/4"}},
    .hints =
        {{misaligned,
          "four neighbouring rows must stay neighbours, or no float4 can load them: the XOR may "
          "change only the bits of m above the lowest two"},
         {[](const grade::Case& c) {
            return !c.right() && !model::has_hazard(*c.row.counts) &&
                   c.measures.at("smem_stores") > 0;
          },
          "the loads do not find what was stored: use the same XOR of k and m for the store and "
          "for the load of element (k, m)"},
         {[](const grade::Case& c) {
            return sound(c) && !c.missed.empty() &&
                   c.measures.at("smem_bytes") > 4 * (32 * 32 + 32 * 32);
          },
          "this is more shared memory than the two tiles need: no padding here, and no arrays "
          "other than As and Bs"},
         {[](const grade::Case& c) { return sound(c) && conflicts(c, model::Direction::store); },
          "the lanes of a warp store eight different values of k / 4 for four rows. They go to "
          "eight different groups of four banks only if all three bits of k / 4 enter the XOR"},
         {[](const grade::Case& c) { return sound(c) && conflicts(c, model::Direction::load); },
          "the stores have no conflicts, but the loads do: at one k, all lanes must use the same "
          "value in the XOR"},
         {[](const grade::Case& c) {
            return sound(c) && !c.missed.empty() &&
                   std::string(c.missed.front()->name).starts_with("wavefronts");
          },
          "no lanes are in conflict, because they take turns, and that takes as many wavefronts as "
          "the conflicts did: all lanes of a warp must access shared memory at once"},
         {[](const grade::Case& c) { return sound(c) && !c.missed.empty(); },
          "load four floats at a time wherever they lie side by side: from A, and from As and Bs"}},
};
