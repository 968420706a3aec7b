#include "cluster/cluster_command.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/devices.h"
#include "cluster/recorded.h"
#include "cluster/report.h"
#include "cluster/schedule.h"
#include "flags/flags.h"
#include "lab/device.h"
#include "lab/gpu/gpu.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "model/ceiling.h"
#include "model/error.h"
#include "model/gpus.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "show/report/words.h"
#include "simulator/machine/grid.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

namespace cluster {

namespace {

// What multiplies on each device.
struct Local {
  std::string name;                     // "stage 11"
  std::string words;                    // "stage 11, balanced"
  const model::Stage* stage = nullptr;  // null: cuBLAS in fp32
  const model::Variant* variant = nullptr;
  lab::Gemm gemm = {};  // empty: cuBLAS, which the devices call
  model::Precision precision = model::kFp32;
};

// What every part of a run on several devices needs to know.
struct Setting {
  const flags::Flags& flags;
  const model::StageTable& table;
  Processes& processes;
  bool on_gpu;
  bool is_computed;  // else there are only the formulas and the model
  model::Gpu gpu;
  Grid grid;
  const Link& link;
  lab::Problem& problem;
  Shape shape;
  Shape multiplied;  // the same, but K is 0 if alpha is: A and B are not read then
  HostMatrices matrices;
  Local local;

  int gpus() const { return grid.devices(); }
};

// The bytes of A, B and C.
double bytes_of(Shape shape) {
  const auto [M, N, K] = shape;
  return sizeof(float) * (double(M) * K + double(K) * N + double(M) * N);
}

// The bytes of the copies of A and B in parts, if the stage makes some (parts_in_memory in
// lab/gpu/operands.h).
double bytes_of_copies(const Local& local, Shape shape) {
  const auto [M, N, K] = shape;
  const bool copies = local.variant != nullptr && model::multiplies_parts(*local.variant);
  return copies ? sizeof(float) * (double(M) * K + double(K) * N) : 0;
}

// The largest and the smallest value of all processes. All must call it.
double largest(Processes& processes, double value) {
  const std::vector<double> all = processes.collect(value);
  return *std::max_element(all.begin(), all.end());
}

double smallest(Processes& processes, double value) {
  return -largest(processes, -value);
}

// The kernels of the copy for the CPU, as the GPU would run them.
lab::Gemm on_cpu(lab::Gemm gemm, const model::Gpu& gpu) {
  return
      [gemm = std::move(gemm), gpu](
          int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
        machine::run({.gpu = &gpu, .hazards = false}, [&] { gemm(M, N, K, alpha, A, B, beta, C); });
      };
}

// As --local says: cuBLAS, which needs a GPU, or the fastest stage that rounds no worse than fp32
// and runs on `gpu`, with tiles that suit `part`. Throws a Refusal if there is none.
Local choose_local(
    flags::Local requested, const model::StageTable& table, const model::Gpu& gpu, bool on_gpu,
    Shape part) {
  if (requested == flags::Local::cublas) return {.name = kCublas, .words = kCublas};
  const model::Stage* const stage = fastest_fp32_stage(table, gpu, part);
  if (stage == nullptr) throw model::Refusal("--gpus: no stage in fp32 runs on the " + gpu.name);
  const model::Variant& variant = model::suited_variant(*stage, gpu, part.M, part.N);
  // With 0 SMs there is a block for each tile. Blocks then end all the time, and a transfer gets
  // an SM at once. And no tile is cut: its parts would hand their sums on in memory of one GPU.
  const lab::Gemm gemm = lab::gemm_of(table, variant, 0);
  return {
      .name = name_of(*stage),
      .words = name_of(*stage) + ", " + stage->name,
      .stage = stage,
      .variant = &variant,
      .gemm = on_gpu ? gemm : on_cpu(gemm, gpu),
      .precision = stage->precision};
}

// The speed of one GPU with its part of the product before it is measured, or where it cannot be:
// as recorded, or the GPU's peak.
Speed known_speed(const Setting& setting, bool resident) {
  const Local& local = setting.local;
  Speed speed = recorded_speed(setting.gpu.name, local.name, setting.shape, setting.grid, resident);
  if (speed.tflops == 0) {
    const auto multiplier =
        local.variant == nullptr ? model::Multiplier::ffma : local.variant->multiplier;
    speed = {
        model::peak_tflops(setting.gpu, multiplier), "its peak, since no speed of it is recorded"};
  }
  speed.source = "one " + setting.gpu.name + " with " + text::significant(speed.tflops) +
                 " TFLOP/s, " + speed.source;
  return speed;
}

// Times `multiply` from the common start of all processes until all are done, after one untimed
// run.
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

// The worst error of all processes. Each process keeps its own first wrong element.
model::Error worst_of_all(Processes& processes, model::Error error) {
  error.relative = largest(processes, error.relative);
  error.max_abs = largest(processes, error.max_abs);
  error.bound_ok = largest(processes, error.bound_ok ? 0 : 1) == 0;
  return error;
}

// The counts of the devices of all processes.
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

std::unique_ptr<Devices> make_devices(const Setting& setting, bool panels_travel) {
  if (setting.on_gpu) {
    return gpus(setting.grid, setting.processes, setting.local.gemm, panels_travel);
  }
  return std::make_unique<Played>(setting.gpus(), setting.processes, setting.local.gemm);
}

template <class Plan>
Timeline predicted(const Setting& setting, const Plan& plan, const Speed& speed) {
  const int of_a_process = setting.processes.size() > 1 ? 1 : setting.gpus();
  return predict(plan, setting.link, measured_rate(speed.tflops, of_a_process));
}

// Computes C once, counts and checks it, and times it on GPUs: the report's first row, its counts
// and its timeline. Returns the speed for the model: that of this process's first GPU with its
// first step alone, or without GPUs the one that is known.
Speed compute(
    const Setting& setting, Devices& devices, Product& product,
    const std::function<void()>& multiply, const std::function<void()>& store, const Speed& known,
    Report& report) {
  const flags::Flags& flags = setting.flags;
  const Check check(setting.shape, setting.matrices, flags.alpha, flags.beta, flags.seed);
  devices.reset_counters();
  multiply();
  report.counted = counted(setting, devices);
  store();
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
  if (!setting.on_gpu) return known;
  report.rows.front().time = time_all(setting, multiply);
  report.measured = product.timeline();
  const Shape part = product.shape_of_one_step();
  double speed = 0;  // of an empty product
  if (part.K > 0) {
    const gpu::Times times = gpu::time_ms(0, [&] { product.multiply_one_step(); });
    speed = tflops(part, lab::summary(times.ms).median_ms);
  }
  return {speed, "one GPU alone with its first panels, TFLOP/s: " + text::significant(speed)};
}

void note_model(
    const Setting& setting, const Timeline& timeline, const Speed& speed, Report& report) {
  report.about.push_back(
      std::string("model: ") + setting.link.name + ", " + setting.link.source + "; " +
      speed.source);
  if (timeline.is_told()) {
    report.model = timeline;
    report.rows.front().predicted_ms = timeline.ms();
  } else {
    report.about.push_back(
        "no prediction: the launches alone take " + text::significant(timeline.overhead_ms) +
        " ms, and how they overlap the rest is not in the model");
  }
}

// The memory of the device with the least. Copies of what it multiplies at a time take at most as
// much as what it holds.
double free_bytes(const Setting& setting, Devices& devices) {
  const bool copies = bytes_of_copies(setting.local, {1, 1, 1}) > 0;
  const double kShare = copies ? 0.45 : 0.9;  // the rest is for the kernels
  double least = std::numeric_limits<double>::infinity();
  for (const int device : devices.here()) least = std::min(least, devices.free_bytes(device));
  return kShare * smallest(setting.processes, least);
}

// The schedules that fit into `memory` bytes, on each device, beside what is copied of a panel.
std::vector<Schedule> that_fit(const Setting& setting, double memory) {
  std::vector<Schedule> all = schedules(setting.multiplied, setting.grid);
  if (setting.flags.panel) {
    all = {schedule(setting.multiplied, setting.grid, *setting.flags.panel)};
  }
  std::erase_if(all, [&](const Schedule& plan) {
    double most = 0;
    for (int device = 0; device < setting.gpus(); ++device) {
      const Shape multiplied{plan.M_of(device).size, plan.N_of(device).size, plan.panel};
      most = std::max(
          most, static_cast<double>(predicted_load(plan, device).bytes_held) +
                    bytes_of_copies(setting.local, multiplied));
    }
    return most > memory;
  });
  return all;
}

// The bytes of a device that matrices may take, negative if they stay in the host's memory.
double memory_for_matrices(const Setting& setting) {
  if (setting.flags.resident == flags::Resident::host) return -1;
  if (setting.flags.resident == flags::Resident::gpu || !setting.on_gpu) {
    return std::numeric_limits<double>::infinity();
  }
  return 0.95 * smallest(setting.processes, static_cast<double>(gpu::free_bytes()));
}

// A, B and C stay on the devices. This function and the next fill the report's first row, its loads
// and its timelines.
void distribute(const Setting& setting, const std::vector<Schedule>& plans, Report& report) {
  const flags::Flags& flags = setting.flags;
  Speed speed = known_speed(setting, /*resident=*/true);
  for (const Schedule& plan : plans) {
    report.widths.push_back({plan, predicted(setting, plan, speed), {}});
  }
  report.chosen = fastest(report.widths);
  setting.processes.share(&report.chosen, sizeof report.chosen);
  Width& chosen = report.widths[report.chosen];
  const Schedule& plan = chosen.plan;
  for (int device = 0; device < setting.gpus(); ++device) {
    report.predicted.push_back(predicted_load(plan, device));
  }
  report.about.push_back(
      "schedule: C in a grid of " + in_words(setting.grid) +
      text::printed(
          ", %d panels of %d of K, and each GPU begins with its own; ", plan.steps(), plan.panel) +
      text::brief(4e-6 * floats_that_travel(setting.multiplied, setting.grid)) +
      " MB travel in all");
  if (!setting.is_computed) return note_model(setting, chosen.model, speed, report);

  const std::unique_ptr<Devices> devices = make_devices(setting, setting.gpus() > 1);
  const auto multiplying = [&](Summa& summa) {
    return [&] {
      summa.multiply(flags.alpha, flags.beta);
      devices->finish();
    };
  };
  {
    Summa summa(plan, *devices);
    summa.load(setting.matrices);
    const auto store = [&] { summa.store(setting.matrices); };
    speed = compute(setting, *devices, summa, multiplying(summa), store, speed, report);
  }
  if (setting.on_gpu) {
    chosen.ms = report.rows.front().time->median_ms;
    for (Width& width : report.widths) width.model = predicted(setting, width.plan, speed);
  }
  note_model(setting, chosen.model, speed, report);
  for (Width& width : report.widths) {
    if (!setting.on_gpu || width.ms) continue;
    devices->release();
    Summa summa(width.plan, *devices);
    summa.load(setting.matrices);
    width.ms = time_all(setting, multiplying(summa)).median_ms;
  }
}

// A, B and C pass through the devices, from the host.
void stream(const Setting& setting, Report& report) {
  const flags::Flags& flags = setting.flags;
  const Shape multiplied = setting.multiplied;
  const std::unique_ptr<Devices> devices = make_devices(setting, /*panels_travel=*/false);
  const Streams plan = streams(
      multiplied, setting.grid, flags.panel.value_or(usual_panel(multiplied.K)), flags.beta != 0,
      free_bytes(setting, *devices));
  for (int device = 0; device < setting.gpus(); ++device) {
    report.predicted.push_back(predicted_load(plan, device));
  }
  report.about.push_back(
      "schedule: from the host's memory, C in a grid of " + in_words(setting.grid) +
      text::printed(
          ", blocks of %d rows and %d columns, panels of %d", plan.rows, plan.columns, plan.panel));
  Speed speed = known_speed(setting, /*resident=*/false);
  if (!setting.is_computed) {
    return note_model(setting, predicted(setting, plan, speed), speed, report);
  }

  Streamed streamed(plan, *devices);
  std::int64_t steps = 0;
  for (const int device : devices->here()) {
    steps += static_cast<std::int64_t>(plan.steps[device].size());
  }
  const auto multiply = [&] {
    lab::Progress progress("from the host", steps);
    streamed.multiply(
        setting.matrices, flags.alpha, flags.beta, [&](int done) { progress.advance(done); });
  };
  speed = compute(
      setting, *devices, streamed, multiply, [] {}, speed, report);
  note_model(setting, predicted(setting, plan, speed), speed, report);
}

// The times of one GPU alone and of NVIDIA's own library for several.
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
  const double left = 0.95 * static_cast<double>(gpu::free_bytes()) - bytes_of(setting.shape);
  if (left < 0) {
    one.why_not = blas.why_not = "A, B and C do not fit into its memory";
  } else {
    lab::OnGpu on_gpu(setting.problem);
    const lab::Gemm cublas = std::bind_front(gpu::cublas_sgemm, false);
    const auto [M, N, K] = setting.shape;
    const model::Stage* const stage = setting.local.stage;
    // Launched as in the ladder.
    const lab::Gemm gemm =
        stage == nullptr
            ? cublas
            : lab::gemm_of(
                  setting.table, model::suited_variant(*stage, setting.gpu, M, N), setting.gpu.sms);
    if (bytes_of_copies(setting.local, setting.shape) <= left) {
      one.time = on_gpu.time(gemm, flags.reps.value_or(0));
      report.one_gpu_tflops = tflops(setting.shape, one.time->median_ms);
    } else {
      one.why_not = "its copies of A and B do not fit into the memory beside A, B and C";
    }
    blas.time = on_gpu.time(cublas, flags.reps.value_or(0));
  }
  report.rows.push_back(one);
  if (setting.local.gemm) report.rows.push_back(blas);
}

Shape shape_of(const flags::Flags& flags, bool on_gpu) {
  const lab::ProblemSize sides = lab::size_to_run(flags, on_gpu);
  return {sides.M, sides.N, sides.K};
}

Grid choose_grid(const flags::Flags& flags, Shape shape, int gpus) {
  return flags.grid.empty() ? choose_grid(shape, gpus) : read_grid(flags.grid, shape, gpus);
}

// Throws a Refusal for a request that cannot be met.
void check_request(
    const flags::Flags& flags, const Processes& processes, bool on_gpu, const model::Gpu& gpu,
    int gpus, Shape shape) {
  const auto refuse = [](const std::string& why) { throw model::Refusal(why); };
  const bool are_several = processes.size() > 1;
  if (are_several && gpus != processes.size()) {
    refuse(text::printed(
        "--gpus %d: mpirun started %d processes, and each has one GPU; give --gpus %d", gpus,
        processes.size(), processes.size()));
  }
  if (on_gpu && !are_several && gpus > count_gpus()) {
    refuse(text::printed(
        "--gpus %d: there are only %d here; --device cpu plays them on the CPU", gpus,
        count_gpus()));
  }
  if (flags.local == flags::Local::cublas && !on_gpu) {
    refuse("--local cublas: there is no GPU; leave it out");
  }
  if (bytes_of(shape) > 0x1p60) {
    refuse("--gpus: A, B and C would take more than 2^60 bytes; choose smaller sizes");
  }
  // Under mpirun, --gpus is not given, so the checks of the flags do not refuse these.
  const char* const other = flags.explain                          ? "--explain"
                            : flags.format != flags::Format::table ? "--format"
                            : !flags.json.empty()                  ? "--json"
                            : !flags.out.empty()                   ? "--out"
                                                                   : nullptr;
  if (are_several && other != nullptr) {
    refuse(
        std::string(other) + ": several processes only print the table; leave " + other + " out");
  }
  if (flags.a.empty()) choose_grid(flags, shape, gpus);
  if (!model::has_clock(gpu)) {
    refuse("--gpus: the " + gpu.name + " has no clock; choose another --gpu");
  }
}

// Returns whether the result and every count are right, and prints what is wrong.
bool is_right(const Report& report) {
  const Row& row = report.rows.front();
  const bool is_right = !row.error || row.error->bound_ok;
  const bool are_counted = report.counted.empty() || report.counted == report.predicted;
  // The process that computed it knows which element is wrong.
  if (!is_right && row.error->first) {
    std::fprintf(stderr, "gemm_steps: %s\n", report::wrong_sentence(row.name, *row.error).c_str());
  }
  if (!are_counted) {
    std::fprintf(stderr, "gemm_steps: %s: the counts are not the formulas'\n", row.name.c_str());
  }
  return is_right && are_counted;
}

// The lines above the ladder, if there is none.
void print_heading(
    const flags::Flags& flags, bool on_gpu, Shape shape, const std::string& command) {
  lab::Run run = lab::new_run(flags, on_gpu, command);
  run.M = shape.M;
  run.N = shape.N;
  run.K = shape.K;
  std::fputs(report::about(run).c_str(), stdout);
  std::puts("ladder   left out: at this size it would take too long, or need too much memory");
}

int run_all(const Setting& setting) {
  const std::vector<Schedule> plans = that_fit(setting, memory_for_matrices(setting));
  const bool resident = !plans.empty();
  Report report{.shape = setting.shape};
  report.about.push_back(
      text::printed("GPUs: %d %s", setting.gpus(), setting.gpu.name.c_str()) +
      (setting.on_gpu        ? ""
       : setting.is_computed ? ", played by the CPU"
                             : ", not played: this product is too large for the CPU") +
      "; each multiplies by " + setting.local.words);
  report.rows.push_back(
      {.name = resident ? "distributed" : "from the host",
       .gpus = setting.gpus(),
       .grid = in_words(setting.grid),
       .why_not = setting.on_gpu && resident && setting.gpus() > 1 ? why_no_nccl() : ""});
  {
    std::vector<std::unique_ptr<Pinned>> pinned;
    for (lab::Floats* matrix : {&setting.problem.A, &setting.problem.B, &setting.problem.C}) {
      if (!setting.on_gpu) continue;
      pinned.push_back(std::make_unique<Pinned>(matrix->data(), matrix->size() * sizeof(float)));
    }
    if (report.rows.front().why_not.empty()) {
      resident ? distribute(setting, plans, report) : stream(setting, report);
    }
    add_yardsticks(setting, report);
  }
  setting.processes.wait_for_all();
  if (setting.processes.is_first()) {
    for (const RecordedProduct& product : recorded_products()) {
      if (product.gpu == setting.gpu.name) report.recorded.push_back(product);
    }
    print(stdout, report);
  }
  return is_right(report) ? 0 : 1;
}

}  // namespace

bool is_wanted(const flags::Flags& flags) {
  if (flags.gpus || started_by_mpirun()) return true;
  if (flags.device == lab::Device::cpu || !gpu::find().found || !flags.a.empty()) return false;
  return bytes_of(shape_of(flags, true)) > static_cast<double>(gpu::free_bytes());
}

int run(
    const flags::Flags& flags, const model::StageTable& own, const model::StageTable& plain,
    const std::string& command, const std::function<int()>& ladder) {
  Processes& processes = Processes::all();
  require_equal(processes, command);
  const bool on_gpu = lab::choose_device(flags);
  const model::Gpu gpu = lab::choose_model(flags, on_gpu);
  const int gpus = flags.gpus.value_or(processes.size());
  const Shape asked = shape_of(flags, on_gpu);
  const Link& link = find_link(flags.link);
  check_request(flags, processes, on_gpu, gpu, gpus, asked);
  const auto multiplications = [](Shape of) { return double(of.M) * of.N * of.K; };

  // A ladder takes minutes at most, and fits on one GPU.
  const bool has_ladder = multiplications(asked) <= 0x1p39 &&  // 8192 x 8192 x 8192
                          (!on_gpu || bytes_of(asked) <= static_cast<double>(gpu::free_bytes()));
  const int exit_code = has_ladder && processes.is_first() ? ladder() : 0;

  // The CPU plays GPUs only for small products. For larger ones there are only the formulas and the
  // model.
  const bool is_computed = on_gpu || !flags.a.empty() || multiplications(asked) <= 0x1p27;
  lab::Problem problem{asked.M, asked.N, asked.K, flags.alpha, flags.beta, {}, {}, {}};
  if (is_computed) problem = lab::load_problem(flags, on_gpu, lab::Kept::matrices);
  const Shape shape{problem.M, problem.N, problem.K};
  const Grid grid = choose_grid(flags, shape, gpus);
  const model::StageTable& table = on_gpu ? own : plain;
  const Part m = part_of(shape.M, grid.rows, 0), n = part_of(shape.N, grid.columns, 0);
  if (!has_ladder && processes.is_first()) print_heading(flags, on_gpu, shape, command);
  const int own_code = run_all(
      {.flags = flags,
       .table = table,
       .processes = processes,
       .on_gpu = on_gpu,
       .is_computed = is_computed,
       .gpu = gpu,
       .grid = grid,
       .link = link,
       .problem = problem,
       .shape = shape,
       .multiplied = {shape.M, shape.N, flags.alpha == 0 ? 0 : shape.K},
       .matrices = {problem.A.data(), problem.B.data(), problem.C.data()},
       .local = choose_local(flags.local, table, gpu, on_gpu, {m.size, n.size, shape.K})});
  return std::max(exit_code, own_code);
}

void end_others(int exit_code) {
  if (Processes::can_be_several() && started_by_mpirun()) Processes::all().abort(exit_code);
}

}  // namespace cluster
