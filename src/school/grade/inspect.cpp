#include "school/grade/verdict.h"

#include <omp.h>
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "flags/flags.h"
#include "model/refusal.h"
#include "school/grade/answer.h"
#include "school/grade/case.h"
#include "school/grade/complaint.h"
#include "show/step/step_command.h"
#include "simulator/simulator.h"
#include "text/echoed.h"
#include "text/numbers.h"
#include "try/guarded_kernel.h"
#include "try/print.h"

namespace grade {

namespace {

// The seed and the shape of a case.
struct Drawn {
  Shape shape;
  std::uint64_t seed;
};

// The case to show, and what is known about it.
struct Chosen {
  Drawn drawn;
  bool ended = true;  // alone, so that it has counts
  bool fails = false;
  std::string remedy{};  // the exercise's, if it fails
};

// Small cases come before large ones, and those without a loop over K last. For a kernel that
// passes, the case has `whole` warps and rows of at least 32 floats, because with fewer, accesses
// look better than they are.
auto rank_of(const Shape& shape, bool whole = false) {
  const auto [M, N, K, variant, large] = shape;
  const bool sum = exercise.product.sum_of_vectors;
  const int least = sum ? N : std::min(N, K);
  return std::tuple(
      std::min(least, sum ? N : M) < 2, whole && least < 32, sum ? N : double(M) * N * K);
}

flags::Flags parsed(const InspectOptions& options) {
  std::vector<char*> arguments = options.flags;
  static char step_flag[] = "--step";
  if (options.how == "step") arguments.insert(arguments.begin() + 1, step_flag);
  arguments.push_back(nullptr);
  const flags::Flags flags =
      flags::parse_flags(static_cast<int>(arguments.size()) - 1, arguments.data());
  if (flags.size || flags.m || flags.n || flags.k || !flags.a.empty() || !flags.stage.empty()) {
    throw model::Refusal(
        "an exercise draws its own shapes, so --size, --m, --n, --k, --a and --stage cannot be "
        "given "
        "here; SEED=7 draws other shapes");
  }
  return flags;
}

// The exercise's cases, as the grader draws them; the best one to show comes first.
std::vector<Drawn> drawn_cases(const Inspected& what) {
  if (!exercise.shapes) {
    throw model::Refusal(
        "exercise " + what.exercise + " has no kernel, so there is nothing to look at");
  }
  Random random(what.seed);
  std::vector<Drawn> cases;
  for (const Shape& shape : exercise.shapes(random)) {
    cases.push_back({shape, what.seed + cases.size()});
  }
  std::stable_sort(cases.begin(), cases.end(), [](const Drawn& a, const Drawn& b) {
    return rank_of(a.shape) < rank_of(b.shape);
  });
  return cases;
}

// This closes the file again, which a locked child could not do.
Answers answers_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return answers_in({std::istreambuf_iterator<char>(file), {}});
}

// In the child: runs the cases, and reports after each of them how many finished, the first that
// fails, counted from 1, or 0, the exercise's remedy for it, and what the student must answer
// before, if anything. Returns the last report.
std::string run_cases(const Inspected& what, const std::vector<Drawn>& drawn) {
  const Answers answers = answers_of(what.file);
  std::vector<Case> finished;
  std::size_t failing = 0;
  std::string report, remedy;
  const auto conclude_so_far = [&] {
    std::optional<Complaint> unanswered;
    if (exercise.check_answers) {
      unanswered = exercise.check_answers({answers, finished, what.student, what.seed});
    }
    if (!unanswered)
      unanswered = complaint_about(exercise.questions, answers, finished, "the trace");
    report = packed(
        {std::to_string(finished.size()), std::to_string(failing), remedy,
         unanswered ? unanswered->symptom : ""});
    guard::report_until_now(report);
  };
  conclude_so_far();
  lock_child(drawn.size(), what.exercise, what.file);
  for (const Drawn& d : drawn) {
    Case c = drawn_case(d.shape, d.seed);
    run_watched(c);
    measure(c);
    finished.push_back(std::move(c));
    if (failing == 0 && fails(finished.back())) {
      failing = finished.size();
      remedy = complaint_about(finished.back())->phase;
    }
    conclude_so_far();
  }
  return report;
}

// The first case that fails, or else the best one to show. Throws a Refusal if the student must
// answer something before.
Chosen chosen_case(const Inspected& what, const std::string& program_name) {
  const std::vector<Drawn> drawn = drawn_cases(what);
  const guard::Guard guard = case_guard(what.limit_s, program_name, drawn.size());
  const guard::Ended ended = guard::run_in_child(guard, [&](std::FILE* out) {
    const std::string report = run_cases(what, drawn);
    std::fwrite(report.data(), 1, report.size(), out);
    return guard::Outcome{0, ""};
  });
  if (!ended.unlocked.empty())
    std::fprintf(stderr, "%s\n", guard::sentence_about_lock(guard, ended).c_str());
  const std::vector<std::string> report = unpacked(ended.report);
  const std::optional<std::size_t> finished = number_in(report, 0), failing = number_in(report, 1);
  if (report.size() != 4 || !finished || !failing || *failing > drawn.size()) {
    throw std::runtime_error("the report of the kernel's process makes no sense");
  }
  if (!report[3].empty()) {
    throw model::Refusal(
        text::printable(report[3]) +
        ": answer this exercise first, then there is something to see");
  }
  if (*failing > 0) {
    return {.drawn = drawn.at(*failing - 1), .fails = true, .remedy = text::printable(report[2])};
  }
  if (ended.how == guard::Ended::done) {
    return {.drawn = *std::ranges::min_element(drawn, {}, [](const Drawn& d) {
              return rank_of(d.shape, true);
            })};
  }
  return {.drawn = drawn.at(std::min(*finished, drawn.size() - 1)), .ended = false, .fails = true};
}

std::string title_of(const Inspected& what, const Shape& shape) {
  return "exercise " + what.exercise + ": " + shape_text(shape) +
         text::printed(", seed %llu", static_cast<unsigned long long>(what.seed));
}

// Leaves out the lines without a request, because a request to another array includes their lanes.
// If memory outside of a matrix is accessed, also leaves out races, which only follow from that.
void keep_what_is_shown(model::Counts& counts, bool outside) {
  std::erase_if(counts.lines, [](const model::LineCounts& line) { return line.requests == 0; });
  std::erase_if(counts.hazards, [&](const model::Hazard& hazard) {
    return outside && hazard.kind == model::HazardKind::race_on_result;
  });
}

guard::Outcome show(
    const InspectOptions& options, const Inspected& what, const Chosen& chosen,
    const flags::Flags& flags, std::FILE* report) {
  Case c = drawn_case(chosen.drawn.shape, chosen.drawn.seed);
  attempt::ShowRecorder recorder(options.page);
  recorder.title = title_of(what, c.shape);
  recorder.remedy = chosen.remedy;
  std::ranges::copy(by_columns(exercise.product), recorder.by_columns);
  machine::Machine machine{&grading_gpu()};
  machine.recorder = recorder.wanted();
  guard::watched([&] { recorder.keep_fault([&] { run_traced(c, machine); }); });
  std::string wrong;
  if (chosen.ended) {
    measure(c);
    const std::optional<Complaint> complaint = complaint_about(c);
    if (!complaint) annotate(c);
    const bool outside = complaint && complaint->gravity == Gravity::outside;
    // Hazards have their own sentences.
    if (complaint && (outside || c.hazards == 0)) {
      wrong = complaint->symptom;
      if (!complaint->place.empty()) wrong += ": " + complaint->place;
    }
    keep_what_is_shown(*c.row.counts, outside);
  }
  lab::Run run = c.run;
  run.M = c.shape.M;
  run.N = c.shape.N;
  run.K = c.shape.K;
  if (chosen.ended) run.rows.push_back(c.row);
  return recorder.show(report, {flags::wants_colour(flags, stdout)}, run, wrong);
}

guard::Outcome step_through(
    const Inspected& what, const Chosen& chosen, const flags::Flags& flags, bool on_terminal,
    std::FILE* report) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // the parent is gone, so the terminal must be restored
  Case c = drawn_case(chosen.drawn.shape, chosen.drawn.seed);
  step::SteppedRun run;
  on_fenced(c, [&](std::span<const machine::GlobalArray> arrays, const auto& kernel) {
    guard::watched(
        [&] { run = step::record_run(machine::Machine{&grading_gpu()}, arrays, kernel); });
  });
  const auto [M, N, K, variant, large] = c.shape;
  step::StepScenes scenes;
  scenes.load = [&](int) {
    step::StepScene scene = step::scene_of(
        run.launches.at(0), title_of(what, c.shape), run.fault, M, N, K, chosen.remedy);
    step::draw_by_columns(scene, by_columns(exercise.product), M, K);
    return scene;
  };
  return {step::step(flags, scenes, on_terminal, report), ""};
}

// In this process, one block after the other, without tracing, so that gdb can follow it.
int debug(const Inspected& what) {
  omp_set_num_threads(1);
  const Drawn drawn = drawn_cases(what).front();
  Case c = drawn_case(drawn.shape, drawn.seed);
  try {
    on_fenced(c, [&](std::span<const machine::GlobalArray>, const auto& kernel) {
      machine::run({&grading_gpu()}, kernel);
    });
  } catch (const machine::KernelFault& fault) {
    std::fprintf(stderr, "debug: %s\n", fault.what());
    return 1;
  }
  return 0;
}

}  // namespace

int inspect(const InspectOptions& options, const Inspected& what) {
  const flags::Flags flags = parsed(options);
  if (options.how == "debug") return debug(what);
  guard::Guard guard = attempt::kernel_guard(what.limit_s, options.how, "the kernel");
  if (options.how == "show") guard.if_stopped = attempt::page_of_stopped(options.page);
  const Chosen chosen = chosen_case(what, options.how);
  const bool on_terminal = step::steps_on_terminal(flags);
  const int code = guard::run_guarded(guard, [&](std::FILE* report) {
    if (options.how == "show") return show(options, what, chosen, flags, report);
    return step_through(what, chosen, flags, on_terminal, report);
  });
  return code == 0 && chosen.fails ? 1 : code;
}

}  // namespace grade
