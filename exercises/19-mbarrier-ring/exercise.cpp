#include <regex.h>  // <regex> takes seconds to compile

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "school/grade/exercise.h"

namespace {

constexpr int kPlaces = 3, BM = 32, BN = 32, BK = 8;
constexpr std::uint64_t kBoxOfA = 4 * BK * BM, kTile = 4 * BK * (BM + BN);  // bytes

int tiles_of(const Shape& shape) {
  return shape.K / BK;
}
int rounds_of(const Shape& shape) {
  return (tiles_of(shape) + kPlaces - 1) / kPlaces;
}
// The shapes come in the order of their tiles, and the first that fails is reported. So if these
// fail, one tile is right; and if those with more tiles than places fail, a full ring is right.
bool is_in_first_round(const Shape& shape) {
  return tiles_of(shape) > 1 && tiles_of(shape) <= kPlaces;
}
bool comes_round(const Shape& shape) {
  return tiles_of(shape) > kPlaces;
}

const model::Hazard* hazard_of(const grade::Case& c, model::HazardKind kind) {
  if (!model::has_hazard(*c.row.counts)) return nullptr;
  const model::Hazard& hazard = c.row.counts->hazards.front();
  return hazard.kind == kind ? &hazard : nullptr;
}

bool is_about_ring(const model::Hazard* hazard) {
  return hazard != nullptr && hazard->array == "ring";
}
bool is_about_barriers(const model::Hazard* hazard) {
  return hazard != nullptr && (hazard->array == "full" || hazard->array == "empty");
}

// A copy to the ring has started, and somebody uses its place: starts another copy, or loads.
const model::Hazard* second_copy(const grade::Case& c) {
  const auto* hazard = hazard_of(c, model::HazardKind::tile_not_waited_for);
  return hazard != nullptr && hazard->second.stores ? hazard : nullptr;
}
const model::Hazard* early_load(const grade::Case& c) {
  const auto* hazard = hazard_of(c, model::HazardKind::tile_not_waited_for);
  return hazard != nullptr && !hazard->second.stores ? hazard : nullptr;
}

bool is_wrong(const grade::Case& c) {
  return !c.right() && !c.never_written && !model::has_hazard(*c.row.counts);
}

bool misses(const grade::Case& c, const char* target) {
  if (!c.right() || model::has_hazard(*c.row.counts) || c.missed.empty()) return false;
  return std::string(c.missed.front()->name) == target;
}

// What a thread waits for that waits forever.
struct Wait {
  int place;
  int missing, arrivals;  // of those that mbarrier_init asked for
  int missing_bytes;      // below 0: copied, but not announced
  int phase;              // in progress
};

std::optional<Wait> wait_for(const std::string& barrier, const std::string& sentence) {
  const std::string words =
      "for " + barrier +
      " \\(byte ([0-9]+)\\)( forever)?: (([0-9]+) of ([0-9]+) arrivals? (is|are) missing)?"
      "(, and )?(([0-9]+) bytes (of|were))?[^:]* in phase ([0-9]+)";
  regex_t compiled;
  std::array<regmatch_t, 12> found;
  if (regcomp(&compiled, words.c_str(), REG_EXTENDED) != 0) return std::nullopt;
  const bool waits = regexec(&compiled, sentence.c_str(), found.size(), found.data(), 0) == 0;
  regfree(&compiled);
  if (!waits) return std::nullopt;
  const auto number = [&](int i) {
    return found[i].rm_so < 0 ? 0 : std::stoi(sentence.substr(found[i].rm_so));
  };
  const bool too_many = found[10].rm_so >= 0 && sentence[found[10].rm_so] == 'w';  // were copied
  const int bytes = too_many ? -number(9) : number(9);
  return Wait{number(1) / 8, number(4), number(5), bytes, number(11)};
}

bool has(const std::string& sentence, const char* words) {
  return sentence.find(words) != sentence.npos;
}

// The producer waits for a place that no consumer has given back.
bool waits_for_first_release(const std::string& sentence) {
  const auto empty = wait_for("empty", sentence);
  return empty && empty->phase == 0 && empty->missing == empty->arrivals;
}
// And that was never filled.
bool waits_before_filling(const std::string& sentence) {
  const auto full = wait_for("full", sentence);
  return waits_for_first_release(sentence) && full && full->phase == 0;
}
// Consumers have given a place back more often than it was filled.
bool releases_too_often(const std::string& sentence) {
  const auto empty = wait_for("empty", sentence);
  return empty && empty->phase > 0;
}

constexpr const char* kFullEachTile =
    "one tile is right, and several are not, although each has a place of its own: the parity of "
    "the "
    "wait for `full` changes within a round. It may change only when the ring comes round: all "
    "places of one round are in the same phase";
constexpr const char* kFullNeverFlips =
    "as many tiles as places are right, and more are not: in a later round the wait for `full` "
    "does "
    "not wait. It names the parity of the round before, whose phase is complete. The parity must "
    "change each time the ring comes round";
constexpr const char* kNoWaitForFull =
    "a consumer does not wait until its tile is there. A wait for `full` is missing, or it names "
    "parity 1 in the first round, which always passes then: phase 0 has parity 0";

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "a ring of mbarriers: C = A^T * B, for any number of tiles along K",
    .product = {.A = grade::Order::transposed},
    .variants = {{{"BM", BM}, {"BN", BN}, {"BK", BK}, {"TM", 4}, {"TN", 4}, {"PLACES", kPlaces}}},
    .shapes =
        [](grade::Random& random) {
          std::vector<Shape> shapes;
          for (const int tiles : {1, 2, kPlaces, kPlaces + 1})
            shapes.push_back({BM, BN, tiles * BK});
          // Several times round the ring, and not to its end.
          shapes.push_back({BM, BN, (kPlaces * random.between(2, 4) + random.between(1, 2)) * BK});
          shapes.push_back(random.tiles(BM, BN, random.between(7, 12) * BK));
          return random.and_large(shapes, BM, BN, BK);
        },
    // When the copy of a tile starts, all earlier ones of the first round may be in flight, and
    // later those of PLACES - 2 other places: one may have been waited for already. A tile's first
    // box is half of it, so its two boxes see 3/2 of it and twice the others. (K/BK + PLACES -
    // max(K/BK, PLACES) is the number of tiles in the first round.)
    .targets =
        {{"tiles missing in flight",
          "max(0, blocks*((K/BK + PLACES - max(K/BK, PLACES))"
          "*(K/BK + PLACES - max(K/BK, PLACES) - 1)/2 + max(0, K/BK - PLACES)*(PLACES - 2))"
          " - (box_bytes_in_flight/(4*BK*(BM + BN)) - 1.5*blocks*K/BK)/2)",
          "0", false},
         {"barriers per block", "barriers/blocks", "1", false},
         {"shared bytes", "smem_bytes", "PLACES * (4*BK*(BM + BN) + 2*8)", false},
         {"shared loads", "smem_loads", "M*N*K/TM + M*N*K/TN"}},
    .hints =
        {{[](const grade::Case& c) {
            return hazard_of(c, model::HazardKind::bad_parity) != nullptr;
          },
          "a parity is 0 or 1, the last bit of a phase's number. From its third round on, a place "
          "has "
          "phases above 1: take the number % 2"},
         {[](const grade::Case& c) {
            return is_about_barriers(hazard_of(c, model::HazardKind::race));
          },
          "a thread uses a barrier before another one has initialized it: a __syncthreads() must "
          "stand between mbarrier_init and everything else"},
         {[](const grade::Case& c) {
            return is_about_barriers(hazard_of(c, model::HazardKind::not_fenced));
          },
          "the copy engine may not yet see that the barriers are initialized: the thread that does "
          "it calls fence_mbarrier_init() afterwards, before the __syncthreads()"},
         {[](const grade::Case& c) { return is_about_ring(hazard_of(c, model::HazardKind::race)); },
          "a place is given back too early: the next copy overwrites it while a consumer still "
          "loads. A consumer arrives at `empty` after its last load of the tile, and the place is "
          "free only when all of them have: either each arrives, or one lane of a warp does after "
          "a "
          "__syncwarp()"},
         {[](const grade::Case& c) { return second_copy(c) && !comes_round(c.shape); },
          "two copies go to one place in the first round: only one thread of the block starts the "
          "copies, and each tile has the next place"},
         {[](const grade::Case& c) { return second_copy(c) != nullptr; },
          "as many tiles as places are right, and more are not: the producer fills a place that "
          "nobody has given back. Before the copy it must wait for `empty`, and the parity of that "
          "wait must change each time the ring comes round, or else it passes at once"},
         {[](const grade::Case& c) {
            const auto* hazard = early_load(c);
            return hazard && tiles_of(c.shape) == 1 && hazard->byte % kTile >= kBoxOfA;
          },
          "a consumer loads from B's box before it is there, although it has waited: "
          "mbarrier_arrive_expect_tx must announce the bytes of both boxes"},
         {[](const grade::Case& c) { return early_load(c) && tiles_of(c.shape) == 1; },
          "a consumer loads from a tile that is not there yet. Does it wait for `full`? And does "
          "the "
          "producer announce the bytes of the copies? mbarrier_arrive announces none, and then the "
          "phase does not wait for any"},
         {[](const grade::Case& c) { return early_load(c) && is_in_first_round(c.shape); },
          kFullEachTile},
         {[](const grade::Case& c) { return early_load(c) != nullptr; }, kFullNeverFlips},
         {[](const grade::Case& c) { return is_wrong(c) && is_in_first_round(c.shape); },
          kFullEachTile},
         {[](const grade::Case& c) { return misses(c, "tiles missing in flight"); },
          "the ring is not used: in every round, not only in the first, the producer should start "
          "copies while others are in flight. It waits only for the place that it is about to "
          "fill, "
          "and never for the tile that it has just started"},
         {[](const grade::Case& c) { return misses(c, "barriers per block"); },
          "one __syncthreads(), after the barriers are initialized, is enough: from then on, "
          "`full` "
          "and `empty` order everything"},
         {[](const grade::Case& c) { return misses(c, "shared bytes"); },
          "no shared memory beside ring, full and empty is needed"}},
    .stops =
        {{[](const Shape&, const std::string& sentence) {
            return has(sentence, "is initialized already");
          },
          "each barrier is initialized once: let one thread of the block do it"},
         {[](const Shape&, const std::string& sentence) {
            return has(sentence, "that no thread of the block has initialized");
          },
          "a barrier is used that nobody has initialized: each place has two, `full` and `empty`"},
         {[](const Shape& shape, const std::string& sentence) {
            const auto full = wait_for("full", sentence);
            return has(sentence, "have come; wait for the phase first") ||
                   (full && full->phase > rounds_of(shape));
          },
          "more threads arrive at a barrier than mbarrier_init was told. At `full`, one arrives: "
          "the "
          "one that starts the copies. How many do at `empty`?"},
         {[](const Shape&, const std::string& sentence) {
            const auto full = wait_for("full", sentence);
            return full && full->missing_bytes < 0;
          },
          "more bytes arrive than mbarrier_arrive_expect_tx has announced, so the phase is never "
          "complete. It counts bytes, not floats, of both boxes"},
         {[](const Shape&, const std::string& sentence) {
            const auto full = wait_for("full", sentence);
            return full && full->missing == 0 && full->missing_bytes > 0;
          },
          "fewer bytes arrive than mbarrier_arrive_expect_tx has announced, so the phase is never "
          "complete. A tile is one box of A and one of B, and both must be counted by `full` of "
          "their place"},
         {[](const Shape&, const std::string& sentence) {
            const auto full = wait_for("full", sentence);
            return full && full->missing > 0 && full->missing < full->arrivals;
          },
          "`full` waits for more arrivals than come, so mbarrier_init has the wrong count for it. "
          "Only the thread that starts the copies arrives there. The copy engine brings bytes, "
          "which "
          "are not arrivals, and the consumers only wait"},
         {[](const Shape& shape, const std::string& sentence) {
            return waits_before_filling(sentence) && tiles_of(shape) == 1;
          },
          "the producer waits until a place is given back that was never filled, so nothing ever "
          "begins. In the first round its wait for `empty` must pass at once: a wait for parity 1 "
          "does, as long as phase 0 is not complete"},
         {[](const Shape& shape, const std::string& sentence) {
            return waits_before_filling(sentence) && is_in_first_round(shape);
          },
          "one tile is right, and several are not, although each has a place of its own: the "
          "parity "
          "of the wait for `empty` changes within a round. It may change only when the ring comes "
          "round: in the first round the wait must pass at once for every place"},
         {[](const Shape&, const std::string& sentence) {
            return waits_for_first_release(sentence);
          },
          "nobody gives back a place, and the producer waits for it: after its last load from a "
          "tile, a consumer arrives at `empty` of that place"},
         {[](const Shape&, const std::string& sentence) {
            const auto empty = wait_for("empty", sentence);
            return empty && empty->missing < empty->arrivals;
          },
          "`empty` waits for more arrivals than come: the count in mbarrier_init must be the "
          "number "
          "of threads that arrive there. Which threads load from the tile?"},
         {[](const Shape& shape, const std::string& sentence) {
            const auto empty = wait_for("empty", sentence);
            return empty && empty->phase > rounds_of(shape);
          },
          "a place is given back many times for each tile: the count in mbarrier_init of `empty` "
          "is "
          "smaller than the number of threads that arrive there"},
         {[](const Shape& shape, const std::string& sentence) {
            return releases_too_often(sentence) && tiles_of(shape) == 1;
          },
          kNoWaitForFull},
         {[](const Shape& shape, const std::string& sentence) {
            return releases_too_often(sentence) && is_in_first_round(shape);
          },
          kFullEachTile},
         {[](const Shape&, const std::string& sentence) { return releases_too_often(sentence); },
          kFullNeverFlips},
         {[](const Shape&, const std::string& sentence) {
            return wait_for("full", sentence) || wait_for("empty", sentence);
          },
          "a thread waits for a phase that is never complete. Write down for some tiles in which "
          "place they lie, and which phase of `full` and of `empty` the producer and the consumers "
          "wait for"}},
};
