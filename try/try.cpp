// make try KERNEL=file.cu: somebody's own sgemm, traced, checked and, where there is a GPU, timed.
//
// The file is compiled up to three times, as gemm_steps.cu is; the Makefile gives each copy's sgemm
// its name. All of it runs in a child process (try/guarded.h).
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/problem.h"
#include "model/error.h"
#include "model/refusal.h"
#include "report/report.h"
#include "simt/gpu.h"
#include "simt/symbols.h"
#include "simt/trace.h"
#include "simt/warp_log.h"
#include "try/device_calls.h"
#include "try/guarded.h"

using Sgemm = void(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                   float* C);
Sgemm sgemm_traced, sgemm_plain;
[[gnu::weak]] Sgemm sgemm_gpu;  // null where nvcc did not compile it

namespace {

constexpr const char* kUsage =
    "make try KERNEL=file.cu TRY_FLAGS=\"...\": traces and checks the file's\n"
    "  void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta,\n"
    "             float* C)\n"
    "which launches its kernels by launch(kernel, grid, block, shared_bytes, arguments...).\n\n"
    "  --limit S            seconds that sgemm may take; default: 10\n"
    "  --name-threads       printf in a kernel says first which block and thread it is\n"
    "  -I.. -D..            for the compiler\n"
    "and of gemm_steps (its --help explains them) --size --m --n --k --alpha --beta --seed --a "
    "--b\n"
    "--c --device --gpu --trace --reps --explain --format --no-color\n";

struct Options {
  Flags flags;
  double limit_s = 10;
  bool name_threads = false;
};

Options parse_options(int argc, char** argv) {
  Options options;
  std::vector<char*> others{argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--name-threads") {
      options.name_threads = true;
    } else if (argument == "--limit") {
      const char* text = i + 1 < argc ? argv[++i] : "";
      const char* end = text + std::strlen(text);
      const auto parsed = std::from_chars(text, end, options.limit_s);
      const bool fits = options.limit_s > 0 && options.limit_s <= 86400;
      if (parsed.ec != std::errc() || parsed.ptr != end || !fits) {
        throw Refusal(std::string("--limit ") + text +
                      ": no time; give seconds, up to 86400, for example --limit 30");
      }
    } else {
      others.push_back(argv[i]);
    }
  }
  others.push_back(nullptr);
  options.flags = parse_flags(static_cast<int>(others.size()) - 1, others.data());
  const Flags& flags = options.flags;
  if (!flags.stage.empty() || flags.list || !flags.ncu.empty() || flags.ncu_metrics) {
    throw Refusal("--stage, --list and --ncu are about the stages; here your own file runs");
  }
  return options;
}

// What a report needs of a launch's kernel, and what its launches did, all together.
struct Kernels {
  struct Entry {
    const void* function;
    std::string name;
    Variant variant;
    LaunchShape shape;
    Counts counts;
  };
  std::deque<Entry> entries;  // in the order of their first launches; stays where it is

  void add_launch(const simt::Launch& launch, const Counts& counts, int M, int N);
  // Of a launch of the other copy of a kernel, which has the same name.
  void add_hazards(const simt::Launch& launch, const Counts& counts);
};

void Kernels::add_hazards(const simt::Launch& launch, const Counts& counts) {
  const std::string name = simt::function_name(launch.kernel);
  for (Entry& entry : entries) {
    if (entry.name != name) continue;
    for (const Hazard& hazard : counts.hazards) simt::add(entry.counts.hazards, hazard);
  }
}

void Kernels::add_launch(const simt::Launch& launch, const Counts& counts, int M, int N) {
  for (Entry& entry : entries) {
    if (entry.function != launch.kernel) continue;
    simt::add(entry.counts, counts);
    entry.counts.blocks += counts.blocks;
    ++entry.shape.launches;
    return;
  }
  Entry& entry = entries.emplace_back();
  entry.function = launch.kernel;
  entry.name = simt::function_name(launch.kernel);
  entry.counts = counts;
  entry.shape = {{launch.grid.x, launch.grid.y, launch.grid.z},
                 {launch.block.x, launch.block.y, launch.block.z},
                 launch.static_shared_bytes,
                 launch.dynamic_shared_bytes,
                 1};
  // The part of C that falls to a block, if its blocks share C evenly.
  const auto share = [](int of, unsigned blocks) {
    return static_cast<int>((of + std::int64_t{blocks} - 1) / blocks);
  };
  entry.variant.name = "";
  entry.variant.BM = share(M, launch.grid.y);
  entry.variant.BN = share(N, launch.grid.x);
  entry.variant.block_x = static_cast<int>(launch.block.x);
  entry.variant.block_y = static_cast<int>(launch.block.y * launch.block.z);
  entry.variant.shared_bytes = launch.dynamic_shared_bytes;
  entry.variant.kernel.name = entry.name.c_str();
}

Row row_of(const Gpu& model, const Kernels::Entry& entry, int number) {
  Row row;
  row.number = number;
  row.name = entry.name;
  row.variant = &entry.variant;
  row.launch = entry.shape;
  row.counts = entry.counts;
  row.occupancy =
      occupancy(model, {entry.variant.threads(), 0,
                        entry.shape.static_shared_bytes + entry.shape.dynamic_shared_bytes});
  return row;
}

void print(std::FILE* out, const Flags& flags, const Run& run, Style style) {
  if (flags.format == Format::json) return print_json(out, run);
  if (flags.format == Format::csv) return print_csv(out, run);
  if (!flags.explain) return print_table(out, run, style);
  for (const Row& row : run.rows) explain(out, run, row, style);
}

// The time is that of all launches together.
void run_on_gpu(const Flags& flags, const Problem& p, Floats& result, Row& row) {
  gpu::Matrix A(p.A.size()), B(p.B.size()), C(p.results());
  A.upload(p.A.data());
  B.upload(p.B.data());
  C.upload(p.C.data());
  const auto compute = [&] {
    sgemm_gpu(p.M, p.N, p.K, p.alpha, A.data(), B.data(), p.beta, C.data());
  };
  watched([&] {
    compute();
    gpu::synchronize();
  });
  C.download(result.data());
  std::vector<double> times_ms;
  watched([&] { times_ms = gpu::time_ms(flags.reps.value_or(0), compute); });
  row.time = summary(times_ms);
}

Outcome try_sgemm(const Flags& flags, const std::string& command, Style style, std::FILE* report) {
  Run run;
  run.gpu_present = sgemm_gpu != nullptr && choose_device(flags);
  run.gpu = choose_model(flags, run.gpu_present);
  const Problem p = load_problem(flags, run.gpu_present);
  run.M = p.M;
  run.N = p.N;
  run.K = p.K;
  run.alpha = p.alpha;
  run.beta = p.beta;
  run.seed = flags.seed;
  run.command = command;
  run.date = now_utc();
  if (run.gpu_present) run.driver = gpu::driver_and_runtime();
  const Reference reference = compute_reference(p);

  Floats result = p.C;
  Kernels kernels;
  const auto bytes = [](const Floats& matrix) { return matrix.size() * sizeof(float); };
  const simt::GlobalArray arrays[] = {
      {"A", p.A.data(), bytes(p.A)},
      {"B", p.B.data(), bytes(p.B)},
      {"C", result.data(), bytes(result), true, p.must_be_written()}};
  simt::Machine machine{&run.gpu};
  machine.hazards = flags.hazards;
  machine.blocks = flags.trace == Trace::all ? simt::Blocks::kAll : simt::Blocks::kSample;
  machine.launched = [&](const simt::Launch& launch, const Counts& counts) {
    kernels.add_launch(launch, counts, p.M, p.N);
  };
  const auto sgemm_with = [&](Sgemm* sgemm, Floats& C) {
    return [&p, sgemm, &C] {
      sgemm(p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, C.data());
    };
  };
  machine.arrays = arrays;
  std::vector<Hazard> found;
  watched([&] { found = simt::trace(machine, arrays, sgemm_with(sgemm_traced, result)).hazards; });
  if (kernels.entries.empty() && p.results() > 0) {
    throw Refusal(
        "sgemm launches no kernel; it has to call launch(kernel, grid, block, "
        "shared_bytes, arguments...)");
  }
  const auto abandoned = [&] {
    return std::any_of(kernels.entries.begin(), kernels.entries.end(),
                       [](const Kernels::Entry& entry) { return has_fatal(entry.counts); });
  };
  if (!found.empty() && found.back().kind == HazardKind::never_written) {
    kernels.entries.back().counts.hazards.push_back(found.back());
  }
  if (machine.blocks == simt::Blocks::kSample && !run.gpu_present && !abandoned()) {
    // Several kernels may each need all that the one before it did.
    const bool all_again = kernels.entries.size() > 1 || kernels.entries[0].shape.launches > 1;
    machine.blocks = all_again ? simt::Blocks::kAll : simt::Blocks::kAllButSample;
    machine.launched = [&](const simt::Launch& launch, const Counts& counts) {
      kernels.add_hazards(launch, counts);
    };
    if (all_again) result = p.C;
    watched([&] { simt::run(machine, sgemm_with(sgemm_plain, result)); });
  }

  Row all;
  all.name = "sgemm";
  if (!abandoned()) {
    if (run.gpu_present) run_on_gpu(flags, p, result, all);
    all.error =
        compare(p.M, p.N, p.K, result.data(), reference.exact.data(), reference.magnitude.data(),
                p.beta, p.beta == 0 ? nullptr : p.C.data(), kFp32, p.alpha);
  }
  for (const Kernels::Entry& entry : kernels.entries) {
    run.rows.push_back(row_of(run.gpu, entry, static_cast<int>(run.rows.size()) + 1));
  }
  // Of several kernels, one may load what another stored.
  if (run.rows.size() == 1) note_never_written(p, result, run.rows[0]);
  for (std::size_t i = 0; i < run.rows.size(); ++i)
    annotate(run.rows[i], kernels.entries[i].function);
  if (run.rows.size() == 1) {
    run.rows[0].error = all.error;
    run.rows[0].time = all.time;
  } else {
    run.rows.push_back(all);
  }
  print(report, flags, run, style);
  const bool hazardous = report_hazards("try", run);
  if (!all.error || all.error->bound_ok) return {hazardous ? 1 : 0, ""};
  const Mismatch& first = all.error->first.value();
  char what[128];
  std::snprintf(what, sizeof what,
                "sgemm is wrong: row %lld, column %lld is %.9g, but should be %.9g",
                static_cast<long long>(first.row), static_cast<long long>(first.column),
                first.value, first.expected);
  return {1, what};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    if (options.flags.help) return std::fputs(kUsage, stdout), 0;
    name_threads = options.name_threads;
    const Style style{wants_colour(options.flags, stdout)};
    return run_guarded({options.limit_s, "try"}, [&](std::FILE* report) {
      return try_sgemm(options.flags, joined(argc, argv), style, report);
    });
  } catch (const Refusal& refusal) {
    std::fprintf(stderr, "try: %s\n", refusal.what());
  }
  return 2;
}
