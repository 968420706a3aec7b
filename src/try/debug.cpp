// make debug KERNEL=file.cu: a user's file under gdb (debug.sh), without tracing.
//
// The threads of a block are fibers that switch only at barriers, and here one block runs after the
// other, so gdb can follow a thread like any program.
#include <omp.h>

#include <cstdio>

#include "flags/flags.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "simulator/simulator.h"
#include "try/guarded_kernel.h"
#include "try/launches.h"
#include "try/options.h"
#include "try/users_problem.h"

namespace attempt {
namespace {

// Runs a whole program's launches as they come.
class Untraced : public machine::ProgramLaunches {
 public:
  explicit Untraced(const model::Gpu& gpu) : gpu_(gpu) {}
  void launch(const machine::ProgramLaunch& launch) override {
    machine::run({&gpu_}, [&] {
      simt::run_grid(
          launch.kernel, launch.grid, launch.block, static_cast<int>(launch.shared_bytes),
          launch.thread, launch.context, launch.context_bytes);
    });
  }
  bool is_late() const override { return false; }
  void note_lateness() override {}
  const model::Gpu* gpu() const override { return &gpu_; }

 private:
  const model::Gpu& gpu_;
};

}  // namespace

int debug(const Options& options) {
  omp_set_num_threads(1);
  try {
    if (simt_users_main != nullptr) {
      const model::Gpu gpu = lab::choose_model(options.flags, false);
      Untraced launches(gpu);
      machine::program_launches = &launches;
      return call_main(options.file, options.arguments);
    }
    flags::Flags flags = options.flags;
    if (!flags.size) flags.size = 32;
    const UsersProblem p(lab::load_problem(flags, false));
    const model::Gpu gpu = lab::choose_model(flags, false);
    lab::Floats C = p.C;
    machine::run({&gpu}, p.product_by(sgemm_traced, C));
    return 0;
  } catch (const machine::KernelFault& fault) {
    std::fprintf(stderr, "debug: %s\n", fault.what());
    return 1;
  }
}

}  // namespace attempt
