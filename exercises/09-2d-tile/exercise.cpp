#include "school/grade/exercise.h"

namespace {

constexpr int BM = 64;

// Of the blocks that have something to do.
double at_work(const grade::Case& c) {
  const double tiles = c.shape.M / BM;
  return tiles * (tiles + 1) / 2;
}

bool missed(const grade::Case& c, const std::string& name) {
  for (const grade::Target* target : c.missed) {
    if (target->name == name) return true;
  }
  return false;
}

bool has(const grade::Case& c, model::HazardKind kind) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == kind) return true;
  }
  return false;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "the 2D tile: the lower triangle of C = A * A^T, 4 x 16 results per thread",
    .product = {.lower_triangle_of_AAt = true},
    .variants = {{{"BM", BM}, {"BN", 64}, {"BK", 8}, {"TM", 4}, {"TN", 16}}},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {BM, BM, 8 * random.between(1, 4)},
              {3 * BM, 3 * BM, 8 * random.between(2, 6)},
              {5 * BM, 5 * BM, 8, 0, true},
              {BM, BM, random.long_K(8), 0, true}};
        },
    .targets =
        {{"global loads", "gmem_load_floats", "M/BM*(M/BM + 1)/2*(BM + BN)*K"},
         {"global load sectors", "gmem_load_sectors", "M/BM*(M/BM + 1)/2*(BM + BN)*K/8"},
         {"global stores", "gmem_store_floats", "results"},
         {"stores per thread", "most_gmem_stores", "TM*TN", false},
         {"shared floats loaded", "smem_load_floats", "M/BM*(M/BM + 1)/2*BM*BN*K*(1/TM + 1/TN)"},
         {"barriers, all blocks", "barriers", "M/BM*(M/BM + 1)/2*2*K/BK", false},
         {"shared bytes", "smem_bytes", "4*BK*(BM + BN)", false}},
    .hints =
        {{[](const grade::Case& c) {
            return has(c, model::HazardKind::threads_left) ||
                   has(c, model::HazardKind::barrier_divergence);
          },
          "every thread of a block must copy its part and reach every barrier: a whole block may "
          "leave at the start, but a single thread may not"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::uninitialized); },
          "part of a tile is never copied: each tile has 512 elements, and the block has 64 "
          "threads to copy them"},
         {[](const grade::Case& c) { return c.outside_touched && c.wrong > 0; },
          "the lower triangle is asked for: an element belongs to it if its column is not greater "
          "than its row"},
         {[](const grade::Case& c) { return c.outside_touched; },
          "only half of each tile on the diagonal is needed: store only the elements on and below "
          "the diagonal"},
         {[](const grade::Case& c) { return c.never_written; },
          "some elements below the diagonal are never stored: compare the row and the column in C, "
          "to which block_row and block_col belong, not those in the tile"},
         {[](const grade::Case& c) {
            return !c.right() && !c.never_written && c.first.row >= BM && c.first.column < BM;
          },
          "the tile on the diagonal is right, but the one beside it is wrong: there, the rows of C "
          "and its columns need different rows of A"},
         {[](const grade::Case& c) {
            return !c.missed.empty() &&
                   c.measures.at("gmem_store_floats") > c.measures.at("results");
          },
          "an element is stored more than once: add up in registers, and store once, after the "
          "loop over K"},
         {[](const grade::Case& c) {
            return !c.missed.empty() && c.measures.at("barriers") > at_work(c) * 2 * c.shape.K / 8;
          },
          "a block whose tile lies above the diagonal has nothing to do, and all its threads may "
          "leave together at the start; the other blocks need two barriers per round",
          "",
          [](const grade::Case&) {
            return std::string(
                "block (1, 0), for example: its tile has rows 0 to 63 and columns 64 to 127");
          }},
         {[](const grade::Case& c) {
            return !c.missed.empty() && std::string(c.missed.front()->name) == "shared bytes";
          },
          "the given As and Bs are all the shared memory that you need"},
         {[](const grade::Case& c) { return missed(c, "global loads"); },
          "in each round, one thread loads each element of the two tiles from global memory, once"},
         {[](const grade::Case& c) { return missed(c, "global load sectors"); },
          "when you copy tiles, neighbouring threads should read neighbouring elements: A lies in "
          "memory along K"},
         {[](const grade::Case& c) { return missed(c, "shared floats loaded"); },
          "in each step of k, first load TM elements of As and TN elements of Bs into registers, "
          "then multiply each with each"}},
};
