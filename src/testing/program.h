// Runs a program as a user would in a shell, with files and variables of its own, keeps its output,
// and reads it.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/json.h"
#include "text/numbers.h"

namespace testing {

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// `make test-all` also tests what takes long and seldom finds what `make test` does not.
inline bool tests_all() {
  return std::getenv("GEMM_STEPS_TEST_ALL") != nullptr;
}

// A temporary folder for one test, removed by the destructor. Tests and processes never share one.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "gemm_steps_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  // Writes a file, and creates its folders.
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

struct Output {
  int exit_code;  // -1 if a signal ended it
  std::string out, err;
};

// Variables that users of make and of the scripts may set. They are unset for a test's programs, so
// that the user's environment cannot change a test.
inline constexpr const char* kSettings =
    "MAKEFLAGS MAKEOVERRIDES MAKELEVEL MFLAGS MAKE_TERMOUT MAKE_TERMERR ANSWERS ANSWER_S ARCH "
    "ARCHITECTURES ARCHS BLOCK BOOK BRIEF BUILD COMPILE_GB COMPILE_S CSV DIR EX FACTS FILE FORMAT "
    "FLAGS GDB_FLAGS HINT JOBS KERNEL LIMIT LOOK LOOK_FLAGS MEMORY_GB OUT PAGE PLOT RECORD SEED "
    "SIMILAR STAGE STUDENT TEST_FLAGS THREAD TRY_FLAGS VARIANT WORK SIZE SIZES M N K";

// Runs a bash command line with `input` on its stdin. Append 2>&1 to get stdout and stderr
// together.
inline Output run(const std::string& command, const std::string& input = "") {
  const Folder folder;
  folder.write("command", std::string("unset ") + kSettings + "\n" + command + "\n");
  folder.write("in", input);
  const int status = std::system(("exec bash '" + folder / "command" + "' <'" + folder / "in" +
                                  "' >'" + folder / "out" + "' 2>'" + folder / "err" + "'")
                                     .c_str());
  return {
      WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder / "out"),
      contents(folder / "err")};
}

// The program that make built. The Makefile passes its path.
inline std::string program() {
  const char* built = std::getenv("GEMM_STEPS");
  return built != nullptr ? built : "./gemm_steps";
}

inline Output gemm_steps(const std::string& arguments, const std::string& input = "") {
  return run(program() + " " + arguments, input);
}

// The build folder, which contains the tests.
inline std::filesystem::path built() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

// The same as run(), with stderr in `out`. Of make's variables, the command sees the build folder
// alone.
inline Output bash(const std::string& command) {
  return run("export BUILD='" + built().string() + "'; exec 2>&1; " + command);
}

// For a test that needs a terminal: says so if the system makes none, as in a bare chroot.
inline bool there_is_no_terminal() {
  const int screen = posix_openpt(O_RDWR | O_NOCTTY);
  const bool works = screen >= 0 && grantpt(screen) == 0 && unlockpt(screen) == 0 &&
                     ::access(ptsname(screen), R_OK | W_OK) == 0;
  if (screen >= 0) close(screen);
  if (!works) std::puts("skipped: this system makes no pseudo-terminal (/dev/ptmx, /dev/pts)");
  return !works;
}

// Sets an environment variable for a test. The destructor restores the old value.
class Variable {
 public:
  // Null: unset.
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) const {
    value != nullptr ? setenv(name_, value, 1) : unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> before_;
};

// The output of `print`, even if it throws.
inline std::string written(const std::function<void(std::FILE*)>& print) {
  char* text = nullptr;
  std::size_t size = 0;
  const auto close = [&](std::FILE* out) {
    std::fclose(out);
    std::free(text);
  };
  const std::unique_ptr<std::FILE, decltype(close)> out(open_memstream(&text, &size), close);
  print(out.get());
  std::fflush(out.get());
  return {text, size};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The first line that contains `words`; empty if there is none.
inline std::string line_with(const std::string& text, const std::string& words) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(words) != std::string::npos) return line;
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

inline int widest(const std::string& text) {
  int width = 0;
  for (const std::string& line : lines_of(text)) width = std::max(width, text::display_width(line));
  return width;
}

// JSON by paths, as it is written but strings without their quotes.
struct StrictJson {
  std::map<std::string, std::string> values;
  explicit StrictJson(std::string_view json) {
    for (const auto& [path, part] : text::json_parts(json)) {
      values[path] = part.starts_with('"') ? part.substr(1, part.size() - 2) : part;
    }
  }
};

}  // namespace testing
