#include "lab/run.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "lab/device.h"
#include "lab/gpu/gpu.h"
#include "text/numbers.h"

namespace lab {

const Row* Run::cublas() const {
  for (const Row& row : rows) {
    if (row.name == "cuBLAS fp32") return &row;
  }
  return nullptr;
}

Run new_run(const Request& request, bool gpu_present, const std::string& command) {
  Run run{};
  run.alpha = request.alpha;
  run.beta = request.beta;
  run.seed = request.seed;
  run.data = request.data;
  run.gpu = choose_model(request, gpu_present);
  run.gpu_present = gpu_present;
  if (gpu_present) run.driver = gpu::driver_and_runtime();
  run.command = command;
  run.date = text::now_utc();
  run.cpu = cpu_name();
  run.threads = omp_get_max_threads();
  return run;
}

std::string joined(int argc, char** argv) {
  std::string text = argv[0];
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

namespace {

// Interpolates linearly between two times.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

}  // namespace

double milliseconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::milli>(end - start).count();
}

Timing summary(std::vector<double> times_ms) {
  std::sort(times_ms.begin(), times_ms.end());
  return {
      .median_ms = quantile(times_ms, 0.5),
      .min_ms = times_ms.front(),
      .max_ms = times_ms.back(),
      .quartile1_ms = quantile(times_ms, 0.25),
      .quartile3_ms = quantile(times_ms, 0.75),
      .repetitions = static_cast<int>(times_ms.size())};
}

std::optional<double> tflops(const Run& run, const Row& row) {
  if (!row.time || row.time->median_ms <= 0 || !run.program.empty()) return std::nullopt;
  const ProblemSize sides = run.checked.value_or(ProblemSize{run.M, run.N, run.K});
  return 2.0 * sides.M * sides.N * sides.K / row.time->median_ms * 1e-9;
}

model::Product product_of(const Run& run) {
  return {run.M, run.N, run.alpha != 0 ? run.K : 0, run.beta != 0, run.gpu.sms};
}

Ceilings ceilings(const Run& run, const Row& row) {
  Ceilings all;
  if (!row.variant) return all;
  all.record = model::find_compiled_loop(kernel_name(row), run.gpu.compute_capability);
  const bool can_run = !row.occupancy || row.occupancy->blocks_per_sm > 0;
  if (!row.counts || !can_run || !model::has_clock(run.gpu)) return all;
  model::Gpu gpu = run.gpu;  // at the clock that it had while the row was timed
  if (row.time && row.time->device && row.time->device->counted_mhz) {
    gpu.boost_ghz = *row.time->device->counted_mhz / 1000;
  }
  const model::Product product = product_of(run);
  const model::Variant& v = *row.variant;
  all.written = model::ceiling_as_written(gpu, product, v, *row.counts);
  if (all.record) {
    all.compiled = model::ceiling_as_compiled(gpu, product, v, *row.counts, *all.record);
  }
  if (all.compiled && row.occupancy) {
    all.waiting = model::with_waiting(gpu, product, v, *all.compiled, *all.record, *row.occupancy);
  }
  return all;
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

double results_per_thread(const model::Variant& variant) {
  if (variant.threads() < 1 || variant.BM < 1 || variant.BN < 1) return 1;
  return static_cast<double>(variant.BM) * variant.BN / variant.threads();
}

model::ShareOut shares(const Run& run, const model::Variant& variant) {
  return model::share_out(variant, run.M, run.N, run.alpha != 0 ? run.K : 0, run.gpu.sms);
}

Grid grid(const Run& run, const model::Variant& variant) {
  if (variant.sharing != model::Sharing::grid) {
    const int tiles = model::tiles_of(variant, run.M, run.N);
    return {model::blocks_of(shares(run, variant), tiles), 1};
  }
  const long long BM = std::max(variant.BM, 1), BN = std::max(variant.BN, 1);
  return {(run.N + BN - 1) / BN, (run.M + BM - 1) / BM};
}

std::string product(const Run& run) {
  return text::printed(
      "C (%d x %d) = %g * A (%d x %d) * B (%d x %d) + %g * C", run.M, run.N, run.alpha, run.M,
      run.K, run.K, run.N, run.beta);
}

const char* kernel_name(const Row& row) {
  return row.aligned ? row.variant->kernel.name : row.variant->kernel_any.name;
}

double pieces_per_request(const model::Traffic& traffic) {
  if (traffic.requests == 0) return 0;
  return static_cast<double>(traffic.pieces) / static_cast<double>(traffic.requests);
}

bool is_total(const model::Counts& counts) {
  return counts.blocks_traced == counts.blocks;
}

const char* name_of(model::Direction direction) {
  return direction == model::Direction::load    ? "load"
         : direction == model::Direction::store ? "store"
                                                : "copy";
}

double waste(const model::LineCounts& line) {
  const std::int64_t needed = line.pieces - line.bank_conflicts - line.uncoalesced;
  return static_cast<double>(line.pieces) / static_cast<double>(std::max<std::int64_t>(needed, 1));
}

std::vector<model::LineCounts> by_array(const model::Counts& counts) {
  std::vector<model::LineCounts> arrays;
  for (model::LineCounts line : counts.lines) {
    line.line = line.helper_line = 0;
    const auto known =
        std::find_if(arrays.begin(), arrays.end(), [&](const model::LineCounts& array) {
          return array.array == line.array && array.direction == line.direction &&
                 array.bytes == line.bytes;
        });
    if (known == arrays.end()) {
      arrays.push_back(line);
      continue;
    }
    known->in_flight_bytes += line.in_flight_bytes;
    known->in_flight_most = std::max(known->in_flight_most, line.in_flight_most);
    known->executions += line.executions;
    known->requests += line.requests;
    known->pieces += line.pieces;
    known->ideal_pieces += line.ideal_pieces;
    known->bank_conflicts += line.bank_conflicts;
    known->uncoalesced += line.uncoalesced;
  }
  return arrays;
}

const model::LineCounts* worst_line(const Row& row) {
  if (!row.counts) return nullptr;
  const std::vector<model::LineCounts>& lines = row.counts->lines;
  const auto worst = std::ranges::max_element(lines, {}, waste);
  const bool is_request = worst != lines.end() && worst->worst_pieces > 0;
  return is_request && waste(*worst) > kWasteful ? &*worst : nullptr;
}

const model::LineCounts* same_request(const Row& row, const model::LineCounts& line) {
  if (!row.counts) return nullptr;
  // A cp.async is both the load of its global side and the store of its shared side. A box of the
  // copy engine is no request of a warp.
  const model::Direction as_copy = line.shared ? model::Direction::store : model::Direction::load;
  const model::LineCounts* found = nullptr;
  for (const model::LineCounts& other : row.counts->lines) {
    const bool same = other.worst_pieces > 0 && other.array == line.array &&
                      other.shared == line.shared &&
                      (other.direction == line.direction ||
                       (other.direction == model::Direction::copy && line.direction == as_copy));
    if (same && (found == nullptr || waste(other) > waste(*found))) found = &other;
  }
  return found;
}

namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kBarWidth = 30;
constexpr const char* kEraseLine = "\r\033[K";  // ECMA-48, erase in line

}  // namespace

Progress::Progress(std::string name, std::int64_t total)
    : Progress(std::move(name), total, text::is_terminal(stderr) ? stderr : nullptr) {}

Progress::Progress(std::string name, std::int64_t total, std::FILE* out)
    : total_(total), out_(total > 0 ? out : nullptr), name_(std::move(name)) {}

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
