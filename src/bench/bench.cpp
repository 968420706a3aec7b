// make bench: bench_speeds PROGRAM FILE times the ladder and cuBLAS by PROGRAM, if there is a GPU,
// and the CPU's references and OpenBLAS, writes the times to FILE as CSV, and prints them. From the
// environment:
//   SIZES="1024 4096"   the sizes
//   FORMAT=csv          prints CSV in place of the table
// Exit codes: 0; 2 if it could not be done.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/speeds.h"
#include "lab/device.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

namespace {

using bench::Speed;

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument(why);
}

std::string variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::vector<int> sizes_in(const std::string& text) {
  constexpr int kMost = 65536;
  std::vector<int> sizes;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    int size = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, size);
    if (error != std::errc() || stop != end || size < 1 || size > kMost) {
      refuse(
          "SIZES: " + text::echoed(word) +
          " is not a size; give whole numbers from 1 to 65536, for example SIZES=\"1024 2048\"");
    }
    if (std::find(sizes.begin(), sizes.end(), size) != sizes.end()) {
      refuse("SIZES: " + word + " is there twice; give each size once");
    }
    sizes.push_back(size);
  }
  return sizes;
}

// Runs the ladder on the GPU. Exit code 1 is a result that fails its check: its time is still one.
std::vector<Speed> time_ladder(const std::string& program, int size) {
  const std::string command = "'" + program + "' --device gpu --trace none --stage 1- --size " +
                              std::to_string(size) + " --format json";
  std::FILE* const out = popen(command.c_str(), "r");
  if (out == nullptr) refuse("a shell cannot be started");
  std::string json;
  char piece[4096];
  while (const std::size_t bytes = std::fread(piece, 1, sizeof piece, out)) {
    json.append(piece, bytes);
  }
  const int status = pclose(out);
  if (status != 0 && status != 1 << 8) refuse(command + " failed");
  return bench::speeds_of_run(json);
}

void run(const std::string& program, const std::string& file) {
  const std::string format = variable("FORMAT", "table");
  if (format != "table" && format != "csv") {
    refuse("FORMAT=" + text::echoed(format) + ": give FORMAT=csv, or leave it out for a table");
  }
  const std::vector<int> sizes = sizes_in(variable("SIZES", "1024 2048 4096"));
  const bool on_gpu =
      std::system(("'" + program + "' --device gpu --list > /dev/null 2>&1").c_str()) == 0;
  if (!on_gpu) {
    std::fputs("No GPU: the stages have no times. What a CPU can run is timed.\n", stderr);
  }
  const bench::OpenBlas openblas;
  std::vector<Speed> speeds;
  const auto add = [&](const std::vector<Speed>& some) {
    speeds.insert(speeds.end(), some.begin(), some.end());
  };
  for (const int size : sizes) {
    std::fprintf(stderr, "%d x %d x %d\n", size, size, size);
    add(bench::time_cpu(size, openblas));
    if (on_gpu) add(time_ladder(program, size));
  }
  const std::string csv = bench::csv_of(speeds);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::absolute(file).parent_path(), ignored);
  if (const std::string problem = text::write_file(file, {csv}); !problem.empty()) {
    refuse(text::echoed(file) + ": " + problem);
  }
  std::fputs((format == "csv" ? csv : bench::table_of(speeds)).c_str(), stdout);
}

int run_or_refuse(int argc, char** argv) {
  try {
    if (argc != 3) refuse("give a program and a file, as make bench does");
    run(argv[1], argv[2]);
    return 0;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "bench: there is not enough memory; give smaller SIZES\n");
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "bench: %s\n", problem.what());
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  text::open_standard_streams();
  lab::prepare_threads();
  return text::finished("bench", run_or_refuse(argc, argv));
}
