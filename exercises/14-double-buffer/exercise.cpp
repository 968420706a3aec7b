#include "grade/exercise.h"

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
    .title = "double-buffer: C = A^T * B, the next tile on its way while this one is multiplied",
    .product = {.A = grade::Order::transposed, .C = grade::Order::columns},
    .variants = {{{"BM", 64}, {"BN", 32}, {"BK", 16}, {"TM", 4}, {"TN", 4}}},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {64, 32, 48},
              {64 * random.between(1, 2), 32 * random.between(1, 3), 16 * random.between(3, 6)}};
        },
    // A tile of A and of B is 4*BK*(BM + BN) bytes, a quarter of that for each of the 4 warps. What
    // is not on its way yet, or no more, counts as the part of a load that it is of a tile.
    .targets =
        {{"loads with no copy", "smem_load_requests - in_flight_bytes/(BK*(BM + BN))",
          "smem_load_requests*BK/K"},
         {"shared bytes", "smem_bytes", "2 * 4*BK*(BM + BN)", false},
         {"barriers a block", "barriers/blocks", "K/BK", false},
         {"global loads", "gmem_loads", "(M*N*K/BM + M*N*K/BN)/4"},
         {"floats loaded", "gmem_load_floats", "M*N*K/BM + M*N*K/BN"},
         {"floats by cp.async", "async_store_floats", "async_load_floats"},
         {"shared loads", "smem_loads", "(M*N*K/TM + M*N*K/TN)/4"}},
    .hints =
        {{[](const grade::Case& c) { return has(c, model::HazardKind::race); },
          "a barrier after the wait says two things: everybody's copies have come, and nobody "
          "reads "
          "the other buffer any more. Only behind it may the next copy start"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::copy_not_waited_for); },
          "the tile that is multiplied was never waited for: __pipeline_wait_prior(n) waits until "
          "at most the n groups last committed are on their way"},
         {[](const grade::Case& c) {
            return misses(c, "loads with no copy") && c.measures.at("in_flight_bytes") == 0;
          },
          "nothing is on its way while a tile is multiplied: start the next tile's copy before, "
          "and "
          "wait for it only when this one is done"},
         {[](const grade::Case& c) { return misses(c, "loads with no copy"); },
          "for a part of the multiplying the next tile is not on its way, or not all of it: start "
          "all of its copy before the first step of k"},
         {[](const grade::Case& c) { return misses(c, "barriers a block"); },
          "one barrier a tile is enough: the one after the wait, if the next copy starts behind it "
          "and goes to the buffer that was read before it"},
         {[](const grade::Case& c) { return misses(c, "shared bytes"); },
          "two buffers, and no more: tile t lies in buffer t % 2"},
         {[](const grade::Case& c) {
            return misses(c, "global loads") || misses(c, "floats loaded") ||
                   misses(c, "shared loads");
          },
          "copy each tile once, sixteen bytes a copy, and load it as float4"},
         {[](const grade::Case& c) { return misses(c, "floats by cp.async"); },
          "what is on its way must be the next tile, from global memory: a copy within shared "
          "memory, or of zeros, brings nothing"}},
};
