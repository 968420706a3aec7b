#include "grade/exercise.h"

namespace {

bool has(const grade::Case& c, model::HazardKind kind) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == kind) return true;
  }
  return false;
}

bool reaches_outside(const grade::Case& c) {
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array.starts_with("outside")) return true;
  }
  return false;
}

bool whole_blocks(const grade::Case& c) {
  return c.shape.M % 8 == 0 && c.shape.N % 32 == 0;
}

// Every element of C is what the last step of the loop over K gives.
bool only_last_product(const grade::Case& c) {
  const auto [M, N, K, variant] = c.shape;
  if (K < 2) return false;
  for (int row = 0; row < M; ++row) {
    for (int column = 0; column < N; ++column) {
      if (c.C[row * N + column] != c.A[row * K + K - 1] * c.B[column * K + K - 1]) return false;
    }
  }
  return true;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "index and guard: C = A * B^T for any shape, a thread for every element of C",
    .product = {.B = grade::Order::transposed},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {64, 64, 64},
              {random.between(9, 60) | 1, random.between(33, 90) | 1, random.between(2, 70)},
              {random.between(33, 90), random.between(1, 31), random.between(2, 70)},
              {1, random.between(1, 40), 1},
          };
        },
    .targets =
        {{"stores of a thread", "most_gmem_stores", "1", false},
         {"loads of a thread", "most_gmem_loads", "2*K", false},
         {"global loads", "gmem_loads", "2*M*N*K"},
         {"shared bytes", "smem_bytes", "0", false}},
    .hints =
        {{[](const grade::Case& c) {
            return has(c, model::HazardKind::race_on_result) && whole_blocks(c);
          },
          "several blocks compute the same elements of C: where does a block's number come "
          "into row and column?"},
         {[](const grade::Case& c) {
            return (has(c, model::HazardKind::race_on_result) || reaches_outside(c)) &&
                   !whole_blocks(c);
          },
          "the grid is rounded up to whole blocks, so some threads lie beyond the last row or "
          "column: what must those do?"},
         {[](const grade::Case& c) { return c.is({}); },
          "what you computed is A * B: row n of what lies in memory as B holds column n of "
          "the factor, K elements side by side"},
         {only_last_product, "every result is its last product alone: is it added to the sum?"},
         {[](const grade::Case& c) { return c.measures.at("most_gmem_stores") > 1; },
          "a thread stores more than once: sum up in a variable of its own, and store that "
          "when the loop is over"},
         {[](const grade::Case& c) {
            return c.right() && (c.measures.at("most_gmem_loads") > 2 * c.shape.K ||
                                 c.measures.at("smem_bytes") > 0);
          },
          "each thread computes the one element of C that is its own, from a row of A and a row of "
          "B, and needs nothing from the others"}},
};
