#include "bench/speeds.h"

#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "cpu_reference.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "show/report/facts.h"
#include "text/columns.h"
#include "text/json.h"
#include "text/numbers.h"

namespace bench {

namespace {

std::vector<report::Fact> facts_of(const Speed& speed) {
  const lab::Timing time = speed.time.value_or(lab::Timing{});
  const auto known = [&](report::FactValue value) {
    return speed.time ? std::move(value) : report::FactValue();
  };
  return {
      {"size", speed.size},
      {"stage", speed.stage ? report::FactValue(*speed.stage) : report::FactValue()},
      {"name", speed.name},
      {"device", speed.device},
      {"runs", known(time.repetitions)},
      {"median_ms", known(time.median_ms)},
      {"quartile1_ms", known(time.quartile1_ms)},
      {"quartile3_ms", known(time.quartile3_ms)},
      {"partial", known(time.partial)},
      {"tflops", known(speed.time ? tflops(speed) : 0)},
      {"note", speed.note}};
}

// " 5 2D thread tiling": as wide as the longest stage's name.
std::string label_of(const Speed& speed) {
  constexpr int kLongest = 24;
  const std::string stage = speed.stage ? std::to_string(*speed.stage) : "";
  return text::pad_left(stage, 2) + " " + text::pad_right(speed.name, kLongest);
}

std::string line_of(const Speed& speed) {
  const std::string line = label_of(speed);
  if (!speed.time) return line + "  " + speed.note + "\n";
  const lab::Timing& time = *speed.time;
  const std::string quartiles =
      text::significant(time.quartile1_ms) + " to " + text::significant(time.quartile3_ms);
  const double spread = 100 * (time.quartile3_ms - time.quartile1_ms) / time.median_ms;
  return text::in_columns(
      {line, (time.partial ? "~" : "") + text::significant(time.median_ms), quartiles,
       text::brief(spread), text::significant(tflops(speed)), std::to_string(time.repetitions),
       "  " + speed.note},
      {-1, 11, 20, 10, 11, 6, -1}, 0);
}

}  // namespace

double tflops(const Speed& speed) {
  const double size = speed.size;
  return 2 * size * size * size / speed.time->median_ms * 1e-9;
}

std::string csv_of(const std::vector<Speed>& speeds) {
  std::string csv = report::csv_names(facts_of(Speed{}));
  for (const Speed& speed : speeds) csv += report::csv_values(facts_of(speed));
  return csv;
}

std::vector<Speed> speeds_of_run(std::string_view json) {
  const text::JsonValues values = text::json_values(json);
  const auto value = [&](const std::string& path) {
    const auto found = values.find(path);
    return found == values.end() ? "" : found->second;
  };
  std::vector<Speed> speeds;
  bool are_stages = true;
  for (int i = 0;; ++i) {
    const std::string row = text::printed(are_stages ? "stages.%d." : "yardsticks.%d.", i);
    const std::string name = value(row + "name"), number = value(row + "number");
    if (name.empty() && !std::exchange(are_stages, false)) return speeds;
    if (name.empty()) i = -1;
    if (name.empty() || number == "0" || name == "OpenMP CPU") continue;
    Speed& speed = speeds.emplace_back(Speed{
        std::stoi(value("problem.M")),
        {},
        name,
        value("gpu.name"),
        {},
        value(row + "why_not_run")});
    if (!number.empty()) speed.stage = std::stoi(number);
    if (value(row + "time_ms").empty()) continue;
    lab::Timing& time = speed.time.emplace();
    time.median_ms = std::stod(value(row + "time_ms"));
    time.quartile1_ms = std::stod(value(row + "time.quartile1_ms"));
    time.quartile3_ms = std::stod(value(row + "time.quartile3_ms"));
    time.repetitions = std::stoi(value(row + "time.repetitions"));
  }
}

std::string table_of(const std::vector<Speed>& speeds) {
  std::set<std::string> cpus, gpus;
  for (const Speed& speed : speeds) {
    const bool on_gpu = speed.stage.value_or(0) > 0 || speed.name.starts_with("cuBLAS");
    (on_gpu ? gpus : cpus).insert(speed.device);
  }
  std::string text;
  for (const std::string& cpu : cpus) text += "CPU      " + cpu + "\n";
  for (const std::string& gpu : gpus) text += "GPU      " + gpu + "\n";
  if (gpus.empty())
    text += "GPU      none: the stages have no times, only what a CPU can run has\n";
  int size = -1;
  for (const Speed& speed : speeds) {
    if (speed.size != std::exchange(size, speed.size)) {
      text += "\n" + text::pad_right(text::printed("M = N = K = %d", size), 27) +
              "  median ms        quartiles ms  spread %    TFLOP/s  runs\n";
    }
    text += line_of(speed);
  }
  const bool any_partial = std::any_of(speeds.begin(), speeds.end(), [](const Speed& speed) {
    return speed.time && speed.time->partial;
  });
  text +=
      "\nquartiles   half of the runs lie between them; spread: their distance, of the median\n";
  if (any_partial) text += "~           scaled up from the first rows of C\n";
  return text;
}

namespace {

// As cblas.h declares them.
constexpr int kRowMajor = 101, kNotTransposed = 111;
using Sgemm = void(
    int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using SetThreads = void(int);
using CoreName = const char*();

template <class Function>
Function* find(void* library, const char* name) {
  return library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

}  // namespace

OpenBlas::OpenBlas(const std::string& library)
    : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) {
    why_not_ = "not installed (" + library + "); on Debian: apt install libopenblas0";
  } else if (
      !find<Sgemm>(library_, "cblas_sgemm") ||
      !find<SetThreads>(library_, "openblas_set_num_threads")) {
    why_not_ = library + " has no cblas_sgemm or cannot set its threads";
  }
}

OpenBlas::~OpenBlas() {
  if (library_) dlclose(library_);
}

std::string OpenBlas::kernels() const {
  CoreName* const name = find<CoreName>(library_, "openblas_get_corename");
  return name ? name() : "";
}

void OpenBlas::multiply(int threads, int size, const float* A, const float* B, float* C) const {
  find<SetThreads>(library_, "openblas_set_num_threads")(threads);
  find<Sgemm>(library_, "cblas_sgemm")(
      kRowMajor, kNotTransposed, kNotTransposed, size, size, size, 1, A, size, B, size, 0, C, size);
}

namespace {

// At least five runs, and as many as fit into half a second, after an unmeasured one, which pays
// for waking the threads and for cold caches.
lab::Timing time_of(const std::function<void()>& work) {
  constexpr std::size_t kLeast = 5, kMost = 100;
  constexpr double kHalfASecond = 500;
  work();
  std::vector<double> times_ms;
  for (double sum = 0; times_ms.size() < kLeast || (sum < kHalfASecond && times_ms.size() < kMost);
       sum += times_ms.back()) {
    times_ms.push_back(lab::milliseconds_of(work));
  }
  return lab::summary(times_ms);
}

lab::Timing scaled(lab::Timing time, double factor) {
  for (double* ms :
       {&time.median_ms, &time.min_ms, &time.max_ms, &time.quartile1_ms, &time.quartile3_ms}) {
    *ms *= factor;
  }
  return time;
}

}  // namespace

std::vector<Speed> time_cpu(int size, const OpenBlas& openblas) {
  const std::size_t elements = std::size_t(size) * size;
  const lab::Floats A = lab::random_floats(elements, 1), B = lab::random_floats(elements, 2);
  lab::Floats C(elements);
  const int threads = omp_get_max_threads();
  const std::string cpu = lab::cpu_name();
  const std::string device = (cpu.empty() ? "CPU" : cpu) +
                             text::printed(", %d thread%s", threads, threads == 1 ? "" : "s");

  constexpr double kMultiplications = 0x1p27;  // about a tenth of a second
  const double in_a_row = double(size) * size;
  const int rows =
      static_cast<int>(std::clamp(kMultiplications / in_a_row, 1.0, static_cast<double>(size)));
  const lab::Timing first_rows =
      time_of([&] { serial_gemm(rows, size, size, 1, A.data(), B.data(), 0, C.data()); });
  lab::Timing serial = scaled(first_rows, double(size) / rows);
  serial.partial = rows < size;

  std::vector<Speed> speeds{
      {size, 0, "serial", device, serial, ""},
      {size,
       {},
       "OpenMP CPU",
       device,
       time_of([&] { openmp_gemm(size, size, size, 1, A.data(), B.data(), 0, C.data()); }),
       ""},
      {size, {}, "OpenBLAS", device, {}, openblas.why_not()}};
  if (!openblas.why_not().empty()) return speeds;
  speeds.back().time =
      time_of([&] { openblas.multiply(threads, size, A.data(), B.data(), C.data()); });
  if (const std::string kernels = openblas.kernels(); !kernels.empty()) {
    speeds.back().note = kernels + " kernels";
  }
  return speeds;
}

}  // namespace bench
