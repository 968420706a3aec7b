#include "lab/problem.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "cpu_reference.h"
#include "gpu/gpu.h"
#include "lab/memory.h"
#include "lab/npy.h"
#include "lab/progress.h"
#include "model/refusal.h"
#include "model/compiled_kernel.h"
#include "trace/source_lines.h"

namespace lab {

namespace {

constexpr int kSizeOnGpu = 4096;
constexpr int kSizeTraced = 256;

std::string shape(int rows, int columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

// On both sides, before anything is allocated.
void require_memory_for(const Request& request, bool on_gpu, int M, int N, int K) {
  const double a_and_b = double(M) * K + double(K) * N, c = double(M) * N;
  const std::string what = request.size ? "--size " + std::to_string(*request.size)
                                        : "a product of " + shape(M, K) + " by " + shape(K, N);
  require_memory(
      4 * (a_and_b + 3 * c) + 16 * c, available_memory(), what,
      "A, B, three C and the fp64 reference");
  if (on_gpu) {
    require_memory(4 * (a_and_b + c), gpu::free_bytes(), what, "A, B and C on the GPU");
  }
}

Floats as_floats(const Matrix& file) {
  return Floats(file.values.begin(), file.values.end());
}

}  // namespace

ProblemSize problem_size(const Request& request, int otherwise) {
  const int side = request.size.value_or(otherwise);
  return {request.m.value_or(side), request.n.value_or(side), request.k.value_or(side)};
}

Problem load_problem(const Request& request, bool on_gpu) {
  Problem p{};
  p.alpha = request.alpha;
  p.beta = request.beta;
  if (request.a.empty()) {
    const ProblemSize size = problem_size(request, on_gpu ? kSizeOnGpu : kSizeTraced);
    p.M = size.M;
    p.N = size.N;
    p.K = size.K;
    require_memory_for(request, on_gpu, p.M, p.N, p.K);
    p.A = random_floats(static_cast<std::size_t>(p.M) * p.K, 3 * request.seed);
    p.B = random_floats(static_cast<std::size_t>(p.K) * p.N, 3 * request.seed + 1);
  } else {
    const Matrix a = read_npy(request.a), b = read_npy(request.b);
    if (a.columns != b.rows) {
      throw model::Refusal(
          request.a + " is " + shape(a.rows, a.columns) + " and " + request.b + " is " +
          shape(b.rows, b.columns) + ": the columns of A must be the rows of B");
    }
    p.M = a.rows;
    p.N = b.columns;
    p.K = a.columns;
    require_memory_for(request, on_gpu, p.M, p.N, p.K);
    p.A = as_floats(a);
    p.B = as_floats(b);
  }
  if (!request.c.empty()) {
    const Matrix c = read_npy(request.c);
    if (c.rows != p.M || c.columns != p.N) {
      throw model::Refusal(
          request.c + " is " + shape(c.rows, c.columns) + ", but A times B is " + shape(p.M, p.N));
    }
    p.C = as_floats(c);
  }
  if (p.beta == 0) {
    p.C.assign(p.results(), kCanary);
  } else if (request.c.empty()) {
    p.C = random_floats(p.results(), 3 * request.seed + 2);
  }
  return p;
}

Reference compute_reference(const Problem& p) {
  Reference reference{std::vector<double>(p.results()), std::vector<double>(p.results())};
  Progress progress("reference", p.results());
  reference_gemm(
      p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, p.beta == 0 ? nullptr : p.C.data(),
      reference.exact.data(), reference.magnitude.data(),
      [&](std::int64_t done) { progress.advance(done); });
  return reference;
}

bool choose_device(const Request& request) {
  const gpu::Search& search = gpu::find();
  if (request.device == Device::cpu || search.found) return request.device != Device::cpu;
  if (request.device == Device::gpu) {
    throw model::Refusal(
        "--device gpu: there is no GPU to run on (" + search.why_not +
        "); leave it out to trace the kernels on the CPU");
  }
  return false;
}

model::Gpu choose_model(const Request& request, bool on_gpu) {
  if (!request.gpu.empty()) {
    if (const model::Gpu* known = model::find_gpu(request.gpu)) return *known;
    std::string names;
    for (const model::Gpu& known : model::known_gpus())
      names += (names.empty() ? "" : ", ") + known.name;
    throw model::Refusal("--gpu " + request.gpu + ": not in the table; choose one of " + names);
  }
  return on_gpu ? *gpu::find().found : *model::find_gpu("RTX 3090");
}

void annotate(Row& row, const void* kernel) {
  const trace::SourceRange lines = trace::kernel_lines(kernel);
  trace::resolve_lines(row.counts->lines, lines);
  trace::resolve_lines(row.counts->hazards, lines);
  row.source = trace::source_text(lines.file);
  row.source_first = lines.first;
  row.source_last = lines.last;
}

void note_never_written(const Problem& p, const Floats& result, Row& row) {
  model::Counts& counts = *row.counts;
  const bool reads_C =
      std::any_of(counts.lines.begin(), counts.lines.end(), [](const model::LineCounts& line) {
        return line.array == "C" && line.direction == model::Direction::load;
      });
  if (p.beta != 0 || reads_C || model::has_fatal(counts)) return;
  if (counts.blocks_traced == counts.blocks) return;  // then the tracer has seen it all
  const auto untouched = [](float value) {
    return std::memcmp(&value, &kCanary, sizeof value) == 0;
  };
  const auto first = std::find_if(result.begin(), result.end(), untouched);
  if (first == result.end()) return;
  model::Hazard hazard{model::HazardKind::never_written, "C", 0, 0, {}, {}};
  hazard.byte = 4 * static_cast<std::uint64_t>(first - result.begin());
  hazard.extent = std::count_if(first, result.end(), untouched);
  counts.hazards.push_back(hazard);
}

std::optional<model::Occupancy> occupancy_of(
    const Request& request, const Run& run, const model::Variant& variant,
    const model::KernelRef& kernel) {
  const bool is_the_gpu_present = run.gpu_present && request.gpu.empty();
  model::KernelResources needs{variant.threads(), 0, variant.shared_bytes};
  if (is_the_gpu_present) {
    const gpu::Resources compiled = gpu::resources(kernel.function);
    needs.registers_per_thread = compiled.registers_per_thread;
    needs.smem_bytes_per_block += compiled.static_smem_bytes;
  } else {
    const auto record = model::find_compiled_kernel(kernel.name, run.gpu.compute_capability);
    if (!record) return std::nullopt;
    needs.registers_per_thread = record->registers;
    needs.smem_bytes_per_block += record->static_smem_bytes;
  }
  return model::occupancy(run.gpu, needs);
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  char text[sizeof "2026-01-01T00:00:00Z"];
  std::strftime(text, sizeof text, "%FT%TZ", std::gmtime(&now));
  return text;
}

std::string joined(int argc, char** argv) {
  std::string text = argv[0];
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

Timing summary(std::vector<double> times_ms) {
  std::sort(times_ms.begin(), times_ms.end());
  const std::size_t n = times_ms.size();
  return {
      .median_ms = (times_ms[(n - 1) / 2] + times_ms[n / 2]) / 2,
      .min_ms = times_ms.front(),
      .max_ms = times_ms.back(),
      .repetitions = static_cast<int>(n)};
}

}  // namespace lab
