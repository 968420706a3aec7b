#include "text/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace text {

namespace {

// A file that is filled under a temporary name. It is in the same folder, so that renaming it is
// one step.
struct Partial {
  std::string problem;
  std::string path;          // the final path, with links followed
  std::string partial_path;  // the temporary path
  File file;
};

// Signals that end the program. They first remove a partial file.
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};

// Plain variables, because the signal handler reads them.
char to_remove[PATH_MAX + 64];
struct sigaction before[NSIG];

void on_ending(int signal) {
  unlink(to_remove);
  sigaction(signal, &before[signal], nullptr);
  raise(signal);  // arrives when this handler returns, and then has its usual effect
}

// While this object lives, a signal that ends the program removes create_partial()'s new file.
class RemovedAtTheEnd {
 public:
  RemovedAtTheEnd() {
    to_remove[0] = '\0';
    struct sigaction action {};
    action.sa_handler = on_ending;
    sigfillset(&action.sa_mask);
    for (const int signal : kEnding) {
      sigaction(signal, &action, &before[signal]);
      if (before[signal].sa_handler == SIG_IGN) sigaction(signal, &before[signal], nullptr);
    }
  }
  ~RemovedAtTheEnd() {
    for (const int signal : kEnding) sigaction(signal, &before[signal], nullptr);
  }
  RemovedAtTheEnd(const RemovedAtTheEnd&) = delete;
  RemovedAtTheEnd& operator=(const RemovedAtTheEnd&) = delete;
};

std::string cannot_be_written(const std::string& why, const char* what_to_do) {
  return "cannot be written (" + why + "); " + what_to_do;
}

std::string cannot_be_written(int error) {
  const char* what_to_do = "give a file in a folder that you may write to";
  if (error == ENOSPC || error == EDQUOT) what_to_do = "make room there, or give another folder";
  if (error == EFBIG) what_to_do = "raise the limit on the size of a file (ulimit -f)";
  return cannot_be_written(std::strerror(error), what_to_do);
}

// Whether this program prints to that file. Replacing it would lose the printed output.
bool is_standard_stream(const struct stat& status) {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat stream {};
    const bool known = fstat(descriptor, &stream) == 0;
    if (known && stream.st_dev == status.st_dev && stream.st_ino == status.st_ino) return true;
  }
  return false;
}

// Why the file at `path` cannot be replaced; empty if it can.
std::string problem_of_replacing(const std::string& path, const struct stat& status) {
  const char* const elsewhere = "give a file in a folder that you may write to";
  if (S_ISLNK(status.st_mode))
    return cannot_be_written("it is a link to a file that does not exist", elsewhere);
  if (S_ISDIR(status.st_mode)) return cannot_be_written("it is a folder", elsewhere);
  if (!S_ISREG(status.st_mode)) return cannot_be_written("it is a device or pipe", elsewhere);
  if (is_standard_stream(status)) {
    return cannot_be_written("this program prints there", "give another file");
  }
  return access(path.c_str(), W_OK) == 0 ? "" : cannot_be_written(errno);
}

Partial create_partial(const std::string& path) {
  Partial partial;
  partial.path = path;
  struct stat status {};
  // A dangling link counts as the file itself.
  const bool replaces = stat(path.c_str(), &status) == 0 || lstat(path.c_str(), &status) == 0;
  if (replaces) {
    partial.problem = problem_of_replacing(path, status);
    if (!partial.problem.empty()) return partial;
    if (char* real = realpath(path.c_str(), nullptr)) {
      partial.path = real;
      std::free(real);
    }
  }
  // Another program with this process number, in another container, may have left one.
  int descriptor = -1;
  for (int attempt = 0; attempt < 100; ++attempt) {
    partial.partial_path =
        partial.path + "." + std::to_string(getpid()) + "-" + std::to_string(attempt) + ".partial";
    std::snprintf(to_remove, sizeof to_remove, "%s", partial.partial_path.c_str());
    descriptor = open(partial.partial_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  if (descriptor < 0) {
    partial.problem = cannot_be_written(errno);
  } else {
    if (replaces) static_cast<void>(fchmod(descriptor, status.st_mode & 0777));
    partial.file.reset(fdopen(descriptor, "wb"));
  }
  return partial;
}

}  // namespace

OpenedFile open_file(const std::string& path) {
  OpenedFile opened;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    opened.problem = errno == ENOENT ? "no such file; check the name"
                                     : "cannot be opened (" + std::string(std::strerror(errno)) +
                                           "); check the name and the permissions";
  } else if (S_ISDIR(status.st_mode)) {
    opened.problem = "a folder, not a file; check the name";
  } else if (!S_ISREG(status.st_mode)) {
    opened.problem = "a pipe or device, not a file; write its output to a file first";
  } else {
    opened.file.reset(std::fopen(path.c_str(), "rbe"));
    opened.bytes = static_cast<std::uint64_t>(status.st_size);
    if (!opened.file) {
      opened.problem =
          "cannot be opened (" + std::string(std::strerror(errno)) + "); check its permissions";
    }
  }
  return opened;
}

ReadFile read_file(const std::string& path, std::size_t most_bytes) {
  OpenedFile opened = open_file(path);
  ReadFile read{std::move(opened.problem), ""};
  if (!opened.file) return read;
  const auto too_large = [&] {
    const bool mega = most_bytes >= std::size_t{1} << 20;
    return ReadFile{
        "more than " + std::to_string(most_bytes >> (mega ? 20 : 10)) + (mega ? " MB" : " KB") +
            "; check that this is the right file",
        ""};
  };
  if (opened.bytes > most_bytes) return too_large();
  // A file of the kernel (/proc) reports a size of 0 bytes.
  char piece[1 << 14];
  while (const std::size_t got = std::fread(piece, 1, sizeof piece, opened.file.get())) {
    read.contents.append(piece, got);
    if (read.contents.size() > most_bytes) return too_large();
  }
  if (std::ferror(opened.file.get())) {
    return {"cannot be read (" + std::string(std::strerror(errno)) + "); check the file", ""};
  }
  return read;
}

std::string write_file(const std::string& path, std::initializer_list<std::string_view> pieces) {
  const RemovedAtTheEnd removed;
  Partial partial = create_partial(path);
  if (!partial.file) return partial.problem;
  int error = 0;
  const auto keep_error = [&](bool done) {
    if (!done && error == 0) error = errno;
  };
  for (const std::string_view piece : pieces) {
    keep_error(std::fwrite(piece.data(), 1, piece.size(), partial.file.get()) == piece.size());
  }
  keep_error(std::fclose(partial.file.release()) == 0);
  if (error == 0) keep_error(std::rename(partial.partial_path.c_str(), partial.path.c_str()) == 0);
  if (error == 0) return "";
  unlink(partial.partial_path.c_str());
  return cannot_be_written(error);
}

std::string problem_of_writing(const std::string& path) {
  const RemovedAtTheEnd removed;
  Partial partial = create_partial(path);
  if (partial.file) unlink(partial.partial_path.c_str());
  return partial.problem;
}

void open_standard_streams() {
  // In place of a closed stream: stdin has nothing to read, every write to stdout fails, and stderr
  // goes nowhere.
  const struct {
    int descriptor, mode;
  } streams[] = {{STDIN_FILENO, O_RDONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}};
  for (const auto& [descriptor, mode] : streams) {
    // open() returns the lowest free number, which is this one.
    const bool is_closed = fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
    if (is_closed) static_cast<void>(open("/dev/null", mode));
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
