// make grade EX=n: what a student's kernel did in a child process, and the verdict on it.
//
// This program is linked for one answer: with its kernel, where the exercise has one, and with
// exercises/NN-name/exercise.cpp. No code of the student's runs in the process that judges.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grade/case.h"
#include "grade/inspect.h"
#include "grade/region.h"
#include "grade/verdict.h"
#include "model/refusal.h"
#include "text/numbers.h"

namespace grade {

namespace {

struct Options {
  std::string exercise;  // "03-coalesce"
  std::string file;
  std::string student;
  std::uint64_t seed = 0;  // 0: a fresh one
  int hint = 0;
  int local_bytes = 0;
  double limit_s = 10;
  bool brief = false;
  int used = 0;       // the highest hint level that was told before
  std::string facts;  // a file to write what grade_class.sh needs to
  LookOptions look;
};

template <class T>
T number(const std::string& name, const std::string& text, T least, T most) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < least ||
      value > most) {
    throw model::Refusal(
        name + "=" + text + ": give a number from " + text::printed("%g", double(least)) + " to " +
        text::printed("%g", double(most)));
  }
  return value;
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], text = argv[i + 1];
    if (name == "--flags") {  // all that follow are for make show or make step
      options.look.flags.assign(argv + i + 1, argv + argc);
      break;
    }
    if (text.empty()) continue;
    if (name == "--exercise") {
      options.exercise = text;
    } else if (name == "--file") {
      options.file = text;
    } else if (name == "--student") {
      options.student = text;
    } else if (name == "--seed") {
      options.seed = number<std::uint64_t>("SEED", text, 1, 1'000'000'000);
    } else if (name == "--hint") {
      options.hint = number("HINT", text, 0, 2);
    } else if (name == "--local-bytes") {
      options.local_bytes = number("--local-bytes", text, 0, 1 << 30);
    } else if (name == "--limit") {
      options.limit_s = number("LIMIT", text, 0.1, 3600.0);
    } else if (name == "--used") {
      options.used = number("--used", text, 0, 2);
    } else if (name == "--facts") {
      options.facts = text;
    } else if (name == "--look") {
      options.look.how = text;
    } else if (name == "--page") {
      options.look.page = text;
    } else if (name == "--brief") {
      options.brief = text == "1";
    } else {
      throw model::Refusal(name + ": no option of the grader");
    }
  }
  if (options.seed == 0) options.seed = 1 + std::random_device()() % 1'000'000;
  return options;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Exit codes, which src/grade/grade.sh and its callers tell apart.
enum Verdict { kPassed = 0, kFailed = 1, kUnusable = 2, kTimedOut = 4 };

// A column for every shape, so that any number of targets fits.
void print_cases(std::span<const Case> cases) {
  constexpr std::size_t kColumns = 4;
  if (cases.empty() || !cases[0].row.counts) return;
  if (cases.size() > kColumns) {
    print_cases(cases.first(kColumns));
    return print_cases(cases.subspan(kColumns));
  }
  const auto line = [&](const std::string& name, const auto& text_of_case) {
    std::printf("%-27s", name.c_str());
    for (const Case& c : cases) std::printf("%18s", text_of_case(c).c_str());
    std::printf("\n");
  };
  std::printf("\n");
  line("M x N x K", [](const Case& c) {
    return text::printed("%d x %d x %d", c.shape.M, c.shape.N, c.shape.K);
  });
  line("result", [](const Case& c) { return std::string(c.right() ? "right" : "wrong"); });
  line("hazards", [](const Case& c) {
    const std::size_t hazards = c.row.counts->hazards.size();
    return hazards == 0 ? "none" : text::printed("%zu", hazards);
  });
  for (const Target& target : exercise.targets) {
    line(std::string(target.name) + (target.per_result ? "/result" : ""), [&](const Case& c) {
      const double per = target.per_result ? c.measures.at("results") : 1;
      const double total = value_of(target.total, c.measures) / per;
      const double most = value_of(target.at_most, c.measures) / per;
      const bool missed = std::find(c.missed.begin(), c.missed.end(), &target) != c.missed.end();
      return target.per_result ? text::printed("%.4g %s %.4g", total, missed ? ">" : "<=", most)
                               : text::printed("%.6g %s %.6g", total, missed ? ">" : "<=", most);
    });
  }
}

int conclude(const Options& options, const std::optional<Complaint>& complaint, int code) {
  const int used = std::max(options.used, complaint ? options.hint : 0);
  if (options.brief) {
    std::printf(
        "%-24s %s%s\n", options.exercise.c_str(), complaint ? "failed  " : "passed",
        complaint ? complaint->symptom.c_str() : "");
    return code;
  }
  if (!complaint) {
    std::printf(
        "\nPASSED  (highest hint level used %d, seed %llu)\n", used,
        static_cast<unsigned long long>(options.seed));
    return code;
  }
  const auto say = [](const char* label, const std::string& words) {
    std::fputs(text::labelled(label, 8, words).c_str(), stdout);
  };
  std::printf("\n");
  say("FAILED", complaint->symptom);
  if (options.hint >= 1) say("where", complaint->phase);
  if (options.hint >= 2) say("line", complaint->place);
  if (options.hint < 2) {
    say("", text::printed(
                "HINT=%d says %s; SEED=%llu draws the same shapes again", options.hint + 1,
                options.hint == 0 ? "where to look" : "line and thread",
                static_cast<unsigned long long>(options.seed)));
  }
  if (used > 0) say("", text::printed("hint level %d is the highest used so far", used));
  return code;
}

// Three lines for grade_class.sh, yes, no or nothing where it cannot be told: whether the results
// are right, whether nothing hazardous was done, and whether the targets are met, to which belongs
// what an exercise asks beside its kernel.
void write_facts(
    const Options& options, std::span<const Case> cases, std::size_t finished, bool passed) {
  if (options.facts.empty()) return;
  const bool all = finished == cases.size();
  bool right = all, hazardous = false, missed = false;
  for (const Case& c : cases.first(finished)) {
    right = right && c.right() && !c.fence_touched;
    hazardous = hazardous || !c.row.counts->hazards.empty();
    for (const model::LineCounts& line : c.row.counts->lines) {
      hazardous = hazardous || line.array.starts_with(kOutside);
    }
    missed = missed || !c.missed.empty();
  }
  std::ofstream file(options.facts);
  file << (cases.empty() ? ""
           : right       ? "yes"
                         : "no")
       << "\n"
       << (cases.empty() ? ""
           : hazardous   ? "no"
           : all         ? "yes"
                         : "")
       << "\n"
       << (missed                          ? "no"
           : !all                          ? ""
           : passed || !right || hazardous ? "yes"
                                           : "no")
       << "\n";
}

int grade_answer(const Options& options) {
  Random random(options.seed);
  const Answers answers = answers_in(text_of(options.file));
  std::vector<Case> cases;
  if (exercise.shapes) {
    for (const Shape& shape : exercise.shapes(random)) {
      cases.push_back(drawn_case(shape, options.seed + cases.size()));
    }
  }
  const auto submission = [&](std::size_t usable) {
    return Submission{answers, std::span(cases).first(usable), options.student, options.seed};
  };
  if (!options.brief) {
    std::printf(
        "exercise %s: %s\nanswer   %s\nseed     %llu\n", options.exercise.c_str(), exercise.title,
        options.file.c_str(), static_cast<unsigned long long>(options.seed));
    if (exercise.instance) std::printf("\n%s", exercise.instance(submission(0)).c_str());
  }
  std::fflush(stdout);

  std::size_t done = 0;
  std::optional<guard::Ended> broken;
  for (Case& c : cases) {
    const guard::Ended ended = run_traced(c, options.limit_s);
    if (ended.how != guard::Ended::done) {
      broken = ended;
      break;
    }
    ++done;
  }
  const std::span<Case> finished = std::span(cases).first(done);
  for (Case& c : finished) measure(c, options.local_bytes);

  const auto concluded = [&](const std::optional<Complaint>& complaint, int code) {
    write_facts(options, cases, done, code == kPassed);
    return conclude(options, complaint, code);
  };

  // Before a word is said of the kernel.
  std::optional<Complaint> complaint;
  if (exercise.check_answers) complaint = exercise.check_answers(submission(done));
  if (complaint) return concluded(complaint, kFailed);

  if (!options.brief) print_cases(finished);
  complaint = complaint_about(finished);
  if (!complaint && broken) {
    complaint = complaint_about(cases[done], *broken);
    return concluded(complaint, broken->how == guard::Ended::timed_out ? kTimedOut : kFailed);
  }
  if (!complaint) complaint = complaint_about(exercise.questions, answers, finished);
  if (!complaint && exercise.score && !options.brief) {
    std::printf("\n%s", exercise.score(submission(done)).c_str());
  }
  if (!complaint && exercise.check) complaint = exercise.check(submission(done));
  return concluded(complaint, complaint ? kFailed : kPassed);
}

}  // namespace

}  // namespace grade

int main(int argc, char** argv) {
  using namespace grade;
  try {
    const Options options = parse_options(argc, argv);
    if (!options.look.how.empty()) {
      return look(
          options.look, {options.exercise, options.file, options.student, options.seed,
                         options.limit_s, options.local_bytes});
    }
    return grade_answer(options);
  } catch (const model::Refusal& refusal) {
    std::fprintf(stderr, "grade: %s\n", refusal.what());
  }
  return kUnusable;
}
