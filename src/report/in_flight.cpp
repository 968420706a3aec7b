#include "report/in_flight.h"

#include <algorithm>
#include <cmath>

#include "lab/run.h"
#include "text/numbers.h"

namespace report {

namespace {

constexpr int kLabel = 18;  // as the other sections of --explain have it

double warps_of_block(const model::Counts& counts) {
  const double threads = static_cast<double>(counts.threads_traced);
  return std::ceil(threads / static_cast<double>(counts.blocks_traced) / counts.warp.lanes);
}

}  // namespace

Barriers barriers(const lab::Run& run, const lab::Row& row) {
  const double a_block =
      static_cast<double>(row.counts->barriers) / static_cast<double>(row.counts->blocks_traced);
  const model::Variant& v = *row.variant;
  const model::Product product = lab::product_of(run);
  if (v.BK == 0 || product.K == 0) return {a_block, 0};
  // Of C's tiles, as far as the traced blocks computed them.
  const double tiles = row.stage ? model::traced_tiles(product, v, *row.counts)
                                 : static_cast<double>(row.counts->blocks_traced);
  const double k_tiles = tiles * model::padded_K(product, v) / v.BK;
  return {a_block, static_cast<double>(row.counts->barriers) / k_tiles};
}

InFlight in_flight(const lab::Row& row, const model::LineCounts& line) {
  const double warps = warps_of_block(*row.counts);
  const double requests = static_cast<double>(std::max<std::int64_t>(line.requests, 1));
  return {
      static_cast<double>(line.in_flight_bytes) / requests * warps,
      static_cast<double>(line.in_flight_most) * warps};
}

std::string explain_in_flight(const lab::Run& run, const lab::Row& row) {
  const model::Counts& counts = *row.counts;
  if (counts.blocks_traced == 0 || counts.smem_loads.requests == 0) return "";
  const Barriers waits = barriers(run, row);
  std::string text = text::labelled(
      "  barriers", kLabel,
      text::exact(std::round(100 * waits.a_block) / 100) + " per block" +
          (waits.a_tile > 0 ? ", " + text::brief(waits.a_tile) + " per tile of K" : ""));
  bool any = false;
  for (const model::LineCounts& line : counts.lines) {
    if (!line.shared || line.direction != model::Direction::load || line.in_flight_most == 0)
      continue;
    any = true;
    const InFlight bytes = in_flight(row, line);
    text += text::labelled(
        line.line > 0 ? text::printed("  line %d", line.line) : "  loads", kLabel,
        "loads " + line.array + " while " + text::grouped(std::llround(bytes.mean_bytes)) +
            " B (at most " + text::grouped(std::llround(bytes.most_bytes)) +
            " B) of the next tiles are being copied");
  }
  if (!any && row.stage && row.stage->specialized && row.aligned) {
    text += text::labelled(
        "  in flight", kLabel,
        text::printed(
            "up to %d tiles ahead, in boxes; warps wait for them and for each other at mbarriers",
            row.variant->pipeline));
  } else if (!any) {
    text += text::labelled(
        "  in flight", kLabel, "nothing: each tile is copied, waited for and then multiplied");
  }
  return text;
}

}  // namespace report
