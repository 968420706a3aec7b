#include "model/gpus.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <limits>
#include <numeric>
#include <vector>

namespace model {

namespace {

// The properties that all GPUs of one compute capability share. Sources: the CUDA programming
// guide's table of technical specifications per compute capability, and the toolkit's
// cuda_occupancy.h for blocks per SM, granularity and carve-outs.
struct Architecture {
  int compute_capability;
  int fp32_lanes_per_sm;
  int smem_kib_per_sm;
  int smem_kib_per_block;
  int threads_per_sm;
  int blocks_per_sm;
};

constexpr Architecture kTuring{75, 64, 64, 64, 1024, 16};
constexpr Architecture kAmpereA100{80, 64, 164, 163, 2048, 32};
constexpr Architecture kAmpere{86, 128, 100, 99, 1536, 16};
constexpr Architecture kAda{89, 128, 100, 99, 1536, 24};
constexpr Architecture kHopper{90, 128, 228, 227, 2048, 32};
constexpr Architecture kBlackwellB200{100, 128, 228, 227, 2048, 32};
constexpr Architecture kBlackwell{120, 128, 100, 99, 1536, 24};

// On Hopper, mma.sync reaches two thirds of the tensor cores' rate (results/h200-latency.txt: 682
// of 1024 products per cycle), on Ampere and Ada all of it (Luo et al., Benchmarking and Dissecting
// the Nvidia Hopper GPU Architecture, 2024, arXiv:2402.13499, which measured an H800, an A100 and
// an RTX 4090). A warp that multiplies for itself cannot feed Hopper's tensor cores; four warps
// with operands in shared memory can. It is not known for Blackwell, where the whole rate stands.
double mma_share(const Architecture& of) {
  return of.compute_capability == 90 ? 2.0 / 3 : 1;
}

Gpu gpu(
    std::string name, const Architecture& of, int sms, double boost_ghz, double dram_gb_per_s,
    double l2_bytes_per_clock, int tf32_products_per_clock, double l2_mib, int dram_gib,
    int dram_bus_bits) {
  const bool before_ampere = of.compute_capability < 80;
  return {
      .name = std::move(name),
      .compute_capability = of.compute_capability,
      .sms = sms,
      .fp32_lanes_per_sm = of.fp32_lanes_per_sm,
      .boost_ghz = boost_ghz,
      .dram_gb_per_s = dram_gb_per_s,
      .smem_bytes_per_sm = of.smem_kib_per_sm * 1024,
      .smem_bytes_per_block = of.smem_kib_per_block * 1024,
      .smem_reserved_bytes_per_block = before_ampere ? 0 : 1024,
      .smem_granularity_bytes = before_ampere ? 256 : 128,
      .threads_per_sm = of.threads_per_sm,
      .blocks_per_sm = of.blocks_per_sm,
      .registers_per_sm = 65536,
      .l2_bytes_per_clock = l2_bytes_per_clock,
      .tf32_products_per_clock = tf32_products_per_clock,
      .mma_share = mma_share(of),
      .l2_mib = l2_mib,
      .dram_gib = dram_gib,
      .dram_bus_bits = dram_bus_bits};
}

// The GPU of the walkthrough's worked examples, small enough to be drawn on a page: an SM holds
// eight warps of four lanes, shared memory for 256 floats, and 64 registers for each of its
// threads. A block may be as large as an H200's, so that every kernel can be counted on it. If a
// block is larger than an SM, the occupancy says that no block fits. Compiled code is sm_90's.
Gpu paper_gpu() {
  return {
      .name = "paper GPU",
      .compute_capability = kHopper.compute_capability,
      .sms = 2,
      .fp32_lanes_per_sm = kPaperWarp.lanes,
      .boost_ghz = 0,
      .dram_gb_per_s = 0,
      .smem_bytes_per_sm = 1024,
      .smem_bytes_per_block = kHopper.smem_kib_per_block * 1024,
      .smem_reserved_bytes_per_block = 0,
      .smem_granularity_bytes = kPaperWarp.row_bytes(),
      .threads_per_sm = 8 * kPaperWarp.lanes,
      .blocks_per_sm = 8,
      .registers_per_sm = 2048,
      .register_granularity = 8 * kPaperWarp.lanes,
      .sub_partitions_per_sm = 1,
      .warp = kPaperWarp};
}

// A name in the form used for comparison: lower case, without spaces and dashes.
std::string plain(std::string_view name) {
  std::string result;
  for (const unsigned char c : name) {
    if (c != ' ' && c != '-') result += static_cast<char>(std::tolower(c));
  }
  return result;
}

bool begins_with_words(std::string_view name, std::string_view plain_words) {
  for (auto end = name.find(' '); end != name.npos; end = name.find(' ', end + 1)) {
    if (plain(name.substr(0, end)) == plain_words) return true;
  }
  return false;
}

}  // namespace

std::span<const Gpu> known_gpus() {
  // The name is the driver's, without NVIDIA and GeForce: a GPU that is here finds its row by it.
  // SMs, memory bandwidth, memory and the width of its bus are those of NVIDIA's data sheets and
  // whitepapers, which stand beside each row with the rates that give its clocks: FFMAs / (2 * SMs
  // * lanes) is the boost clock, and the dense rate of tf32 / (2 * SMs * products per cycle) that
  // of the tensor cores, which can be lower, since that rate is stated at another clock: the H100's
  // 495 TFLOP/s are 1024 products per cycle at 1.83 GHz. An H200 multiplies 1024 at every width of
  // wgmma; while all SMs multiply without a pause, its power limit lowers the clock to about 1.72
  // GHz (results/h200-latency.txt). The table has one clock for all units, the boost clock.
  // The L2 cache's rate is stated only for the A100, in its whitepaper. For the H200 no limit is
  // known: 16-byte loads past L1 by all SMs got 2600 bytes per cycle (2 MiB read repeatedly), but
  // the copy engines of stage 16 got 4800. The L2 cache's size is the whitepapers', or the driver's
  // (H100, H200, B200).
  constexpr double kUnknown = 0;
  constexpr int kNone = 0;
  static const std::vector<Gpu> gpus = {
      // T4 data sheet and Turing whitepaper: 8.1 TFLOP/s, no tf32
      gpu("T4", kTuring, 40, 1.59, 320, kUnknown, kNone, 4, 16, 256),
      // A100 80GB data sheet and A100 whitepaper: 19.5 TFLOP/s, tf32 156; L2 5120 bytes per cycle
      gpu("A100 SXM4 80GB", kAmpereA100, 108, 1.41, 2039, 5120, 512, 40, 80, 5120),
      // GA102 whitepaper: 35.6 TFLOP/s, tf32 35.6
      gpu("RTX 3090", kAmpere, 82, 1.695, 936, kUnknown, 128, 6, 24, 384),
      // RTX A6000 data sheet and GA102 whitepaper: 38.7 TFLOP/s, tf32 77.4
      gpu("RTX A6000", kAmpere, 84, 1.80, 768, kUnknown, 256, 6, 48, 384),
      // Ada whitepaper: 82.6 TFLOP/s, tf32 82.6
      gpu("RTX 4090", kAda, 128, 2.52, 1008, kUnknown, 128, 72, 24, 384),
      // H100 SXM data sheet and H100 whitepaper: 67 TFLOP/s, tf32 495
      gpu("H100 80GB HBM3", kHopper, 132, 1.98, 3350, kUnknown, 1024, 50, 80, 5120),
      // H200 SXM data sheet: 67 TFLOP/s, tf32 495
      gpu("H200", kHopper, 132, 1.98, 4800, kUnknown, 1024, 60, 141, 6144),
      // Blackwell data sheet, HGX B200: 75 TFLOP/s, tf32 1,100 (at 1.85 GHz), 180 GB at 7.7 TB/s;
      // the driver reports a bus of 7680 bits
      gpu("B200", kBlackwellB200, 148, 1.98, 7700, kUnknown, 2048, 126, 180, 7680),
      // RTX Blackwell whitepaper: 104.8 TFLOP/s, tf32 104.8
      gpu("RTX 5090", kBlackwell, 170, 2.407, 1792, kUnknown, 128, 96, 32, 512),
      paper_gpu(),
  };
  return gpus;
}

double l2_bytes_per_clock(const Gpu& gpu) {
  return gpu.l2_bytes_per_clock > 0 ? gpu.l2_bytes_per_clock : gpu.sms * l2_bytes_per_sm_clock;
}

const Gpu* find_gpu(std::string_view name) {
  const std::string wanted = plain(name);
  const Gpu* found = nullptr;
  for (const Gpu& candidate : known_gpus()) {
    if (plain(candidate.name) == wanted) return &candidate;
  }
  for (const Gpu& candidate : known_gpus()) {
    if (!begins_with_words(candidate.name, wanted)) continue;
    if (found) return nullptr;
    found = &candidate;
  }
  return found;
}

namespace {

constexpr int kMaxThreadsPerBlock = 1024;    // for every cc since 2.0
constexpr int kMaxRegistersPerThread = 255;  // the most that an instruction can name

int round_up(long long value, int step) {
  return static_cast<int>(std::min((value + step - 1) / step * step, 1LL * INT_MAX));
}

int blocks_by_threads(const Gpu& gpu, const Occupancy& o) {
  const int threads = o.resources.threads_per_block;
  if (threads < 1 || threads > kMaxThreadsPerBlock) return 0;
  return gpu.threads_per_sm / gpu.warp.lanes / o.warps_per_block;
}

int blocks_by_smem(const Gpu& gpu, const Occupancy& o) {
  if (o.smem_bytes_taken == 0) return INT_MAX;
  if (o.resources.smem_bytes_per_block > gpu.smem_bytes_per_block) return 0;
  return gpu.smem_bytes_per_sm / o.smem_bytes_taken;
}

int blocks_by_registers(const Gpu& gpu, const Occupancy& o) {
  if (o.registers_taken == 0) return INT_MAX;
  if (o.resources.registers_per_thread > kMaxRegistersPerThread) return 0;
  const int partitions = gpu.sub_partitions_per_sm;
  return gpu.registers_per_sm / partitions / o.registers_taken * partitions / o.warps_per_block;
}

}  // namespace

Occupancy occupancy(const Gpu& gpu, const KernelResources& kernel) {
  // A block without threads is counted as one warp, to avoid a division by zero.
  const int threads = kernel.threads_per_block < 1 ? 1 : kernel.threads_per_block;

  Occupancy result{};
  result.resources = kernel;
  result.warps_per_block = gpu.warp.warps_of(threads);
  if (const int used = kernel.smem_bytes_per_block; used > 0) {
    result.smem_bytes_taken =
        round_up(1LL * used + gpu.smem_reserved_bytes_per_block, gpu.smem_granularity_bytes);
  }
  if (const int used = kernel.registers_per_thread; used > 0) {
    result.registers_taken = round_up(1LL * used * gpu.warp.lanes, gpu.register_granularity);
  }
  result.blocks_by_threads = blocks_by_threads(gpu, result);
  result.blocks_by_blocks = gpu.blocks_per_sm;
  result.blocks_by_smem = blocks_by_smem(gpu, result);
  result.blocks_by_registers = blocks_by_registers(gpu, result);

  result.blocks_per_sm = result.blocks_by_threads;
  result.limiter = "threads";
  const auto limit = [&](int blocks, std::string_view name) {
    if (blocks >= result.blocks_per_sm) return;
    result.blocks_per_sm = blocks;
    result.limiter = name;
  };
  limit(result.blocks_by_blocks, "blocks");
  limit(result.blocks_by_smem, "shared memory");
  limit(result.blocks_by_registers, "registers");

  const double warps_per_sm = gpu.threads_per_sm / gpu.warp.lanes;
  result.percent = 100.0 * result.blocks_per_sm * result.warps_per_block / warps_per_sm;
  return result;
}

double waves(const Gpu& gpu, const Occupancy& occupancy, long long blocks) {
  if (blocks == 0) return 0;
  if (occupancy.blocks_per_sm == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(blocks) /
         (static_cast<double>(gpu.sms) * static_cast<double>(occupancy.blocks_per_sm));
}

namespace {

// NVML's nvmlClocksEventReasons. The others (idle, a clock that the user chose, a display) do not
// mean that the GPU could not keep its clock.
struct Bits {
  std::uint64_t bits;
  std::string_view reason;
};
constexpr Bits kThrottles[] = {
    {0x04, "the power limit"},
    {0x20 | 0x40, "heat"},
    {0x80, "an external power brake"},
    {0x08, "a hardware slowdown"},
    {0x10, "the clock of another GPU (sync boost)"}};

using Values = std::vector<double>;

template <class Known>  // a Reading, or a DeviceState
Values values_of(std::span<const Known> all, std::optional<double> Known::*which) {
  Values values;
  for (const Known& known : all) {
    if (known.*which) values.push_back(*(known.*which));
  }
  return values;
}

std::optional<double> least(const Values& values) {
  if (values.empty()) return std::nullopt;
  return *std::min_element(values.begin(), values.end());
}

std::optional<double> most(const Values& values) {
  if (values.empty()) return std::nullopt;
  return *std::max_element(values.begin(), values.end());
}

std::optional<double> mean(const Values& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of an even number, the lower of the two in the middle: a clock that the GPU had.
std::optional<double> median(Values values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

std::vector<Throttle> without_zeros(std::vector<Throttle> throttles) {
  std::erase_if(throttles, [](const Throttle& throttle) { return throttle.readings == 0; });
  return throttles;
}

}  // namespace

DeviceState device_state(std::span<const Reading> readings) {
  const Values mhz = values_of(readings, &Reading::sm_mhz);
  const Values watts = values_of(readings, &Reading::watts);
  DeviceState state{
      .readings = static_cast<int>(readings.size()),
      .median_mhz = median(mhz),
      .min_mhz = least(mhz),
      .max_mhz = most(mhz),
      .mean_watts = mean(watts),
      .max_watts = most(watts),
      .limit_watts = {},
      .max_celsius = most(values_of(readings, &Reading::celsius)),
      .throttles = {}};
  const bool known = std::any_of(readings.begin(), readings.end(), [](const Reading& reading) {
    return reading.clock_reasons.has_value();
  });
  if (!known) return state;
  std::vector<Throttle> throttles;
  for (const auto& [bits, reason] : kThrottles) {
    const auto count = std::count_if(readings.begin(), readings.end(), [&](const Reading& reading) {
      return (reading.clock_reasons.value_or(0) & bits) != 0;
    });
    throttles.push_back({reason, static_cast<int>(count)});
  }
  state.throttles = without_zeros(throttles);
  return state;
}

std::optional<DeviceState> together(std::span<const DeviceState> states) {
  if (states.empty()) return std::nullopt;
  DeviceState all{
      .median_mhz = median(values_of(states, &DeviceState::median_mhz)),
      .min_mhz = least(values_of(states, &DeviceState::min_mhz)),
      .max_mhz = most(values_of(states, &DeviceState::max_mhz)),
      .counted_mhz = least(values_of(states, &DeviceState::counted_mhz)),
      .mean_watts = mean(values_of(states, &DeviceState::mean_watts)),
      .max_watts = most(values_of(states, &DeviceState::max_watts)),
      .limit_watts = least(values_of(states, &DeviceState::limit_watts)),
      .max_celsius = most(values_of(states, &DeviceState::max_celsius)),
      .throttles = {}};
  std::vector<Throttle> throttles;
  for (const auto& [bits, reason] : kThrottles) throttles.push_back({reason, 0});
  bool known = false;
  for (const DeviceState& state : states) {
    all.readings += state.readings;
    all.measured_ms += state.measured_ms;
    all.watts_are_averages |= state.watts_are_averages;
    if (!state.throttles) continue;
    known = true;
    for (const Throttle& throttle : *state.throttles) {
      for (Throttle& sum : throttles) {
        if (sum.reason == throttle.reason) sum.readings += throttle.readings;
      }
    }
  }
  if (known) all.throttles = without_zeros(throttles);
  return all;
}

}  // namespace model
