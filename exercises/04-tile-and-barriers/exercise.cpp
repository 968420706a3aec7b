#include "school/grade/exercise.h"

namespace {

bool has(const grade::Case& c, model::HazardKind kind) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == kind) return true;
  }
  return false;
}

bool races(const grade::Case& c) {
  return has(c, model::HazardKind::race);
}

// Whether some threads came to a barrier that others passed by.
bool barrier_for_some(const grade::Case& c) {
  return has(c, model::HazardKind::several_barriers) || has(c, model::HazardKind::threads_left) ||
         has(c, model::HazardKind::barrier_divergence);
}

const char* first_missed(const grade::Case& c) {
  return c.right() && !c.missed.empty() ? c.missed.front()->name : "";
}

// Whether warps copy with less than half of their lanes.
bool copies_with_idle_lanes(const grade::Case& c) {
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.shared && line.direction == model::Direction::store &&
        line.executions < 16 * line.requests) {
      return true;
    }
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
          return random.and_large(
              {{32, 64, 8},  // one tile: a race here is for want of the first barrier
               random.tiles(16, 32, 8 * random.between(3, 8)),
               {16, 32, 16}},
              16, 32, 8);
        },
    .targets =
        {{"global sectors", "gmem_load_sectors + gmem_store_sectors",
          "(M*N*K/BM + M*N*K/BN + M*N)/8"},
         {"global loads", "gmem_loads", "M*N*K/BM + M*N*K/BN"},
         {"shared wavefronts", "smem_load_wavefronts + smem_store_wavefronts",
          "2*M*N*K/32 + 2*(M*N*K/BM + M*N*K/BN)/32"},
         {"barriers per block", "barriers/blocks", "2*K/BK", false},
         {"shared bytes", "smem_bytes", "4*BK*(BM + BN)", false}},
    .hints =
        {{barrier_for_some,
          "only some threads of the block come to a barrier, because it stands inside an `if` or a "
          "loop that others skip: put every __syncthreads() where all threads come to it"},
         {[](const grade::Case& c) { return races(c) && c.shape.K == 8; },
          "threads multiply a tile before all of it has been copied: what must stand between the "
          "copies and the loop over k?"},
         {[](const grade::Case& c) { return races(c); },
          "a thread stores the next tile while others still multiply the last one: what must stand "
          "at the end of a round?"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::uninitialized); },
          "part of a tile is never copied: there are BK * BM elements of A, BK * BN elements of B, "
          "and 512 threads to copy them"},
         {[](const grade::Case& c) {
            return has(c, model::HazardKind::index_out_of_range) && c.shape.K > 8;
          },
          "with one round all indices are inside of the tiles, with several they are not: within a "
          "round, k counts the steps of one tile"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::index_out_of_range); },
          "a tile has fewer elements than the block has threads: BK * BM of A, and BK * BN of B. "
          "Which threads have something to copy?"},
         {[](const grade::Case& c) { return !c.right() && c.is({}); },
          "A is read as if it were M x K, but it is K x M: element (k, row) is A[k * M + row]"},
         {[](const grade::Case& c) { return !c.right() && c.shape.K > 8; },
          "with one round the result is right, with several it is wrong: look at what must change "
          "from round to round"},
         {[](const grade::Case& c) {
            return !c.missed.empty() && c.measures.at("gmem_loads") > c.measures.at("results") *
                                                                          c.shape.K *
                                                                          (1.0 / 16 + 1.0 / 32);
          },
          "elements are loaded from global memory more than once per tile: multiply from As and "
          "Bs, and let one thread copy each element"},
         {[](const grade::Case& c) {
            return !c.missed.empty() &&
                   c.measures.at("barriers") > c.measures.at("blocks") * 2 * c.shape.K / 8;
          },
          "two barriers per tile are enough: one when the tile is complete, and one when no thread "
          "needs it any more"},
         {[](const grade::Case& c) {
            return !c.missed.empty() && c.right() &&
                   c.measures.at("smem_bytes") > 4 * 8 * (16 + 32);
          },
          "the given As and Bs are all the shared memory that you need"},
         {[](const grade::Case& c) {
            return c.right() && !c.missed.empty() && copies_with_idle_lanes(c);
          },
          "most lanes of the warps that copy do nothing: let neighbouring values of `thread` copy "
          "neighbouring elements, so that whole warps copy"},
         {[](const grade::Case& c) { return std::string(first_missed(c)) == "shared wavefronts"; },
          "shared memory is accessed more often than necessary: each step of k needs two loads, "
          "and each element of a tile one store"},
         {[](const grade::Case& c) { return !c.missed.empty() && c.right(); },
          "neighbouring threads should copy neighbouring elements: which index of the tile should "
          "change fastest with `thread`?"}},
};
