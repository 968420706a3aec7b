#include "lab/measure.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "lab/device.h"
#include "model/refusal.h"
#include "simulator/simulator.h"
#include "text/numbers.h"

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
    if (shares.slices == 1 && !model::is_in_turns(shares, tiles)) return {};
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
      annotate(later, problem.launched(variant).kernel.function);
      const model::LineCounts* same = same_request(later, *worst);
      if (same == nullptr || !costs_less(*same, *worst)) continue;
      return Remedy{stage.number, stage.name, *same};
    } catch (const model::Refusal&) {
      continue;
    }
  }
  return Remedy{};
}

namespace {

// K grows in steps of whole lines. A loop may be unrolled twice, and its lines then take turns.
int step_along_K(const model::Variant& variant) {
  constexpr int kLine = 32;  // floats in 128 bytes
  return std::max(kLine, 2 * variant.BK);
}

// The steps in which the copies that are in flight at a time lie.
int steps_in_flight(const model::Variant& variant) {
  const int step = step_along_K(variant);
  return (std::max(1, variant.pipeline * variant.BK) + step - 1) / step;
}

// Counts what a kernel does along K, in blocks with `turns` tiles of C each. Every tile along K
// adds the same to each count. So if K is long, `trace` runs for two short ones, and the counts are
// extrapolated (model::extrapolated). Every tile of C adds the same, too: of more than one turn,
// `trace` runs for one and two.
model::Counts counts_along(
    int K, int turns, const model::Variant& variant,
    const std::function<model::Counts(int, int)>& trace) {
  const int step = step_along_K(variant);
  const int near = steps_in_flight(variant) * step + K % step, far = near + step;
  const bool is_long = K > far;
  if (!is_long && turns <= 2) return trace(K, turns);
  const int shortest = is_long ? near : K;
  const model::Counts one = trace(shortest, 1);
  const model::Counts tile =
      is_long ? model::extrapolated(one, trace(far, 1), (K - near) / step) : one;
  if (turns == 1) return tile;
  const model::Counts no_tile = model::extrapolated(one, trace(shortest, 2), -1);
  return model::extrapolated(no_tile, tile, turns);
}

// By how many steps each slice of every tile can be shorter, in a shorter K that is cut alike.
int steps_to_spare(
    const model::Variant& v, const model::ShareOut& shares, ProblemSize of, int sms) {
  const int step = step_along_K(v), least = steps_in_flight(v) * step;
  const auto cuts_alike = [&](int steps) {
    const int K = of.K - steps * shares.slices * step, depth = shares.depth - steps * step / v.BK;
    if (K - (shares.slices - 1) * depth * v.BK < least) return false;  // its last slice
    const model::ShareOut fewer = model::share_out(v, of.M, of.N, K, sms);
    return fewer.whole == 0 && fewer.slices == shares.slices && fewer.depth == depth;
  };
  int steps = 0;
  while (cuts_alike(steps + 1)) ++steps;
  return steps;
}

}  // namespace

LongProduct::LongProduct(const Request& request, ProblemSize sides)
    : request_(request), sides_(sides) {
  require_memory(
      bytes_needed(sides), available_memory(), text::printed("C of %d x %d", sides.M, sides.N),
      "copies of C");
  result_ = Floats(std::size_t(sides.M) * sides.N);
  latest_ = &problems_[0];
  *latest_ = {sides.M, sides.N, 0, request.alpha, request.beta, {}, {}, Floats(result_.size())};
}

double LongProduct::bytes_needed(ProblemSize sides) {
  constexpr int kCopies = 3;  // of C: before the product, after it, and find_remedy()'s
  return kCopies * 4.0 * sides.M * sides.N;
}

const Problem& LongProduct::with_K(int K) {
  const Problem without{sides_.M, sides_.N, 0, request_.alpha, request_.beta, {}, {}, {}};
  Problem& p = problems_.try_emplace(K, without).first->second;
  if (p.K != K) change_K(p, K, request_.seed);
  std::swap(p.C, latest_->C);
  latest_ = &p;
  return p;
}

model::Counts LongProduct::count(
    const model::StageTable& traced, const model::Variant& v, machine::Machine machine) {
  const int sms = machine.gpu->sms, K = request_.alpha == 0 ? 0 : sides_.K;
  const model::ShareOut shares = model::share_out(v, sides_.M, sides_.N, K, sms);
  const int tiles = model::tiles_of(v, sides_.M, sides_.N);
  constexpr int kMany = 8;  // more than a sample has
  const bool alike =
      sides_.M % v.BM == 0 && sides_.N % v.BN == 0 && tiles > kMany && shares.whole > 0;
  if (alike) machine.blocks = machine::Blocks::kFirst;
  const bool in_turns = alike && model::is_in_turns(shares, tiles);
  // All lines of A and B are split before one block of parts is traced. A block of a C of two tiles
  // does the same, and few lines are split.
  std::optional<LongProduct> small;
  if (alike && model::multiplies_parts(v)) small.emplace(request_, ProblemSize{v.BM, 2 * v.BN, K});
  LongProduct& product = small ? *small : *this;
  const int its_tiles = small ? 2 : tiles;
  const auto trace_with = [&](int K_traced, int turns) {
    const int sms_traced = in_turns ? (its_tiles + turns - 1) / turns : sms;
    const Problem& p = product.with_K(K_traced);
    const std::vector<machine::GlobalArray> arrays = p.arrays(product.result_);
    machine.arrays = arrays;
    machine.sample = sample_of(p, v, sms_traced);
    return trace::trace(
        machine, arrays, p.product_by(gemm_of(traced, v, sms_traced), product.result_));
  };
  if (shares.whole == 0) {
    const int spare =
        shares.slices > 1 ? steps_to_spare(v, shares, {sides_.M, sides_.N, K}, sms) : 0;
    const int step = shares.slices * step_along_K(v), near = K - spare * step;
    if (spare < 2) return trace_with(K, 1);
    return model::extrapolated(trace_with(near, 1), trace_with(near + step, 1), spare);
  }
  const int turns = in_turns ? (tiles + shares.blocks - 1) / shares.blocks : 1;
  model::Counts counts = counts_along(K, turns, v, trace_with);
  counts.blocks = model::blocks_of(shares, tiles);
  return counts;
}

}  // namespace lab
