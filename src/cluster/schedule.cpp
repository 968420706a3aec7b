#include "cluster/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace cluster {

namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr int kLeastPanel = 1024;

std::string in_words(Shape shape) {
  return std::to_string(shape.M) + " x " + std::to_string(shape.N);
}

bool is_usable(Grid grid, Shape shape) {
  return grid.rows <= std::max(shape.M, 1) && grid.columns <= std::max(shape.N, 1);
}

int largest_part(int extent, int parts) {
  int largest = 0;
  for (int i = 0; i < parts; ++i) largest = std::max(largest, part_of(extent, parts, i).size);
  return largest;
}

int ceil_div(std::int64_t value, std::int64_t divisor) {
  return static_cast<int>((value + divisor - 1) / divisor);
}

}  // namespace

Part part_of(int extent, int parts, int index) {
  const int unit = extent >= 4 * parts ? 4 : 1;
  const std::int64_t units = (std::int64_t{extent} + unit - 1) / unit;
  const auto cut = [&](int i) {
    return static_cast<int>(std::min<std::int64_t>(units * i / parts * unit, extent));
  };
  return {cut(index), cut(index + 1) - cut(index)};
}

int usual_panel(int K) {
  constexpr int kPanels = 8, kUnit = 32;
  return std::clamp(ceil_div(K / kPanels, kUnit) * kUnit, kLeastPanel, 4096);
}

int Schedule::panel_at(int device, int step) const {
  // The devices of a row begin with different panels, and so do those of a column.
  const std::int64_t first =
      std::int64_t{column_of(device)} * own_of_A() + std::int64_t{row_of(device)} * own_of_B();
  return static_cast<int>((first + step) % steps());
}

int Schedule::K_of_A(int device) const {
  int sum = 0;
  for (int step = 0; step < own_of_A(); ++step) sum += k_at(device, step).size;
  return sum;
}

int Schedule::K_of_B(int device) const {
  int sum = 0;
  for (int step = 0; step < own_of_B(); ++step) sum += k_at(device, step).size;
  return sum;
}

int Schedule::owner_of_A(int device, int step) const {
  return device_at(row_of(device), (column_of(device) + step / own_of_A()) % grid.columns);
}

int Schedule::owner_of_B(int device, int step) const {
  return device_at((row_of(device) + step / own_of_B()) % grid.rows, column_of(device));
}

Steps steps_of(const Schedule& s) {
  Steps all(s.grid.devices());
  for (int device = 0; device < s.grid.devices(); ++device) {
    for (int step = 0; step < s.steps(); ++step) {
      all[device].push_back(
          {s.M_of(device), s.N_of(device), s.k_at(device, step), step == 0, s.receives_A(step),
           s.receives_B(step)});
    }
  }
  return all;
}

void refuse_many_steps(double steps) {
  if (steps <= 0x1p22) return;
  throw model::Refusal(text::printed(
      "this product would take %.1e steps; give a wider --panel or smaller matrices", steps));
}

Schedule schedule(Shape shape, Grid grid, int panel) {
  // So many that each device of a row owns as many of A, and each of a column as many of B.
  const int pieces = std::lcm(grid.rows, grid.columns);
  refuse_many_steps(std::max(double(shape.K) / panel, double(pieces)) * grid.devices());
  const int of_a_piece = std::max(ceil_div(largest_part(shape.K, pieces), panel), 1);
  Schedule result{shape, grid, 0, {}};
  for (int piece = 0; piece < pieces; ++piece) {
    const Part all = part_of(shape.K, pieces, piece);
    for (int i = 0; i < of_a_piece; ++i) {
      const Part part = part_of(all.size, of_a_piece, i);
      result.panels.push_back({all.begin + part.begin, part.size});
      result.panel = std::max(result.panel, part.size);
    }
  }
  return result;
}

std::vector<Schedule> schedules(Shape shape, Grid grid) {
  std::vector<Schedule> all{schedule(shape, grid, std::max(shape.K, 1))};
  for (int width = all[0].panel / 2; width >= kLeastPanel; width /= 2) {
    all.push_back(schedule(shape, grid, width));
  }
  return all;
}

double floats_that_travel(Shape shape, Grid grid) {
  return double(shape.M) * shape.K * (grid.columns - 1) +
         double(shape.K) * shape.N * (grid.rows - 1);
}

Grid choose_grid(Shape shape, int devices) {
  Grid best{0, 0};
  for (int rows = 1; rows <= devices; ++rows) {
    if (devices % rows != 0) continue;
    const Grid grid{rows, devices / rows};
    if (!is_usable(grid, shape)) continue;
    const bool is_first = best.rows == 0;
    if (is_first || floats_that_travel(shape, grid) < floats_that_travel(shape, best)) best = grid;
  }
  if (best.rows > 0) return best;
  throw model::Refusal(
      "--gpus " + std::to_string(devices) + ": C is " + in_words(shape) +
      ", and no grid of that many GPUs gives each of them a part of it; give fewer");
}

Grid read_grid(std::string_view typed, Shape shape, int devices) {
  const std::string flag = "--grid " + text::echoed(std::string(typed));
  const char* const end = typed.data() + typed.size();
  Grid grid{};
  const auto rows = std::from_chars(typed.data(), end, grid.rows);
  const bool has_x = rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x';
  const auto columns = std::from_chars(has_x ? rows.ptr + 1 : end, end, grid.columns);
  if (!has_x || columns.ec != std::errc() || columns.ptr != end || grid.rows < 1 ||
      grid.columns < 1) {
    throw model::Refusal(flag + ": not a grid; give rows x columns, for example --grid 2x2");
  }
  if (double(grid.rows) * grid.columns != devices) {
    throw model::Refusal(
        flag + ": it has " + std::to_string(std::int64_t{grid.rows} * grid.columns) +
        " places for " + std::to_string(devices) + " GPUs; give a grid with as many as --gpus");
  }
  if (!is_usable(grid, shape)) {
    throw model::Refusal(
        flag + ": C is " + in_words(shape) +
        ", which has too few rows or columns for it; give another grid");
  }
  return grid;
}

std::string in_words(Grid grid) {
  return std::to_string(grid.rows) + " x " + std::to_string(grid.columns);
}

Load predicted_load(const Schedule& s, int device) {
  const auto [P, Q] = s.grid;
  const std::int64_t m = s.M_of(device).size, n = s.N_of(device).size;
  const std::int64_t of_A = m * s.K_of_A(device), of_B = n * s.K_of_B(device);
  Load load{};
  load.bytes_received = kFloat * (m * s.shape.K - of_A + n * s.shape.K - of_B);
  load.bytes_sent = kFloat * (of_A * (Q - 1) + of_B * (P - 1));
  for (int step = 0; step < s.steps(); ++step) {
    if (s.k_at(device, step).size == 0) continue;
    load.messages_received += s.receives_A(step) + s.receives_B(step);
    load.messages_sent += (s.receives_A(step) ? 0 : Q - 1) + (s.receives_B(step) ? 0 : P - 1);
  }
  load.bytes_held =
      kFloat * (of_A + of_B + m * n + 2LL * s.panel * ((Q > 1 ? m : 0) + (P > 1 ? n : 0)));
  return load;
}

namespace {

constexpr int kBlocks = 8;       // of rows, if the part is not larger than usual
constexpr int kLeastRows = 256;  // of a block: fewer would not fill the device
constexpr int kMostRows = 4096;  // more would delay the start and the end
constexpr int kUnit = 128;

// But no more than fits in an int.
int rounded_up(int value, int unit) {
  const std::int64_t rounded = std::int64_t{ceil_div(value, unit)} * unit;
  return static_cast<int>(std::min<std::int64_t>(rounded, std::numeric_limits<int>::max()));
}

// Part of `extent`, in blocks of `size`.
Part block_of(Part extent, int size, int index) {
  const int begin = index * size;
  return {extent.begin + begin, std::min(size, extent.size - begin)};
}

// B's columns of a pass, two panels of A, and two blocks of C.
std::int64_t bytes_of(std::int64_t K, std::int64_t rows, std::int64_t columns, std::int64_t panel) {
  return kFloat * (K * columns + 2 * rows * panel + 2 * rows * columns);
}

}  // namespace

Streams streams(Shape shape, Grid grid, int panel, bool reads_C, double memory) {
  const auto [M, N, K] = shape;
  Streams result{shape, grid, 0, 0, 0, reads_C};
  const int part_columns = largest_part(N, grid.columns);
  result.rows =
      std::clamp(rounded_up(largest_part(M, grid.rows) / kBlocks, kUnit), kLeastRows, kMostRows);
  result.panel = std::min(panel, std::max(K, 1));
  int passes = 1;
  const auto columns = [&] { return rounded_up(ceil_div(part_columns, passes), 4); };
  const auto bytes = [&] { return bytes_of(K, result.rows, columns(), result.panel); };
  while (static_cast<double>(bytes()) > memory) {
    if (columns() <= kUnit) {
      throw model::Refusal(text::printed(
          "a GPU needs at least %s MB of memory to multiply these matrices from the host's "
          "memory, and has %s MB free",
          text::significant(1e-6 * static_cast<double>(bytes())).c_str(),
          text::significant(1e-6 * memory).c_str()));
    }
    ++passes;
  }
  result.columns = columns();

  const Schedule parts{shape, grid, result.panel, {}};
  const int panels = std::max(ceil_div(K, result.panel), 1);
  refuse_many_steps(double(M) / result.rows * panels * passes * grid.columns);
  for (int device = 0; device < grid.devices(); ++device) {
    std::vector<Step>& steps = result.steps.emplace_back();
    const Part m = parts.M_of(device), n = parts.N_of(device);
    const int blocks = ceil_div(m.size, result.rows);
    for (int pass = 0; std::int64_t{pass} * result.columns < n.size; ++pass) {
      for (int block = 0; block < blocks; ++block) {
        for (int k = 0; k < panels; ++k) {
          steps.push_back(
              {.rows = block_of(m, result.rows, block),
               .columns = block_of(n, result.columns, pass),
               .k = block_of({0, K}, result.panel, k),
               .first = k == 0,
               .A_arrives = true,
               .B_arrives = block == 0,
               .C_arrives = k == 0 && reads_C,
               .C_leaves = k == panels - 1,
               .block = pass * blocks + block});
        }
      }
    }
  }
  return result;
}

Load predicted_load(const Streams& s, int device) {
  const Schedule parts{s.shape, s.grid, s.panel, {}};
  const std::int64_t m = parts.M_of(device).size, n = parts.N_of(device).size, K = s.shape.K;
  if (m == 0 || n == 0) return {};
  const std::int64_t passes = (n + s.columns - 1) / s.columns, blocks = (m + s.rows - 1) / s.rows;
  const std::int64_t panels = (K + s.panel - 1) / s.panel;
  Load load{};
  load.bytes_received = kFloat * (K * n + passes * m * K + (s.reads_C ? m * n : 0));
  load.bytes_sent = kFloat * m * n;
  load.messages_received = passes * panels * (1 + blocks) + (s.reads_C ? passes * blocks : 0);
  load.messages_sent = passes * blocks;
  load.bytes_held = bytes_of(K, s.rows, s.columns, s.panel);
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

// An empty product takes no time, even if the speed was measured with it and is 0.
double multiply_ms(double M, double N, double K, const Rate& rate, bool loads_C) {
  const double operations = 2 * M * N * K;
  if (operations == 0) return 0;
  const bool is_aligned = std::fmod(N, 4) == 0;
  return operations / (1e9 * rate.tflops) +
         (loads_C ? M * N * (is_aligned ? rate.aligned_C_ms : rate.other_C_ms) : 0);
}

double transfer_ms(double latency_us, double gb_per_s, double floats) {
  return floats == 0 ? 0 : 1e-3 * latency_us + sizeof(float) * floats / (1e6 * gb_per_s);
}

// The total length of the time that both sets of spans cover. Each set's spans are in order.
double overlap(const std::vector<Span>& one, const std::vector<Span>& other) {
  double sum = 0;
  for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    const Span &a = one[i], &b = other[j];
    sum += std::max(0.0, std::min(a.end_ms, b.end_ms) - std::max(a.begin_ms, b.begin_ms));
    ++(a.end_ms < b.end_ms ? i : j);
  }
  return sum;
}

}  // namespace

const Link& find_link(std::string_view name) {
  for (const Link& link : kLinks) {
    if (name == link.name) return link;
  }
  throw model::Refusal(
      "--link " + text::echoed(std::string(name)) + ": not a link; give nvlink, pcie4 or 100GbE");
}

double Timeline::ms() const {
  double last = 0;
  for (const Span& span : spans) last = std::max(last, span.end_ms);
  return last;
}

double Timeline::hidden() const {
  int devices = 0;
  for (const Span& span : spans) devices = std::max(devices, span.device + 1);
  std::vector<std::array<std::vector<Span>, 3>> lanes(devices);
  for (const Span& span : spans) {
    lanes[span.device][static_cast<int>(span.lane)].push_back(span);
  }
  double travels = 0, covered = 0;
  for (const auto& [arrive, multiply, leave] : lanes) {
    for (const auto* lane : {&arrive, &leave}) {
      for (const Span& span : *lane) travels += span.end_ms - span.begin_ms;
      covered += overlap(*lane, multiply);
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

namespace {

// Of a Schedule, a transfer begins when all devices of its row and column have a place for a panel.
Timeline predict(
    const Steps& steps, const Schedule* together, double latency_us, double gb_per_s,
    const Rate& rate) {
  struct Device {
    double arrived = 0, left = 0;                      // the last panel, and the last block of C
    std::vector<double> multiplied, blocks_left = {};  // each step, and each block
  };
  const int devices = static_cast<int>(steps.size());
  std::vector<Device> all(devices);
  std::size_t most = 0;
  for (const std::vector<Step>& of_device : steps) most = std::max(most, of_device.size());
  Timeline timeline;
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<double> is_free(devices);
    for (int device = 0; device < devices; ++device) {
      if (i >= steps[device].size()) continue;
      const Step& step = steps[device][i];
      const Device& of = all[device];
      double& begin = is_free[device] = of.arrived;
      // A panel of A needs the place of the panel before the last, ...
      if (i >= 2 && steps[device][i - 2].arrives()) begin = std::max(begin, of.multiplied[i - 2]);
      // ... B's columns of another pass that of those before, ...
      if (i >= 1 && step.first && step.B_arrives) begin = std::max(begin, of.multiplied[i - 1]);
      // ... and a block of C the place of the one before the last.
      if (step.first && step.block >= 2) begin = std::max(begin, of.blocks_left[step.block - 2]);
    }
    for (int device = 0; device < devices; ++device) {
      if (i >= steps[device].size()) continue;
      const Step& step = steps[device][i];
      const int index = static_cast<int>(i);
      const double m = step.rows.size, n = step.columns.size, k = step.k.size;
      Device& of = all[device];
      of.multiplied.push_back(i == 0 ? 0 : of.multiplied[i - 1]);
      if (k == 0 && !step.first) continue;
      const double floats =
          step.A_arrives * m * k + step.B_arrives * k * n + step.C_arrives * m * n;
      if (step.arrives()) {
        double begin = is_free[device];
        for (int other = 0; together != nullptr && other < devices; ++other) {
          if (together->are_in_line(device, other)) begin = std::max(begin, is_free[other]);
        }
        of.arrived = begin + transfer_ms(latency_us, gb_per_s, floats);
        if (floats > 0) timeline.spans.push_back({device, Lane::arrive, index, begin, of.arrived});
      }
      const double overhead = k == 0 ? 0 : rate.overhead_ms(i == 0);
      if (device == 0) timeline.overhead_ms += overhead;
      const double from = overhead + std::max(of.arrived, of.multiplied[i]);
      of.multiplied[i] = from + multiply_ms(m, n, k, rate, !step.first);
      timeline.spans.push_back({device, Lane::multiply, index, from, of.multiplied[i]});
      if (!step.C_leaves) continue;
      const double leaves = std::max(of.multiplied[i], of.left);
      of.left = leaves + transfer_ms(latency_us, gb_per_s, m * n);
      of.blocks_left.push_back(of.left);
      timeline.spans.push_back({device, Lane::leave, index, leaves, of.left});
    }
  }
  return timeline;
}

}  // namespace

Timeline predict(const Schedule& s, const Link& link, const Rate& rate) {
  return predict(steps_of(s), &s, link.latency_us, link.gb_per_s, rate);
}

Timeline predict(const Streams& s, const Link& link, const Rate& rate) {
  const double gb_per_s =
      std::min(link.host_gb_per_s, link.host_pair_gb_per_s / std::min(s.grid.devices(), 2));
  return predict(s.steps, nullptr, link.latency_us, gb_per_s, rate);
}

}  // namespace cluster
