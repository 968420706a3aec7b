// The parts of make bench (bench.sh):
//
//   bench_speeds sizes SIZE...    nothing, if these are sizes
//   bench_speeds cpu SIZE...      the times of what a CPU runs, as CSV
//   bench_speeds ladder FILE...   the GPU's times in CSV of ./gemm_steps, as CSV
//   bench_speeds join FILE...     CSV of several benches as one, by size
//   bench_speeds table FILE       CSV of a bench as a table
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/speeds.h"
#include "lab/device.h"
#include "text/echoed.h"
#include "text/file.h"

namespace {

using bench::Speed;
using Words = std::vector<std::string>;

int size_of(const std::string& word) {
  constexpr int kMost = 65536;
  int size = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, size);
  if (error == std::errc() && stop == end && size >= 1 && size <= kMost) return size;
  throw std::invalid_argument(
      "SIZES: " + text::echoed(word) +
      " is not a size; give whole numbers from 1 to 65536, for example SIZES=\"1024 2048\"");
}

std::string contents_of(const std::string& file) {
  constexpr std::size_t kMost = 64u << 20;
  text::ReadFile read = text::read_file(file, kMost);
  if (read.problem.empty()) return std::move(read.contents);
  throw std::invalid_argument(text::echoed(file) + ": " + read.problem);
}

template <class Read>
std::vector<Speed> speeds_in(const std::string& file, Read read) {
  const std::string contents = contents_of(file);
  try {
    return read(contents);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(text::echoed(file) + ": " + problem.what());
  }
}

template <class Read>
std::vector<Speed> speeds_in_all(const Words& files, Read read) {
  std::vector<Speed> speeds;
  for (const std::string& file : files) {
    const std::vector<Speed> some = speeds_in(file, read);
    speeds.insert(speeds.end(), some.begin(), some.end());
  }
  std::stable_sort(
      speeds.begin(), speeds.end(), [](const Speed& a, const Speed& b) { return a.size < b.size; });
  return speeds;
}

std::vector<int> sizes_of(const Words& words) {
  std::vector<int> sizes;
  for (const std::string& word : words) {
    const int size = size_of(word);
    if (std::find(sizes.begin(), sizes.end(), size) != sizes.end()) {
      throw std::invalid_argument("SIZES: " + word + " is there twice; give each size once");
    }
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<Speed> times_on_cpu(const Words& words) {
  const bench::OpenBlas openblas;
  std::vector<Speed> speeds;
  for (const int size : sizes_of(words)) {
    const std::vector<Speed> some = bench::time_cpu(size, openblas);
    speeds.insert(speeds.end(), some.begin(), some.end());
  }
  return speeds;
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int run(const Words& words) {
  const std::string what = words.empty() ? "" : words.front();
  const Words rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (what == "sizes") return sizes_of(rest), 0;
  if (what == "cpu" && !rest.empty()) return print(bench::csv_of(times_on_cpu(rest)));
  if (what == "ladder") return print(bench::csv_of(speeds_in_all(rest, bench::speeds_of_run)));
  if (what == "join") return print(bench::csv_of(speeds_in_all(rest, bench::read_speeds)));
  if (what == "table" && rest.size() == 1) {
    return print(bench::table_of(speeds_in(rest[0], bench::read_speeds)));
  }
  throw std::invalid_argument("what? the head of src/bench/bench.cpp lists what it does");
}

int run_or_refuse(const Words& words) {
  try {
    return run(words);
  } catch (const std::invalid_argument& problem) {
    std::fprintf(stderr, "bench: %s\n", problem.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "bench: there is not enough memory; give smaller SIZES\n");
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  text::open_standard_streams();
  lab::prepare_threads();
  return text::finished("bench", run_or_refuse(Words(argv + 1, argv + argc)));
}
