#include "report/about.h"

#include "lab/rates.h"
#include "text/echoed.h"
#include "text/numbers.h"
#include "text/terminal.h"

namespace report {

std::string about(const lab::Run& run) {
  const model::Gpu& gpu = run.gpu;
  const int cc = gpu.compute_capability;
  constexpr int kTerm = 9;
  const std::string what =
      text::printed("%s, %d SMs, cc %d.%d", gpu.name.c_str(), gpu.sms, cc / 10, cc % 10);
  const std::string problem = text::labelled(
      "problem", kTerm, lab::product(run) + text::printed(", fp32, seed %llu", run.seed));
  if (!run.gpu_present) {
    return problem +
           text::labelled(
               "GPU", kTerm, what + ": not here, so kernels are traced on the CPU and not timed");
  }
  // What a recorded table has to tell. Without a GPU the same command prints the same table.
  const std::string command = text::echoed(run.command, text::kReportWidth);
  const int room = text::report_width() - kTerm;
  return problem + text::labelled("GPU", kTerm, what) +
         text::labelled("driver", kTerm, text::shortened(run.driver, room)) +
         text::labelled("run", kTerm, text::shortened(run.date + ", " + command, room));
}

}  // namespace report
