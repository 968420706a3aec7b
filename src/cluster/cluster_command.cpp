#include "cluster/cluster_command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
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
#include "simulator/simulator.h"
#include "text/numbers.h"

namespace cluster {

namespace {

// What every part of a run on several devices needs to know.
struct Setting {
  const flags::Flags& flags;
  const model::StageTable& table;
  Processes& processes;
  bool on_gpu;
  bool is_computed;  // else there are only the formulas and the model
  const model::Gpu& gpu;
  DeviceGrid grid;
  lab::Problem& problem;
  ProblemSize size;
  ProblemSize multiplied;  // the same, but K is 0 if alpha is: A and B are not read then
  // What multiplies on each device.
  const model::Stage& stage;
  const model::Variant& variant;
  const lab::Gemm& gemm;

  int gpus() const { return grid.devices(); }
  HostMatrices matrices() const { return {problem.A.data(), problem.B.data(), problem.C.data()}; }
};

// The bytes of A, B and C.
double bytes_of(ProblemSize size) {
  return sizeof(float) * ((double(size.M) + size.N) * size.K + double(size.M) * size.N);
}

// The bytes of the copies of A and B in parts, if the stage makes some (parts_in_memory in
// lab/gpu/operands.h).
double bytes_of_copies(const Setting& setting, ProblemSize size) {
  return model::multiplies_parts(setting.variant) ? bytes_of(size) - bytes_of({size.M, size.N, 0})
                                                  : 0;
}

// Times `multiply` from the common start of all processes until all are done, after one untimed
// run.
lab::Timing time_all(const Setting& setting, const std::function<void()>& multiply) {
  const auto once = [&] {
    setting.processes.wait_for_all();
    return setting.processes.largest(lab::milliseconds_of(multiply));
  };
  constexpr double kBudgetMs = 1000;
  const double estimate = once();
  const int repetitions =
      setting.flags.reps.value_or(static_cast<int>(std::clamp(kBudgetMs / estimate, 3.0, 30.0)));
  std::vector<double> times_ms(repetitions);
  for (double& ms : times_ms) ms = once();
  return lab::summary(times_ms);
}

// The schedules of matrices that stay on the devices, if they and what is copied of a panel fit
// into the memory of each.
std::vector<Schedule> resident_schedules(const Setting& setting) {
  const flags::Flags& flags = setting.flags;
  if (flags.resident == flags::Resident::host) return {};
  std::vector<Schedule> all =
      flags.panel ? std::vector{schedule(setting.multiplied, setting.grid, *flags.panel)}
                  : schedules(setting.multiplied, setting.grid);
  if (flags.resident == flags::Resident::gpu || !setting.on_gpu) return all;
  const double memory = 0.95 * setting.processes.smallest(static_cast<double>(gpu::free_bytes()));
  std::erase_if(all, [&](const Schedule& s) {  // the parts of all devices are nearly equal
    const ProblemSize multiplied{s.M_of(0).size, s.N_of(0).size, s.panel};
    return static_cast<double>(predicted_load(s, 0).bytes_held) +
               bytes_of_copies(setting, multiplied) >
           memory;
  });
  return all;
}

// Of matrices that pass through the devices. Copies of what one multiplies at a time take at most
// as much of its memory as what it holds.
Schedule schedule_from_host(const Setting& setting, Devices& devices) {
  const double kShare = bytes_of_copies(setting, {1, 1, 1}) > 0 ? 0.45 : 0.9;  // kernels: the rest
  double least = kUnlimited;
  for (const int device : devices.here()) least = std::min(least, devices.free_bytes(device));
  return from_host(
      setting.multiplied, setting.grid,
      setting.flags.panel.value_or(usual_panel(setting.multiplied.K)), setting.flags.beta != 0,
      kShare * setting.processes.smallest(least));
}

std::string in_words(const Schedule& s) {
  const std::string of_C = "C in a grid of " + in_words(s.grid);
  if (s.from_host) {
    return "schedule: from the host's memory, " + of_C +
           text::printed(
               ", blocks of %d rows and %d columns, panels of %d", s.rows, s.columns, s.panel);
  }
  return "schedule: " + of_C +
         text::printed(
             ", %d panels of %d of K, and each GPU begins with its own; ", s.turns(), s.panel) +
         text::brief(4e-6 * floats_that_travel(s.size, s.grid)) + " MB travel in all";
}

// Brings these rows of C, whose parts the processes have computed, to the first process.
void gather_rows(const Setting& setting, const std::vector<int>& rows) {
  Processes& processes = setting.processes;
  for (int device = 1; device < processes.size(); ++device) {
    const Interval m = setting.grid.M_of(setting.size, device);
    const Interval n = setting.grid.N_of(setting.size, device);
    for (const int row : rows) {
      if (row < m.begin || row >= m.end()) continue;
      float* const part = setting.problem.C.data() + std::int64_t{row} * setting.size.N + n.begin;
      if (processes.rank() == device) processes.send(part, n.size, 0);
      if (processes.is_first()) processes.receive(part, n.size, device);
    }
  }
}

// Computes C once, counts and checks it, and times it on GPUs. Returns the speed for the model:
// that of this process's first GPU with its first step alone, or without GPUs the one that is
// known.
KnownSpeed compute(
    const Setting& setting, Devices& devices, Product& product, const KnownSpeed& known,
    Report& report) {
  const flags::Flags& flags = setting.flags;
  const std::vector<int> rows = rows_to_check(setting.size, flags.seed);
  lab::Floats before;
  if (flags.beta != 0) before = rows_of(setting.problem.C, rows, setting.size.N);
  const auto multiply = [&] { product.multiply(flags.alpha, flags.beta); };
  product.load();
  devices.reset_counters();
  multiply();
  for (int device = 0; device < setting.gpus(); ++device) {
    Load& counted = report.counted.emplace_back();
    for (const auto member :
         {&Load::bytes_sent, &Load::bytes_received, &Load::messages_sent, &Load::messages_received,
          &Load::bytes_held}) {
      const auto here = static_cast<double>(devices.load(device).*member);
      counted.*member = static_cast<std::int64_t>(setting.processes.largest(here));
    }
  }
  product.store();
  gather_rows(setting, rows);
  if (setting.processes.is_first()) {
    report.ways.front().error =
        check_rows(setting.problem, rows, std::move(before), setting.stage.precision);
  }
  const bool are_all = static_cast<int>(rows.size()) == setting.size.M;
  report.about.push_back(
      "check: " + (are_all ? "all" : text::printed("%zu random", rows.size())) +
      " rows of C, against fp64");
  if (!setting.on_gpu) return known;
  report.ways.front().time = time_all(setting, multiply);
  report.widths[report.chosen].ms = report.ways.front().time->median_ms;
  report.measured = product.timeline();
  ProblemSize part{};
  const gpu::Times times = gpu::time_ms(0, [&] { part = product.multiply_one_step(); });
  const double speed = part.K > 0 ? tflops(part, lab::summary(times.ms).median_ms) : 0;
  return {speed, "one GPU alone with its first panels, TFLOP/s: " + text::significant(speed)};
}

// On the devices: fills the report's first way, its schedules, loads and timelines. Without
// schedules, A, B and C pass through them, from the host.
void distribute(const Setting& setting, std::vector<Schedule> schedules, Report& report) {
  const flags::Flags& flags = setting.flags;
  const Link& link = find_link(flags.link);
  const bool resident = !schedules.empty();
  const bool panels_travel = resident && setting.gpus() > 1;
  const std::unique_ptr<Devices> devices =
      setting.on_gpu ? gpus(setting.grid, setting.processes, setting.gemm, panels_travel)
                     : std::make_unique<Played>(setting.gpus(), setting.processes, setting.gemm);
  if (!resident) schedules = {schedule_from_host(setting, *devices)};
  // That of one GPU with its part of the product, before it is measured, or where it cannot be.
  const std::string& gpu = setting.gpu.name;
  KnownSpeed speed =
      recorded_speed(gpu, setting.stage.number, setting.size, setting.grid, resident);
  if (speed.tflops == 0) {
    speed = {
        model::peak_tflops(setting.gpu, setting.variant.multiplier),
        "its peak, since no speed of it is recorded"};
  }
  speed.source =
      "one " + gpu + " with " + text::significant(speed.tflops) + " TFLOP/s, " + speed.source;
  const auto predicted = [&](const Schedule& schedule) {
    const int of_a_process = setting.processes.size() > 1 ? 1 : setting.gpus();
    return predict(schedule, link, measured_rate(speed.tflops, of_a_process));
  };
  for (const Schedule& schedule : schedules) {
    report.widths.push_back({schedule, predicted(schedule), {}});
  }
  const auto ms = [](const Width& width) { return width.model.ms(); };
  report.chosen =
      static_cast<int>(std::ranges::min_element(report.widths, {}, ms) - report.widths.begin());
  setting.processes.share(&report.chosen, sizeof report.chosen);
  const Width& chosen = report.widths[report.chosen];
  for (int device = 0; device < setting.gpus(); ++device) {
    report.predicted.push_back(predicted_load(chosen.schedule, device));
  }
  report.about.push_back(in_words(chosen.schedule));

  if (setting.is_computed) {
    Product product(chosen.schedule, *devices, setting.matrices());
    speed = compute(setting, *devices, product, speed, report);
    for (Width& width : report.widths) width.model = predicted(width.schedule);
  }
  report.about.push_back(
      std::string("model: ") + link.name + ", " + link.source + "; " + speed.source);
  if (!chosen.model.is_told()) {
    report.about.push_back(
        "no prediction: the launches alone take " + text::significant(chosen.model.overhead_ms) +
        " ms, and how they overlap the rest is not in the model");
  }
  for (Width& width : report.widths) {
    if (!setting.on_gpu || width.ms) continue;
    devices->release();
    Product product(width.schedule, *devices, setting.matrices());
    product.load();
    width.ms = time_all(setting, [&] { product.multiply(flags.alpha, flags.beta); }).median_ms;
  }
}

// The times of one GPU alone and of NVIDIA's own library for several.
void add_yardsticks(const Setting& setting, Report& report) {
  if (!setting.processes.is_first()) return;
  const flags::Flags& flags = setting.flags;
  Way xt{.name = "cuBLASXt", .gpus = setting.gpus()};
  if (!setting.on_gpu) {
    xt.why_not = "it needs a GPU";
  } else if (setting.processes.size() > 1) {
    xt.why_not = "it uses the GPUs of one process";
  } else {
    const std::function<model::Kernel> several = cublas_xt(setting.gpus());
    xt.time = time_all(setting, setting.problem.product_by(several, setting.problem.C));
  }
  report.ways.push_back(xt);
  if (!setting.on_gpu) return;
  Way one{.name = text::printed("one GPU, stage %d", setting.stage.number)};
  const double left = 0.95 * static_cast<double>(gpu::free_bytes()) - bytes_of(setting.size);
  if (left < 0) {
    one.why_not = "A, B and C do not fit into its memory";
  } else if (left < bytes_of_copies(setting, setting.size)) {
    one.why_not = "its copies of A and B do not fit into the memory beside A, B and C";
  } else {
    // Launched as in the ladder.
    const model::Variant& whole =
        model::suited_variant(setting.stage, setting.gpu, setting.size.M, setting.size.N);
    const lab::Gemm gemm = lab::gemm_of(setting.table, whole, setting.gpu.sms);
    one.time = lab::OnGpu(setting.problem).time(gemm, flags.reps.value_or(0));
    report.one_gpu_tflops = tflops(setting.size, one.time->median_ms);
  }
  report.ways.push_back(one);
}

// The grid of these GPUs. Throws a Refusal for a request that cannot be met.
DeviceGrid checked_request(
    const flags::Flags& flags, const Processes& processes, bool on_gpu, const model::Gpu& gpu,
    int gpus, ProblemSize size) {
  const auto refuse_if = [](bool is_so, const std::string& why) {
    if (is_so) throw model::Refusal(why);
  };
  const int started = processes.size();
  refuse_if(
      started > 1 && gpus != started,
      text::printed(
          "--gpus %d: mpirun started %d processes, and each has one GPU; give --gpus %d", gpus,
          started, started));
  refuse_if(
      on_gpu && started == 1 && gpus > count_gpus(),
      text::printed(
          "--gpus %d: there are only %d here; --device cpu plays them on the CPU", gpus,
          count_gpus()));
  refuse_if(
      bytes_of(size) > 0x1p60,
      "--gpus: A, B and C would take more than 2^60 bytes; choose smaller sizes");
  // Under mpirun, --gpus is not given, so the checks of the flags do not refuse these.
  refuse_if(
      started > 1 && (flags.explain || flags.format != flags::Format::table ||
                      !flags.json.empty() || !flags.out.empty() || !flags.a.empty()),
      "several processes print only the table of random matrices; leave --explain, --format, "
      "--json, --out and --a out");
  refuse_if(
      !model::has_clock(gpu), "--gpus: the " + gpu.name + " has no clock; choose another --gpu");
  return choose_grid(size, gpus, flags.grid);
}

// Returns whether the result and every count are right, and prints what is wrong.
bool is_right(const Report& report) {
  const Way& first = report.ways.front();
  const bool are_counted = report.counted.empty() || report.counted == report.predicted;
  if (!are_counted) {
    std::fprintf(stderr, "gemm_steps: %s: the counts are not the formulas'\n", first.name.c_str());
  }
  if (!first.error || first.error->bound_ok) return are_counted;
  std::fprintf(
      stderr, "gemm_steps: %s\n", report::wrong_sentence(first.name, *first.error).c_str());
  return false;
}

}  // namespace

std::vector<int> rows_to_check(ProblemSize size, std::uint64_t seed) {
  constexpr double kAFewSeconds = 0x1p33, kFewestRows = 16;  // multiplications
  const double in_a_row = std::max(1.0, double(size.N) * size.K);
  const double count = std::max(kFewestRows, std::floor(kAFewSeconds / in_a_row));
  std::vector<int> rows(size.M), drawn;
  std::iota(rows.begin(), rows.end(), 0);
  std::mt19937_64 random(seed);
  std::sample(
      rows.begin(), rows.end(), std::back_inserter(drawn),
      static_cast<int>(std::min<double>(size.M, count)), random);
  return drawn;
}

lab::Floats rows_of(const lab::Floats& matrix, const std::vector<int>& rows, std::int64_t columns) {
  lab::Floats all;
  all.reserve(rows.size() * columns);
  for (const int row : rows) {
    all.insert(all.end(), matrix.begin() + row * columns, matrix.begin() + (row + 1) * columns);
  }
  return all;
}

model::Error check_rows(
    lab::Problem& p, const std::vector<int>& rows, lab::Floats before, model::Precision precision) {
  const auto count = static_cast<int>(rows.size());
  lab::Problem checked{
      count, p.N, p.K, p.alpha, p.beta, rows_of(p.A, rows, p.K), std::move(p.B), std::move(before)};
  model::Error error = lab::compare(
      checked, lab::compute_reference(checked), rows_of(p.C, rows, p.N), count, precision);
  p.B = std::move(checked.B);  // which is lent, since it may be large
  if (error.first) error.first->row = rows[error.first->row];
  return error;
}

bool is_wanted(const flags::Flags& flags) {
  if (flags.gpus || started_by_mpirun()) return true;
  if (flags.device == lab::Device::cpu || !gpu::find().found || !flags.a.empty()) return false;
  return bytes_of(lab::size_to_run(flags, true)) > static_cast<double>(gpu::free_bytes());
}

int run(
    const flags::Flags& flags, const model::StageTable& own, const model::StageTable& plain,
    const std::string& command, const std::function<int()>& ladder) {
  Processes& processes = Processes::all();
  const std::string typed = command.substr(std::min(command.find(' '), command.size()));
  const std::size_t own_flags = std::hash<std::string>()(typed);
  std::size_t first_flags = own_flags;
  processes.share(&first_flags, sizeof first_flags);
  const double other = processes.largest(own_flags == first_flags ? 0 : processes.rank());
  if (other > 0) {
    throw model::Refusal(text::printed(
        "process %.0f has other flags than process 0; give all of them the same", other));
  }
  const bool on_gpu = lab::choose_device(flags);
  const model::Gpu gpu = lab::choose_model(flags, on_gpu);
  const int gpus = flags.gpus.value_or(processes.size());
  const ProblemSize size = lab::size_to_run(flags, on_gpu);
  const DeviceGrid grid = checked_request(flags, processes, on_gpu, gpu, gpus, size);

  // A ladder takes minutes at most, and fits on one GPU.
  const double multiplications = double(size.M) * size.N * size.K;
  const bool has_ladder = multiplications <= 0x1p39 &&  // 8192 x 8192 x 8192
                          (!on_gpu || bytes_of(size) <= static_cast<double>(gpu::free_bytes()));
  const int exit_code = has_ladder && processes.is_first() ? ladder() : 0;

  // The CPU plays GPUs only for small products. For larger ones there are only the formulas and the
  // model.
  const bool is_computed = on_gpu || multiplications <= 0x1p27;
  lab::Problem problem{size.M, size.N, size.K, flags.alpha, flags.beta, {}, {}, {}};
  if (is_computed) problem = lab::load_problem(flags, on_gpu, lab::Kept::matrices);
  const model::StageTable& table = on_gpu ? own : plain;
  // The fastest stage that rounds no worse than fp32, with tiles that suit a device's part.
  const ProblemSize part{grid.M_of(size, 0).size, grid.N_of(size, 0).size, size.K};
  const model::Stage& stage = fastest_fp32_stage(table, gpu, part);
  const model::Variant& variant = model::suited_variant(stage, gpu, part.M, part.N);
  // With 0 SMs there is a block for each tile. Blocks then end all the time, and a transfer gets
  // an SM at once. And no tile is cut: its parts would hand their sums on in memory of one GPU.
  lab::Gemm gemm = lab::gemm_of(table, variant, 0);
  if (!on_gpu) {
    // The kernels of the copy for the CPU, as the GPU would run them.
    gemm = [&gpu, of_table = gemm](auto... arguments) {
      machine::run({.gpu = &gpu, .hazards = false}, [&] { of_table(arguments...); });
    };
  }
  const ProblemSize multiplied{size.M, size.N, flags.alpha == 0 ? 0 : size.K};
  const Setting setting{flags,   table, processes,  on_gpu, is_computed, gpu, grid,
                        problem, size,  multiplied, stage,  variant,     gemm};

  if (!has_ladder && processes.is_first()) {
    lab::Run without_rows = lab::new_run(flags, on_gpu, command);
    without_rows.M = size.M, without_rows.N = size.N, without_rows.K = size.K;
    std::fputs(report::about(without_rows).c_str(), stdout);
    std::puts("ladder   left out: at this size it would take too long, or need too much memory");
  }
  const std::vector<Schedule> schedules = resident_schedules(setting);
  const bool resident = !schedules.empty();
  Report report{.size = size, .gpu = gpu.name};
  report.about.push_back(
      text::printed("GPUs: %d %s", gpus, gpu.name.c_str()) +
      (on_gpu        ? ""
       : is_computed ? ", played by the CPU"
                     : ", not played: this product is too large for the CPU") +
      text::printed("; each multiplies by stage %d, ", stage.number) + stage.name);
  report.ways.push_back(
      {.name = resident ? "distributed" : "from the host",
       .gpus = gpus,
       .grid = in_words(grid),
       .why_not = on_gpu && resident && gpus > 1 ? why_no_nccl() : ""});
  std::vector<std::shared_ptr<void>> while_used;
  for (lab::Floats* matrix : {&problem.A, &problem.B, &problem.C}) {
    if (on_gpu) while_used.push_back(pinned(matrix->data(), matrix->size() * sizeof(float)));
  }
  if (report.ways.front().why_not.empty()) distribute(setting, schedules, report);
  add_yardsticks(setting, report);
  processes.wait_for_all();
  if (processes.is_first()) print(stdout, report);
  return std::max(exit_code, is_right(report) ? 0 : 1);
}

void end_others(int exit_code) {
  if (Processes::can_be_several() && started_by_mpirun()) Processes::all().abort(exit_code);
}

}  // namespace cluster
