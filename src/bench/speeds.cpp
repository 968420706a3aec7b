#include "bench/speeds.h"

#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>

#include "cpu_reference.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "show/report/facts.h"
#include "text/columns.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace bench {

namespace {

const std::string& field(const CsvRow& row, std::string_view name) {
  const auto found = row.find(name);
  if (found != row.end()) return found->second;
  throw std::invalid_argument(
      "there is no column " + std::string(name) + "; give a file that make bench FORMAT=csv wrote");
}

template <class Number>
Number number(const CsvRow& row, std::string_view name) {
  const std::string& written = field(row, name);
  Number value{};
  const char* const end = written.data() + written.size();
  const auto [stop, error] = std::from_chars(written.data(), end, value);
  if (error == std::errc() && stop == end && value >= 0) return value;
  throw std::invalid_argument(
      "column " + std::string(name) + ": " + text::echoed(written) + " is not a number that " +
      "make bench FORMAT=csv writes");
}

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

// The columns of time, in CSV of ours and of the program.
struct TimeColumns {
  const char *median, *quartile1, *quartile3, *runs, *partial;
};

std::optional<lab::Timing> time_of(const CsvRow& row, const TimeColumns& columns) {
  if (field(row, columns.median).empty()) return std::nullopt;
  lab::Timing time{};
  time.median_ms = number<double>(row, columns.median);
  time.quartile1_ms = number<double>(row, columns.quartile1);
  time.quartile3_ms = number<double>(row, columns.quartile3);
  time.repetitions = number<int>(row, columns.runs);
  time.partial = field(row, columns.partial) == "true";
  const bool ordered = time.quartile1_ms <= time.median_ms && time.median_ms <= time.quartile3_ms;
  if (ordered && time.median_ms > 0) return time;
  throw std::invalid_argument(
      field(row, "name") +
      ": the median is not between the quartiles, or 0; give a file that make "
      "bench FORMAT=csv wrote");
}

std::optional<int> stage_of(const CsvRow& row, std::string_view column) {
  if (field(row, column).empty()) return std::nullopt;
  return number<int>(row, column);
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

std::vector<Speed> read_speeds(std::string_view csv) {
  std::vector<Speed> speeds;
  std::set<std::pair<int, std::string>> seen;
  for (const CsvRow& row : read_csv(csv)) {
    speeds.push_back(
        {number<int>(row, "size"), stage_of(row, "stage"), field(row, "name"), field(row, "device"),
         time_of(row, {"median_ms", "quartile1_ms", "quartile3_ms", "runs", "partial"}),
         field(row, "note")});
    if (!seen.insert({speeds.back().size, speeds.back().name}).second) {
      throw std::invalid_argument(
          speeds.back().name + text::printed(" at %d is there twice", speeds.back().size) +
          "; give a file that make bench FORMAT=csv wrote");
    }
  }
  if (speeds.empty()) {
    throw std::invalid_argument("has no times; give a file that make bench FORMAT=csv wrote");
  }
  return speeds;
}

std::vector<Speed> speeds_of_run(std::string_view csv) {
  std::vector<Speed> speeds;
  for (const CsvRow& row : read_csv(csv)) {
    const std::string& name = field(row, "name");
    const std::optional<int> stage = stage_of(row, "number");
    if (!stage.value_or(1) || name == "OpenMP CPU") continue;
    speeds.push_back(
        {number<int>(row, "problem.M"), stage, name, field(row, "gpu.name"),
         time_of(
             row, {"time_ms", "time.quartile1_ms", "time.quartile3_ms", "time.repetitions",
                   "time.partial"}),
         field(row, "why_not_run")});
  }
  return speeds;
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

// The fields of the next line, which is taken away. A quoted field may have line breaks.
std::vector<std::string> next_fields(std::string_view& text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char sign = text[at];
    const bool twice = quoted && sign == '"' && text.substr(at + 1).starts_with('"');
    if (twice) {
      fields.back() += text[++at];
    } else if (sign == '"') {
      quoted = !quoted;
    } else if (sign == ',' && !quoted) {
      fields.emplace_back();
    } else if (sign == '\n' && !quoted) {
      break;
    } else if (sign != '\r' || quoted) {
      fields.back() += sign;
    }
  }
  text.remove_prefix(at == text.size() ? at : at + 1);
  return fields;
}

}  // namespace

std::vector<CsvRow> read_csv(std::string_view text) {
  const std::vector<std::string> names = next_fields(text);
  std::vector<CsvRow> rows;
  for (int line = 2; !text.empty(); ++line) {
    std::vector<std::string> fields = next_fields(text);
    if (fields.size() != names.size()) {
      throw std::invalid_argument(text::printed(
          "line %d has %zu fields, and the first line %zu; give a file that make bench "
          "FORMAT=csv wrote",
          line, fields.size(), names.size()));
    }
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = std::move(fields[i]);
  }
  return rows;
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
