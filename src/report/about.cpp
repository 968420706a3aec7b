#include "report/about.h"

#include "lab/rates.h"
#include "report/device_words.h"
#include "text/echoed.h"
#include "text/numbers.h"
#include "text/terminal.h"

namespace report {

namespace {

std::string kind_of(const model::Gpu& gpu) {
  const int cc = gpu.compute_capability;
  if (model::has_clock(gpu)) return text::printed("cc %d.%d", cc / 10, cc % 10);
  return text::printed(
      "%d lanes per warp, %d floats per sector, %d banks; it has no clock", gpu.warp.lanes,
      gpu.warp.sector_words(), gpu.warp.banks);
}

}  // namespace

std::string about(const lab::Run& run) {
  const model::Gpu& gpu = run.gpu;
  constexpr int kTerm = 9;
  const std::string what = gpu.name + text::printed(", %d SMs, ", gpu.sms) + kind_of(gpu);
  const std::string problem = text::labelled(
      "problem", kTerm, lab::product(run) + text::printed(", fp32, seed %llu", run.seed));
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
