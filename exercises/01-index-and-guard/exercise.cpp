#include <algorithm>

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

// Whether some element of C is stored by no thread.
bool leaves_out_elements(const grade::Case& c) {
  return std::ranges::count(c.writers, 0u) > 0;
}

// Every element of C is what the last step of the loop over K gives.
bool only_last_product(const grade::Case& c) {
  const auto [M, N, K, variant, large] = c.shape;
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
          // The large ones run as a whole, because any thread may have any element.
          return std::vector<Shape>{
              {16, 64, 64},
              random.cut_tiles(8, 32, random.between(2, 70)),
              {random.between(33, 90), random.between(1, 31), random.between(71, 90)},
              random.part_of_tile(8, 32, 1),
              {8 * random.many_tiles() - random.between(1, 7), 3, 2},
              {3, 32 * random.many_tiles() - random.between(1, 31), 2},
              {3, 5, random.long_K(1)},
          };
        },
    .targets =
        {{"floats stored per thread", "most_gmem_store_floats", "1", false},
         {"loads per thread", "most_gmem_loads", "2*K", false},
         {"global loads", "gmem_loads", "2*M*N*K"},
         {"shared bytes", "smem_bytes", "0", false}},
    .hints =
        {{[](const grade::Case& c) {
            return has(c, model::HazardKind::race_on_result) && whole_blocks(c);
          },
          "several blocks compute the same elements of C: look at how row and column are computed",
          "each block numbers its threads from 0, so row and column need the block's number as "
          "well as the thread's"},
         {[](const grade::Case& c) {
            return reaches_outside(c, "C") && !reaches_outside(c, "A") && !reaches_outside(c, "B");
          },
          "the loads stay inside of A and B, but the store does not stay inside of C: look at the "
          "store's index, and at which threads come to the store",
          "either the guard does not include the store, or its index is wrong: a row of C has N "
          "elements"},
         {[](const grade::Case& c) { return reaches_outside(c) && whole_blocks(c); },
          "here every thread has an element of C, and still a load leaves its matrix: look at the "
          "load's index, and at the first and the last step of the loop over k",
          "a row of A has K elements, and so has a row of B; the last step has k = K - 1"},
         {[](const grade::Case& c) { return reaches_outside(c) && leaves_out_elements(c); },
          "some threads beyond C pass the guard, and some elements of C have no thread: look at "
          "what the guard compares with what",
          "C has M rows and N columns"},
         {[](const grade::Case& c) {
            return reaches_outside(c) && !reaches_outside(c, "C") &&
                   c.measures.at("gmem_loads") > 2.0 * c.shape.M * c.shape.N * c.shape.K;
          },
          "the store stays inside of C, but a load leaves its matrix: look at which threads load",
          "a thread that has no element of C must not load either, so the guard must include the "
          "loop"},
         {[](const grade::Case& c) { return reaches_outside(c) && !reaches_outside(c, "C"); },
          "the store stays inside of C, but a load leaves its matrix: look at the load's index, "
          "and "
          "at which threads load",
          "a row of A has K elements, and so has a row of B"},
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
          "the last row or column of C is missing: what does the guard say to its threads?",
          "rows are numbered from 0 to M - 1, and columns from 0 to N - 1"},
         {[](const grade::Case& c) { return c.never_written; },
          "some elements of C have no thread: look at the launch below your code. Along what do x "
          "and y run?",
          "x runs along the columns of C, and y along its rows"},
         {[](const grade::Case& c) { return c.is({}); },
          "you computed A * B: look at how B lies in memory",
          "B is stored transposed, so B(k, col) is B[col * K + k]"},
         {only_last_product,
          "every result is only its last product: look at what a step of the loop does to the sum",
          "add each product to the sum"},
         {[](const grade::Case& c) { return c.measures.at("most_gmem_store_floats") > 1; },
          "a thread stores more than once: look at where the store stands",
          "add up in a local variable, and store it once, after the loop"},
         {[](const grade::Case& c) {
            return c.right() && (c.measures.at("most_gmem_loads") > 2 * c.shape.K ||
                                 c.measures.at("smem_bytes") > 0);
          },
          "a thread does more than one element of C needs: which part of A and of B is that?",
          "one row of A and one row of B, and nothing from other threads"}},
};
