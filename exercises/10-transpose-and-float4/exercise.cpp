#include "school/grade/exercise.h"

namespace {

bool misses(const grade::Case& c, const char* target) {
  for (const grade::Target* missed : c.missed) {
    if (std::string(missed->name) == target) return c.right() && !model::has_hazard(*c.row.counts);
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
    .title = "transpose and float4: C = A * B^T, four floats wherever data moves",
    .product = {.B = grade::Order::transposed},
    .variants = {{{"BM", 64}, {"BN", 64}, {"BK", 8}, {"TM", 8}, {"TN", 4}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{64, 128, 8},  // one tile of K
               random.tiles(64, 64, 8 * random.between(2, 5))},
              64, 64, 8);
        },
    .targets =
        {{"global loads", "gmem_loads", "(M*N*K/BM + M*N*K/BN)/4"},
         {"global stores", "gmem_stores", "M*N/4"},
         {"shared loads", "smem_loads", "(M*N*K/TM + M*N*K/TN)/4"},
         {"wavefronts of loads", "smem_load_wavefronts", "(M*N*K/TM + M*N*K/TN)/32"},
         {"shared stores", "smem_stores", "M*N*K/BM + M*N*K/BN"},
         {"global sectors", "gmem_load_sectors + gmem_store_sectors",
          "(M*N*K/BM + M*N*K/BN + M*N)/8"},
         {"shared bytes", "smem_bytes", "4*BK*(BM + BN)", false}},
    .hints =
        {{[](const grade::Case& c) { return has(c, model::HazardKind::misaligned); },
          "a float4 must start at a multiple of four floats: in global memory at four neighbours "
          "along K, in shared memory at four neighbours in a row of As or Bs"},
         {[](const grade::Case& c) {
            return !c.right() && !model::has_hazard(*c.row.counts) && c.is({});
          },
          "B is read as if it were K x N, but B is stored transposed: use B[col * K + k]"},
         {[](const grade::Case& c) {
            const double tiles = c.measures.at("results") * c.shape.K * (1.0 / 64 + 1.0 / 64);
            const double stores = c.measures.at("smem_stores");
            return !c.right() &&
                   ((stores > 0 && stores < tiles) || has(c, model::HazardKind::uninitialized));
          },
          "a float4 of A holds four steps of k for one row of A: store them to four rows of As, "
          "As[k][line] to As[k + 3][line]"},
         {[](const grade::Case& c) { return misses(c, "global loads"); },
          "a tile has 128 float4s, and the block has 128 threads: let each thread load one float4 "
          "of A and one of B"},
         {[](const grade::Case& c) { return misses(c, "global stores"); },
          "a thread's TN results in a row are neighbours in C and in `sum`: one store takes all "
          "four"},
         {[](const grade::Case& c) { return misses(c, "shared loads"); },
          "in each step of k, a thread needs TM neighbours of As[k] and TN neighbours of Bs[k]: "
          "load them into registers once, as float4, and multiply from there"},
         {[](const grade::Case& c) { return misses(c, "wavefronts of loads"); },
          "with k as the first index of As and Bs, neighbouring lanes load neighbouring floats. "
          "Without it, they load from different rows, which all start in the same bank"},
         {[](const grade::Case& c) { return misses(c, "global sectors"); },
          "the two float4s in a row of the tile fill one sector: neighbouring threads should load "
          "them"}},
};
