#include <algorithm>

#include "school/grade/exercise.h"

namespace {

bool sound(const grade::Case& c) {
  return c.right() && !model::has_hazard(*c.row.counts);
}

bool misses(const grade::Case& c, const char* target) {
  return sound(c) && !c.missed.empty() && std::string(c.missed.front()->name) == target;
}

// The most wavefronts that a request of an ldmatrix takes; 0: there is none.
int worst_ldmatrix(const grade::Case& c) {
  int most = 0;
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.worst.matrices > 0) most = std::max(most, line.worst_pieces);
  }
  return most;
}

bool has(const grade::Case& c, model::HazardKind kind) {
  return model::has_hazard(*c.row.counts) && c.row.counts->hazards.front().kind == kind;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "ldmatrix and swizzle: C = A * B^T by tensor cores, fragments without bank conflicts",
    .product = {.B = grade::Order::transposed},
    .precision = model::kTf32,
    .variants = {{{"BM", 32}, {"BN", 32}, {"BK", 32}, {"WM", 16}, {"WN", 16}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{32, 32, 32}, random.tiles(32, 32, 32 * random.between(2, 3))}, 32, 32, 32);
        },
    // In 8 steps of k, each of a warp's 32 lanes gives ldmatrix a row of A and a row of B.
    .targets =
        {{"shared bytes", "smem_bytes", "4*(BM*BK + BN*BK)", false},
         {"rows for ldmatrix", "ldmatrix_rows", "M*N*K/(WM*WN*8) * 32*2", true, true},
         {"shared loads", "smem_loads", "M*N*K/(WM*WN*8) * 32*2"},
         {"bank conflicts", "bank_conflicts", "0"},
         {"wavefronts of stores", "smem_store_wavefronts", "(M*N*K/BN + M*N*K/BM)/32"},
         {"mma instructions", "mmas", "M*N*K/(16*8*8)", false, true},
         {"global loads", "gmem_loads", "(M*N*K/BN + M*N*K/BM)/4"}},
    .hints =
        {{[](const grade::Case& c) { return has(c, model::HazardKind::misaligned); },
          "ldmatrix reads 16 bytes from each address that it is given, and a float4 has 16 bytes: "
          "whole chunks of four floats change places, never single floats"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::uninitialized); },
          "ldmatrix reads what no thread has stored. As and Bs stay as they are: an array that is "
          "declared between one pair of marked lines is another one between the next"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::index_out_of_range); },
          "a row of As or Bs has eight places for chunks, 0 to 7: which place does chunk 7 of row "
          "31 "
          "get?",
          "the last three bits of the row are enough"},
         {[](const grade::Case& c) {
            return !c.right() && !c.never_written && !model::has_hazard(*c.row.counts);
          },
          "ldmatrix does not find what was stored, or the matrices come in the wrong order: the "
          "place of a chunk depends on its row in the tile, and must be the same for the store and "
          "for the lane that gives the row's address"},
         {[](const grade::Case& c) { return misses(c, "shared bytes"); },
          "this is more shared memory than the two tiles need: no padding here, and no arrays "
          "other "
          "than As and Bs"},
         {[](const grade::Case& c) { return misses(c, "rows for ldmatrix"); },
          "load the fragments by ldmatrix_x4, once for a and once for b in 8 steps of k: each lane "
          "gives the address of one row of 16 bytes"},
         {[](const grade::Case& c) { return misses(c, "shared loads"); },
          "something is loaded from shared memory beside what ldmatrix loads; a swizzle needs no "
          "more loads"},
         {[](const grade::Case& c) { return misses(c, "bank conflicts") && worst_ldmatrix(c) > 4; },
          "a matrix of ldmatrix is the same chunk of eight rows. In one wavefront they fit only if "
          "these eight go to eight different groups of four banks: all three bits of row % 8 must "
          "have a part in the place"},
         {[](const grade::Case& c) { return misses(c, "wavefronts of stores"); },
          "no lanes are in conflict, because they take turns, and that takes as many wavefronts as "
          "the conflicts would: all lanes of a warp must store at once"},
         {[](const grade::Case& c) { return misses(c, "mma instructions"); },
          "the multiplications are there already: your code stores the tiles and loads fragments"},
         {[](const grade::Case& c) { return misses(c, "bank conflicts"); },
          "ldmatrix has no conflicts, but the copies do: eight lanes that are served together must "
          "store to eight different groups of four banks. The eight chunks of one row always do"}},
};
