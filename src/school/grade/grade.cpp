// make grade EX=n: runs a student's kernel and prints a verdict.
//
// This program is linked for one answer: with its kernel, if the exercise has one, and with
// exercises/NN-name/exercise.cpp. A child process runs the kernel and writes the verdict; this
// process prints it.
//
// So the kernel could try to change the verdict in memory. The defences:
// - Only the text of the marked regions is compiled. kernel_rules.cpp allows no inline assembly and
//   no attributes, and grade.sh no external symbol but CUDA's.
// - Everything that is compiled has the tracer's hooks. An access of the heap or another stack is a
//   hazard, and a hazard fails the answer; a store to the tracer's thread-local memory is not even
//   made. (Static data are not protected, because a kernel's constants are static, too.)
// - A, B and C lie between fences, which show stores outside of them.
// - The child is locked (guard/child.h): whatever it computes and wherever it jumps, it can reach
//   no file, process or network. This program checks everything that the child reports.
// So a kernel that stores to a guessed address is detected, unless it hits static data or the
// verdict itself. A kernel that takes over its process can do only one thing: report that it
// passed. exercises/TEACHING.md tells lecturers about this limit.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "lab/device.h"
#include "model/refusal.h"
#include "school/grade/answer.h"
#include "school/grade/case.h"
#include "school/grade/complaint.h"
#include "school/grade/verdict.h"
#include "simulator/simulator.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

namespace grade {

namespace {

struct Options {
  std::string exercise;  // "03-coalesce"
  std::string file;
  std::string student;
  std::uint64_t seed = 0;  // 0: a fresh one
  int hint = 0;
  double limit_s = 10;
  bool brief = false;
  int used = 0;       // the highest hint level that was printed before
  std::string facts;  // a file for what grade_class.sh needs
  InspectOptions inspect;
};

template <class T>
T number(const std::string& name, const std::string& text, T least, T most) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < least ||
      value > most) {
    throw model::Refusal(
        name + "=" + text::echoed(text) + ": give a number from " +
        text::printed("%g", double(least)) + " to " + text::printed("%g", double(most)));
  }
  return value;
}

Options parse_options(int argc, char** argv) {
  Options options;
  const std::map<std::string, std::string*> texts = {
      {"--exercise", &options.exercise},   {"--file", &options.file},
      {"--student", &options.student},     {"--facts", &options.facts},
      {"--inspect", &options.inspect.how}, {"--page", &options.inspect.page}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], text = argv[i + 1];
    if (name == "--flags") {  // all that follow are for make show or make step
      options.inspect.flags.assign(argv + i + 1, argv + argc);
      break;
    }
    if (text.empty()) continue;
    if (const auto named = texts.find(name); named != texts.end()) {
      *named->second = text;
    } else if (name == "--seed") {
      options.seed = number<std::uint64_t>("SEED", text, 1, 1'000'000'000);
    } else if (name == "--hint") {
      options.hint = number("HINT", text, 0, 2);
    } else if (name == "--limit") {
      options.limit_s = number("LIMIT", text, 0.1, 3600.0);
    } else if (name == "--used") {
      options.used = number("--used", text, 0, 2);
    } else if (name == "--brief") {
      options.brief = text == "1";
    } else {
      throw model::Refusal(text::echoed(name) + ": no option of the grader");
    }
  }
  if (options.seed == 0) options.seed = 1 + std::random_device()() % 1'000'000;
  return options;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Exit codes for src/school/grade/grade.sh and its callers.
enum ExitCode {
  kPassed = 0,
  kFailed = 1,
  kUnusable = 2,
  kGraderAtFault = 3,
  kTimedOut = 4,
  kExhausted = 6
};

// A label with words beside it, in lines of at most 80 columns; longer words, such as paths, stay
// whole.
void say(const char* label, const std::string& words) {
  constexpr int kLabel = 10;
  for (const std::string& line : lines_of(words)) {
    std::size_t width = 70;
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t end = std::min(line.find(' ', begin), line.size());
      width = std::max(width, end - begin);
      begin = end + 1;
    }
    for (const std::string& part : text::wrapped(line, static_cast<int>(width))) {
      std::printf("%-*s%s\n", kLabel, label, part.c_str());
      label = "";
    }
  }
}

int conclude(const Options& options, const std::optional<Complaint>& complaint, int code) {
  // A class's feedback may have a higher hint level than its students used.
  const bool is_class = !options.facts.empty();
  const int used = is_class ? 0 : std::max(options.used, complaint ? options.hint : 0);
  if (options.brief) {
    std::printf(
        "%-24s %s%s\n", options.exercise.c_str(), complaint ? "failed  " : "passed",
        complaint ? complaint->symptom.c_str() : "");
    return code;
  }
  if (!complaint) {
    std::printf(
        "\nPASSED  (%sseed %llu)\n",
        is_class ? "" : text::printed("highest hint level used: %d, ", used).c_str(),
        static_cast<unsigned long long>(options.seed));
    return code;
  }
  std::printf("\n");
  say("FAILED", complaint->symptom);
  if (options.hint >= 1) say("where", complaint->phase);
  if (options.hint >= 2) say("detail", complaint->place);
  if (options.hint < 2) {
    say("", text::printed(
                "HINT=%d says %s; SEED=%llu draws the same shapes again", options.hint + 1,
                options.hint == 0 ? "where to look" : "the line and the thread",
                static_cast<unsigned long long>(options.seed)));
  }
  if (used > 0) say("", text::printed("highest hint level used so far: %d", used));
  return code;
}

// For the class's table, if an exercise draws numbers by name: the name that was used.
std::string facts_about(const Student& student) {
  if (!exercise.instance) return "\n\n";
  return std::string(student.is_another ? "another" : "own") + "\n" + for_table(student.name) +
         "\n";
}

std::string words_about(const Student& student, const std::string& asked_for) {
  if (!student.is_another) return "";
  return "\nThe answer says \"" + std::string(kStudentLine) + " " + student.name +
         "\", so it is graded with the numbers of that name.\n\"" + text::echoed(asked_for) +
         "\" is another name.\n";
}

// In the child: runs the kernel in all cases, and reports a packed verdict after each of them.
// Returns the last.
std::string run_cases(
    const Options& options, const std::vector<Shape>& shapes, const Answers& answers) {
  std::vector<Case> cases;
  std::optional<Complaint> complaint;
  std::string verdict;
  const auto conclude_so_far = [&] {
    const Submission submission{answers, cases, options.student, options.seed};
    verdict = packed(verdict_on(submission, shapes.size(), complaint));
    guard::report_until_now(verdict);
  };
  conclude_so_far();
  lock_child(shapes.size(), options.exercise, options.file);
  for (const Shape& shape : shapes) {
    Case c = drawn_case(shape, options.seed + cases.size());
    run_watched(c, cases.empty());
    measure(c);
    cases.push_back(std::move(c));
    keep_gravest(complaint, complaint_about(cases.back(), complaint));
    conclude_so_far();
  }
  return verdict;
}

int grade_answer(Options options) {
  Random random(options.seed);
  const std::vector<Shape> shapes =
      exercise.shapes ? exercise.shapes(random) : std::vector<Shape>();
  const std::string text = text_of(options.file);
  const Answers answers = answers_in(text);
  const Student student = student_of(text, options.student);
  const std::string asked_for = std::exchange(options.student, student.name);
  if (!options.brief) {
    say("exercise", std::to_string(std::atoi(options.exercise.c_str())) + ": " + exercise.title);
    say("answer", options.file);
    say("seed", std::to_string(options.seed));
    if (exercise.instance) {
      const Submission submission{answers, {}, options.student, options.seed};
      std::printf(
          "\n%s%s", exercise.instance(submission).c_str(), words_about(student, asked_for).c_str());
    }
  }
  std::fflush(stdout);

  const guard::Guard guard = case_guard(options.limit_s, "grade", shapes.size());
  const guard::Ended ended = guard::run_in_child(guard, [&](std::FILE* report) {
    const std::string verdict = run_cases(options, shapes, answers);
    std::fwrite(verdict.data(), 1, verdict.size(), report);
    return guard::Outcome{0, ""};
  });
  if (!ended.unlocked.empty())
    std::fprintf(stderr, "%s\n", guard::sentence_about_lock(guard, ended).c_str());
  if (!ended.watched &&
      (ended.how == guard::Ended::complained || ended.how == guard::Ended::refused)) {
    std::fprintf(stderr, "grade: %s\n", ended.sentence.c_str());
    return kGraderAtFault;
  }
  const bool done = ended.how == guard::Ended::done;
  const std::optional<Verdict> reported = unpacked_verdict(ended.report);
  Verdict verdict = reported.value_or(Verdict{});
  int code = verdict.complaint || !done ? kFailed : kPassed;
  if (!reported || (done && verdict.finished != shapes.size())) {
    code = kFailed;
    verdict = {};
    verdict.complaint = {
        "the report of the process that ran the kernel makes no sense",
        done ? "the kernel has changed memory that belongs to the grader" : ended.sentence,
        "no line is known", Gravity::outside};
  } else if (!done) {
    const bool out_of_time =
        ended.how == guard::Ended::timed_out || ended.how == guard::Ended::exhausted;
    // The result of an earlier case says more than that there was no time for a later one.
    if (!verdict.complaint && out_of_time) {
      code = ended.how == guard::Ended::timed_out ? kTimedOut : kExhausted;
    }
    if (!verdict.complaint || !out_of_time) {
      const Shape last =
          shapes.empty() ? Shape{} : shapes[std::min(verdict.finished, shapes.size() - 1)];
      keep_gravest(verdict.complaint, complaint_about(last, ended));
    }
  }
  if (!options.facts.empty()) {
    const std::string symptom = verdict.complaint ? verdict.complaint->symptom : "";
    const std::string problem =
        text::write_file(options.facts, {verdict.facts + facts_about(student) + symptom + "\n"});
    if (!problem.empty()) throw model::Refusal("--facts " + options.facts + ": " + problem);
  }
  if (!options.brief) std::fputs((verdict.table + verdict.score).c_str(), stdout);
  return conclude(options, verdict.complaint, code);
}

int grade_or_refuse(int argc, char** argv) {
  try {
    lab::prepare_threads();
    const Options options = parse_options(argc, argv);
    if (!options.inspect.how.empty()) {
      return inspect(
          options.inspect,
          {options.exercise, options.file, options.student, options.seed, options.limit_s});
    }
    return grade_answer(options);
  } catch (const model::Refusal& refusal) {
    std::fprintf(stderr, "grade: %s\n", refusal.what());
  } catch (const guard::NoChild& no_child) {
    std::fprintf(stderr, "grade: %s\n", no_child.what());
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "grade: %s\n", exception.what());
    return kGraderAtFault;
  }
  return kUnusable;
}

}  // namespace

}  // namespace grade

int main(int argc, char** argv) {
  guard::main_begins();
  text::open_standard_streams();
  return text::finished("grade", grade::grade_or_refuse(argc, argv));
}
