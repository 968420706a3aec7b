#include "grade/exercise.h"

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
    .title = "swizzle: the lower triangle of A * A^T without a bank conflict and without padding",
    .product = {.lower_triangle_of_AAt = true},
    .variants = {{{"BM", 32}, {"BN", 32}, {"BK", 32}, {"TM", 4}, {"TN", 4}}},
    .shapes =
        [](grade::Random& random) {
          const int M = 32 * random.between(2, 3);
          return std::vector<Shape>{{32, 32, 32}, {M, M, 32 * random.between(2, 3)}};
        },
    .targets =
        {{"bank conflicts", "bank_conflicts", "0"},
         {"shared bytes", "smem_bytes", "4*(BM*BK + BK*BN)", false},
         {"shared loads", "smem_loads", "M/BM*(M/BM + 1)/2 * BM*BN*K*(1/TM + 1/TN)/4"},
         {"global loads", "gmem_loads", "M/BM*(M/BM + 1)/2 * (BM + BN)*K/4"}},
    .hints =
        {{misaligned,
          "a four of rows must stay together, or no float4 can load it: let the XOR change the "
          "bits "
          "of m above the lowest two"},
         {[](const grade::Case& c) {
            return !c.right() && !model::has_hazard(*c.row.counts) &&
                   c.measures.at("smem_stores") > 0;
          },
          "what is loaded is not what was stored there: the place of element (k, m) must be the "
          "same XOR of k and m in both"},
         {[](const grade::Case& c) {
            return sound(c) && !c.missed.empty() &&
                   c.measures.at("smem_bytes") > 4 * (32 * 32 + 32 * 32);
          },
          "that is more shared memory than the two tiles: no padding here, and no arrays besides "
          "As "
          "and Bs"},
         {[](const grade::Case& c) { return sound(c) && conflicts(c, model::Direction::store); },
          "the lanes of a warp store eight different fours of k for four rows: eight fours of "
          "banks, "
          "if all of k / 4's three bits take part in the XOR"},
         {[](const grade::Case& c) { return sound(c) && conflicts(c, model::Direction::load); },
          "the stores are free of conflicts, the loads are not: at one k, all lanes must turn "
          "their "
          "place by the same XOR"},
         {[](const grade::Case& c) { return sound(c) && !c.missed.empty(); },
          "four floats an access, wherever they lie side by side: from A, and from As and Bs"}},
};
