#include "school/grade/exercise.h"
#include "school/grade/complaint.h"

namespace {

bool has(const grade::Case& c, model::HazardKind kind) {
  const std::vector<model::Hazard>& hazards = c.row.counts->hazards;
  return !hazards.empty() && hazards.front().kind == kind;
}

bool misses(const grade::Case& c, const char* target) {
  if (!c.right() || model::has_hazard(*c.row.counts) || c.missed.empty()) return false;
  return std::string(c.missed.front()->name) == target;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "double-buffer: C = A^T * B, copy the next tile while this one is multiplied",
    .product = {.A = grade::Order::transposed, .C = grade::Order::columns},
    .variants = {{{"BM", 64}, {"BN", 32}, {"BK", 16}, {"TM", 4}, {"TN", 4}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{64, 32, 16 * random.between(3, 6)},
               random.tiles(64, 32, 16 * random.between(3, 6))},
              64, 32, 16);
        },
    // A tile of A and of B is 4*BK*(BM + BN) bytes, a quarter of that for each of the 4 warps. What
    // is not in flight yet, or no longer, counts as that part of a load.
    .targets =
        {{"loads without a copy", "max(0, smem_load_requests - in_flight_bytes/(BK*(BM + BN)))",
          "smem_load_requests*BK/K"},
         {"shared bytes", "smem_bytes", "2 * 4*BK*(BM + BN)", false},
         {"barriers per block", "barriers/blocks", "K/BK", false},
         {"global loads", "gmem_loads", "(M*N*K/BM + M*N*K/BN)/4"},
         {"floats loaded", "gmem_load_floats", "M*N*K/BM + M*N*K/BN"},
         {"floats by cp.async", "async_store_floats", "async_load_floats"},
         {"shared loads", "smem_loads", "(M*N*K/TM + M*N*K/TN)/4"},
         {"bytes of locals", "local_bytes", "768", false}},
    .hints =
        {{[](const grade::Case& c) { return grade::reaches_outside(c); },
          "a copy starts for a tile that does not exist: how many tiles does K have, and after "
          "which of them is there no next one to copy?"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::race); },
          "the barrier after the wait guarantees two things: all threads' copies have arrived, and "
          "no thread reads the other buffer any more. Start the next copy only after it"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::copy_not_waited_for); },
          "no wait for the tile that is multiplied: __pipeline_wait_prior(n) waits until at most "
          "the n groups committed last are in flight"},
         {[](const grade::Case& c) {
            return misses(c, "loads without a copy") && c.measures.at("in_flight_bytes") == 0;
          },
          "no copy is in flight while a tile is multiplied: start the copy of the next tile "
          "before, and wait for it only after this tile is done"},
         {[](const grade::Case& c) { return misses(c, "loads without a copy"); },
          "for part of the multiplication, the next tile is not in flight, or not all of it: "
          "start its whole copy before the first step of k"},
         {[](const grade::Case& c) { return misses(c, "barriers per block"); },
          "one barrier per tile is enough: the one after the wait, if the next copy starts after "
          "it and goes to the buffer that was read before it"},
         {[](const grade::Case& c) { return misses(c, "shared bytes"); },
          "two buffers are enough: tile t lies in buffer t % 2"},
         {[](const grade::Case& c) {
            return misses(c, "global loads") || misses(c, "floats loaded") ||
                   misses(c, "shared loads");
          },
          "copy each tile once, sixteen bytes per copy, and load it as float4"},
         {[](const grade::Case& c) { return misses(c, "floats by cp.async"); },
          "the copy in flight must be the next tile, from global memory: a copy within shared "
          "memory, or a copy of zeros, gains nothing"}},
};
