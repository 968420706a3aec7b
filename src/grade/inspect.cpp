#include "grade/inspect.h"

#include <omp.h>
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "flags/flags.h"
#include "grade/case.h"
#include "grade/region.h"
#include "grade/verdict.h"
#include "guard/guard.h"
#include "lab/problem.h"
#include "machine/grid.h"
#include "machine/symbols.h"
#include "model/refusal.h"
#include "step/step_command.h"
#include "text/numbers.h"
#include "try/show.h"

namespace grade {

namespace {

// A case to look at, and what is wrong with it, if anything is.
struct Chosen {
  Case c;
  bool ended = false;  // by itself: it has counts
  std::optional<Complaint> complaint;
};

// Little work is to be looked at before much, and what has no loop over K, say, last.
auto rank_of(const Case& c) {
  const auto [M, N, K, variant] = c.shape;
  return std::pair(M < 2 || N < 2 || K < 2, double(M) * N * K);
}

flags::Flags parsed(const LookOptions& options) {
  std::vector<char*> arguments = options.flags;
  static char step_flag[] = "--step";
  if (options.how == "step") arguments.insert(arguments.begin() + 1, step_flag);
  arguments.push_back(nullptr);
  const flags::Flags flags =
      flags::parse_flags(static_cast<int>(arguments.size()) - 1, arguments.data());
  if (flags.size || flags.m || flags.n || flags.k || !flags.a.empty() || !flags.stage.empty()) {
    throw model::Refusal(
        "an exercise draws its own shapes, so --size, --m, --n, --k, --a and --stage have no place "
        "here; SEED=7 draws others");
  }
  return flags;
}

// The exercise's cases, drawn as the grader draws them, the best to look at first.
std::vector<Case> drawn_cases(const LookedAt& what) {
  if (!exercise.shapes) {
    throw model::Refusal(
        "exercise " + what.exercise + " has no kernel, so there is nothing to look at");
  }
  Random random(what.seed);
  std::vector<Case> cases;
  for (const Shape& shape : exercise.shapes(random)) {
    cases.push_back(drawn_case(shape, what.seed + cases.size()));
  }
  std::stable_sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return rank_of(a) < rank_of(b);
  });
  return cases;
}

// The first of `cases` that fails, or else the first. Throws Refusal where something is to be
// answered before.
Chosen first_failing(
    const LookedAt& what, std::vector<Case>& cases, const std::vector<guard::Ended>& ends) {
  std::vector<Case> finished;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (ends[i].how != guard::Ended::done) continue;
    measure(cases[i], what.local_bytes);
    finished.push_back(cases[i]);
  }
  std::ifstream file(what.file, std::ios::binary);
  const Answers answers = answers_in({std::istreambuf_iterator<char>(file), {}});
  std::optional<Complaint> unanswered;
  if (exercise.check_answers) {
    unanswered = exercise.check_answers({answers, finished, what.student, what.seed});
  }
  if (!unanswered) unanswered = complaint_about(exercise.questions, answers, finished);
  if (unanswered) {
    throw model::Refusal(
        unanswered->symptom + ": this exercise is to be answered before there is something to see");
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (ends[i].how != guard::Ended::done)
      return {cases[i], false, complaint_about(cases[i], ends[i])};
    auto complaint = complaint_about(std::span(&cases[i], 1));
    if (complaint) return {cases[i], true, complaint};
  }
  annotate(cases.front());
  return {cases.front(), true, {}};
}

// Throws Refusal where something is to be answered before.
Chosen chosen_case(const LookedAt& what) {
  std::vector<Case> cases = drawn_cases(what);
  std::vector<guard::Ended> ends;
  for (Case& c : cases) {
    ends.push_back(run_traced(c, what.limit_s));
    if (ends.back().how != guard::Ended::done) break;
  }
  cases.resize(ends.size());
  // From here on one thread in this process: one more child follows, to which OpenMP's others would
  // be lost.
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  Chosen chosen = first_failing(what, cases, ends);
  omp_set_num_threads(threads);
  return chosen;
}

std::string title_of(const LookedAt& what, const Case& c) {
  return "exercise " + what.exercise +
         text::printed(
             ": M %d, N %d, K %d, seed %llu", c.shape.M, c.shape.N, c.shape.K,
             static_cast<unsigned long long>(what.seed));
}

guard::Outcome show(
    const LookOptions& options, const LookedAt& what, Chosen chosen, const flags::Flags& flags,
    std::FILE* report) {
  const model::Gpu gpu = *model::find_gpu("RTX 3090");  // the grader's
  attempt::ShowRecorder recorder(options.page);
  recorder.title = title_of(what, chosen.c);
  std::ranges::copy(by_columns(exercise.product), recorder.by_columns);
  machine::Machine machine{&gpu};
  machine.recorder = recorder.wanted();
  Case again = chosen.c;
  on_fenced(again, [&](std::span<const machine::GlobalArray> arrays, const auto& kernel) {
    guard::watched([&] { recorder.keep_fault([&] { trace::trace(machine, arrays, kernel); }); });
  });
  lab::Run run = chosen.c.run;
  run.M = chosen.c.shape.M;
  run.N = chosen.c.shape.N;
  run.K = chosen.c.shape.K;
  std::string wrong;
  if (chosen.ended) {
    chosen.c.row.variant = &chosen.c.launched;
    run.rows.push_back(chosen.c.row);
    // Hazards have sentences of their own.
    if (chosen.complaint && chosen.c.row.counts->hazards.empty()) {
      wrong = chosen.complaint->symptom;
      if (!chosen.complaint->place.empty()) wrong += ": " + chosen.complaint->place;
    }
  }
  return recorder.show(report, {flags::wants_colour(flags, stdout)}, run, wrong);
}

guard::Outcome step_through(
    const LookedAt& what, const Chosen& chosen, const flags::Flags& flags, bool on_terminal,
    std::FILE* report) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // who waits for this is gone, so the terminal is given back
  const model::Gpu gpu = *model::find_gpu("RTX 3090");
  Case again = chosen.c;
  step::RecordedRun run;
  on_fenced(again, [&](std::span<const machine::GlobalArray> arrays, const auto& kernel) {
    guard::watched([&] { run = step::record_run(machine::Machine{&gpu}, arrays, kernel); });
  });
  const auto [M, N, K, variant] = chosen.c.shape;
  step::StepScenes scenes;
  scenes.load = [&](int) {
    step::StepScene scene =
        step::scene_of(run.launches.at(0), title_of(what, chosen.c), run.fault, M, N, K);
    const std::array<bool, 3> columns = by_columns(exercise.product);
    for (std::size_t i = 0; i < scene.row_words.size(); ++i) {
      const model::RecordedArray& array = scene.recording.arrays[i];
      // The length of what lies in memory as a whole.
      if (!array.shared && array.name == "A" && columns[0]) scene.row_words[i] = M;
      if (!array.shared && array.name == "B" && columns[1]) scene.row_words[i] = K;
      if (!array.shared && array.name == "C" && columns[2]) scene.row_words[i] = M;
    }
    return scene;
  };
  return {step::step(flags, scenes, on_terminal, report), ""};
}

// In this process, one block after the other, without tracing: what gdb follows.
int debug(const LookedAt& what) {
  omp_set_num_threads(1);
  Case c = drawn_cases(what).front();
  const model::Gpu gpu = *model::find_gpu("RTX 3090");
  try {
    on_fenced(c, [&](std::span<const machine::GlobalArray>, const auto& kernel) {
      machine::run({&gpu}, kernel);
    });
  } catch (const machine::KernelFault& fault) {
    std::fprintf(stderr, "debug: %s\n", fault.what());
    return 1;
  }
  return 0;
}

}  // namespace

int look(const LookOptions& options, const LookedAt& what) {
  const flags::Flags flags = parsed(options);
  if (options.how == "debug") return debug(what);
  const Chosen chosen = chosen_case(what);
  const bool on_terminal = step::steps_on_terminal(flags);
  const int code =
      guard::run_guarded({what.limit_s, options.how, "the kernel"}, [&](std::FILE* report) {
        if (options.how == "show") return show(options, what, chosen, flags, report);
        return step_through(what, chosen, flags, on_terminal, report);
      });
  return code == 0 && chosen.complaint ? 1 : code;
}

}  // namespace grade
