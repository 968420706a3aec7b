#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "model/refusal.h"
#include "profile/profile.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

extern "C" char** environ;

namespace profile {

namespace {

using Fields = std::vector<std::string>;

// The fields of one line of CSV. Nothing if a quote is not closed.
std::optional<Fields> fields_of(const std::string& line) {
  Fields fields(1);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted && c == '"' && at + 1 < line.size() && line[at + 1] == '"') {
      fields.back() += line[++at];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return quoted ? std::nullopt : std::optional(fields);
}

// A value as ncu prints it, "1,048,576" or "98.45"; nothing for "n/a" and similar text.
std::optional<double> value_of(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  constexpr double kLargest = 9e15;  // exact in a double
  if (text.empty() || *end != '\0' || !(value >= 0 && value <= kLargest)) return std::nullopt;
  return value;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at; (at = text.find(from)) != std::string_view::npos;) {
    result.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return result.append(text);
}

bool is_in(char c, std::string_view signs) {
  return signs.find(c) != signs.npos;
}

// Without casts, suffixes of numbers and spaces, and with numbers for true and false.
std::string comparable(const std::string& name) {
  std::string text = replaced(replaced(short_name(name), "true", "1"), "false", "0");
  std::erase(text, ' ');
  for (std::size_t end = 1; end < text.size(); ++end) {
    if (!is_in(text[end], ",>")) continue;
    std::size_t suffix = end;
    while (suffix > 0 && is_in(text[suffix - 1], "uUlL")) --suffix;
    if (suffix == 0 || !is_in(text[suffix - 1], "0123456789")) continue;
    text.erase(suffix, end - suffix);
    end = suffix;
  }
  return text;
}

// The column of `name` in the header; nothing if it is missing.
std::optional<std::size_t> column_of(const Fields& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

}  // namespace

std::string short_name(const std::string& from_ncu) {
  std::string_view name = from_ncu;
  if (name.starts_with("void ")) name.remove_prefix(5);
  std::string text(name);
  for (const char* type : {"bool", "char", "short", "int", "long", "long long"}) {
    for (const char* sign : {"", "signed ", "unsigned "}) {
      text = replaced(text, std::string("(") + sign + type + ")", "");
    }
  }
  return text.substr(0, text.find('('));
}

// With ncu's --kernel-name-base function, a name has no template arguments.
bool same_kernel(const std::string& from_ncu, const char* ours) {
  const std::string left = comparable(from_ncu), right = comparable(ours);
  return left == right || left == right.substr(0, right.find('<'));
}

// ncu puts every field in quotes, which distinguishes its lines from the program's own output and
// from ncu's messages (==PROF== ...). The line after the header names units and has no ID.
std::vector<NcuLaunch> read_ncu(const std::string& csv, std::span<const std::string_view> metrics) {
  std::istringstream lines(csv);
  Fields header;
  std::vector<NcuLaunch> launches;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.starts_with('"')) continue;
    const std::optional<Fields> fields = fields_of(line);
    if (header.empty()) {
      if (fields && column_of(*fields, "Kernel Name") && column_of(*fields, "ID")) header = *fields;
      continue;
    }
    if (!fields || fields->size() != header.size()) {
      throw model::Refusal(text::printed(
          "line %d of ncu's output is cut off or broken: its header has %zu columns "
          "and the line has a different number; run ncu --csv --page raw again",
          number, header.size()));
    }
    if ((*fields)[*column_of(header, "ID")].empty()) continue;
    NcuLaunch launch{(*fields)[*column_of(header, "Kernel Name")], {}};
    for (const std::string_view metric : metrics) {
      const auto column = column_of(header, metric);
      launch.values.push_back(column ? value_of((*fields)[*column]) : std::nullopt);
    }
    launches.push_back(launch);
  }
  if (header.empty()) {
    throw model::Refusal(
        "found no table from ncu: no line starts with a quote and has the columns \"ID\" and "
        "\"Kernel Name\"; give the output of ncu --csv --page raw --metrics ...");
  }
  return launches;
}

std::string read_ncu_file(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  text::ReadFile file = text::read_file(path, kMostBytes);
  if (!file.problem.empty())
    throw model::Refusal("--ncu " + text::echoed(path) + ": " + file.problem);
  read_ncu(file.contents, {});
  return std::move(file.contents);
}

namespace {

// A file that this object's destructor removes.
struct Temporary {
  Temporary() { close(mkstemp(path)); }
  ~Temporary() { unlink(path); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  char path[32] = "/tmp/gemm_steps_timesXXXXXX";
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Nothing if it could not be started.
std::optional<pid_t> start(const GpuProgram& program, const std::string& times) {
  // All kernels are loaded at the start, or a kernel's first launch would take as long as that.
  std::vector<std::string> words{program.path};
  std::vector<std::string> variables{"GEMM_STEPS_TIMES=" + times, "CUDA_MODULE_LOADING=EAGER"};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, file, "/dev/null", O_RDWR, 0);
  }
  if (!program.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&files, program.folder.c_str());
  }
  pid_t child = 0;
  const int error = posix_spawn(
      &child, program.path.c_str(), &files, nullptr, pointers_to(words).data(),
      pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return std::nullopt;
  return child;
}

// Its status from waitpid. Nothing if it was ended, because it used more processor time or waited
// for ten times as long.
std::optional<int> wait_for(pid_t child, double limit_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(10 * limit_s);
  int status = 0;
  clockid_t clock{};
  timespec used{};
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (clock_getcpuclockid(child, &clock) == 0) clock_gettime(clock, &used);
    const double used_s = double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
    if (used_s > limit_s || std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    poll(nullptr, 0, 20);
  }
  return status;
}

std::map<std::string, lab::Timing> times_in(const char* path) {
  std::map<std::string, lab::Timing> times;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == line.npos) continue;
    std::istringstream numbers(line.substr(tab));
    std::vector<double> ms;
    for (double one; numbers >> one;) ms.push_back(one);
    if (!ms.empty()) times[line.substr(0, tab)] = lab::summary(ms);
  }
  return times;
}

}  // namespace

GpuRun run_on_gpu(const GpuProgram& program, int exit_code, double limit_s) {
  const Temporary times;
  const auto child = start(program, times.path);
  if (!child) return {{}, "the program for the GPU could not be started, so nothing is timed"};
  const std::optional<int> status = wait_for(*child, limit_s);
  if (!status) {
    return {
        {},
        text::printed(
            "on the GPU the program did not end within %g s of processor time, or waited for ten "
            "times as long, so nothing is timed; --limit allows more",
            limit_s)};
  }
  GpuRun run{times_in(times.path), ""};
  if (!WIFEXITED(*status)) {
    run.note =
        text::printed("on the GPU a signal ended the program (%s)", strsignal(WTERMSIG(*status)));
  } else if (WEXITSTATUS(*status) != exit_code) {
    run.note = text::printed(
        "on the GPU main ended with %d, and on the CPU with %d", WEXITSTATUS(*status), exit_code);
  }
  return run;
}

std::optional<lab::Timing> time_of(const GpuRun& run, const std::string& name) {
  for (const auto& [kernel, time] : run.times) {
    if (same_kernel(kernel, name.c_str())) return time;
  }
  return std::nullopt;
}

}  // namespace profile
