#include "school/grade/exercise.h"

namespace {

bool has(const grade::Case& c, model::HazardKind kind) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == kind) return true;
  }
  return false;
}

// Of A, B or C, whose name is given, or of any of them.
bool reaches_outside(const grade::Case& c, const char* matrix = "") {
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array.starts_with("outside") && line.array.ends_with(matrix)) return true;
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
    .title = "index and guard: C = A * B^T for any shape, one thread for each element",
    .product = {.B = grade::Order::transposed},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {16, 64, 64},
              random.cut_tiles(8, 32, random.between(2, 70)),
              {random.between(33, 90), random.between(1, 31), random.between(71, 90)},
              random.part_of_tile(8, 32, 1),
          };
        },
    .targets =
        {{"stores per thread", "most_gmem_stores", "1", false},
         {"loads per thread", "most_gmem_loads", "2*K", false},
         {"global loads", "gmem_loads", "2*M*N*K"},
         {"shared bytes", "smem_bytes", "0", false}},
    .hints =
        {{[](const grade::Case& c) {
            return has(c, model::HazardKind::race_on_result) && whole_blocks(c);
          },
          "several blocks compute the same elements of C: row and column need the block's number "
          "as well as the thread's"},
         {[](const grade::Case& c) {
            return reaches_outside(c, "C") && !reaches_outside(c, "A") && !reaches_outside(c, "B");
          },
          "the loads stay inside of A and B, but the store does not stay inside of C. Either the "
          "guard does not include it, or its index is wrong: a row of C has N elements"},
         {[](const grade::Case& c) { return reaches_outside(c) && whole_blocks(c); },
          "here every thread has an element of C, and still a load reaches beyond the matrix: look "
          "at the index, and at the last step of the loop over k"},
         {[](const grade::Case& c) { return reaches_outside(c) && !reaches_outside(c, "C"); },
          "the store stays inside of C, so the guard is right, but a load does not stay inside of "
          "its matrix: a row of A has K elements, and so has a row of B"},
         {[](const grade::Case& c) {
            return (has(c, model::HazardKind::race_on_result) || reaches_outside(c)) &&
                   !whole_blocks(c);
          },
          "the grid is rounded up to whole blocks, so some threads lie beyond the last row or "
          "column. What must they do?"},
         {[](const grade::Case& c) {
            return c.never_written &&
                   (c.first.row == c.shape.M - 1 || c.first.column == c.shape.N - 1);
          },
          "the last row or column of C is missing: rows are numbered from 0 to M - 1, and columns "
          "from 0 to N - 1. What does the guard say to the last ones?"},
         {[](const grade::Case& c) { return c.never_written; },
          "some elements of C have no thread: in this launch, x runs along the columns of C, and y "
          "along its rows"},
         {[](const grade::Case& c) { return c.is({}); },
          "you computed A * B. B is stored transposed: use B[col * K + k]"},
         {only_last_product, "every result is only its last product: add each product to the sum"},
         {[](const grade::Case& c) { return c.measures.at("most_gmem_stores") > 1; },
          "a thread stores more than once: add up in a local variable, and store it once, after "
          "the loop"},
         {[](const grade::Case& c) {
            return c.right() && (c.measures.at("most_gmem_loads") > 2 * c.shape.K ||
                                 c.measures.at("smem_bytes") > 0);
          },
          "each thread computes only its own element of C, from one row of A and one row of B, and "
          "needs nothing from other threads"}},
};
