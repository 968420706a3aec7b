#include "profile/gpu_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "profile/ncu.h"
#include "text/numbers.h"

extern "C" char** environ;

namespace profile {

namespace {

// A file that is gone with this object.
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

// Its status, as waitpid gives it. Nothing if it had to be ended at the time limit.
std::optional<int> wait_for(pid_t child, double limit_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
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
            "on the GPU the program did not end within %g s, so nothing is timed; --limit allows "
            "more",
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
