#include <stdexcept>

#include "school/grade/case.h"
#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

constexpr int BM = 8, BN = 32, BK = 8, kThreads = BM * BN;

// The page's letters of the lines with the race: As is stored on one and loaded on the other, and
// it has one tile for all rounds.
constexpr char kStores = 'a', kLoads = 'd', kLast = 'e';

grade::Complaint no_answer(
    const grade::Answers& answers, const std::string& name, const std::string& wants) {
  const auto given = answers.find(name);
  return {
      given == answers.end() ? "no answer yet to " + name : name + " cannot be " + given->second,
      "it must be " + wants, "write: // answer " + name + ": and then " + wants};
}

std::optional<int> whole_number(const grade::Answers& answers, const std::string& name, int most) {
  const auto answer = answers.find(name);
  if (answer == answers.end()) return std::nullopt;
  try {
    const double value = grade::value_of(answer->second, {});
    if (value < 0 || value > most || value != static_cast<int>(value)) return std::nullopt;
    return static_cast<int>(value);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

// What a thread does with As on one of the two lines, in words.
std::string action(char line, int thread) {
  if (line == kLoads) {
    return text::printed("thread %d loads As[k][%d] for every k", thread, thread / BN);
  }
  if (thread >= BK * BM) return text::printed("thread %d stores nothing to As", thread);
  return text::printed("thread %d stores As[%d][%d]", thread, thread / BM, thread % BM);
}

std::optional<grade::Complaint> check_lines(const std::string& lines) {
  if (lines == std::string{kStores, kLoads}) return std::nullopt;
  grade::Complaint complaint{
      "line_1 and line_2 are not where the race is",
      "which word of shared memory do both lines access, one of them with a store, while no "
      "barrier orders the two accesses?",
      "for each array, list who stores to it in one round, who still loads from it in the round "
      "before, and whether that is the same tile"};
  if (lines == std::string{'b', kLoads}) {
    complaint.phase =
        "Bs has two tiles, used in turn: between two stores to the same tile there is a barrier "
        "that no thread passes before all have multiplied";
  } else if (lines.find('e') != lines.npos) {
    complaint.phase = "line e does not access shared memory";
  } else if (lines.find('c') != lines.npos) {
    complaint.phase = "line c is the barrier: the race is between two lines that access memory";
  } else if (lines[0] == lines[1]) {
    complaint.phase =
        "only one thread stores each word of a tile, and loads do not race with loads: name two "
        "different lines";
  } else {
    complaint.phase = "these two lines store to different arrays";
  }
  return complaint;
}

std::optional<grade::Complaint> check_answers(const grade::Submission& submission) {
  const grade::Answers& answers = submission.answers;
  std::string lines;
  int threads[2];
  for (int i = 0; i < 2; ++i) {
    const std::string number = std::to_string(i + 1);
    const auto line = answers.find("line_" + number);
    if (line == answers.end() || line->second.size() != 1 || line->second[0] < 'a' ||
        line->second[0] > kLast) {
      return no_answer(answers, "line_" + number, "a letter from a to e");
    }
    const auto thread = whole_number(answers, "thread_" + number, kThreads - 1);
    if (!thread) return no_answer(answers, "thread_" + number, "a number from 0 to 255");
    lines += line->second;
    threads[i] = *thread;
  }
  int smallest[3];
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::string("smallest_") + "MNK"[i];
    const auto size = whole_number(answers, name, 1 << 20);
    if (!size) return no_answer(answers, name, "a whole number");
    smallest[i] = *size;
  }

  if (lines[0] > lines[1]) {
    std::swap(lines[0], lines[1]);
    std::swap(threads[0], threads[1]);
  }
  if (auto complaint = check_lines(lines)) return complaint;

  const auto [storing, loading] = threads;
  const std::string actions =
      "on line a " + action(kStores, storing) + ", on line d " + action(kLoads, loading);
  if (storing == loading) {
    return grade::Complaint{
        "thread_1 and thread_2 do not race with each other",
        "a thread cannot race with itself, because it does one thing after the other", actions};
  }
  if (storing >= BK * BM || storing % BM != loading / BN) {
    return grade::Complaint{
        "thread_1 and thread_2 do not race with each other",
        storing >= BK * BM ? "the tile of A has 64 elements: which threads store one of them?"
                           : "one thread stores and the other loads, but not the same word: which "
                             "column of As does each of them access?",
        actions};
  }

  const char* phase = nullptr;
  if (smallest[0] % BM != 0 || smallest[1] % BN != 0 || smallest[2] % BK != 0 || smallest[0] == 0 ||
      smallest[1] == 0 || smallest[2] == 0) {
    phase = "the kernel takes only multiples of BM, BN and BK, and at least one of each";
  } else if (smallest[2] <= BK) {
    phase =
        "in the first round, the barrier stands between store and load. Who is still multiplying "
        "at the time of the next store, and is there a next store at this K?";
  } else if (smallest[2] > 2 * BK) {
    phase =
        "how many rounds are needed until one of them stores to the tile that the round before "
        "still loads?";
  } else if (smallest[0] > BM || smallest[1] > BN) {
    phase = "each block has its own shared memory: does the race need more than one block?";
  }
  if (phase != nullptr) {
    return grade::Complaint{
        "smallest_M, smallest_N, smallest_K are not the smallest shape with the race", phase,
        text::printed(
            "at your %d, %d, %d each block has this many rounds: %d", smallest[0], smallest[1],
            smallest[2], smallest[2] / BK)};
  }
  return std::nullopt;
}

// Whether some threads came to a barrier that others passed by.
bool barrier_for_some(const grade::Case& c) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == model::HazardKind::barrier_divergence ||
        hazard.kind == model::HazardKind::several_barriers) {
      return true;
    }
  }
  return false;
}

bool races(const grade::Case& c) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == model::HazardKind::race) return true;
  }
  return false;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "find the race in C = A^T * B^T, then mend it",
    .product = {grade::Order::transposed, grade::Order::transposed, grade::Order::rows},
    .variants = {{{"BM", BM}, {"BN", BN}, {"BK", BK}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{BM, BN, 2 * BK}, random.tiles(BM, BN, BK * random.between(3, 8)), {BM, BN, BK}}, BM,
              BN, BK);
        },
    .targets =
        {{"global loads", "gmem_loads", "M*N*K/BM + M*N*K/BN"},
         {"barriers per block", "barriers/blocks", "2*K/BK", false},
         {"shared bytes", "smem_bytes", "2*4*BK*(BM + BN)", false}},
    .hints =
        {{barrier_for_some,
          "only some threads of the block come to a barrier, because it stands inside an `if` or a "
          "loop that others skip: put every __syncthreads() where all threads come to it"},
         {[](const grade::Case& c) {
            return races(c) &&
                   c.measures.at("barriers") <= c.measures.at("blocks") * c.shape.K / BK;
          },
          "the race is still there. Either a __syncthreads() must stand between the last load of a "
          "tile and the next store to it (__syncwarp orders only the lanes of one warp), or the "
          "next store must go to another tile"},
         {races,
          "there is another barrier, but it does not stand between the last load of a tile and the "
          "next store to it"},
         {[](const grade::Case& c) {
            return !c.missed.empty() &&
                   c.measures.at("barriers") > c.measures.at("blocks") * 2 * c.shape.K / BK;
          },
          "one more barrier per round is enough: no thread needs a barrier at every k"}},
    .check_answers = check_answers,
};
