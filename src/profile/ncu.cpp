#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

#include "model/refusal.h"
#include "profile/profile.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

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

// Without casts, suffixes of numbers and spaces, and with numbers for true and false.
std::string comparable(const std::string& name) {
  static const std::regex kTrue("true"), kFalse("false"), kSuffix("([0-9])[uUlL]+(?=[,>])"),
      kSpace(" ");
  std::string text = std::regex_replace(short_name(name), kSpace, "");
  text = std::regex_replace(std::regex_replace(text, kTrue, "1"), kFalse, "0");
  return std::regex_replace(text, kSuffix, "$1");
}

// The column of `name` in the header; nothing if it is missing.
std::optional<std::size_t> column_of(const Fields& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

}  // namespace

std::string short_name(const std::string& from_ncu) {
  static const std::regex kRepeated(
      "^void |\\(((un)?signed )?(bool|char|short|int|long|long long)\\)");
  const std::string name = std::regex_replace(from_ncu, kRepeated, "");
  return name.substr(0, name.find('('));
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

// A word of a shell's command.
std::string quoted(const std::string& word) {
  return " '" + std::regex_replace(word, std::regex("'"), "'\\''") + "'";
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
  if (access(program.path.c_str(), X_OK) != 0) {
    return {{}, "the program for the GPU could not be started, so nothing is timed"};
  }
  // All kernels are loaded at the start, or a kernel's first launch would take as long as that.
  std::string command = (program.folder.empty() ? "" : "cd" + quoted(program.folder) + " && ") +
                        text::printed("ulimit -t %.0f && ", std::ceil(limit_s)) +
                        "export GEMM_STEPS_TIMES=" + times.path + " CUDA_MODULE_LOADING=EAGER && " +
                        text::printed("exec timeout -s KILL %g", 10 * limit_s) +
                        quoted(program.path);
  for (const std::string& argument : program.arguments) command += quoted(argument);
  const int status = std::system((command + " </dev/null >/dev/null 2>&1").c_str());
  // `timeout` ends itself as the program did, or by 128 and the signal.
  const int signal = WIFSIGNALED(status)         ? WTERMSIG(status)
                     : WEXITSTATUS(status) > 128 ? WEXITSTATUS(status) - 128
                                                 : 0;
  if (signal == SIGKILL || signal == SIGXCPU) {
    return {
        {},
        text::printed(
            "on the GPU the program did not end within %g s of processor time, or waited for ten "
            "times as long, so nothing is timed; --limit allows more",
            limit_s)};
  }
  GpuRun run{times_in(times.path), ""};
  if (signal != 0) {
    run.note = text::printed("on the GPU a signal ended the program (%s)", strsignal(signal));
  } else if (WEXITSTATUS(status) != exit_code) {
    run.note = text::printed(
        "on the GPU main ended with %d, and on the CPU with %d", WEXITSTATUS(status), exit_code);
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
