#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "school/grade/case.h"
#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

constexpr int kGroup = 64, BK = 16;

const model::Hazard* race_in(const grade::Case& c) {
  if (!model::has_hazard(*c.row.counts)) return nullptr;
  const model::Hazard& hazard = c.row.counts->hazards.front();
  return hazard.kind == model::HazardKind::race && hazard.array == "tile" ? &hazard : nullptr;
}

// Whether the two threads of the race belong to one group.
bool race_in_group(const grade::Case& c) {
  const model::Hazard* race = race_in(c);
  return race != nullptr && race->first.thread / kGroup == race->second.thread / kGroup;
}

bool misses(const grade::Case& c, const char* target) {
  if (!c.right() || model::has_hazard(*c.row.counts) || c.missed.empty()) return false;
  return std::string(c.missed.front()->name) == target;
}

// What the threads of a block do at one named barrier.
struct Used {
  int arrivals = 0, waits = 0;  // a wait comes after an arrival of its own
};
// By thread, then by the barrier's id.
using UsedByThread = std::map<int, std::map<int, Used>>;

// Of the first block.
UsedByThread barriers_of(const grade::Case& c) {
  model::Recorder recorder{.blocks = {0}};
  grade::Case again = c;
  grade::run_recorded(again, recorder);
  UsedByThread used;
  if (recorder.launches.empty()) return used;
  for (const model::RecordedAction& action : recorder.launches[0].actions) {
    if (action.named < 0) continue;
    Used& here = used[action.thread][action.named];
    here.arrivals += action.kind == model::RecordedAction::Kind::arrive;
    here.waits += action.kind == model::RecordedAction::Kind::wait;
  }
  return used;
}

// A thread that waits at a named barrier and also only arrives there: "thread 0 calls ...".
std::optional<std::string> mixed_use(const UsedByThread& block) {
  for (const auto& [thread, by_id] : block) {
    for (const auto& [id, used] : by_id) {
      if (used.waits == 0 || used.arrivals <= used.waits) continue;
      return text::printed(
          "thread %d calls bar_sync for barrier %d, and bar_arrive %d times", thread, id,
          used.arrivals - used.waits);
    }
  }
  return std::nullopt;
}
constexpr const char* kMixed =
    "give each group's turn a barrier of its own: the group waits there, and only the other one "
    "arrives. With its own arrivals a group can begin a turn that nobody has passed on";

// What a kernel that is right may still do wrong at its barriers, in a shape with one block and
// several tiles along K.
std::optional<grade::Complaint> check(const grade::Submission& submission) {
  const grade::Case& c = submission.cases[1];
  const UsedByThread block = barriers_of(c);
  if (const auto mixed = mixed_use(block)) {
    return grade::Complaint{
        "a thread both waits at a named barrier and only arrives at it", kMixed, *mixed};
  }
  const int tiles = c.shape.K / BK;
  for (const auto& [thread, by_id] : block) {
    int waits = 0;
    for (const auto& [id, used] : by_id) waits += used.waits;
    if (waits <= 2 * tiles) continue;
    return grade::Complaint{
        "a thread waits at more named barriers than it needs",
        "two waits per tile are enough: for the group's turn, and for the group's stores. Who "
        "passes a turn on only arrives, by bar_arrive, and need not wait until the other group "
        "takes it",
        text::printed(
            "thread %d calls bar_sync %d times for %d tiles, and at most %d are allowed", thread,
            waits, tiles, 2 * tiles)};
  }
  return std::nullopt;
}

// "it waits at bar_sync(1, ...) forever: 64 of 128 arrivals are missing in phase 0"
struct Wait {
  int id, missing, arrivals, phase;
};
std::optional<Wait> wait_in(const std::string& sentence) {
  const auto number_after = [&](const char* words) {
    const std::size_t at = sentence.find(words);
    return at == sentence.npos ? -1 : std::atoi(sentence.c_str() + at + std::string(words).size());
  };
  const Wait wait{
      number_after("bar_sync("), number_after(" forever: "), number_after(" of "),
      number_after("in phase ")};
  if (wait.id < 0 || sentence.find(" forever: ") == sentence.npos) return std::nullopt;
  return wait;
}

bool has(const std::string& sentence, const char* words) {
  return sentence.find(words) != sentence.npos;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "take turns: C = A^T * B by two groups of warps, with named barriers",
    .product = {.A = grade::Order::transposed},
    .variants = {{{"BM", 32}, {"BN", 32}, {"BK", BK}, {"TM", 4}, {"TN", 4}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{64, 32, BK},
               {64, 32, BK * random.between(3, 5)},
               random.tiles(64, 32, BK * random.between(2, 4))},
              64, 32, BK);
        },
    .targets =
        {{"barriers per block", "barriers/blocks", "0", false},
         {"shared bytes", "smem_bytes", "4*BK*(BM + BN)", false},
         {"global loads", "gmem_loads", "M*N*K/BN + M*N*K/BM"},
         {"shared loads", "smem_loads", "M*N*K/TM + M*N*K/TN"}},
    .hints =
        {{race_in_group,
          "two threads of one group: both of its warps must have stored their parts of the tile "
          "before one of them multiplies. __syncwarp() orders one warp, and the group has two",
          "a named barrier for the group's own threads alone does it"},
         {[](const grade::Case& c) { return race_in(c) != nullptr && mixed_use(barriers_of(c)); },
          kMixed},
         {[](const grade::Case& c) { return race_in(c) != nullptr; },
          "two threads of different groups: one group stores its tile while the other one still "
          "needs its own. Before its stores a group waits for its turn, at a barrier for the "
          "threads of both groups, and it passes the turn on only after its last load"},
         {[](const grade::Case& c) { return misses(c, "barriers per block"); },
          "a __syncthreads() lets both groups wait for each other. Wait for a turn by bar_sync, at "
          "a barrier where the other group arrives by bar_arrive; and let a group meet by itself"},
         {[](const grade::Case& c) { return misses(c, "shared bytes"); },
          "no shared memory beside `tile` is needed"},
         {[](const grade::Case& c) { return misses(c, "global loads"); },
          "each group loads a tile once"}},
    .stops =
        {{[](const Shape&, const std::string& sentence) {
            return has(sentence, "and others came to it for");
          },
          "all calls for one barrier must name the same number of threads: that of all threads "
          "that come there, by bar_sync or by bar_arrive"},
         {[](const Shape&, const std::string& sentence) {
            const auto wait = wait_in(sentence);
            return wait && wait->phase == 0 && wait->missing < kGroup;
          },
          "fewer threads come to this barrier than it waits for, and the number is no group's: "
          "every thread of a group must call it"},
         {[](const Shape&, const std::string& sentence) {
            const auto wait = wait_in(sentence);
            return wait && wait->phase == 0 && wait->arrivals == 2 * kGroup;
          },
          "half of the threads are missing at a barrier for both groups. A group waits for its "
          "turn, and the other one must pass it on, at the same barrier. Before the loop nobody "
          "has "
          "had a turn: who lets the first group begin? And the barrier of a group's own stores is "
          "for GROUP threads"},
         {[](const Shape&, const std::string& sentence) { return wait_in(sentence).has_value(); },
          "a turn comes that nobody passes on. Write down for some turns at which barrier each "
          "group waits, and at which it arrives"}},
    .check = check,
};
