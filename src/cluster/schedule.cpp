#include "cluster/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <set>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace cluster {

namespace {

constexpr std::int64_t kFloat = sizeof(float);

std::string in_words(Shape shape) {
  return std::to_string(shape.M) + " x " + std::to_string(shape.N);
}

bool is_usable(Grid grid, Shape shape) {
  return grid.rows <= std::max(shape.M, 1) && grid.columns <= std::max(shape.N, 1);
}

// The elements of a dimension that are not in part `index`.
std::int64_t outside(int extent, int parts, int index) {
  return extent - part_of(extent, parts, index).size;
}

// The device before that one, in a ring of `parts`: a ring that begins at a device ends at the one
// before it.
int before(int index, int parts) {
  return (index + parts - 1) % parts;
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

int usual_panel(int K, int panels) {
  constexpr int kUnit = 32;
  const int width = (K / panels + kUnit - 1) / kUnit * kUnit;
  return std::clamp(width, 1024, 4096);
}

void refuse_many_steps(double steps) {
  if (steps <= 0x1p22) return;
  throw model::Refusal(text::printed(
      "this product would take %.1e steps; give a wider --panel or smaller matrices", steps));
}

Schedule schedule(Shape shape, Grid grid, int panel) {
  refuse_many_steps(double(shape.K) / panel * grid.devices());
  Schedule result{shape, grid, panel, {}};
  if (shape.K == 0) {
    result.steps.push_back({{0, 0}, 0, 0});
    return result;
  }
  // A panel ends where the owner changes.
  std::set<int> ends{0};
  for (int i = 0; i < grid.columns; ++i) ends.insert(part_of(shape.K, grid.columns, i).end());
  for (int i = 0; i < grid.rows; ++i) ends.insert(part_of(shape.K, grid.rows, i).end());
  // Nothing hides the transfer of the first panel, so it is narrow; later ones are wider.
  int width = std::min(panel, std::max(panel / 4 / 4 * 4, 4));
  int column = 0, row = 0;
  for (auto next = std::next(ends.begin()); next != ends.end(); ++next) {
    const Part owned{*std::prev(next), *next - *std::prev(next)};
    while (part_of(shape.K, grid.columns, column).end() <= owned.begin) ++column;
    while (part_of(shape.K, grid.rows, row).end() <= owned.begin) ++row;
    for (int begin = owned.begin; begin < owned.end();) {
      const Part& k =
          result.steps.emplace_back(Part{begin, std::min(width, owned.end() - begin)}, column, row)
              .k;
      begin = k.end();
      width = static_cast<int>(std::min<std::int64_t>(2LL * width, panel));
    }
  }
  return result;
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
  const auto [M, N, K] = s.shape;
  const auto [P, Q] = s.grid;
  const int row = s.row_of(device), column = s.column_of(device);
  const std::int64_t m = s.M_of(device).size, n = s.N_of(device).size;
  Load load{};
  load.bytes_received = kFloat * (m * outside(K, Q, column) + n * outside(K, P, row));
  // It passes on what it has, except what the next device owns.
  load.bytes_sent = kFloat * ((Q > 1 ? m * outside(K, Q, (column + 1) % Q) : 0) +
                              (P > 1 ? n * outside(K, P, (row + 1) % P) : 0));
  for (const Step& step : s.steps) {
    if (step.k.size == 0) continue;
    load.messages_received += s.receives_A(device, step) + s.receives_B(device, step);
    load.messages_sent += (Q > 1 && column != before(step.from_column, Q)) +
                          (P > 1 && row != before(step.from_row, P));
  }
  const std::int64_t panel = std::min(s.panel, K);
  load.bytes_held = kFloat * (m * s.K_of_A(device).size + n * s.K_of_B(device).size + m * n +
                              2 * panel * ((Q > 1 ? m : 0) + (P > 1 ? n : 0)));
  return load;
}

namespace {

constexpr int kBlocks = 8;       // of rows, if the part is not larger than usual
constexpr int kLeastRows = 256;  // of a block: fewer would not fill the device
constexpr int kMostRows = 4096;  // more would delay the start and the end
constexpr int kUnit = 128;

int ceil_div(std::int64_t value, int divisor) {
  return static_cast<int>((value + divisor - 1) / divisor);
}

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

int largest_part(int extent, int parts) {
  int largest = 0;
  for (int i = 0; i < parts; ++i) largest = std::max(largest, part_of(extent, parts, i).size);
  return largest;
}

// B's columns of a pass, two panels of A, and two blocks of C.
std::int64_t bytes_of(std::int64_t K, std::int64_t rows, std::int64_t columns, std::int64_t panel) {
  return kFloat * (K * columns + 2 * rows * panel + 2 * rows * columns);
}

}  // namespace

Streams streams(Shape shape, Grid grid, int panel, bool reads_C, double memory) {
  const auto [M, N, K] = shape;
  Streams result{shape, grid, reads_C, 0, 0, 0, {}};
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
    std::vector<StreamStep>& steps = result.steps.emplace_back();
    const Part m = parts.M_of(device), n = parts.N_of(device);
    const int blocks = ceil_div(m.size, result.rows);
    for (int pass = 0; std::int64_t{pass} * result.columns < n.size; ++pass) {
      for (int block = 0; block < blocks; ++block) {
        for (int k = 0; k < panels; ++k) {
          steps.push_back(
              {.columns = block_of(n, result.columns, pass),
               .rows = block_of(m, result.rows, block),
               .k = block_of({0, K}, result.panel, k),
               .block = pass * blocks + block,
               .B_arrives = block == 0,
               .first = k == 0,
               .last = k == panels - 1});
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
// of PCIe 5.0 (63 GB/s) less what headers take. All else has its source beside it.
constexpr std::array kLinks = {
    Link{
        "nvlink", 8, 370, 55,
        "ncclBroadcast between two H200, measured: 1 MB in 11.5 us, 256 MB in 740 us"},
    Link{"pcie4", 10, 22, 22, "16 lanes of PCIe 4.0: 31.5 GB/s less what headers take"},
    Link{"100GbE", 30, 11, 22, "100 Gbit/s Ethernet: 12.5 GB/s less what headers take"}};

// An empty product takes no time, even if the speed was measured with it and is 0.
double multiply_ms(double M, double N, double K, double tflops) {
  const double operations = 2 * M * N * K;
  return operations == 0 ? 0 : operations / (1e9 * tflops);
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

Timeline predict(const Schedule& s, const Link& link, double tflops) {
  const int devices = s.grid.devices(), steps = static_cast<int>(s.steps.size());
  // When each device's last panel arrived, and when its products of the last step and of the one
  // before were done.
  std::vector<double> arrived(devices), multiplied(devices), multiplied_before(devices);
  Timeline timeline;
  for (int i = 0; i < steps; ++i) {
    const Step& step = s.steps[i];
    // A broadcast begins when all devices of its row or column have a free buffer.
    const auto is_free = [&](int device) {
      return std::max(arrived[device], multiplied_before[device]);
    };
    std::vector<double> begin(devices);
    for (int device = 0; device < devices; ++device) {
      for (int other = 0; other < devices; ++other) {
        const bool together =
            s.row_of(other) == s.row_of(device) || s.column_of(other) == s.column_of(device);
        if (together) begin[device] = std::max(begin[device], is_free(other));
      }
    }
    multiplied_before = multiplied;
    for (int device = 0; device < devices; ++device) {
      const double m = s.M_of(device).size, n = s.N_of(device).size, k = step.k.size;
      // A device that sends is busy for as long as one that receives.
      const double floats = k * ((s.grid.columns > 1 ? m : 0) + (s.grid.rows > 1 ? n : 0));
      arrived[device] = begin[device] + transfer_ms(link.latency_us, link.gb_per_s, floats);
      if (floats > 0) {
        timeline.spans.push_back({device, Lane::arrive, i, begin[device], arrived[device]});
      }
      const double from = std::max(arrived[device], multiplied[device]);
      multiplied[device] = from + multiply_ms(m, n, k, tflops);
      timeline.spans.push_back({device, Lane::multiply, i, from, multiplied[device]});
    }
  }
  return timeline;
}

Timeline predict(const Streams& s, const Link& link, double tflops) {
  Timeline timeline;
  for (int device = 0; device < s.grid.devices(); ++device) {
    const std::vector<StreamStep>& steps = s.steps[device];
    std::vector<double> multiplied(steps.size());
    std::vector<double> left(steps.empty() ? 0 : steps.back().block + 1);
    double arrived = 0, last_left = 0;
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
      const StreamStep& step = steps[i];
      const double m = step.rows.size, n = step.columns.size, k = step.k.size;
      // A panel of A needs the place of the panel before the last, ...
      double begin = std::max(arrived, i >= 2 ? multiplied[i - 2] : 0);
      // ... B's columns of another pass that of those before, ...
      if (step.first && step.B_arrives && i >= 1) begin = std::max(begin, multiplied[i - 1]);
      // ... and a block of C the place of the one before the last.
      if (step.first && step.block >= 2) begin = std::max(begin, left[step.block - 2]);
      const double floats =
          m * k + (step.B_arrives ? k * n : 0) + (step.first && s.reads_C ? m * n : 0);
      arrived = begin + transfer_ms(link.latency_us, link.host_gb_per_s, floats);
      timeline.spans.push_back({device, Lane::arrive, i, begin, arrived});
      const double from = std::max(arrived, i >= 1 ? multiplied[i - 1] : 0);
      multiplied[i] = from + multiply_ms(m, n, k, tflops);
      timeline.spans.push_back({device, Lane::multiply, i, from, multiplied[i]});
      if (!step.last) continue;
      const double leaves = std::max(multiplied[i], last_left);
      last_left = left[step.block] =
          leaves + transfer_ms(link.latency_us, link.host_gb_per_s, m * n);
      timeline.spans.push_back({device, Lane::leave, i, leaves, last_left});
    }
  }
  return timeline;
}

}  // namespace cluster
