#include "report/explain/sections.h"

#include <algorithm>
#include <cmath>

#include "lab/run.h"
#include "report/explain/words.h"
#include "text/numbers.h"

namespace report {

namespace {

std::string coalescing(const model::Traffic& traffic) {
  const double ratio =
      static_cast<double>(traffic.pieces) /
      static_cast<double>(std::max<std::int64_t>(traffic.pieces - traffic.uncoalesced, 1));
  if (traffic.pieces == traffic.ideal_pieces) {
    return "Coalesced: the bytes that the lanes want fit into no fewer sectors.";
  }
  if (traffic.uncoalesced == 0) {
    return "Coalesced: lanes share sectors, and the ideal counts the bytes that they share once.";
  }
  if (ratio < 1.25) {
    return text::printed(
        "Nearly coalesced: %.2f times the sectors of neighbouring, aligned addresses.", ratio);
  }
  return text::printed(
      "Not coalesced: %.2f times the sectors of neighbouring addresses; most bytes in them are "
      "unused.",
      ratio);
}

// `copies` is the part of `traffic` that cp.async makes.
std::string conflicts(const model::Traffic& traffic, const model::Traffic& copies) {
  if (traffic.bank_conflicts > 0 && traffic.bank_conflicts == copies.bank_conflicts) {
    return "Conflicts of cp.async alone: lanes of a copy that read from the same bank, of "
           "different "
           "lines, or write to the same bank wait for each other. No other store has a conflict.";
  }
  if (traffic.bank_conflicts == 0) {
    return "Conflict-free: no two lanes that are served together want different words of a bank.";
  }
  const double share = 100.0 * static_cast<double>(traffic.bank_conflicts) /
                       static_cast<double>(std::max<std::int64_t>(traffic.pieces, 1));
  return text::printed(
      "Bank conflicts: %.0f %% of the wavefronts are repeats, because lanes want different "
      "words of one bank.",
      share);
}

double ideal_per_request(const model::Traffic& traffic) {
  return static_cast<double>(traffic.ideal_pieces) / static_cast<double>(traffic.requests);
}

}  // namespace

std::string requests_of_warps(const model::Counts& counts, text::Style style) {
  const bool narrow = text::report_width() < text::kReportWidth;
  const char* kColumns =
      narrow ? "%-13s %12s %15s %11s %7s %14s\n" : "%-13s %16s %16s %14s %14s %14s\n";
  struct Line {
    const char* what;
    const model::Traffic& traffic;
    model::Traffic copies;  // the part of it that cp.async makes
  };
  const Line global[] = {
      {"GMEM loads", counts.gmem_loads, {}}, {"GMEM stores", counts.gmem_stores, {}}};
  const Line shared[] = {
      {"SMEM loads", counts.smem_loads, {}},
      {"SMEM stores", counts.smem_stores, counts.async_smem}};
  const auto line = [&](const char* what, const model::Traffic& traffic, const std::string& last) {
    return "  " + text::printed(
                      kColumns, what, text::grouped(traffic.requests).c_str(),
                      text::grouped(traffic.pieces).c_str(),
                      text::printed("%.2f", lab::pieces_per_request(traffic)).c_str(),
                      text::printed("%.2f", ideal_per_request(traffic)).c_str(), last.c_str());
  };

  std::string text = heading(
      text::printed(
          "What its warp asks of memory (a request is one instruction of %d threads)",
          counts.warp.lanes),
      style);
  text += "  " + text::printed(
                     kColumns, "", "requests",
                     text::printed("%d-byte sectors", counts.warp.sector_bytes).c_str(),
                     "per request", "ideal", "");
  for (const Line& loads_or_stores : global) {
    const model::Traffic& traffic = loads_or_stores.traffic;
    if (traffic.requests == 0) continue;
    text += line(loads_or_stores.what, traffic, "") + verdict(coalescing(traffic));
  }
  if (counts.smem_loads.requests + counts.smem_stores.requests > 0) {
    text += "  " +
            text::printed(
                kColumns, "", "requests", "wavefronts", "per request", "ideal", "bank conflicts");
    for (const auto& [what, traffic, copies] : shared) {
      if (traffic.requests == 0) continue;
      text += line(what, traffic, text::grouped(traffic.bank_conflicts)) +
              verdict(conflicts(traffic, copies));
    }
  }
  if (counts.async_gmem.requests > 0) {
    text += fact(
        "cp.async", text::grouped(counts.async_gmem.requests) +
                        " of these requests: " + text::grouped(counts.async_gmem.pieces) +
                        " sectors from GMEM, " + text::grouped(counts.async_smem.pieces) +
                        " wavefronts into SMEM, past the registers");
  }
  if (counts.mmas > 0) {
    text += fact(
        "tensor cores", text::grouped(counts.mmas) + " instructions of a warp, each of " +
                            text::grouped(counts.mma_products / counts.mmas) +
                            text::printed(" multiply-adds; an FFMA makes %d", counts.warp.lanes));
  }
  if (!lab::is_total(counts))
    text += "  Counted in the traced blocks only; --trace all gives the totals of the launch.\n";
  return text;
}

}  // namespace report
