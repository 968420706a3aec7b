#include "cluster/schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace cluster {

namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr int kLeastPanel = 1024;
constexpr int kUnit = 128;  // of the rows and columns of a block from the host

int largest_part(int extent, int parts) {
  int largest = 0;
  for (int i = 0; i < parts; ++i) largest = std::max(largest, part_of(extent, parts, i).size);
  return largest;
}

int ceil_div(std::int64_t value, std::int64_t divisor) {
  return static_cast<int>((value + divisor - 1) / divisor);
}

// But no more than fits in an int.
int rounded_up(int value, int unit) {
  const std::int64_t rounded = std::int64_t{ceil_div(value, unit)} * unit;
  return static_cast<int>(std::min<std::int64_t>(rounded, std::numeric_limits<int>::max()));
}

// Part of `extent`, in blocks of `size`.
Interval block_of(Interval extent, int size, int index) {
  const int begin = index * size;
  return {extent.begin + begin, std::min(size, extent.size - begin)};
}

void refuse_many_steps(double of_all_devices) {
  if (of_all_devices <= 0x1p22) return;
  throw model::Refusal(text::printed(
      "this product would take %.1e steps; give a wider --panel or smaller matrices",
      of_all_devices));
}

// From the host: B's columns of a pass, two panels of A, and two blocks of C.
std::int64_t bytes_of(std::int64_t K, std::int64_t rows, std::int64_t columns, std::int64_t panel) {
  return kFloat * (K * columns + 2 * rows * panel + 2 * rows * columns);
}

}  // namespace

Interval part_of(int extent, int parts, int index) {
  const int unit = extent >= 4 * parts ? 4 : 1;
  const std::int64_t units = (std::int64_t{extent} + unit - 1) / unit;
  const auto cut = [&](int i) {
    return static_cast<int>(std::min<std::int64_t>(units * i / parts * unit, extent));
  };
  return {cut(index), cut(index + 1) - cut(index)};
}

int usual_panel(int K) {
  constexpr int kPanels = 8;
  return std::clamp(rounded_up(K / kPanels, 32), kLeastPanel, 4096);
}

int Schedule::K_owned(int device, bool PanelStep::*arrives) const {
  int sum = 0;
  for (const PanelStep& step : steps[device]) sum += step.*arrives ? 0 : step.k.size;
  return sum;
}

Schedule schedule(ProblemSize size, DeviceGrid grid, int panel) {
  // So many that each device of a row owns as many of A, and each of a column as many of B.
  const int pieces = std::lcm(grid.rows, grid.columns);
  refuse_many_steps(std::max(double(size.K) / panel, double(pieces)) * grid.devices());
  const int of_a_piece = std::max(ceil_div(largest_part(size.K, pieces), panel), 1);
  Schedule s{size, grid, /*from_host=*/false};
  for (int piece = 0; piece < pieces; ++piece) {
    const Interval all = part_of(size.K, pieces, piece);
    for (int i = 0; i < of_a_piece; ++i) {
      const Interval part = part_of(all.size, of_a_piece, i);
      s.panels.push_back({all.begin + part.begin, part.size});
      s.panel = std::max(s.panel, part.size);
    }
  }
  // A device's first panels are its own: as many of A as its row has columns to share them, and as
  // many of B as its column has rows. The devices of a row begin with different ones, and so do
  // those of a column.
  const int own_of_A = s.turns() / grid.columns, own_of_B = s.turns() / grid.rows;
  for (int device = 0; device < grid.devices(); ++device) {
    std::vector<PanelStep>& steps = s.steps.emplace_back();
    const int row = grid.row_of(device), column = grid.column_of(device);
    const std::int64_t begin = std::int64_t{column} * own_of_A + std::int64_t{row} * own_of_B;
    for (int step = 0; step < s.turns(); ++step) {
      const auto at = static_cast<int>((begin + step) % s.turns());
      steps.push_back(
          {.rows = s.M_of(device),
           .columns = s.N_of(device),
           .k = s.panels[at],
           .first = step == 0,
           .A_arrives = step >= own_of_A,
           .B_arrives = step >= own_of_B,
           .panel = at,
           .owner_of_A = grid.device_at(row, (column + step / own_of_A) % grid.columns),
           .owner_of_B = grid.device_at((row + step / own_of_B) % grid.rows, column)});
    }
  }
  return s;
}

std::vector<Schedule> schedules(ProblemSize size, DeviceGrid grid) {
  std::vector<Schedule> all{schedule(size, grid, std::max(size.K, 1))};
  for (int width = all[0].panel / 2; width >= kLeastPanel; width /= 2) {
    all.push_back(schedule(size, grid, width));
  }
  return all;
}

Schedule from_host(ProblemSize size, DeviceGrid grid, int panel, bool reads_C, double memory) {
  constexpr int kBlocks = 8;       // of rows, if the part is not larger than usual
  constexpr int kLeastRows = 256;  // of a block: fewer would not fill the device
  constexpr int kMostRows = 4096;  // more would delay the start and the end
  const auto [M, N, K] = size;
  Schedule s{size, grid, /*from_host=*/true};
  s.reads_C = reads_C;
  s.panel = std::min(panel, std::max(K, 1));
  s.rows =
      std::clamp(rounded_up(largest_part(M, grid.rows) / kBlocks, kUnit), kLeastRows, kMostRows);
  const int part_columns = largest_part(N, grid.columns);
  for (int passes = 1;; ++passes) {
    s.columns = rounded_up(ceil_div(part_columns, passes), 4);
    const auto bytes = static_cast<double>(bytes_of(K, s.rows, s.columns, s.panel));
    const int panels = std::max(ceil_div(K, s.panel), 1);
    if (bytes <= memory) {
      refuse_many_steps(double(M) / s.rows * panels * passes * grid.columns);
      for (int i = 0; i < panels; ++i) s.panels.push_back(block_of({0, K}, s.panel, i));
      break;
    }
    if (s.columns > kUnit) continue;
    throw model::Refusal(text::printed(
        "a GPU needs at least %s MB of memory to multiply these matrices from the host's "
        "memory, and has %s MB free",
        text::significant(1e-6 * bytes).c_str(), text::significant(1e-6 * memory).c_str()));
  }
  for (int device = 0; device < grid.devices(); ++device) {
    std::vector<PanelStep>& steps = s.steps.emplace_back();
    const Interval m = s.M_of(device), n = s.N_of(device);
    for (int pass = 0; std::int64_t{pass} * s.columns < n.size; ++pass) {
      for (int block = 0; block < ceil_div(m.size, s.rows); ++block) {
        for (const Interval& k : s.panels) {
          const bool first = &k == &s.panels.front(), last = &k == &s.panels.back();
          steps.push_back(
              {.rows = block_of(m, s.rows, block),
               .columns = block_of(n, s.columns, pass),
               .k = k,
               .first = first,
               .A_arrives = true,
               .B_arrives = block == 0,
               .C_arrives = first && reads_C,
               .C_leaves = last});
        }
      }
    }
  }
  return s;
}

double floats_that_travel(ProblemSize size, DeviceGrid grid) {
  return double(size.M) * size.K * (grid.columns - 1) + double(size.K) * size.N * (grid.rows - 1);
}

DeviceGrid choose_grid(ProblemSize size, int devices, const std::string& typed) {
  std::optional<DeviceGrid> best;
  std::string usable;
  for (int rows = 1; rows <= devices; ++rows) {
    const DeviceGrid grid{rows, devices / rows};
    const bool has_parts = rows <= std::max(size.M, 1) && grid.columns <= std::max(size.N, 1);
    if (devices % rows != 0 || !has_parts) continue;
    const std::string name = text::printed("%dx%d", rows, grid.columns);
    usable += (usable.empty() ? "" : ", ") + name;
    if (!typed.empty() && typed != name) continue;
    if (!best || floats_that_travel(size, grid) < floats_that_travel(size, *best)) best = grid;
  }
  if (best) return *best;
  const std::string of_C = text::printed(": C is %d x %d, and ", size.M, size.N);
  throw model::Refusal(
      usable.empty() ? text::printed("--gpus %d", devices) + of_C +
                           "no grid of that many GPUs gives each of them a part of it; give fewer"
                     : "--grid " + text::echoed(typed) + of_C + text::printed("%d GPUs", devices) +
                           " can divide it in a grid of " + usable + "; give one of these");
}

std::string in_words(DeviceGrid grid) {
  return std::to_string(grid.rows) + " x " + std::to_string(grid.columns);
}

Load predicted_load(const Schedule& s, int device) {
  const auto [P, Q] = s.grid;
  const std::int64_t m = s.M_of(device).size, n = s.N_of(device).size, K = s.size.K;
  Load load;
  if (s.from_host) {
    if (m == 0 || n == 0) return load;
    const std::int64_t passes = (n + s.columns - 1) / s.columns;
    load.bytes_received = kFloat * (K * n + passes * m * K + (s.reads_C ? m * n : 0));
    load.bytes_sent = kFloat * m * n;
    load.bytes_held = bytes_of(K, s.rows, s.columns, s.panel);
  } else {
    const std::int64_t of_A = m * s.K_of_A(device), of_B = n * s.K_of_B(device);
    load.bytes_received = kFloat * (m * K - of_A + n * K - of_B);
    load.bytes_sent = kFloat * (of_A * (Q - 1) + of_B * (P - 1));
    load.bytes_held =
        kFloat * (of_A + of_B + m * n + 2LL * s.panel * ((Q > 1 ? m : 0) + (P > 1 ? n : 0)));
  }
  for (const PanelStep& step : s.steps[device]) {
    load.messages_received += step.C_arrives;
    load.messages_sent += step.C_leaves;
    if (step.k.size == 0) continue;
    load.messages_received += step.A_arrives + step.B_arrives;
    if (s.from_host) continue;
    load.messages_sent += (step.A_arrives ? 0 : Q - 1) + (step.B_arrives ? 0 : P - 1);
  }
  return load;
}

namespace {

// The latencies of pcie4 and 100GbE are assumed, and so is the host's rate beside nvlink: 16 lanes
// of PCIe 5.0 (63 GB/s) less what headers take. Two H200 together got 70 GB/s from the host
// (results/gpus-h200-2-host.txt). All else has its source beside it.
constexpr std::array kLinks = {
    Link{
        "nvlink", 8, 370, 55, 70,
        "ncclBroadcast between two H200, measured: 1 MB in 11.5 us, 256 MB in 740 us"},
    Link{"pcie4", 10, 22, 22, 70, "16 lanes of PCIe 4.0: 31.5 GB/s less what headers take"},
    Link{"100GbE", 30, 11, 22, 70, "100 Gbit/s Ethernet: 12.5 GB/s less what headers take"}};

}  // namespace

const Link& find_link(std::string_view name) {
  return *std::ranges::find(kLinks, name, &Link::name);
}

double Timeline::ms() const {
  double last = 0;
  for (const BusyTime& time : times) last = std::max(last, time.end_ms);
  return last;
}

double Timeline::hidden() const {
  std::vector<std::vector<BusyTime>> multiply(devices());
  for (const BusyTime& time : times) {
    if (time.lane == Lane::multiply) multiply[time.device].push_back(time);
  }
  double travels = 0, covered = 0;
  for (const BusyTime& time : times) {
    if (time.lane == Lane::multiply) continue;
    travels += time.end_ms - time.begin_ms;
    const std::vector<BusyTime>& beside = multiply[time.device];
    auto at = std::ranges::upper_bound(beside, time.begin_ms, {}, &BusyTime::end_ms);
    for (; at != beside.end() && at->begin_ms < time.end_ms; ++at) {
      covered += std::min(time.end_ms, at->end_ms) - std::max(time.begin_ms, at->begin_ms);
    }
  }
  return travels == 0 ? 1 : covered / travels;
}

Rate measured_rate(double tflops, int devices_of_a_process) {
  // Fitted to H200s (results/gpus-h200-*.txt): the first three to one with 1 to 32 panels, and its
  // rows that are not aligned to 4097; the last to two, four and eight.
  constexpr double kStepMs = 0.010, kAlignedC = 3.0e-9, kOtherC = 17.5e-9, kIssueMs = 0.022;
  const double issue_ms = devices_of_a_process > 1 ? kIssueMs * devices_of_a_process : 0;
  return {tflops, kStepMs, kAlignedC, kOtherC, issue_ms};
}

}  // namespace cluster
