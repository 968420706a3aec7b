#include "lab/run.h"

#include <omp.h>

#include "gpu/gpu.h"
#include "lab/cpu_name.h"
#include "lab/device.h"
#include "text/date.h"

namespace lab {

const Row* Run::cublas() const {
  for (const Row& row : rows) {
    if (row.name == "cuBLAS fp32") return &row;
  }
  return nullptr;
}

Run new_run(const Request& request, bool gpu_present, const std::string& command) {
  Run run{};
  run.alpha = request.alpha;
  run.beta = request.beta;
  run.seed = request.seed;
  run.data = request.data;
  run.gpu = choose_model(request, gpu_present);
  run.gpu_present = gpu_present;
  if (gpu_present) run.driver = gpu::driver_and_runtime();
  run.command = command;
  run.date = text::now_utc();
  run.cpu = cpu_name();
  run.threads = omp_get_max_threads();
  return run;
}

std::string joined(int argc, char** argv) {
  std::string text = argv[0];
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

}  // namespace lab
