// make bench-cpu: bench_speeds steps times the steps from the serial loop to openmp_gemm on this
// CPU. make bench: bench_speeds PROGRAM FILE times the ladder and cuBLAS by PROGRAM, if there is a
// GPU, and the serial loop, openmp_gemm and OpenBLAS on the CPU, writes the times to FILE as CSV,
// and prints them. From the environment:
//   SIZES="1024 4096"   the sizes
//   FORMAT=csv          prints CSV in place of the table
// Exit codes: 0; 2 if it could not be done.
#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu_reference.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "show/report/facts.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/json.h"
#include "text/numbers.h"

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument(why);
}

// The time of C = A * B, size x size.
struct Speed {
  int size;
  std::optional<int> stage;  // empty: not a stage
  std::string name;
  std::string device;               // where it ran
  std::optional<lab::Timing> time;  // uses its median, quartiles, runs, and `partial`
  std::string note;                 // why there is no time, or another note

  double tflops() const { return 2.0 * size * size * size / time->median_ms * 1e-9; }
};

std::vector<report::Fact> facts_of(const Speed& speed) {
  const lab::Timing time = speed.time.value_or(lab::Timing{});
  const auto known = [&](report::FactValue value) {
    return speed.time ? std::move(value) : report::FactValue();
  };
  return {
      {"size", speed.size},
      {"stage", speed.stage},
      {"name", speed.name},
      {"device", speed.device},
      {"runs", known(time.repetitions)},
      {"median_ms", known(time.median_ms)},
      {"quartile1_ms", known(time.quartile1_ms)},
      {"quartile3_ms", known(time.quartile3_ms)},
      {"partial", known(time.partial)},
      {"tflops", known(speed.time ? speed.tflops() : 0)},
      {"note", speed.note}};
}

std::string csv_of(const std::vector<Speed>& speeds) {
  std::string csv = report::csv_names(facts_of(Speed{}));
  for (const Speed& speed : speeds) csv += report::csv_values(facts_of(speed));
  return csv;
}

// With the stage's number and name in a column that is as wide as the longest.
std::string line_of(const Speed& speed) {
  const std::string stage = speed.stage ? std::to_string(*speed.stage) : "";
  const std::string label = text::pad_left(stage, 2) + " " + text::pad_right(speed.name, 24);
  if (!speed.time) return label + "  " + speed.note + "\n";
  const lab::Timing& time = *speed.time;
  const std::string quartiles =
      text::significant(time.quartile1_ms) + " to " + text::significant(time.quartile3_ms);
  const double spread = 100 * (time.quartile3_ms - time.quartile1_ms) / time.median_ms;
  return text::in_columns(
      {label, (time.partial ? "~" : "") + text::significant(time.median_ms), quartiles,
       text::brief(spread), text::significant(speed.tflops()), std::to_string(time.repetitions),
       "  " + speed.note},
      {-1, 11, 20, 10, 11, 6, -1}, 0);
}

std::string table_of(const std::vector<Speed>& speeds) {
  std::set<std::string> devices;
  for (const Speed& speed : speeds) {
    const bool on_gpu = speed.stage.value_or(0) > 0 || speed.name.starts_with("cuBLAS");
    devices.insert((on_gpu ? "GPU      " : "CPU      ") + speed.device + "\n");
  }
  std::string text;
  for (const std::string& device : devices) text += device;
  if (text.find("GPU      ") == text.npos) {
    text += "GPU      none: the stages have no times, only what a CPU can run has\n";
  }
  int size = -1;
  bool any_partial = false;
  for (const Speed& speed : speeds) {
    if (speed.size != std::exchange(size, speed.size)) {
      text += text::pad_right(text::printed("\nM = N = K = %d", size), 28) +
              "  median ms        quartiles ms  spread %    TFLOP/s  runs\n";
    }
    text += line_of(speed);
    any_partial |= speed.time && speed.time->partial;
  }
  text +=
      "\nquartiles   half of the runs lie between them; spread: their distance, of the median\n";
  if (any_partial) text += "~           scaled up from the first rows of C\n";
  return text;
}

// The stages and cuBLAS in the output of ./gemm_steps --format json. Rows of the CPU are left out,
// because they ran only once.
std::vector<Speed> speeds_of_run(std::string_view json) {
  const text::JsonValues values = text::json_values(json);
  std::vector<Speed> speeds;
  for (const char* const rows : {"stages", "yardsticks"}) {
    for (int i = 0;; ++i) {
      const auto value = [&](const std::string& of_row) {
        const auto found = values.find(text::printed("%s.%d.", rows, i) + of_row);
        return found == values.end() ? "" : found->second;
      };
      const std::string name = value("name"), number = value("number"), ms = value("time_ms");
      if (name.empty()) break;
      if (number == "0" || name == "OpenMP CPU") continue;
      Speed& speed = speeds.emplace_back(Speed{
          std::stoi(values.at("problem.M")),
          {},
          name,
          values.at("gpu.name"),
          {},
          value("why_not_run")});
      if (!number.empty()) speed.stage = std::stoi(number);
      if (ms.empty()) continue;
      speed.time = lab::Timing{
          .median_ms = std::stod(ms),
          .min_ms = 0,
          .max_ms = 0,
          .quartile1_ms = std::stod(value("time.quartile1_ms")),
          .quartile3_ms = std::stod(value("time.quartile3_ms")),
          .repetitions = std::stoi(value("time.repetitions"))};
    }
  }
  return speeds;
}

// OpenBLAS, found at run time: the program also runs where it is missing. As cblas.h declares them.
constexpr int kRowMajor = 101, kNotTransposed = 111;
using Sgemm = void(
    int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using SetThreads = void(int);
using CoreName = const char*();

template <class Function>
Function* of_openblas(const char* name) {
  static void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

// At least five runs, and as many as fit into half a second, after an unmeasured one, which pays
// for waking the threads and for cold caches. Each time is multiplied by `scale`.
lab::Timing time_of(const std::function<void()>& work, double scale = 1) {
  constexpr std::size_t kLeast = 5, kMost = 100;
  constexpr double kHalfASecond = 500;
  work();
  std::vector<double> times_ms;
  for (double sum = 0, ms;
       times_ms.size() < kLeast || (sum < kHalfASecond && times_ms.size() < kMost); sum += ms) {
    ms = lab::milliseconds_of(work);
    times_ms.push_back(scale * ms);
  }
  return lab::summary(times_ms);
}

// The serial loop computes only the first rows of a large C, and its time is scaled up. If OpenBLAS
// is missing, its row says so.
std::vector<Speed> time_cpu(int size) {
  const lab::Problem p = lab::random_problem({size, size, size}, 1, 0, 1);
  lab::Floats C = p.C;
  const int threads = omp_get_max_threads();
  const std::string cpu = lab::cpu_name();
  const std::string device = (cpu.empty() ? "CPU" : cpu) +
                             text::printed(", %d thread%s", threads, threads == 1 ? "" : "s");

  constexpr double kMultiplications = 0x1p27;  // about a tenth of a second
  const int rows = static_cast<int>(
      std::clamp(kMultiplications / (double(size) * size), 1.0, static_cast<double>(size)));
  lab::Timing serial = time_of(
      [&] { serial_gemm(rows, size, size, 1, p.A.data(), p.B.data(), 0, C.data()); },
      double(size) / rows);
  serial.partial = rows < size;
  std::vector<Speed> speeds{
      {size, 0, "serial", device, serial, ""},
      {size, {}, "OpenMP CPU", device, time_of(p.product_by(openmp_gemm, C)), ""},
      {size, {}, "OpenBLAS", device, {}, ""}};
  Speed& openblas = speeds.back();
  const auto multiply = of_openblas<Sgemm>("cblas_sgemm");
  const auto set_threads = of_openblas<SetThreads>("openblas_set_num_threads");
  if (multiply == nullptr || set_threads == nullptr) {
    openblas.note = "not installed (libopenblas.so.0); on Debian: apt install libopenblas0";
    return speeds;
  }
  const lab::Floats expected = C;
  set_threads(threads);
  openblas.time = time_of([&] {
    multiply(
        kRowMajor, kNotTransposed, kNotTransposed, size, size, size, 1, p.A.data(), size,
        p.B.data(), size, 0, C.data(), size);
  });
  if (lab::relative_difference(C, expected) > 1e-4) refuse("OpenBLAS computes another product");
  const auto kernels = of_openblas<CoreName>("openblas_get_corename");
  if (kernels != nullptr) openblas.note = std::string(kernels()) + " kernels";
  return speeds;
}

// The steps of make bench-cpu, for square matrices of this size.
constexpr int kSide = 4096;

lab::Floats transposed(const lab::Floats& B) {
  lab::Floats result(B.size());
  for (std::size_t i = 0; i < B.size(); ++i) result[i % kSide * kSide + i / kSide] = B[i];
  return result;
}

// The serial loop over the first rows of C, with B transposed: both operands are read in order.
// With `vectors`, its sums are independent, and the compiler keeps them in the lanes of vector
// registers.
template <bool vectors>
void by_rows(int rows, const float* A, const float* B_transposed, float* C) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < kSide; ++j) {
      float sum = 0;
#pragma omp simd reduction(+ : sum) if (vectors)
      for (std::int64_t k = 0; k < kSide; ++k)
        sum += A[i * kSide + k] * B_transposed[j * kSide + k];
      C[i * kSide + j] = sum;
    }
  }
}

// The same on all cores.
void threaded(int rows, const float* A, const float* B_transposed, float* C) {
#pragma omp parallel for
  for (int i = 0; i < rows; ++i) {
    by_rows<true>(1, A + std::int64_t{i} * kSide, B_transposed, C + std::int64_t{i} * kSide);
  }
}

// Each row is the row above with one more idea. The whole serial loop would take minutes, so the
// first rows compute only a few rows of C.
void print_steps() {
  const lab::Problem p = lab::random_problem({kSide, kSide, kSide}, 1, 0, 1);
  const float *const A = p.A.data(), *const B = p.B.data();
  const lab::Floats turned = transposed(p.B);
  lab::Floats C = p.C;
  const int cores = omp_get_max_threads();
  std::printf(
      "problem  C (%d x %d) = A * B with K = %d, fp32, %d threads\nCPU      %s\n"
      "run      %s, make bench-cpu\n\n%-34s %10s %16s\n",
      kSide, kSide, kSide, cores, lab::cpu_name().c_str(), text::now_utc().c_str(), "", "GFLOP/s",
      "x the row above");
  double before = 0;
  const auto print = [&](const char* name, int rows, const auto& multiply) {
    const int n = std::min(rows, kSide);
    const double ms = time_of([&] { multiply(n); }).median_ms;
    const double now = 2e-6 * n * kSide * kSide / ms;
    std::printf("%-34s %10s", name, text::significant(now).c_str());
    if (before > 0) std::printf(" %16s", text::significant(now / before).c_str());
    std::printf("\n");
    before = now;
  };
  print("serial loop", 4, [&](int n) { serial_gemm(n, kSide, kSide, 1, A, B, 0, C.data()); });
  print("B transposed", 16, [&](int n) { by_rows<false>(n, A, turned.data(), C.data()); });
  print("vectors of independent sums", 64, [&](int n) {
    by_rows<true>(n, A, turned.data(), C.data());
  });
  print("all cores", 64 * cores, [&](int n) { threaded(n, A, turned.data(), C.data()); });
  print("blocked and packed: openmp_gemm", kSide, [&](int n) {
    openmp_gemm(n, kSide, kSide, 1, A, B, 0, C.data());
  });
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
  return speeds_of_run(json);
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
  std::vector<Speed> speeds;
  for (const int size : sizes) {
    std::fprintf(stderr, "%d x %d x %d\n", size, size, size);
    std::ranges::copy(time_cpu(size), std::back_inserter(speeds));
    if (on_gpu) std::ranges::copy(time_ladder(program, size), std::back_inserter(speeds));
  }
  const std::string csv = csv_of(speeds);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::absolute(file).parent_path(), ignored);
  if (const std::string problem = text::write_file(file, {csv}); !problem.empty()) {
    refuse(text::echoed(file) + ": " + problem);
  }
  std::fputs((format == "csv" ? csv : table_of(speeds)).c_str(), stdout);
}

int run_or_refuse(int argc, char** argv) {
  try {
    if (argc == 2) return print_steps(), 0;
    if (argc != 3) refuse("give a program and a file, as make bench does");
    return run(argv[1], argv[2]), 0;
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
