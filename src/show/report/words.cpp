#include "show/report/words.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "model/stage.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace report {

std::string tflops_words(double tflops) {
  if (tflops >= 0.001) return text::significant(tflops);
  return tflops < 0.0001 ? "<0.0001" : text::printed("%.5f", tflops);
}

std::string wrong_sentence(const std::string& name, const model::Error& error) {
  const model::Mismatch& first = error.first.value();
  const bool beyond = std::isfinite(first.expected) && std::abs(first.expected) > FLT_MAX;
  return name +
         text::printed(
             " is wrong: row %lld, column %lld is %.9g, but should be ",
             static_cast<long long>(first.row), static_cast<long long>(first.column), first.value) +
         (beyond ? text::printed(
                       "%sinf, because %.9g is beyond the range of fp32",
                       first.expected < 0 ? "-" : "", first.expected)
                 : text::printed("%.9g", first.expected));
}

namespace {

std::string whole(double value) {
  return text::printed("%.0f", value);
}

std::string clock(const model::DeviceState& state) {
  if (!state.median_mhz) return "SM clock not known";
  const std::string range =
      *state.min_mhz == *state.max_mhz
          ? " throughout"
          : " (" + whole(*state.min_mhz) + " to " + whole(*state.max_mhz) + ")";
  const std::string set = "SM " + whole(*state.median_mhz) + " MHz" + range;
  // Counting in short launches can be wrong by a percent.
  const bool lower = state.counted_mhz && *state.counted_mhz < 0.99 * *state.min_mhz;
  return set + (lower ? ", " + whole(*state.counted_mhz) + " counted in the launches" : "");
}

std::string power(const model::DeviceState& state) {
  if (!state.mean_watts) return "power not known";
  const std::string mean = whole(*state.mean_watts), most = whole(*state.max_watts);
  return mean + " W" + (most == mean ? "" : " (at most " + most + ")") +
         (state.limit_watts ? " of " + whole(*state.limit_watts) + " W" : "");
}

std::string throttling(const model::DeviceState& state) {
  if (!state.throttles) return "throttling not known";
  if (state.throttles->empty()) return "not throttled";
  int readings = 0;
  for (const model::Throttle& throttle : *state.throttles) {
    readings = std::max(readings, throttle.readings);
  }
  return "throttled by " + reasons_words(*state.throttles) +
         text::printed(" in %d of %d readings", readings, state.readings);
}

}  // namespace

std::string clocks_words(const model::DeviceState& state) {
  return clock(state) + ", " + power(state) + ", " + throttling(state);
}

std::string readings_words(const model::DeviceState& state) {
  const std::string count = state.readings == 1 ? "one reading, at the end of "
                                                : text::printed("%d readings in ", state.readings);
  const bool too_short =
      state.watts_are_averages && state.mean_watts && state.measured_ms < model::kPowerAverageMs;
  return count + text::significant(state.measured_ms) + " ms" +
         (too_short ? "; the power is an average over up to a second, and so includes what the GPU "
                      "did before"
                    : "");
}

std::string reasons_words(const std::vector<model::Throttle>& throttles) {
  std::string text;
  for (std::size_t i = 0; i < throttles.size(); ++i) {
    text += (i == 0                     ? ""
             : i + 1 < throttles.size() ? ", "
                                        : " and ") +
            std::string(throttles[i].reason);
  }
  return text;
}

namespace {

std::string kind_of(const model::Gpu& gpu) {
  const int cc = gpu.compute_capability;
  if (model::has_clock(gpu)) return text::printed("cc %d.%d", cc / 10, cc % 10);
  return text::printed(
      "%d lanes per warp, %d floats per sector, %d banks; it has no clock", gpu.warp.lanes,
      gpu.warp.sector_words(), gpu.warp.banks);
}

// "stage 5", "stages 5 and 7", "stages 5 to 7".
std::string listed(const std::vector<int>& numbers) {
  const std::string first = std::to_string(numbers.front());
  const std::string last = std::to_string(numbers.back());
  if (numbers.size() == 1) return "stage " + first;
  const auto count = static_cast<int>(numbers.size());
  if (count > 2 && numbers.back() - numbers.front() == count - 1) {
    return "stages " + first + " to " + last;
  }
  std::string text = "stages " + first;
  for (int i = 1; i < count - 1; ++i) text += ", " + std::to_string(numbers[i]);
  return text + " and " + last;
}

// The stages that run another variant than their first, so that readers do not compare unequal
// tiles by mistake. Empty if none does.
std::string tiles(const KnownRun& run, int width) {
  std::vector<std::pair<std::string, std::vector<int>>> chosen;  // variants with their stages
  for (const Known& known : run.rows) {
    if (!known.is_for_small) continue;
    const char* const variant = known.row.variant->name;
    if (chosen.empty() || chosen.back().first != variant) chosen.push_back({variant, {}});
    chosen.back().second.push_back(known.row.number);
  }
  if (chosen.empty()) return "";
  std::string text;
  for (const auto& [variant, stages] : chosen) {
    text += (text.empty() ? "" : ", ") + variant + " in " + listed(stages);
  }
  return text::labelled(
      "tiles", width, text + ", because C is small; --variant first keeps the large tiles");
}

}  // namespace

std::string checked_words(const lab::Run& run) {
  const lab::ProblemSize& sides = *run.checked;
  return text::printed(
      "results are computed and checked for %d x %d x %d; the counts are of the product above",
      sides.M, sides.N, sides.K);
}

std::string about(const KnownRun& known) {
  const lab::Run& run = known.run;
  const model::Gpu& gpu = run.gpu;
  constexpr int kTerm = 9;
  const bool is_program = !run.program.empty();
  const std::string what = gpu.name + text::printed(", %d SMs, ", gpu.sms) + kind_of(gpu);
  const std::string problem =
      is_program
          ? text::labelled(
                "program", kTerm,
                text::echoed(run.program, text::kReportWidth) +
                    (run.unended   ? ": it has not ended; these kernels were traced until then"
                     : run.stopped ? ": stopped at a kernel's error"
                                   : text::printed(": its main has ended with %d", run.exit_code)))
          : text::labelled(
                "problem", kTerm,
                lab::product(run) + ", " + run.types + text::printed(", seed %llu", run.seed) +
                    (run.data == lab::Data::uniform
                         ? ""
                         : std::string(", data ") + lab::name_of(run.data))) +
                (run.checked ? text::labelled("checked", kTerm, checked_words(run)) : "") +
                tiles(known, kTerm);
  if (!run.gpu_present) {
    return problem +
           text::labelled(
               "GPU", kTerm,
               what + (model::has_clock(gpu) ? ": not here, so kernels are traced on the CPU and "
                                               "not timed"
                                             : ", so kernels are traced and not timed"));
  }
  // The facts that a recorded table needs. Without a GPU the same command prints the same table.
  const std::string command = text::echoed(run.command, text::kReportWidth);
  const int room = text::report_width() - kTerm;
  return problem + text::labelled("GPU", kTerm, what) +
         text::labelled("driver", kTerm, text::shortened(run.driver, room)) +
         text::labelled("run", kTerm, text::shortened(run.date + ", " + command, room)) +
         (known.device ? text::labelled("clocks", kTerm, clocks_words(*known.device)) : "");
}

}  // namespace report
