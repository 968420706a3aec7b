#include "cluster/streams.h"

#include <algorithm>
#include <limits>

#include "model/refusal.h"
#include "text/numbers.h"

namespace cluster {

namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr int kBlocks = 8;       // of rows, if the part is not larger than usual
constexpr int kLeastRows = 256;  // of a block: fewer would not fill the device
constexpr int kMostRows = 4096;  // more would be late at both ends
constexpr int kUnit = 128;

int ceil_div(std::int64_t value, int divisor) {
  return static_cast<int>((value + divisor - 1) / divisor);
}

// But no more than an int holds.
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

}  // namespace cluster
