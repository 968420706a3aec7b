#include "grade/exercise.h"

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

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "the 2D tile: the lower triangle of C = A * A^T, 4 x 16 results a thread",
    .product = {.lower_triangle_of_AAt = true},
    .variants = {{{"BM", BM}, {"BN", 64}, {"BK", 8}, {"TM", 4}, {"TN", 16}}},
    .shapes =
        [](grade::Random& random) {
          const int M = BM * random.between(2, 3);
          return std::vector<Shape>{
              {BM, BM, 8 * random.between(1, 4)}, {M, M, 8 * random.between(2, 6)}};
        },
    .targets =
        {{"global loads", "gmem_load_floats", "M/BM*(M/BM + 1)/2*(BM + BN)*K"},
         {"global load sectors", "gmem_load_sectors", "M/BM*(M/BM + 1)/2*(BM + BN)*K/8"},
         {"global stores", "gmem_store_floats", "results"},
         {"shared floats loaded", "smem_load_floats", "M/BM*(M/BM + 1)/2*BM*BN*K*(1/TM + 1/TN)"},
         {"barriers, all blocks", "barriers", "M/BM*(M/BM + 1)/2*2*K/BK", false},
         {"shared bytes", "smem_bytes", "4*BK*(BM + BN)", false}},
    .hints =
        {{[](const grade::Case& c) { return c.outside_touched && c.wrong > 0; },
          "the lower triangle is asked for: an element is in it where its column is not greater "
          "than its row"},
         {[](const grade::Case& c) { return c.outside_touched; },
          "the tiles on the diagonal are needed by half: of their elements only those on and below "
          "the diagonal are to be stored"},
         {[](const grade::Case& c) {
            return !c.missed.empty() &&
                   c.measures.at("gmem_store_floats") > c.measures.at("results");
          },
          "an element is stored more than once: sum up in registers, and store when the loop over "
          "K is over"},
         {[](const grade::Case& c) {
            return !c.missed.empty() && c.measures.at("barriers") > at_work(c) * 2 * c.shape.K / 8;
          },
          "a block whose tile lies above the diagonal has nothing to do (and all its threads "
          "together may leave at once); the others need two barriers a round"},
         {[](const grade::Case& c) {
            return !c.missed.empty() && std::string(c.missed.front()->name) == "shared bytes";
          },
          "As and Bs, which are given, are all the shared memory that it takes"},
         {[](const grade::Case& c) { return missed(c, "global loads"); },
          "each element of the two tiles comes from global memory once a round, by one thread"},
         {[](const grade::Case& c) { return missed(c, "global load sectors"); },
          "when tiles are copied, a thread's neighbour should read its neighbour: along K, where A "
          "lies in memory as a whole"},
         {[](const grade::Case& c) { return missed(c, "shared floats loaded"); },
          "in each step of k, fetch TM elements of As and TN of Bs into registers first, and then "
          "multiply each with each"}},
};
