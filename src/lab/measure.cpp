#include "lab/measure.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

#include "model/refusal.h"
#include "simulator/trace/source_lines.h"
#include "simulator/trace/trace.h"

namespace lab {

namespace {

// Compares the first `rows` rows of C, which have been computed.
void check(
    const Problem& p, const Means& means, model::Precision precision, const Floats& result,
    int rows, Measurement& measurement) {
  if (means.reference != nullptr) {
    measurement.unfit_data = means.reference->largest > precision.largest_in;
    if (measurement.unfit_data) return;
    measurement.error = compare(p, *means.reference, result, rows, precision);
  }
  if (means.cublas != nullptr && !means.cublas->empty() && rows == p.M) {
    measurement.cublas_error = relative_difference(
        std::span(result).subspan(p.lead), std::span(*means.cublas).subspan(p.lead));
  }
}

// Before main, so that every trace of the lesson's kernels has their text.
const bool lesson_is_embedded = (embed_lesson(), true);

}  // namespace

machine::SampleOf sample_of(const Problem& p, const model::Variant& variant, int sms) {
  const int K = p.alpha == 0 ? 0 : p.K;
  const auto sample = [&](const model::Variant& launched) -> machine::SampleOf {
    const model::ShareOut shares = model::share_out(launched, p.M, p.N, K, sms);
    const int tiles = model::tiles_of(launched, p.M, p.N);
    if (shares.parts == 1 && !model::is_in_turns(shares, tiles)) return {};
    return [=](machine::Extent) { return model::sample_of(shares, tiles); };
  };
  if (variant.stand_in == nullptr) return sample(variant);
  // The launch shows which of them runs: their tiles differ. The last cuts none.
  const machine::SampleOf own = sample(variant), other = sample(*variant.stand_in);
  if (!own && !other) return {};
  const std::int64_t blocks = model::blocks_of(
      model::share_out(variant, p.M, p.N, K, sms), model::tiles_of(variant, p.M, p.N));
  return [=](machine::Extent grid) {
    const machine::SampleOf& chosen = grid.volume() == blocks ? own : other;
    return chosen ? chosen(grid) : machine::sample_of(grid);
  };
}

machine::Machine machine_for(const Request& request, const model::Gpu& gpu) {
  const bool all = request.trace == Trace::all;
  return {&gpu, all ? machine::Blocks::kAll : machine::Blocks::kSample, request.hazards};
}

Measurement measure(const Problem& p, const Kernel& kernel, const Means& means, Floats& result) {
  Measurement measurement;
  result = p.C;
  const bool uses_gpu = means.on_gpu != nullptr && kernel.gpu;
  const std::vector<machine::GlobalArray> arrays = p.arrays(result);
  machine::Machine machine = means.machine;
  machine.arrays = arrays;
  bool all_computed = uses_gpu;
  if (kernel.traced) {
    machine.sample = kernel.sample;
    model::Counts& counts = measurement.counts.emplace(
        trace::trace(machine, arrays, p.product_by(kernel.traced, result)));
    if (model::has_fatal(counts)) return measurement;
    // A sample contains all blocks if the grid is small, or if its blocks wait for each other.
    const bool all_traced = counts.blocks_traced == counts.blocks;
    if (all_traced) note_never_written(p, result, counts);
    all_computed |= all_traced;
  }
  if (!all_computed && kernel.plain) {
    // Blocks that hand data to one another all run again.
    const bool rest = kernel.traced && !kernel.sample;
    machine.blocks = rest ? machine::Blocks::kAllButSample : machine::Blocks::kAll;
    if (!rest) result = p.C;
    const auto stray = machine::run(machine, p.product_by(kernel.plain, result));
    if (kernel.traced || !stray.empty()) {
      if (!measurement.counts) measurement.counts.emplace();
      std::ranges::copy(stray, std::back_inserter(measurement.counts->hazards));
      if (kernel.traced) note_never_written(p, result, *measurement.counts);
      if (model::has_fatal(*measurement.counts)) return measurement;
    }
    all_computed = true;
  }
  if (uses_gpu) {
    means.on_gpu->compute(kernel.gpu, result);
    measurement.time =
        means.on_gpu->time(kernel.gpu_again ? kernel.gpu_again : kernel.gpu, means.repetitions);
    if (kernel.gpu_prepare) {
      measurement.preparation = means.on_gpu->time(kernel.gpu_prepare, means.repetitions);
    }
  }
  if (kernel.stood_in != nullptr) measurement.stood_in = *kernel.stood_in;
  const model::Precision& precision = measurement.stood_in == 0
                                          ? kernel.precision
                                          : kernel.of_stand_ins.at(measurement.stood_in - 1);
  if (all_computed) check(p, means, precision, result, p.M, measurement);
  return measurement;
}

Measurement traced(
    const Problem& p, const model::StageTable& table, const model::Variant& variant,
    const machine::Machine& machine) {
  Floats result;
  return measure(p, {.traced = gemm_of(table, variant)}, {.machine = machine}, result);
}

Measurement measure_on_cpu(
    const Problem& p, const Gemm& gemm, double multiplications, const Means& means,
    Floats& result) {
  const double in_a_row = std::max(1.0, double(p.N) * p.K);
  const int rows = static_cast<int>(
      std::clamp(multiplications / in_a_row, std::min(1.0, double(p.M)), double(p.M)));
  const Gemm first_rows = [&](int, int N, int K, float alpha, const float* A, const float* B,
                              float beta, float* C) { gemm(rows, N, K, alpha, A, B, beta, C); };
  result = p.C;
  const double scale = rows == 0 ? 1 : double(p.M) / rows;
  std::vector<double> times_ms{scale * milliseconds_of(p.product_by(first_rows, result))};
  // Short runs are repeated, because the first one also pays for waking the threads and for cold
  // caches.
  constexpr double kLongMs = 200;
  if (times_ms.front() < kLongMs) {
    Floats scratch = p.C;
    times_ms.resize(5);
    for (double& ms : times_ms) ms = milliseconds_of(p.product_by(first_rows, scratch));
  }
  Measurement measurement;
  measurement.time = summary(times_ms);
  measurement.time->partial = rows < p.M;
  check(p, means, model::kFp32, result, rows, measurement);
  return measurement;
}

void annotate(Measurement& measurement, const void* kernel) {
  const trace::SourceRange lines = trace::kernel_lines(kernel);
  if (measurement.counts) {
    trace::resolve_lines(measurement.counts->lines, lines);
    trace::resolve_lines(measurement.counts->hazards, lines);
  }
  measurement.source = trace::source_text(lines.file);
  measurement.source_file = lines.file;
  measurement.source_first = lines.first;
  measurement.source_last = lines.last;
}

void note_never_written(const Problem& p, const Floats& result, model::Counts& counts) {
  const bool reads_C =
      std::any_of(counts.lines.begin(), counts.lines.end(), [](const model::LineCounts& line) {
        return line.array == "C" && line.direction == model::Direction::load;
      });
  if (p.beta != 0 || reads_C || model::has_fatal(counts)) return;
  constexpr auto kNever = model::HazardKind::never_written;
  if (std::ranges::count(counts.hazards, kNever, &model::Hazard::kind) > 0) return;
  const auto untouched = [](float value) {
    return std::memcmp(&value, &kCanary, sizeof value) == 0;
  };
  const auto begin = result.begin() + static_cast<std::ptrdiff_t>(p.lead);
  const auto first = std::find_if(begin, result.end(), untouched);
  if (first == result.end()) return;
  model::Hazard hazard{kNever, "C", 0, 0, {}, {}};
  hazard.byte = 4 * static_cast<std::uint64_t>(first - begin);
  hazard.extent = std::count_if(first, result.end(), untouched);
  counts.hazards.push_back(hazard);
}

OnGpu::OnGpu(const Problem& problem)
    : p_(problem), A_(problem.A.size()), B_(problem.B.size()), C_(problem.C.size()) {
  A_.upload(p_.A.data());
  B_.upload(p_.B.data());
}

void OnGpu::launch(const Gemm& gemm) {
  gemm(
      p_.M, p_.N, p_.K, p_.alpha, A_.data() + p_.lead, B_.data() + p_.lead, p_.beta,
      C_.data() + p_.lead);
}

void OnGpu::compute(const Gemm& gemm, Floats& result) {
  C_.upload(p_.C.data());
  launch(gemm);
  gpu::synchronize();
  result = p_.C;
  C_.download(result.data());
}

Timing OnGpu::time(const Gemm& gemm, int repetitions) {
  const gpu::Times times = gpu::time_ms(repetitions, [&] { launch(gemm); });
  Timing timing = summary(times.ms);
  timing.busy_before_ms = times.busy_before_ms;
  timing.device = times.state;
  return timing;
}

namespace {

// The later request must waste less and take fewer sectors or wavefronts. If it costs as much and
// only moves more at a time, a picture of it would not show an improvement.
bool costs_less(const model::LineCounts& later, const model::LineCounts& line) {
  const auto each = [](const model::LineCounts& of) {
    return static_cast<double>(of.pieces) / static_cast<double>(of.requests);
  };
  return waste(later) < waste(line) && each(later) < each(line);
}

}  // namespace

std::optional<Remedy> find_remedy(
    const Problem& problem, LongProduct* counted, const model::Gpu& gpu,
    const model::StageTable& table, const Row& row) {
  const model::LineCounts* worst = worst_line(row);
  if (worst == nullptr) return std::nullopt;
  // The stages' own runs look for hazards.
  const machine::Machine machine{&gpu, machine::Blocks::kSample, /*hazards=*/false};
  for (const model::Stage& stage : table.stages) {
    if (stage.number <= row.number || stage.variants.empty()) continue;
    try {
      const model::Variant& variant =
          model::comparable_variant(*row.variant, stage, gpu, problem.M, problem.N, problem.K);
      Row later;
      later.counts = counted ? counted->count(table, variant, machine)
                             : traced(problem, table, variant, machine).counts;
      annotate(
          later, reinterpret_cast<const void*>(problem.launched(table, variant).kernel.function));
      const model::LineCounts* same = same_request(later, *worst);
      if (same == nullptr || !costs_less(*same, *worst)) continue;
      return Remedy{stage.number, stage.name, *same};
    } catch (const model::Refusal&) {
      continue;
    }
  }
  return Remedy{};
}

}  // namespace lab
