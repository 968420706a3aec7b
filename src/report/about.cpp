#include "report/about.h"

#include <vector>

#include "lab/run.h"
#include "model/stage.h"
#include "report/device_words.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace report {

namespace {

std::string kind_of(const model::Gpu& gpu) {
  const int cc = gpu.compute_capability;
  if (model::has_clock(gpu)) return text::printed("cc %d.%d", cc / 10, cc % 10);
  return text::printed(
      "%d lanes per warp, %d floats per sector, %d banks; it has no clock", gpu.warp.lanes,
      gpu.warp.sector_words(), gpu.warp.banks);
}

// The stages that run the same variant because C is small.
struct ChosenForSize {
  std::string variant;
  std::vector<int> stages;
};

std::vector<ChosenForSize> chosen_for_size(const lab::Run& run) {
  std::vector<ChosenForSize> all;
  for (const lab::Row& row : run.rows) {
    if (!row.stage || !row.variant || row.variant == &model::first_variant(*row.stage, run.gpu))
      continue;
    if (row.variant != &model::suited_variant(*row.stage, run.gpu, run.M, run.N)) continue;
    if (all.empty() || all.back().variant != row.variant->name) {
      all.push_back({row.variant->name, {}});
    }
    all.back().stages.push_back(row.number);
  }
  return all;
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

// Which stages run another variant than their first, so that nobody compares unequal tiles
// unknowingly. Empty if none does.
std::string tiles(const lab::Run& run, int width) {
  std::string text;
  for (const ChosenForSize& chosen : chosen_for_size(run)) {
    text += (text.empty() ? "" : ", ") + chosen.variant + " in " + listed(chosen.stages);
  }
  if (text.empty()) return "";
  return text::labelled(
      "tiles", width, text + ", because C is small; --variant first keeps the large tiles");
}

}  // namespace

std::string about(const lab::Run& run) {
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
                tiles(run, kTerm);
  if (!run.gpu_present) {
    return problem +
           text::labelled(
               "GPU", kTerm,
               what + (model::has_clock(gpu) ? ": not here, so kernels are traced on the CPU and "
                                               "not timed"
                                             : ", so kernels are traced and not timed"));
  }
  // What a recorded table has to tell. Without a GPU the same command prints the same table.
  const std::string command = text::echoed(run.command, text::kReportWidth);
  const int room = text::report_width() - kTerm;
  return problem + text::labelled("GPU", kTerm, what) +
         text::labelled("driver", kTerm, text::shortened(run.driver, room)) +
         text::labelled("run", kTerm, text::shortened(run.date + ", " + command, room)) +
         clocks_line(run.rows, kTerm);
}

}  // namespace report
