#include "school/grade/exercise.h"

#include <algorithm>
#include <string>

#include "school/grade/complaint.h"
#include "text/numbers.h"

namespace {

bool has(const grade::Case& c, model::HazardKind kind) {
  const std::vector<model::Hazard>& hazards = c.row.counts->hazards;
  return !hazards.empty() && hazards.front().kind == kind;
}

bool misses(const grade::Case& c, const char* target) {
  if (!c.right() || model::has_hazard(*c.row.counts) || c.missed.empty()) return false;
  return std::string(c.missed.front()->name) == target;
}

double waits_per_thread(const grade::Case& c) {
  return (c.measures.at("smem_stores") - c.measures.at("async_copies")) / c.measures.at("threads");
}

std::string told_waits(const grade::Case& c) {
  return text::printed("each thread waits %g times in %d steps", waits_per_thread(c), c.shape.K);
}

bool is_wrong(const grade::Case& c) {
  return !c.right() && !c.never_written && !model::has_hazard(*c.row.counts);
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "a step ahead: C = A^T * B, fragments are loaded while others are multiplied",
    .product = {.A = grade::Order::transposed, .C = grade::Order::columns},
    .variants = {{{"BM", 64}, {"BN", 32}, {"BK", 8}, {"TM", 4}, {"TN", 4}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{64, 32, 8},
               {64, 32, 8 * random.between(3, 6)},
               random.tiles(64, 32, 8 * random.between(3, 6))},
              64, 32, 8);
        },
    // The only stores of threads to shared memory are those that count their waits.
    .targets =
        {{"waits", "smem_stores - async_copies", "threads", false, true},
         {"loads without a copy", "max(0, smem_load_requests - in_flight_bytes/(BK*(BM + BN)))",
          "smem_load_requests*(BK/K + 1/BK)"},
         {"shared bytes", "smem_bytes", "2 * 4*BK*(BM + BN) + 4*128", false},
         {"barriers per block", "barriers/blocks", "K/BK", false},
         {"floats loaded", "gmem_load_floats", "M*N*K/BM + M*N*K/BN"},
         {"shared loads", "smem_loads", "(M*N*K/TM + M*N*K/TN)/4"},
         {"bytes of locals", "local_bytes", "768", false}},
    .hints =
        {{[](const grade::Case& c) { return grade::reaches_outside(c); },
          "a copy starts for a tile that does not exist: after which tiles is there a next one?"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::index_out_of_range); },
          "there are two sets of fragments, 0 and 1, two places in the ring, and BK steps in a "
          "tile: after step BK - 1 comes step 0 of the next tile"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::copy_not_waited_for); },
          "the first fragments of a tile are loaded before the wait for its copy: the last step of "
          "the tile before has to wait for the copy, and for a barrier, before it loads them"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::race); },
          "a copy to a place of the ring and a load from it are not ordered. Between the wait for "
          "a "
          "tile and the first load from it there must be a barrier, and the next copy to that "
          "place "
          "starts only after a barrier that follows its last load. At the change of tiles, the "
          "load "
          "is from the next tile, in the other place"},
         {[](const grade::Case& c) { return has(c, model::HazardKind::uninitialized); },
          "fragments are loaded from a tile that was never copied: after the last step of the last "
          "tile there is nothing to load, and the first tile lies in place 0"},
         {[](const grade::Case& c) { return c.never_written && !model::has_hazard(*c.row.counts); },
          "C is stored only if K steps were multiplied, all by own.multiply: one for each step of "
          "each tile"},
         {is_wrong,
          "a step is multiplied twice, or with fragments of another step: the set that is loaded "
          "may not be the one that is multiplied next. Write down for some steps, across the "
          "change of tiles, from which tile and step each set was loaded last"},
         {[](const grade::Case& c) { return misses(c, "waits") && waits_per_thread(c) < 1; },
          "all steps are to be multiplied by own.multiply, and the given end of the kernel is to "
          "be "
          "reached: there the waits are counted, of which the very first step has one",
          "", told_waits},
         {[](const grade::Case& c) {
            return misses(c, "waits") && waits_per_thread(c) >= c.shape.K;
          },
          "every step waits for its own fragments: load those of the next step before you multiply "
          "this one, into the other set",
          "", told_waits},
         {[](const grade::Case& c) {
            return misses(c, "waits") && waits_per_thread(c) * 8 <= c.shape.K;
          },
          "the first step of each tile waits for its fragments: they must be loaded before the "
          "last step of the tile before is multiplied, so the wait for the copy and the barrier "
          "come before that step, too",
          "", told_waits},
         {[](const grade::Case& c) { return misses(c, "waits"); },
          "some steps wait for their fragments: each load must come before the multiplication of "
          "the step before",
          "", told_waits},
         {[](const grade::Case& c) { return misses(c, "loads without a copy"); },
          "while a tile is multiplied, the next one is not in flight: start its copy right after "
          "the barrier"},
         {[](const grade::Case& c) { return misses(c, "shared loads"); },
          "more fragments are loaded than there are steps: after the last step there is none to "
          "load, and a set that is loaded needs no second load",
          "",
          [](const grade::Case& c) {
            return text::printed(
                "each thread loads fragments %g times, for %d steps",
                c.measures.at("smem_loads") / c.measures.at("threads") / 2, c.shape.K);
          }},
         {[](const grade::Case& c) { return misses(c, "barriers per block"); },
          "one barrier per tile is enough: after the wait for the tile's copy, and before the "
          "first "
          "load from it"}},
};
