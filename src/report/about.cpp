#include "report/about.h"

#include <vector>

#include "lab/rates.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace report {

std::string about(const lab::Run& run) {
  const model::Gpu& gpu = run.gpu;
  const int cc = gpu.compute_capability;
  std::vector<std::string> lines = {
      "problem  " + lab::product(run) + text::printed(", fp32, seed %llu", run.seed),
      "GPU      " + gpu.name + text::printed(", %d SMs, cc %d.%d", gpu.sms, cc / 10, cc % 10)};
  if (run.gpu_present) {
    // What a recorded table has to tell. Without a GPU the same command prints the same table.
    lines.push_back("driver   " + run.driver);
    lines.push_back("run      " + run.date + ", " + text::echoed(run.command, text::kReportWidth));
  } else {
    lines.back() += ": not here, so kernels are traced on the CPU and not timed";
  }
  std::string text;
  for (const std::string& line : lines) text += text::shortened(line, text::kReportWidth) + "\n";
  return text;
}

}  // namespace report
