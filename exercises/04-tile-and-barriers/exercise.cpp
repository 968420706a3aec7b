#include "grade/exercise.h"

namespace {

bool races(const grade::Case& c) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == model::HazardKind::race) return true;
  }
  return false;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "tile and barriers: C = A^T * B through 16 x 8 and 8 x 32 tiles in shared memory",
    .product = {.A = grade::Order::transposed},
    .variants = {{{"BM", 16}, {"BN", 32}, {"BK", 8}}},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {32, 64, 8},  // one tile: a race here is for want of the first barrier
              {16 * random.between(1, 4), 32 * random.between(1, 3), 8 * random.between(3, 8)},
              {16, 32, 16},
          };
        },
    .targets =
        {{"global sectors", "gmem_load_sectors + gmem_store_sectors",
          "(M*N*K/BM + M*N*K/BN + M*N)/8"},
         {"global loads", "gmem_loads", "M*N*K/BM + M*N*K/BN"},
         {"shared wavefronts", "smem_load_wavefronts + smem_store_wavefronts",
          "2*M*N*K/32 + (M*N*K/BM + 2*M*N*K/BN)/32"},
         {"barriers a block", "barriers/blocks", "2*K/BK", false},
         {"shared bytes", "smem_bytes", "4*BK*(BM + BN)", false}},
    .hints =
        {{[](const grade::Case& c) { return races(c) && c.shape.K == 8; },
          "a tile is multiplied before all of it is there: what must stand between the copies and "
          "the loop over k?"},
         {[](const grade::Case& c) { return races(c); },
          "the next tile is stored while others still multiply the last one: what must stand at "
          "the end of a round?"},
         {[](const grade::Case& c) {
            for (const model::Hazard& h : c.row.counts->hazards) {
              if (h.kind == model::HazardKind::uninitialized) return true;
            }
            return false;
          },
          "part of a tile is never copied: BK * BM elements of A and BK * BN of B, and 512 threads "
          "to do it"},
         {[](const grade::Case& c) { return !c.right() && c.is({}); },
          "A is read as if it were M x K: element (k, row) of the K x M matrix is at k * M + row"},
         {[](const grade::Case& c) {
            return !c.missed.empty() && c.measures.at("gmem_loads") > c.measures.at("results") *
                                                                          c.shape.K *
                                                                          (1.0 / 16 + 1.0 / 32);
          },
          "elements come from global memory more often than once a tile: multiply from As and Bs, "
          "and let each element be copied by one thread"},
         {[](const grade::Case& c) {
            return !c.missed.empty() &&
                   c.measures.at("barriers") > c.measures.at("blocks") * 2 * c.shape.K / 8;
          },
          "two barriers a tile are enough: one when it is complete, one when nobody needs it any "
          "more"},
         {[](const grade::Case& c) {
            return !c.missed.empty() && c.right() &&
                   c.measures.at("smem_bytes") > 4 * 8 * (16 + 32);
          },
          "As and Bs, which are given, are all the shared memory that it takes"},
         {[](const grade::Case& c) {
            return !c.missed.empty() && c.right() &&
                   c.missed.front()->name == std::string("shared wavefronts");
          },
          "shared memory is accessed more often than it takes: two loads for each step of k, and "
          "one "
          "store for each element of a tile"},
         {[](const grade::Case& c) { return !c.missed.empty() && c.right(); },
          "neighbouring threads should copy neighbouring elements: which index of the tile should "
          "change fastest with the thread's number?"}},
};
