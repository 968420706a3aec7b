#include "report/predicted.h"

#include <algorithm>
#include <cctype>

#include "model/stage.h"
#include "text/numbers.h"

namespace report {

std::vector<model::Named> formula_names(const lab::Run& run, const lab::Row& row) {
  const model::Variant& v = *row.variant;
  const auto number = [](int value) { return static_cast<double>(value); };
  const int K_read = run.alpha != 0 ? run.K : 0;
  const model::ShareOut shares = model::share_out(v, run.M, run.N, K_read, run.gpu.sms);
  const bool all_cut = shares.parts > 1 && shares.whole == 0;
  const int k_tiles = v.BK > 0 ? (K_read + v.BK - 1) / v.BK : 0;
  const int tiles = model::tiles_of(v, run.M, run.N), blocks = model::blocks_of(shares, tiles);
  return {
      {"M", number(run.M)},
      {"N", number(run.N)},
      {"K", number(K_read)},
      {"BM", number(v.BM)},
      {"BN", number(v.BN)},
      {"BK", number(v.BK)},
      {"WM", number(v.WM)},
      {"WN", number(v.WN)},
      {"TM", number(v.TM)},
      {"TN", number(v.TN)},
      {"threads", number(v.threads())},
      {"reads_C", run.beta != 0 ? 1.0 : 0.0},
      {"vec", row.aligned ? 4.0 : 1.0},
      {"blocks", number(blocks)},
      {"tiles", number(blocks > 0 ? (tiles + blocks - 1) / blocks : 0)},
      {"cuts", all_cut ? 1.0 : 0.0},
      {"depth", number(all_cut ? shares.depth : k_tiles)},
      {"adds", number(all_cut ? shares.parts : 0)}};
}

const model::Predicted& formulas_of(const lab::Row& row) {
  return row.variant->predicted != nullptr ? *row.variant->predicted : row.stage->predicted;
}

std::optional<PredictedCounts> predicted(const lab::Run& run, const lab::Row& row) {
  if (!row.stage || !row.variant) return std::nullopt;
  const std::vector<model::Named> names = formula_names(run, row);
  const auto value = [&](const char* formula) {
    return formula ? model::evaluate(formula, names) : 0;
  };
  const model::Predicted& formulas = formulas_of(row);
  PredictedCounts counts;
  counts.gmem_loads = value(formulas.gmem_loads);
  counts.gmem_floats = value(formulas.gmem_floats);
  counts.smem_loads = value(formulas.smem_loads);
  counts.smem_floats = value(formulas.smem_floats);
  counts.gmem_stores = value(formulas.gmem_stores);
  counts.smem_stores = value(formulas.smem_stores);
  counts.async_copies = value(formulas.async_copies);
  return counts;
}

std::string with_numbers(std::string_view formula, std::span<const model::Named> names) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::string text;
  for (std::size_t at = 0; at < formula.size();) {
    std::size_t end = at;
    while (end < formula.size() && in_word(formula[end])) ++end;
    if (end == at) {
      text += formula[at++];
      continue;
    }
    const std::string_view word = formula.substr(at, end - at);
    const auto named = std::find_if(names.begin(), names.end(), [&](const model::Named& candidate) {
      return candidate.name == word;
    });
    text += named == names.end() ? std::string(word) : text::printed("%.15g", named->value);
    at = end;
  }
  return text;
}

}  // namespace report
