#include "lab/measure.h"

#include <algorithm>
#include <cstring>

#include "model/stage.h"
#include "trace/source_lines.h"
#include "trace/trace.h"

namespace lab {

namespace {

// Compares the first `rows` rows of C, which have been computed.
void check(
    const Problem& p, const Means& means, model::Precision precision, const Floats& result,
    int rows, Measurement& measurement) {
  if (means.reference != nullptr) {
    measurement.error = compare(p, *means.reference, result, rows, precision);
  }
  if (means.cublas != nullptr && !means.cublas->empty() && rows == p.M) {
    measurement.cublas_error = relative_difference(
        std::span(result).subspan(p.lead), std::span(*means.cublas).subspan(p.lead));
  }
}

// Runs the blocks that were not traced. Blocks that hand data to one another all run again.
void compute_the_rest(
    const Problem& p, const Kernel& kernel, machine::Machine machine, Floats& result,
    model::Counts& counts) {
  machine.blocks = kernel.sample ? machine::Blocks::kAll : machine::Blocks::kAllButSample;
  if (kernel.sample) result = p.C;
  const auto stray = machine::run(machine, p.product_by(kernel.plain, result));
  counts.hazards.insert(counts.hazards.end(), stray.begin(), stray.end());
  note_never_written(p, result, counts);
}

}  // namespace

machine::SampleOf sample_of(
    const Problem& p, const model::StageTable& table, const model::Variant& asked, int sms) {
  const model::Variant& variant = p.launched(table, asked).variant;
  const int K = p.alpha == 0 ? 0 : p.K;
  const model::ShareOut shares = model::share_out(variant, p.M, p.N, K, sms);
  const int tiles = model::tiles_of(variant, p.M, p.N);
  if (shares.parts == 1 && !model::is_in_turns(shares, tiles)) return {};
  return [=](machine::Extent) { return model::sample_of(shares, tiles); };
}

Measurement measure(const Problem& p, const Kernel& kernel, const Means& means, Floats& result) {
  Measurement measurement;
  result = p.C;
  bool all_computed = false;
  const bool uses_gpu = means.on_gpu != nullptr && kernel.gpu;
  if (kernel.traced) {
    const std::vector<machine::GlobalArray> arrays = p.arrays(result);
    machine::Machine machine = means.machine;
    machine.arrays = arrays;
    machine.sample = kernel.sample;
    model::Counts& counts = measurement.counts.emplace(
        trace::trace(machine, arrays, p.product_by(kernel.traced, result)));
    if (model::has_fatal(counts)) return measurement;
    // A sample contains all blocks if the grid is small, or if its blocks wait for each other.
    all_computed = counts.blocks_traced == counts.blocks;
    if (!all_computed && !uses_gpu && kernel.plain) {
      compute_the_rest(p, kernel, machine, result, counts);
      all_computed = true;
      // A fatal hazard in these blocks is fatal, too.
      if (model::has_fatal(counts)) return measurement;
    }
  }
  if (uses_gpu) {
    means.on_gpu->compute(kernel.gpu, result);
    measurement.time =
        means.on_gpu->time(kernel.gpu_again ? kernel.gpu_again : kernel.gpu, means.repetitions);
    all_computed = true;
  }
  if (all_computed) check(p, means, kernel.precision, result, p.M, measurement);
  return measurement;
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
  trace::resolve_lines(measurement.counts->lines, lines);
  trace::resolve_lines(measurement.counts->hazards, lines);
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
  if (counts.blocks_traced == counts.blocks) return;  // if so, the tracer has seen every write
  const auto untouched = [](float value) {
    return std::memcmp(&value, &kCanary, sizeof value) == 0;
  };
  const auto begin = result.begin() + static_cast<std::ptrdiff_t>(p.lead);
  const auto first = std::find_if(begin, result.end(), untouched);
  if (first == result.end()) return;
  model::Hazard hazard{model::HazardKind::never_written, "C", 0, 0, {}, {}};
  hazard.byte = 4 * static_cast<std::uint64_t>(first - begin);
  hazard.extent = std::count_if(first, result.end(), untouched);
  counts.hazards.push_back(hazard);
}

}  // namespace lab
