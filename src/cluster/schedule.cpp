#include "cluster/schedule.h"

#include <algorithm>
#include <charconv>
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

// Of a dimension: the elements that are not in part `index`.
std::int64_t outside(int extent, int parts, int index) {
  return extent - part_of(extent, parts, index).size;
}

// The device before that one, in a ring of `parts`: what begins there ends with it.
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
  // Where a panel's owner changes, a panel ends.
  std::set<int> ends{0};
  for (int i = 0; i < grid.columns; ++i) ends.insert(part_of(shape.K, grid.columns, i).end());
  for (int i = 0; i < grid.rows; ++i) ends.insert(part_of(shape.K, grid.rows, i).end());
  // Nothing hides the first panel's journey, so it is narrow, and the next ones less so.
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
  // It passes on what it has, but for what the next device owns.
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

}  // namespace cluster
