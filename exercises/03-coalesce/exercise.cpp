#include "school/grade/exercise.h"

namespace {

bool reaches_outside(const grade::Case& c, const char* matrix) {
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array.starts_with("outside") && line.array.ends_with(matrix)) return true;
  }
  return false;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "coalesce: C = A * B, with all three matrices column by column",
    .product = {grade::Order::columns, grade::Order::columns, grade::Order::columns},
    .shapes =
        [](grade::Random& random) {
          Shape blocks = random.cut_tiles(32 / 8, 32, random.between(8, 40));
          blocks.M *= 8;  // whole sectors
          return random.and_large(
              {{64, 64, 32},
               blocks,
               {8 * random.between(1, 3), random.between(9, 31), random.between(41, 90)},
               {8 * random.between(5, 12), random.between(9, 31), random.between(8, 40)}},
              32, 32, 1);
        },
    .targets =
        {{"stores per thread", "most_gmem_stores", "1", false},
         {"global sectors", "gmem_load_sectors + gmem_store_sectors",
          "N*K*(M/8 + ceil(M/32)) + N*M/8"},
         {"store sectors", "gmem_store_sectors", "N*M/8"},
         {"shared bytes", "smem_bytes", "0", false}},
    .hints =
        {{[](const grade::Case& c) { return reaches_outside(c, "") && !reaches_outside(c, "C"); },
          "the store stays inside of C, so the guard is right, but a load does not stay inside of "
          "its matrix: element (row, k) of A is A[k * M + row], and (k, col) of B is B[col * K + "
          "k]"},
         {[](const grade::Case& c) { return reaches_outside(c, ""); },
          "the grid is rounded up to whole blocks, so there are more threads than elements: which "
          "of them have an element of C?"},
         {[](const grade::Case& c) { return c.never_written; },
          "some elements of C have no thread: blockIdx.y counts down the rows of C, and blockIdx.x "
          "along its columns"},
         {[](const grade::Case& c) { return c.measures.at("most_gmem_stores") > 1; },
          "a thread stores more than once: add up in a local variable, and store once, after the "
          "loop"},
         {[](const grade::Case& c) {
            return !c.right() &&
                   c.is({grade::Order::columns, grade::Order::columns, grade::Order::rows});
          },
          "the values are right, but C must lie column by column: element (row, col) is C[col * M "
          "+ row]"},
         {[](const grade::Case& c) {
            return !c.right() &&
                   c.is({grade::Order::rows, grade::Order::columns, grade::Order::columns});
          },
          "A is read as if it lay row by row, but element (row, k) is A[k * M + row]"},
         {[](const grade::Case& c) {
            return !c.right() &&
                   c.is({grade::Order::columns, grade::Order::rows, grade::Order::columns});
          },
          "B is read as if it lay row by row, but element (k, col) is B[col * K + k]"},
         {[](const grade::Case& c) { return !c.right() && c.is({}); },
          "A, B and C are indexed as if they lay row by row, but they lie column by column: "
          "element (row, k) of A is A[k * M + row]"},
         {[](const grade::Case& c) { return c.right() && c.measures.at("smem_bytes") > 0; },
          "tiles in shared memory come in the next exercise. Here it is enough that neighbouring "
          "threads access neighbouring elements of A and of C"},
         {[](const grade::Case& c) {
            return c.right() && !c.missed.empty() && !model::has_hazard(*c.row.counts);
          },
          "the 32 lanes of a warp have consecutive threadIdx.x: choose row and col so that they "
          "access consecutive elements of A and of C"}},
};
