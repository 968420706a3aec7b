#include "report/explain/sections.h"

#include <climits>

#include "lab/run.h"
#include "report/explain/words.h"
#include "text/numbers.h"

namespace report {

namespace {

// What one resource allows, and how that comes about, a step a line.
struct Limit {
  const char* name;
  std::vector<std::string> steps;
  int blocks;  // INT_MAX: as many as you like
};

Limit by_smem(const model::Gpu& gpu, const model::Occupancy& o) {
  Limit limit{"shared memory", {}, o.blocks_by_smem};
  const int used = o.resources.smem_bytes_per_block;
  const int reserved = gpu.smem_reserved_bytes_per_block;
  const int unit = std::max(gpu.smem_granularity_bytes, 1);
  const int taken = (used + reserved + unit - 1) / unit * unit;
  if (used <= 0) {
    limit.steps = {"the kernel uses none"};
  } else if (used > gpu.smem_bytes_per_block) {
    limit.steps = {
        text::grouped(used) +
        " B is more than one block may have: " + text::grouped(gpu.smem_bytes_per_block) + " B"};
  } else {
    std::string bytes = text::grouped(used) + " B";
    if (reserved > 0) bytes += " + " + text::grouped(reserved) + " B for the system";
    if (taken != used + reserved) bytes += text::printed(", rounded up to a multiple of %d", unit);
    if (taken != used) bytes += ": " + text::grouped(taken) + " B";
    limit.steps = {
        bytes, "floor(" + text::grouped(gpu.smem_bytes_per_sm) + " B per SM / " +
                   text::grouped(taken) + " B per block)"};
  }
  return limit;
}

Limit by_registers(const model::Gpu& gpu, const model::Occupancy& o) {
  const int lanes = gpu.warp.lanes, unit = gpu.register_granularity;
  Limit limit{
      "registers", {"not known without nvcc; --registers N states them"}, o.blocks_by_registers};
  const int used = o.resources.registers_per_thread * lanes;
  if (used <= 0) return limit;
  const int taken = (used + unit - 1) / unit * unit;
  std::string registers =
      text::printed("%d x %d lanes = ", o.resources.registers_per_thread, lanes) +
      text::grouped(used) + " per warp";
  if (taken != used) registers += ", rounded up to " + text::grouped(taken);
  const int parts = gpu.sub_partitions_per_sm;
  const std::string warps_per_part = "floor(" + text::grouped(gpu.registers_per_sm) +
                                     (parts > 1 ? text::printed(" / %d", parts) : "") + " / " +
                                     text::grouped(taken) + ")";
  limit.steps = {
      registers, "floor(" + warps_per_part + (parts > 1 ? text::printed(" * %d", parts) : "") +
                     text::printed(" / %d warps per block)", o.warps_per_block)};
  return limit;
}

}  // namespace

std::vector<Part> explain_occupancy(const Explained& explained) {
  const auto& [run, row, style, whole, format] = explained;
  if (!row.occupancy) return {};
  const int steps = text::report_width() - 42;
  const model::Gpu& gpu = run.gpu;
  const model::Occupancy& o = *row.occupancy;
  const Limit limits[] = {
      {"threads",
       {text::printed(
           "floor(%s threads per SM / %d / %d warps per block)",
           text::grouped(gpu.threads_per_sm).c_str(), gpu.warp.lanes, o.warps_per_block)},
       o.blocks_by_threads},
      {"blocks", {"the most that an SM can manage at a time"}, o.blocks_by_blocks},
      by_smem(gpu, o),
      by_registers(gpu, o)};

  std::string text = heading("How many blocks an SM of " + gpu.name + " holds", style);
  std::string limited_by;
  for (const Limit& limit : limits) {
    const bool least = limit.blocks == o.blocks_per_sm;
    if (least) limited_by += (limited_by.empty() ? "" : " and ") + std::string(limit.name);
    const std::string blocks =
        limit.blocks == INT_MAX
            ? " no limit"
            : text::printed(" = %3d block%s", limit.blocks, limit.blocks == 1 ? "" : "s");
    std::vector<std::string> lines;
    for (const std::string& step : limit.steps) {
      for (const std::string& line : text::wrapped(step, steps)) lines.push_back(line);
    }
    for (const std::string& step : lines) {
      text += text::repeated(" ", kIndent) +
              text::pad_right(&step == &lines.front() ? limit.name : "", kLabel);
      text += &step == &lines.back()
                  ? text::pad_right(step, steps) + blocks + (least ? " <- least" : "")
                  : step;
      text += "\n";
    }
  }
  text += fact(
      "occupancy",
      text::printed(
          "%d block%s x %d warps = %d of the %d warps that an SM can hold: %.2f %%",
          o.blocks_per_sm, o.blocks_per_sm == 1 ? "" : "s", o.warps_per_block,
          o.blocks_per_sm * o.warps_per_block, gpu.threads_per_sm / gpu.warp.lanes, o.percent));
  text += fact("limiter", limited_by);
  if (row.variant && o.blocks_per_sm > 0) {
    const lab::Grid blocks = lab::grid(run, *row.variant);
    const long long count = row.launch
                                ? 1LL * row.launch->grid.x * row.launch->grid.y * row.launch->grid.z
                                : blocks.x * blocks.y;
    text += fact(
        "waves", text::grouped(count) + text::printed(
                                            " blocks / (%d per SM x %d SMs) = %.2f",
                                            o.blocks_per_sm, gpu.sms, model::waves(gpu, o, count)));
  }
  return {{text}};
}

}  // namespace report
