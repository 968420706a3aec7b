#include "text/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

namespace text {

namespace {

bool is_closed(int descriptor) {
  return fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
}

}  // namespace

void open_standard_streams() {
  // In place of a closed stream: stdin has nothing to read, every write to stdout fails, and stderr
  // goes nowhere.
  const struct {
    int descriptor, mode;
  } streams[] = {{STDIN_FILENO, O_RDONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}};
  for (const auto& [descriptor, mode] : streams) {
    // open() returns the lowest free number, which is this one.
    if (is_closed(descriptor)) static_cast<void>(open("/dev/null", mode));
  }
  std::signal(SIGXFSZ, SIG_IGN);
  // Most output fits into this buffer and is written by finished(), which then knows why a write
  // fails.
  static char buffer[std::size_t{1} << 20];
  if (!isatty(STDOUT_FILENO)) std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

int finished(const char* program, int exit_code) {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  bool fails_now = std::fflush(stdout) != 0;
  if (!failed_before && !fails_now) return exit_code;
  // The reason of an earlier failure is lost, but a closed stream still reports that it is closed.
  fails_now = fails_now || write(STDOUT_FILENO, "", 0) < 0;
  std::string why;
  if (fails_now)
    why = errno == EBADF ? " (it is closed)" : " (" + std::string(std::strerror(errno)) + ")";
  std::fprintf(
      stderr, "%s: stdout: not all of the output could be written%s; print to another place\n",
      program, why.c_str());
  return 2;
}

}  // namespace text
