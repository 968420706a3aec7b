#include "lab/measure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "cpu_reference.h"
#include "lab/device.h"
#include "lab/lesson_source.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "simulator/trace/source_lines.h"
#include "simulator/trace/trace.h"
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
  machine::SampleOf own = sample(variant);
  if (variant.stand_in == nullptr) return own;
  // The launch shows which of them runs: their tiles differ. The last cuts none.
  const machine::SampleOf other = sample(*variant.stand_in);
  if (!own && !other) return {};
  const std::int64_t blocks = model::blocks_of(variant, p.M, p.N, K, sms);
  return [=](machine::Extent grid) {
    const machine::SampleOf& chosen = grid.volume() == blocks ? own : other;
    return chosen ? chosen(grid) : machine::sample_of(grid);
  };
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
    if (all_computed) note_never_written(p, result, counts);
    if (!all_computed && !uses_gpu && kernel.plain) {
      compute_the_rest(p, kernel, machine, result, counts);
      all_computed = true;
      // A fatal hazard in these blocks is fatal, too.
      if (model::has_fatal(counts)) return measurement;
    }
  } else if (!uses_gpu && kernel.plain) {
    machine::Machine machine = means.machine;
    const std::vector<machine::GlobalArray> arrays = p.arrays(result);
    machine.arrays = arrays;
    machine.blocks = machine::Blocks::kAll;
    const auto stray = machine::run(machine, p.product_by(kernel.plain, result));
    if (!stray.empty()) {
      measurement.counts.emplace().hazards = stray;
      return measurement;
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
    all_computed = true;
  }
  if (kernel.stood_in != nullptr) measurement.stood_in = *kernel.stood_in;
  const model::Precision& precision = measurement.stood_in == 0
                                          ? kernel.precision
                                          : kernel.of_stand_ins.at(measurement.stood_in - 1);
  if (all_computed) check(p, means, precision, result, p.M, measurement);
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

model::Counts counts_along(
    int K, int turns, const model::Variant& variant,
    const std::function<model::Counts(int, int)>& trace) {
  constexpr int kLine = 32;  // floats in 128 bytes
  // A loop may be unrolled twice, and its lines then take turns.
  const int step = std::max(kLine, 2 * variant.BK);
  const int in_flight = (std::max(1, variant.pipeline * variant.BK) + step - 1) / step;  // steps
  const int near = in_flight * step + K % step, far = near + step;
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

LongProduct::LongProduct(const Request& request, ProblemSize sides)
    : request_(request), sides_(sides) {
  require_memory(
      bytes_needed(sides), available_memory(), text::printed("C of %d x %d", sides.M, sides.N),
      "copies of C");
  latest_ = &problems_[0];
  *latest_ = random_problem({sides.M, sides.N, 0}, request.alpha, request.beta, request.seed);
  result_ = latest_->C;
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
  // If every tile is cut along K, a short K would be cut into other parts.
  if (shares.whole == 0) return trace_with(K, 1);
  const int turns = in_turns ? (tiles + shares.blocks - 1) / shares.blocks : 1;
  model::Counts counts = counts_along(K, turns, v, trace_with);
  counts.blocks = model::blocks_of(shares, tiles);
  return counts;
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
  const bool is_known = std::any_of(
      counts.hazards.begin(), counts.hazards.end(),
      [](const model::Hazard& hazard) { return hazard.kind == model::HazardKind::never_written; });
  if (is_known) return;
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

std::uint64_t fingerprint(const Problem& p) {
  std::uint64_t hash = text::kNoFingerprint;
  for (const Floats* matrix : {&p.A, &p.B}) {
    for (const float element : *matrix) {
      hash = text::fingerprint(hash, std::bit_cast<std::uint32_t>(element));
    }
  }
  return hash;
}

// What a multiplier can make of the elements: each may be off by `step` / u_in, besides u_in of
// itself. Infinities and NaN are left out, so that the magnitudes are those of the finite products.
Floats in_steps(const Floats& matrix, double step_by_u) {
  Floats result = matrix;
  for (float& x : result) {
    const bool counts = std::isfinite(x) && x != 0;
    x = counts ? std::abs(x) + static_cast<float>(step_by_u) : 0;
  }
  return result;
}

void sum_magnitudes(const Problem& p, int terms, const Reference& reference, Progress& progress) {
  reference.terms = terms;
  reference.magnitude.resize(p.results());
  reference_magnitude(
      p.M, p.N, p.K, terms, p.alpha, p.A.data() + p.lead, p.B.data() + p.lead,
      reference.magnitude.data(), [&](std::int64_t done) { progress.advance(done); });
}

}  // namespace

Reference compute_reference(const Problem& p) {
  // With random matrices, the bound for 512 products is several times as large as what rounding
  // usually does to K of them, whatever their precision. A sixteenth of K keeps it so for large K.
  const int terms = std::min(p.K, std::max(512, p.K / 16));
  Reference reference{std::vector<double>(p.results()), {}};
  for (const Floats* matrix : {&p.A, &p.B}) {
    for (const float x : *matrix) {
      const double size = std::isnan(x) ? INFINITY : std::abs(double{x});
      reference.largest = std::max(reference.largest, size);
    }
  }
  Progress progress("reference", static_cast<std::int64_t>(p.results()) * (p.K + terms));
  reference_gemm(
      p.M, p.N, p.K, p.alpha, p.A.data() + p.lead, p.B.data() + p.lead, p.beta,
      p.beta == 0 ? nullptr : p.C.data() + p.lead, reference.exact.data(),
      [&](std::int64_t done) { progress.advance(done); });
  sum_magnitudes(p, terms, reference, progress);
  if (terms < p.K) reference.factors = fingerprint(p);
  return reference;
}

model::Error compare(
    const Problem& p, const Reference& reference, const Floats& result, int rows,
    model::Precision precision) {
  const auto compared = [&](const std::vector<double>& magnitude) {
    return model::compare(
        rows, p.N, p.K, result.data() + p.lead, reference.exact.data(), magnitude.data(), p.beta,
        p.beta == 0 ? nullptr : p.C.data() + p.lead, precision, p.alpha);
  };
  model::Error error = compared(reference.magnitude);
  if (error.bound_ok) return error;
  const bool factors_are_known = reference.terms == p.K || fingerprint(p) == reference.factors;
  if (reference.terms < p.K && factors_are_known) {
    Progress progress("error bounds", static_cast<std::int64_t>(p.results()) * p.K);
    sum_magnitudes(p, p.K, reference, progress);
    error = compared(reference.magnitude);
  }
  const bool may_be_special = precision.step_in > 0 || !std::isfinite(error.first->expected);
  if (error.bound_ok || !may_be_special || !factors_are_known) return error;
  const double step_by_u = precision.step_in > 0 ? precision.step_in / precision.u_in : 0;
  const Floats A = in_steps(p.A, step_by_u), B = in_steps(p.B, step_by_u);
  std::vector<double> magnitude(p.results());
  reference_magnitude(
      p.M, p.N, p.K, p.K, p.alpha, A.data() + p.lead, B.data() + p.lead, magnitude.data());
  error = compared(magnitude);
  error.forgiven = error.bound_ok && precision.step_in > 0;
  return error;
}

model::Error compare_written(const Problem& p, const Floats& result, model::Precision precision) {
  const float *A = p.A.data() + p.lead, *B = p.B.data() + p.lead, *before = p.C.data() + p.lead;
  const float* after = result.data() + p.lead;
  std::vector<std::size_t> written;
  const auto differs = [](float a, float b) {
    return !(a == b || (std::isnan(a) && std::isnan(b)));
  };
  for (std::size_t i = 0; i < p.results(); ++i) {
    if (differs(after[i], before[i])) written.push_back(i);
  }
  const auto count = static_cast<std::int64_t>(written.size());
  std::vector<double> exact(written.size()), magnitude(written.size());
  std::vector<float> computed(written.size()), old(written.size());
#pragma omp parallel for
  for (std::int64_t at = 0; at < count; ++at) {
    const std::size_t row = written[at] / p.N, column = written[at] % p.N;
    double sum = 0, size = 0;
    for (std::size_t k = 0; k < std::size_t(p.K); ++k) {
      const double product = double{A[row * p.K + k]} * B[k * p.N + column];
      sum += product;
      size += std::abs(product);
    }
    computed[at] = after[written[at]];
    old[at] = before[written[at]];
    magnitude[at] = std::abs(double{p.alpha}) * size;
    exact[at] = p.alpha * sum + (p.beta == 0 ? 0 : double{p.beta} * old[at]);
  }
  return model::compare(
      1, static_cast<int>(std::min<std::int64_t>(count, 1 << 30)), p.K, computed.data(),
      exact.data(), magnitude.data(), p.beta, p.beta == 0 ? nullptr : old.data(), precision,
      p.alpha);
}

namespace {

// Traces a sample of the blocks without looking for hazards; the stage's own run does that.
Row traced_row(
    const Problem& p, const model::Gpu& gpu, const model::StageTable& table,
    const model::Stage& stage, const model::Variant& variant) {
  const Means means{{&gpu, machine::Blocks::kSample, /*hazards=*/false}};
  Floats result;
  Row row{measure(p, {.traced = gemm_of(table, variant)}, means, result)};
  row.stage = &stage;
  annotate(row, reinterpret_cast<const void*>(p.launched(table, variant).kernel.function));
  return row;
}

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
    const Problem& problem, const model::Gpu& gpu, const model::StageTable& table, const Row& row) {
  const model::LineCounts* worst = worst_line(row);
  if (worst == nullptr) return std::nullopt;
  for (const model::Stage& stage : table.stages) {
    if (stage.number <= row.number || stage.variants.empty()) continue;
    try {
      const model::Variant& variant =
          model::comparable_variant(*row.variant, stage, gpu, problem.M, problem.N, problem.K);
      const Row later = traced_row(problem, gpu, table, stage, variant);
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

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kBarWidth = 30;
constexpr const char* kEraseLine = "\r\033[K";  // ECMA-48, erase in line

}  // namespace

Progress::Progress(std::string name, std::int64_t total, std::FILE* out)
    : total_(total),
      out_(text::is_terminal(out) && total > 0 ? out : nullptr),
      name_(std::move(name)) {}

Progress::~Progress() {
  if (!drawn_) return;
  std::fputs(kEraseLine, out_);
  std::fflush(out_);
}

void Progress::advance(std::int64_t amount) {
  done_ += amount;
  draw_if_due();
}

void Progress::reach(std::int64_t done) {
  done_ = done;
  draw_if_due();
}

void Progress::name(std::string name) {
  {
    const std::lock_guard lock(drawing_);
    name_ = std::move(name);
  }
  draw_if_due();
}

void Progress::draw_if_due() {
  if (!out_) return;
  // If another thread is drawing, this one continues its work.
  const std::unique_lock lock(drawing_, std::try_to_lock);
  const Clock::time_point now = Clock::now();
  if (!lock || now - last_drawn_ < kInterval) return;
  const double part = std::clamp(double(done_) / double(total_), 0.0, 1.0);
  const int filled = static_cast<int>(part * kBarWidth);
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  std::fprintf(out_, "%s%s [%s] %3.0f %%", kEraseLine, name_.c_str(), bar.c_str(), 100 * part);
  if (part > 0) std::fprintf(out_, ", %.0f s left", elapsed_s * (1 - part) / part);
  std::fflush(out_);
  last_drawn_ = now;
  drawn_ = true;
}

}  // namespace lab
