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

#include "exercises/case.h"
#include "exercises/judge.h"
#include "exercises/region.h"
#include "model/refusal.h"
#include "report/numbers.h"

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
};

template <class T>
T number(const std::string& name, const std::string& text, T least, T most) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < least ||
      value > most) {
    throw Refusal(name + "=" + text + ": give a number from " + printed("%g", double(least)) +
                  " to " + printed("%g", double(most)));
  }
  return value;
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], text = argv[i + 1];
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
    } else if (name == "--brief") {
      options.brief = text == "1";
    } else {
      throw Refusal(name + ": no option of the grader");
    }
  }
  if (options.seed == 0) options.seed = 1 + std::random_device()() % 1'000'000;
  return options;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Exit codes, which exercises/grade.sh and its callers tell apart.
enum Verdict { kPassed = 0, kFailed = 1, kUnusable = 2, kTimedOut = 4 };

void print_cases(std::span<const Case> cases) {
  if (cases.empty() || !cases[0].row.counts) return;
  std::printf("\n      M      N      K  result  hazards");
  for (const Target& target : exercise.targets) {
    std::printf("  %21s",
                (std::string(target.name) + (target.per_result ? "/result" : "")).c_str());
  }
  std::printf("\n");
  for (const Case& c : cases) {
    const std::size_t hazards = c.row.counts->hazards.size();
    std::printf("%7d%7d%7d  %6s  %7s", c.shape.M, c.shape.N, c.shape.K,
                c.right() ? "right" : "wrong",
                hazards == 0 ? "none" : printed("%zu", hazards).c_str());
    for (const Target& target : exercise.targets) {
      const double per = target.per_result ? c.measures.at("results") : 1;
      const double total = value_of(target.total, c.measures) / per;
      const double most = value_of(target.at_most, c.measures) / per;
      const bool missed = std::find(c.missed.begin(), c.missed.end(), &target) != c.missed.end();
      std::printf("  %21s", printed("%.4g %s %.4g", total, missed ? ">" : "<=", most).c_str());
    }
    std::printf("\n");
  }
}

int conclude(const Options& options, const std::optional<Complaint>& complaint, int code) {
  if (options.brief) {
    std::printf("%-24s %s%s\n", options.exercise.c_str(), complaint ? "failed  " : "passed",
                complaint ? complaint->symptom.c_str() : "");
    return code;
  }
  if (!complaint) {
    std::printf("\nPASSED  (hint level %d, seed %llu)\n", options.hint,
                static_cast<unsigned long long>(options.seed));
    return code;
  }
  const auto say = [](const char* label, const std::string& words) {
    std::fputs(labelled(label, 8, words).c_str(), stdout);
  };
  std::printf("\n");
  say("FAILED", complaint->symptom);
  if (options.hint >= 1) say("where", complaint->phase);
  if (options.hint >= 2) say("line", complaint->place);
  if (options.hint < 2) {
    say("", printed("HINT=%d says %s; SEED=%llu draws the same shapes again", options.hint + 1,
                    options.hint == 0 ? "where to look" : "line and thread",
                    static_cast<unsigned long long>(options.seed)));
  }
  return code;
}

int grade(const Options& options) {
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
    std::printf("exercise %s: %s\nanswer   %s\nseed     %llu\n", options.exercise.c_str(),
                exercise.title, options.file.c_str(),
                static_cast<unsigned long long>(options.seed));
    if (exercise.instance) std::printf("\n%s", exercise.instance(submission(0)).c_str());
  }
  std::fflush(stdout);

  std::size_t done = 0;
  std::optional<Ended> broken;
  for (Case& c : cases) {
    const Ended ended = run_traced(c, options.limit_s);
    if (ended.how != Ended::done) {
      broken = ended;
      break;
    }
    ++done;
  }
  const std::span<Case> finished = std::span(cases).first(done);
  for (Case& c : finished) measure(c, options.local_bytes);

  // Before a word is said of the kernel.
  std::optional<Complaint> complaint;
  if (exercise.check_answers) complaint = exercise.check_answers(submission(done));
  if (complaint) return conclude(options, complaint, kFailed);

  if (!options.brief) print_cases(finished);
  complaint = complaint_about(finished);
  if (!complaint && broken) {
    complaint = complaint_about(cases[done], *broken);
    return conclude(options, complaint, broken->how == Ended::timed_out ? kTimedOut : kFailed);
  }
  if (!complaint) complaint = complaint_about(exercise.questions, answers, finished);
  if (!complaint && exercise.score && !options.brief) {
    std::printf("\n%s", exercise.score(submission(done)).c_str());
  }
  if (!complaint && exercise.check) complaint = exercise.check(submission(done));
  return conclude(options, complaint, complaint ? kFailed : kPassed);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return grade(parse_options(argc, argv));
  } catch (const Refusal& refusal) {
    std::fprintf(stderr, "grade: %s\n", refusal.what());
  }
  return kUnusable;
}
