#include "show/report/predicted.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include "lab/run.h"
#include "model/stage.h"
#include "show/report/quantities.h"
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
  const int parts = model::parts_of(shares, tiles);
  // To a kernel with maps, a part is a product of its own, without an old C.
  const bool is_part = all_cut && v.operands == model::Operands::maps;
  return {
      {"M", number(run.M)},
      {"N", number(run.N)},
      {"K", number(is_part ? shares.depth * v.BK : K_read)},
      {"BM", number(v.BM)},
      {"BN", number(v.BN)},
      {"BK", number(v.BK)},
      {"WM", number(v.WM)},
      {"WN", number(v.WN)},
      {"TM", number(v.TM)},
      {"TN", number(v.TN)},
      {"threads", number(v.threads())},
      {"reads_C", run.beta != 0 && !is_part ? 1.0 : 0.0},
      {"vec", row.aligned ? 4.0 : 1.0},
      {"blocks", number(blocks)},
      {"tiles", number(blocks > 0 ? (parts + blocks - 1) / blocks : 0)},
      {"cuts", all_cut ? 1.0 : 0.0},
      {"depth", number(all_cut ? shares.depth : k_tiles)},
      {"adds", number(all_cut ? shares.parts : 0)}};
}

const model::Predicted& formulas_of(const lab::Row& row) {
  return row.variant->predicted != nullptr ? *row.variant->predicted
                                           : model::lesson_of(*row.stage, *row.variant).predicted;
}

std::optional<PredictedCounts> predicted(const lab::Run& run, const lab::Row& row) {
  if (!row.stage || !row.variant) return std::nullopt;
  const std::vector<model::Named> names = formula_names(run, row);
  PredictedCounts counts;
  std::ranges::transform(kPerThread, counts.begin(), [&](const PerThreadCount& count) {
    return model::evaluate(formulas_of(row).*count.formula, names);
  });
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
    const auto named = std::ranges::find(names, word, &model::Named::name);
    text += named == names.end() ? std::string(word) : text::printed("%.15g", named->value);
    at = end;
  }
  return text;
}

std::vector<AskedQuestion> questions_of(const lab::Run& run, const lab::Row& row) {
  if (!row.stage || !row.variant) return {};
  std::vector<model::Named> names = formula_names(run, row);
  names.push_back({"pipeline", static_cast<double>(row.variant->pipeline)});
  if (row.counts) {
    names.push_back({"sectors", lab::pieces_per_request(row.counts->gmem_loads)});
    names.push_back({"wavefronts", lab::pieces_per_request(row.counts->smem_loads)});
    names.push_back(
        {"conflicts",
         static_cast<double>(
             row.counts->smem_loads.bank_conflicts + row.counts->smem_stores.bank_conflicts)});
  }
  if (row.occupancy) {
    const model::Occupancy& o = *row.occupancy;
    names.push_back({"blocks_per_sm", static_cast<double>(o.blocks_per_sm)});
    names.push_back({"warps_per_sm", static_cast<double>(o.blocks_per_sm * o.warps_per_block)});
  }
  std::vector<AskedQuestion> asked;
  for (const model::Question& question : model::lesson_of(*row.stage, *row.variant).questions) {
    if (question.of_32_lanes && run.gpu.warp != model::kGpuWarp) continue;
    AskedQuestion& one = asked.emplace_back(AskedQuestion{question.text, question.because});
    const std::string formula = question.answer, numbers = with_numbers(formula, names);
    try {
      one.value = model::evaluate(formula, names);
    } catch (const std::invalid_argument&) {
      continue;  // the row lacks a value
    }
    const std::string result = text::exact(*one.value);
    one.worked_out = formula + (numbers != formula ? " = " + numbers : "") +
                     (result != numbers && result != formula ? " = " + result : "") + " " +
                     question.unit;
  }
  return asked;
}

namespace {

// The next line without its end; nothing if there is no complete line.
std::optional<std::string> read_line(std::FILE* in) {
  constexpr std::size_t kMostBytes = 1 << 16;
  std::string line;
  int letter = std::fgetc(in);
  if (letter == EOF) return std::nullopt;
  for (; letter != EOF && letter != '\n'; letter = std::fgetc(in)) {
    if (letter != '\r') line += static_cast<char>(letter);
    if (line.size() > kMostBytes) return std::nullopt;
  }
  return line;
}

std::string judged(double predicted, double value) {
  const std::string is = "it is " + text::exact(value);
  if (std::abs(predicted - value) < 0.005 * std::max(1.0, std::abs(value)))
    return "Right: " + is + ".";
  std::string text = "You said " + text::exact(predicted) + ", " + is + ": " +
                     text::exact(std::abs(predicted - value)) +
                     (predicted < value ? " too few" : " too many");
  if (predicted > 0) {
    const double times = predicted < value ? value / predicted : predicted / value;
    text += ", or a factor of " + text::exact(std::round(100 * times) / 100);
  }
  return text + ".";
}

}  // namespace

std::vector<AskedQuestion> asked_counts(const Known& known) {
  constexpr std::pair<const char*, const char*> kAsked[] = {
      {"GMEM loads per thread", "gmem_loads"},
      {"SMEM loads per thread", "smem_loads"},
      {"GMEM stores per thread", "gmem_stores_per_thread.max"},
      {"SMEM stores per thread", "smem_stores_per_thread.max"},
      {"sectors per GMEM load request of a warp, on average", "sectors_per_request"},
      {"wavefronts per SMEM load request of a warp, on average", "wavefronts_per_request"},
      {"blocks per SM", "occupancy.blocks_per_sm"}};
  std::vector<AskedQuestion> counts;
  for (const auto& [what, path] : kAsked) {
    const double value = number(path, known).value_or(0);
    if (value > 0) counts.push_back({what, "", value, text::exact(value)});
  }
  return counts;
}

bool quiz(std::FILE* in, std::FILE* out, const Known& known) {
  const std::vector<model::Named> names = formula_names(known.run, known.row);
  std::string listed;
  for (const model::Named& name : names) {
    listed += (listed.empty() ? "" : ", ") + std::string(name.name);
  }
  std::fprintf(
      out, "\n%s",
      text::labelled(
          "", 0,
          "Predict first; then the counts are shown. Type a number or a formula of " + listed +
              ". An empty line skips a question.")
          .c_str());
  for (const AskedQuestion& count : asked_counts(known)) {
    for (;;) {
      std::fprintf(out, "  %s? ", count.text.c_str());
      std::fflush(out);
      const std::optional<std::string> line = read_line(in);
      if (!line) {
        std::fprintf(
            out,
            "\n  Without your predictions no counts are shown; leave --ask out to see them.\n");
        return false;
      }
      if (line->find_first_not_of(" \t") == line->npos) {  // gives it up
        std::fprintf(out, "    It is %s.\n", count.worked_out.c_str());
        break;
      }
      try {
        const double predicted = model::evaluate(*line, names);
        if (!std::isfinite(predicted)) throw std::invalid_argument("that is not a finite number");
        std::fprintf(out, "    %s\n", judged(predicted, *count.value).c_str());
        break;
      } catch (const std::invalid_argument& error) {
        std::fprintf(
            out, "%s", text::labelled("", 4, std::string(error.what()) + ". Try again:").c_str());
      }
    }
  }
  return true;
}

}  // namespace report
