#include "cluster/cluster_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cluster/draw.h"
#include "cluster/gpus.h"
#include "cluster/processes.h"
#include "cluster/products.h"
#include "cluster/report.h"
#include "cluster/setting.h"
#include "cluster/timeline_file.h"
#include "gpu/gpu.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "model/refusal.h"
#include "report/words.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

namespace cluster {

namespace {

Shape shape_of(const flags::Flags& flags, bool on_gpu) {
  const lab::ProblemSize sides = lab::size_to_run(flags, on_gpu);
  return {sides.M, sides.N, sides.K};
}

int gpus_asked(const flags::Flags& flags, const Processes& processes) {
  const int gpus = flags.gpus.value_or(processes.size());
  if (processes.size() > 1 && gpus != processes.size()) {
    throw model::Refusal(text::printed(
        "--gpus %d: mpirun started %d processes, and each has one GPU; give --gpus %d", gpus,
        processes.size(), processes.size()));
  }
  return gpus;
}

// Under mpirun, --gpus is not given, so that the flags themselves do not refuse these.
void refuse_other_outputs(const flags::Flags& flags, const Processes& processes) {
  if (processes.size() == 1) return;
  const char* const other = flags.explain                           ? "--explain"
                            : flags.format != report::Format::table ? "--format"
                            : !flags.json.empty()                   ? "--json"
                            : !flags.out.empty()                    ? "--out"
                                                                    : nullptr;
  if (other == nullptr) return;
  throw model::Refusal(
      std::string(other) + ": several processes only print the table; leave " + other + " out");
}

Grid choose_grid(const flags::Flags& flags, Shape shape, int gpus) {
  return flags.grid.empty() ? choose_grid(shape, gpus) : read_grid(flags.grid, shape, gpus);
}

// The CPU plays GPUs only for small products. Of larger ones there are the formulas and the model.
bool is_computed(const flags::Flags& flags, bool on_gpu) {
  constexpr double kLargestPlayed = 0x1p27;  // multiplications
  const auto [M, N, K] = shape_of(flags, on_gpu);
  return on_gpu || !flags.a.empty() || double(M) * N * K <= kLargestPlayed;
}

lab::Problem problem_of(const flags::Flags& flags, bool on_gpu) {
  if (is_computed(flags, on_gpu)) return lab::load_problem(flags, on_gpu, lab::Kept::matrices);
  const auto [M, N, K] = shape_of(flags, on_gpu);
  return {M, N, K, flags.alpha, flags.beta, {}, {}, {}};
}

// Whether they stay in the GPUs' memory.
bool are_resident(const Setting& setting) {
  if (setting.flags.resident != flags::Resident::automatic || !setting.on_gpu) {
    return setting.flags.resident != flags::Resident::host;
  }
  const Schedule plan = schedule(setting.shape, setting.grid, usual_panel(setting.shape.K));
  std::int64_t most = 0;
  for (int device = 0; device < setting.gpus(); ++device) {
    most = std::max(most, predicted_load(plan, device).bytes_held);
  }
  const double free = smallest(setting.processes, static_cast<double>(gpu::free_bytes()));
  return static_cast<double>(most) < 0.95 * free;
}

void refuse_timeline(const flags::Flags& flags, const std::string& problem) {
  if (problem.empty()) return;
  throw model::Refusal("--timeline " + text::echoed(flags.timeline) + ": " + problem);
}

// The model's timeline and what was measured: as a picture, or as CSV where the file is named so.
void write_timeline(const Setting& setting, const Report& report) {
  const auto [M, N, K] = setting.shape;
  const RecordedTimelines timelines{
      text::printed(
          "%d × %d × %d on %d %s, %s", M, N, K, setting.gpus(), setting.gpu.name.c_str(),
          setting.local.words.c_str()),
      report.model, report.measured};
  const bool as_csv = setting.flags.timeline.ends_with(".csv");
  const std::string contents =
      as_csv
          ? timelines_csv(timelines)
          : pictures::svg_file(draw_timeline(timelines.model, timelines.measured, timelines.what));
  refuse_timeline(setting.flags, text::write_file(setting.flags.timeline, {contents}));
}

// What the machine lacks for broadcasts; empty if nothing.
std::string why_not_distributed(const Setting& setting, bool resident) {
  const bool broadcasts = setting.on_gpu && resident && setting.gpus() > 1;
  return broadcasts ? why_no_nccl() : "";
}

void warn_of_no_peers(const Setting& setting, bool resident) {
  if (!setting.on_gpu || !resident || setting.gpus() == 1 || setting.processes.size() > 1) return;
  if (are_peers(setting.gpus())) return;
  std::fprintf(
      stderr,
      "gemm_steps: these GPUs cannot reach each other's memory; NCCL sends through the host's, "
      "which is slower.\n");
}

// Returns whether the result and every count is right, and says what is not.
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

// Whether a ladder of such products takes minutes at most, and fits on one GPU.
bool is_ladder(Shape shape, bool on_gpu) {
  const bool fits = !on_gpu || bytes_of(shape) <= static_cast<double>(gpu::free_bytes());
  return fits && double(shape.M) * shape.N * shape.K <= 0x1p39;  // 8192 x 8192 x 8192
}

// What stands above the ladder, if there is one.
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
  const bool resident = are_resident(setting);
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
       .why_not = why_not_distributed(setting, resident)});
  warn_of_no_peers(setting, resident);
  {
    std::vector<std::unique_ptr<Pinned>> pinned;
    for (lab::Floats* matrix : {&setting.problem.A, &setting.problem.B, &setting.problem.C}) {
      if (!setting.on_gpu) continue;
      pinned.push_back(std::make_unique<Pinned>(matrix->data(), matrix->size() * sizeof(float)));
    }
    if (report.rows.front().why_not.empty()) {
      resident ? distribute(setting, report) : stream(setting, report);
    }
    add_yardsticks(setting, report);
  }
  setting.processes.wait_for_all();
  if (setting.processes.is_first()) {
    print(stdout, report);
    if (!setting.flags.timeline.empty()) write_timeline(setting, report);
  }
  return is_right(report) ? 0 : 1;
}

}  // namespace

bool is_wanted(const flags::Flags& flags) {
  if (flags.gpus || started_by_mpirun()) return true;
  if (flags.device == lab::Device::cpu || !gpu::find().found || !flags.a.empty()) return false;
  return bytes_of(shape_of(flags, true)) > static_cast<double>(gpu::free_bytes());
}

void prepare(const flags::Flags& flags, const std::string& command) {
  Processes& processes = Processes::all();
  require_equal(processes, command);
  const bool on_gpu = lab::choose_device(flags);
  const int gpus = gpus_asked(flags, processes);
  if (on_gpu && processes.size() == 1 && gpus > count_gpus()) {
    throw model::Refusal(text::printed(
        "--gpus %d: there are only %d here; --device cpu plays them on the CPU", gpus,
        count_gpus()));
  }
  if (flags.local == flags::Local::cublas && !on_gpu) {
    throw model::Refusal("--local cublas: there is no GPU; leave it out");
  }
  const Shape shape = shape_of(flags, on_gpu);
  if (bytes_of(shape) > 0x1p60) {
    throw model::Refusal(
        "--gpus: A, B and C would take more than 2^60 bytes; choose smaller sizes");
  }
  refuse_other_outputs(flags, processes);
  find_link(flags.link);
  if (flags.a.empty()) choose_grid(flags, shape, gpus);
  if (!flags.timeline.empty()) refuse_timeline(flags, text::problem_of_writing(flags.timeline));
  const model::Gpu gpu = lab::choose_model(flags, on_gpu);
  if (model::has_clock(gpu)) return;
  throw model::Refusal("--gpus: the " + gpu.name + " has no clock; choose another --gpu");
}

bool has_ladder(const flags::Flags& flags) {
  const bool on_gpu = lab::choose_device(flags);
  return is_ladder(shape_of(flags, on_gpu), on_gpu) && Processes::all().is_first();
}

int run(
    const flags::Flags& flags, const model::StageTable& own, const model::StageTable& plain,
    const std::string& command) {
  Processes& processes = Processes::all();
  const bool on_gpu = lab::choose_device(flags);
  const model::Gpu gpu = lab::choose_model(flags, on_gpu);
  lab::Problem problem = problem_of(flags, on_gpu);
  const Shape shape{problem.M, problem.N, problem.K};
  const Grid grid = choose_grid(flags, shape, gpus_asked(flags, processes));
  const model::StageTable& table = on_gpu ? own : plain;
  const Part m = part_of(shape.M, grid.rows, 0), n = part_of(shape.N, grid.columns, 0);
  if (!is_ladder(shape, on_gpu) && processes.is_first())
    print_heading(flags, on_gpu, shape, command);
  return run_all(
      {.flags = flags,
       .table = table,
       .processes = processes,
       .on_gpu = on_gpu,
       .is_computed = is_computed(flags, on_gpu),
       .gpu = gpu,
       .grid = grid,
       .link = find_link(flags.link),
       .problem = problem,
       .shape = shape,
       .multiplied = {shape.M, shape.N, flags.alpha == 0 ? 0 : shape.K},
       .matrices = {problem.A.data(), problem.B.data(), problem.C.data()},
       .local = choose_local(flags.local, table, gpu, on_gpu, {m.size, n.size, shape.K})});
}

void end_others(int exit_code) {
  if (Processes::can_be_several() && started_by_mpirun()) Processes::all().abort(exit_code);
}

}  // namespace cluster
