#include "cluster/products.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/check.h"
#include "cluster/played.h"
#include "cluster/streamed.h"
#include "cluster/streams.h"
#include "gpu/gpu.h"
#include "lab/on_gpu.h"
#include "lab/progress.h"
#include "text/numbers.h"

namespace cluster {

namespace {

// Times `multiply` from when all processes begin until all are done, after one that is not timed.
lab::Timing time_all(const Setting& setting, const std::function<void()>& multiply) {
  const auto once = [&] {
    setting.processes.wait_for_all();
    return largest(setting.processes, lab::milliseconds_of(multiply));
  };
  constexpr double kBudgetMs = 1000;
  const double estimate = once();
  const int repetitions =
      setting.flags.reps.value_or(static_cast<int>(std::clamp(kBudgetMs / estimate, 3.0, 30.0)));
  std::vector<double> times_ms(repetitions);
  for (double& ms : times_ms) ms = once();
  return lab::summary(times_ms);
}

// The worst of all processes. The first wrong element remains each one's own.
model::Error worst_of_all(Processes& processes, model::Error error) {
  error.relative = largest(processes, error.relative);
  error.max_abs = largest(processes, error.max_abs);
  error.bound_ok = largest(processes, error.bound_ok ? 0 : 1) == 0;
  return error;
}

// What the devices of all processes did.
std::vector<Load> counted(const Setting& setting, const Devices& devices) {
  std::vector<Load> loads;
  for (int device = 0; device < setting.gpus(); ++device) {
    const auto of = [&](std::int64_t Load::*member) {
      return static_cast<std::int64_t>(
          largest(setting.processes, static_cast<double>(devices.load(device).*member)));
    };
    loads.push_back(
        {of(&Load::bytes_sent), of(&Load::bytes_received), of(&Load::messages_sent),
         of(&Load::messages_received), of(&Load::bytes_held)});
  }
  return loads;
}

std::unique_ptr<Devices> make_devices(const Setting& setting, bool broadcasts) {
  if (setting.on_gpu) {
    return gpus(setting.grid, setting.processes, setting.local.gemm, broadcasts);
  }
  return std::make_unique<Played>(setting.gpus(), setting.processes, setting.local.gemm);
}

// Compares C, which has just been computed, and says how much of it.
void note_error(
    const Setting& setting, const Check& check, const Devices& devices, Report& report) {
  const Schedule parts{setting.shape, setting.grid, 0, {}};
  std::vector<std::pair<Part, Part>> computed;
  for (const int device : devices.here()) {
    computed.emplace_back(parts.M_of(device), parts.N_of(device));
  }
  report.rows.front().error =
      worst_of_all(setting.processes, check.compare(computed, setting.local.precision));
  const bool is_all = check.rows() == setting.shape.M;
  report.about.push_back(
      "check: " + (is_all ? "all" : text::printed("%d random", check.rows())) +
      " rows of C, against fp64");
}

// The model's time, with the speed of one device alone, which `runs` measures on a GPU.
template <class Plan, class Runs = Summa>
void note_model(const Setting& setting, const Plan& plan, Report& report, Runs* runs = nullptr) {
  if (!setting.processes.is_first()) return;
  Speed speed{0, "one GPU's own speed with such panels, measured alone"};
  if (!setting.on_gpu) {
    speed = known_speed(setting.local, setting.gpu);
  } else if (runs->shape_of_one_step().K > 0) {
    const gpu::Times times = gpu::time_ms(0, [&] { runs->multiply_one_step(); });
    speed.tflops = tflops(runs->shape_of_one_step(), lab::summary(times.ms).median_ms);
  }
  report.model = predict(plan, setting.link, speed.tflops);
  report.rows.front().predicted_ms = report.model.ms();
  report.about.push_back(
      std::string("model: ") + setting.link.name + ", " + setting.link.source + "; " +
      speed.source);
}

// Of the device that has the least.
double free_bytes(const Setting& setting, Devices& devices) {
  constexpr double kShare = 0.9;  // the rest is for the kernels
  double least = std::numeric_limits<double>::infinity();
  for (const int device : devices.here()) least = std::min(least, devices.free_bytes(device));
  return kShare * smallest(setting.processes, least);
}

// A long product is announced.
void forecast(const Setting& setting, const Streams& plan) {
  constexpr double kLongMs = 2000;
  if (!setting.processes.is_first()) return;
  const Speed speed = known_speed(setting.local, setting.gpu);
  const double ms = predict(plan, setting.link, speed.tflops).ms();
  if (ms < kLongMs) return;
  std::fprintf(
      stderr,
      "A, B and C take %s GB. One product takes %s s by the model (%s), and several are "
      "made.\n",
      text::brief(1e-9 * bytes_of(setting.shape)).c_str(), text::significant(1e-3 * ms).c_str(),
      speed.source.c_str());
}

}  // namespace

void distribute(const Setting& setting, Report& report) {
  const flags::Flags& flags = setting.flags;
  const Shape multiplied = setting.multiplied;
  const int panel = flags.panel.value_or(usual_panel(multiplied.K));
  const Schedule plan = schedule(multiplied, setting.grid, panel);
  for (int device = 0; device < setting.gpus(); ++device) {
    report.predicted.push_back(predicted_load(plan, device));
  }
  report.about.push_back(
      "schedule: SUMMA, C in a grid of " + in_words(setting.grid) +
      text::printed(
          ", panels of K: %zu, at most %d wide; ", plan.steps.size(),
          std::min(panel, multiplied.K)) +
      text::brief(4e-6 * floats_that_travel(multiplied, setting.grid)) + " MB travel in all");

  if (!setting.is_computed) return note_model(setting, plan, report);

  const std::unique_ptr<Devices> devices = make_devices(setting, setting.gpus() > 1);
  Summa summa(plan, *devices);
  const Check check(setting.shape, setting.matrices, flags.alpha, flags.beta, flags.seed);
  summa.load(setting.matrices);
  devices->reset_counters();
  summa.multiply(flags.alpha, flags.beta);
  devices->finish();
  report.counted = counted(setting, *devices);
  summa.store(setting.matrices);
  note_error(setting, check, *devices, report);
  if (setting.on_gpu) {
    report.rows.front().time = time_all(setting, [&] {
      summa.multiply(flags.alpha, flags.beta);
      devices->finish();
    });
    report.measured = summa.timeline();
  }
  note_model(setting, plan, report, &summa);
}

void stream(const Setting& setting, Report& report) {
  const flags::Flags& flags = setting.flags;
  const Shape multiplied = setting.multiplied;
  const std::unique_ptr<Devices> devices = make_devices(setting, /*broadcasts=*/false);
  constexpr int kPanels = 8;  // the first has to come before anything is multiplied
  const Streams plan = streams(
      multiplied, setting.grid, flags.panel.value_or(usual_panel(multiplied.K, kPanels)),
      flags.beta != 0, free_bytes(setting, *devices));
  for (int device = 0; device < setting.gpus(); ++device) {
    report.predicted.push_back(predicted_load(plan, device));
  }
  report.about.push_back(
      "schedule: from the host's memory, C in a grid of " + in_words(setting.grid) +
      text::printed(
          ", blocks of %d rows and %d columns, panels of %d", plan.rows, plan.columns, plan.panel));
  if (!setting.is_computed) return note_model(setting, plan, report);
  forecast(setting, plan);

  Streamed streamed(plan, *devices);
  const Check check(setting.shape, setting.matrices, flags.alpha, flags.beta, flags.seed);
  std::int64_t steps = 0;
  for (const int device : devices->here()) {
    steps += static_cast<std::int64_t>(plan.steps[device].size());
  }
  const auto multiply = [&] {
    lab::Progress progress("from the host", steps);
    streamed.multiply(
        setting.matrices, flags.alpha, flags.beta, [&](int done) { progress.advance(done); });
  };
  multiply();
  report.counted = counted(setting, *devices);
  note_error(setting, check, *devices, report);
  if (setting.on_gpu) {
    report.rows.front().time = time_all(setting, multiply);
    report.measured = streamed.timeline();
  }
  note_model(setting, plan, report, &streamed);
}

void add_yardsticks(const Setting& setting, Report& report) {
  if (!setting.processes.is_first()) return;
  const flags::Flags& flags = setting.flags;
  Row xt{.name = "cuBLASXt", .gpus = setting.gpus()};
  if (!setting.on_gpu) {
    xt.why_not = "it needs a GPU";
  } else if (setting.processes.size() > 1) {
    xt.why_not = "it uses the GPUs of one process";
  } else {
    CublasXt several(setting.gpus());
    xt.time = time_all(setting, [&] {
      several.multiply(
          setting.shape, flags.alpha, setting.matrices.A, setting.matrices.B, flags.beta,
          setting.matrices.C);
    });
  }
  report.rows.push_back(xt);
  if (!setting.on_gpu) return;
  Row one{.name = "one GPU, " + setting.local.name}, blas{.name = "one GPU, cuBLAS fp32"};
  if (bytes_of(setting.shape) > 0.95 * static_cast<double>(gpu::free_bytes())) {
    one.why_not = blas.why_not = "A, B and C do not fit into its memory";
  } else {
    lab::OnGpu on_gpu(setting.problem);
    const lab::Gemm cublas = std::bind_front(gpu::cublas_sgemm, false);
    const auto [M, N, K] = setting.shape;
    const Local local = choose_local(flags.local, setting.table, setting.gpu, true, {M, N, K});
    // As the ladder launches it.
    const lab::Gemm gemm = local.stage == nullptr
                               ? cublas
                               : lab::gemm_of(setting.table, *local.variant, setting.gpu.sms);
    one.time = on_gpu.time(gemm, flags.reps.value_or(0));
    blas.time = on_gpu.time(cublas, flags.reps.value_or(0));
    report.one_gpu_tflops = tflops(setting.shape, one.time->median_ms);
  }
  report.rows.push_back(one);
  if (setting.local.gemm) report.rows.push_back(blas);
}

}  // namespace cluster
