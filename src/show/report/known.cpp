#include "show/report/known.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "lab/run.h"
#include "model/stage.h"
#include "show/pictures/recorded_gpus.h"
#include "show/report/quantities.h"
#include "show/report/words.h"
#include "text/numbers.h"

namespace report {

namespace {

std::optional<FirstWave> first_wave_of(const lab::Run& run, const lab::Row& row, lab::Grid grid) {
  const model::Variant& v = *row.variant;
  const long long at_once =
      std::min(grid.x * grid.y, 1LL * run.gpu.sms * row.occupancy->blocks_per_sm);
  if (at_once == 0) return std::nullopt;
  const bool down_columns = std::string_view(lab::kernel_name(row)).starts_with("swapped_");
  const long long along = down_columns ? grid.y : grid.x;  // blocks until the next row or column
  const long long full = std::min(at_once, along), lines = (at_once + along - 1) / along;
  FirstWave wave{};
  wave.block_rows = down_columns ? full : lines;
  wave.block_columns = down_columns ? lines : full;
  const double rows = std::min<double>(run.M, static_cast<double>(wave.block_rows) * v.BM);
  const double columns = std::min<double>(run.N, static_cast<double>(wave.block_columns) * v.BN);
  wave.bytes = 4.0 * run.K * (rows + columns);
  return wave;
}

std::optional<Choice> choice_of(
    const lab::Run& run, const model::Stage& stage, const model::Variant& first,
    const model::Variant& chosen) {
  if (!model::has_clock(run.gpu) || run.M == 0 || run.N == 0) return std::nullopt;
  const auto spread = [&](const model::Variant& v) {
    return model::spread(v, run.gpu, run.M, run.N, run.K);
  };
  const bool is_first = &chosen == &first;
  const model::Variant* other = is_first ? nullptr : &first;
  for (const model::Variant& v : stage.variants) {
    if (!is_first || &v == &first || !v.for_small) continue;
    if (v.shared_bytes > run.gpu.smem_bytes_per_block) continue;
    if (other == nullptr || spread(v).clocks < spread(*other).clocks) other = &v;
  }
  if (other == nullptr) return std::nullopt;
  return Choice{&chosen, other, spread(chosen), spread(*other)};
}

// `loads`: those of all warps of a block.
LoopOfWarp loop_of_warp(
    const lab::Run& run, const lab::Row& row, const model::CompiledKernel& record,
    const model::SharedLoads& loads) {
  using Mix = model::InstructionMix;
  const model::Counts& counts = *row.counts;
  const model::Variant& v = *row.variant;
  const model::Product product = lab::product_of(run);
  const model::Rounds times = model::rounds_along_K(product, v, record);
  const double warps = run.gpu.warp.warps_of(v.threads());
  const double traced_warps = warps * model::traced_tiles(product, v, counts);
  const auto written = [&](std::int64_t total) {
    return static_cast<double>(total) / traced_warps;
  };
  const auto compiled = [&](auto kind) {
    return times.loop * std::invoke(kind, record.loop) +
           times.inner * std::invoke(kind, record.inner);
  };
  const bool tensor = v.multiplier != model::Multiplier::ffma;
  const double products = model::multiplications_of_a_warp(product, v);
  const double accesses = written(
      counts.gmem_loads.requests + counts.gmem_stores.requests + counts.smem_loads.requests +
      counts.smem_stores.requests - counts.async_smem.requests);
  LoopOfWarp loop{
      {products, compiled(tensor ? &Mix::mma : &Mix::ffma)},
      {written(counts.smem_loads.requests), loads.requests / warps},
      {written(counts.smem_loads.pieces), loads.wavefronts / warps},
      {products + model::additions_of_a_warp(product, v) + accesses, compiled(&Mix::all)},
      {{"LDS.32", compiled(&Mix::lds32)},
       {"LDS.64", compiled(&Mix::lds64)},
       {"LDS.128", compiled(&Mix::lds128)},
       {"LDSM", compiled(&Mix::ldsm1)},
       {"LDSM.2", compiled(&Mix::ldsm2)},
       {"LDSM.4", compiled(&Mix::ldsm4)}}};
  std::erase_if(loop.loads_by_width, [](const auto& width) { return width.second == 0; });
  return loop;
}

// The reasons are those of the first variants; other tiles have others, and then there is no text.
std::string why_lower_of(const std::vector<Known>& rows) {
  std::string text;
  const model::Ceiling* before = nullptr;
  for (const Known& known : rows) {
    if (!known.compiled || !known.row.why_not_run.empty()) continue;
    if (!known.is_first) return "";
    const model::Ceiling& now = *known.compiled;
    if (before && tflops_words(now.tflops) != tflops_words(before->tflops) &&
        now.tflops < before->tflops) {
      const auto with_full_sms = [](const model::Ceiling& c) { return c.tflops / c.busy_share; };
      const bool by_tail = now.busy_share < 0.99 * before->busy_share &&
                           with_full_sms(now) > 0.99 * with_full_sms(*before);
      const char* const why = now.before_ms > before->before_ms ? " reads B twice"
                              : by_tail ? " leaves more SMs without a block at its end"
                              : now.bound_by == model::kTensor
                                  ? " makes three tf32 products for each fp32 product"
                                  : " waits less, which a ceiling does not show";
      text += (text.empty() ? "stage " : "; ") + std::to_string(known.row.number) + why;
    }
    before = &now;
  }
  return text;
}

std::optional<double> recorded(
    const lab::Run& run, const lab::Row& row, const model::Variant& suited) {
  const bool is_cube = run.M == run.N && run.M == run.K && run.program.empty();
  if (!is_cube || std::string_view(suited.name) != row.variant->name) return std::nullopt;
  for (const pictures::RecordedGpu& of : pictures::recorded_gpus()) {
    const auto ladder = std::ranges::find(of.ladders, run.M, &pictures::RecordedLadder::size);
    if (of.gpu.name != run.gpu.name || ladder == of.ladders.end()) continue;
    const double tflops = ladder->of(row.number).tflops;
    return tflops == 0 ? std::nullopt : std::optional(tflops);
  }
  return std::nullopt;
}

}  // namespace

Known::Known(const lab::Run& of_run, const lab::Row& of_row)
    : lab::Ceilings(lab::ceilings(of_run, of_row)), run(of_run), row(of_row) {
  const model::Counts* const counts = row.counts ? &*row.counts : nullptr;
  traced = counts && counts->blocks_traced > 0 ? counts : nullptr;
  total = counts && lab::is_total(*counts) ? counts : nullptr;
  tflops = lab::tflops(run, row);
  const auto times_as_fast_as = [&](const lab::Row* other) -> std::optional<double> {
    if (!other || !other->time || !row.time || row.time->median_ms <= 0) return std::nullopt;
    return other->time->median_ms / row.time->median_ms;
  };
  cublas_ratio = times_as_fast_as(run.cublas());
  const auto found = std::ranges::find(run.rows, row.before_number, &lab::Row::number);
  const bool has_before = row.before_number >= 0 && found != run.rows.end();
  // A contrast is the only row of its stage.
  if (has_before && row.before_number != row.number) before = &*found;
  times_before = times_as_fast_as(before);
  if (!row.variant) return;
  const model::Variant& v = *row.variant;
  const model::Product product = lab::product_of(run);
  grid = lab::grid(run, v);
  kernel = lab::kernel_name(row);
  aligned = row.aligned;
  blocks = counts ? counts->blocks : grid->x * grid->y;
  const auto computed = static_cast<double>(grid->x * grid->y * v.BM * v.BN);
  wasted = computed == 0 ? 0 : 1 - static_cast<double>(run.M) * run.N / computed;
  if (row.occupancy) {
    waves = model::waves(run.gpu, *row.occupancy, grid->x * grid->y);
    first_wave = first_wave_of(run, row, *grid);
  }
  if (row.stage) {
    const model::Variant& suited = model::suited_variant(*row.stage, run.gpu, run.M, run.N, run.K);
    const model::Variant& first = model::first_variant(*row.stage, run.gpu);
    is_first = &v == &first;
    choice = choice_of(run, *row.stage, first, suited);
    is_for_small = &v == &suited && !is_first;
    recorded_tflops = recorded(run, row, suited);
  }
  if (row.stage || written) {
    const model::ShareOut parts = lab::shares(run, v);
    const int tiles = model::tiles_of(v, run.M, run.N);
    const int k_tiles = v.BK > 0 ? model::padded_K(product, v) / v.BK : 0;
    shares = {
        parts, tiles, k_tiles, model::is_in_turns(parts, tiles),
        4 * model::floats_of_sums(parts, v, tiles)};
  }
  if (traced) {
    const auto all = static_cast<double>(traced->barriers);
    const auto of_these = static_cast<double>(traced->blocks_traced);
    barriers_per_block = all / of_these;
    // The tiles of C that the traced blocks computed, as a fraction.
    const double of_C = row.stage ? model::traced_tiles(product, v, *traced) : of_these;
    if (all > 0 && v.BK > 0 && product.K > 0) {
      barriers_per_k_tile = all / (of_C * model::padded_K(product, v) / v.BK);
    }
  }
  predicted = report::predicted(run, row);
  if (record && traced) {
    const auto of_block = model::shared_loads_as_compiled(product, v, *traced, *record);
    loop = loop_of_warp(run, row, *record, of_block);
    if (row.stage) {
      compiled_loads = {of_block.requests * shares->tiles, of_block.wavefronts * shares->tiles};
    }
  }
  if (!compiled || !tflops) return;
  ceiling_ratio = *tflops / compiled->tflops;
  kernel_ms =
      row.time->median_ms - (row.preparation ? row.preparation->median_ms : compiled->before_ms);
  const double busy = compiled->ms[compiled->bound_by] / *kernel_ms;
  const int percent = static_cast<int>(std::lround(100 * busy));
  bound = BoundBy{percent < kBusy, compiled->bound_by, percent};
}

KnownRun::KnownRun(const lab::Run& of_run) : run(of_run) {
  std::vector<model::DeviceState> states;
  for (const lab::Row& row : run.rows) {
    rows.emplace_back(run, row);
    if (row.time && row.time->device) states.push_back(*row.time->device);
  }
  why_lower = why_lower_of(rows);
  device = model::together(states);
}

std::vector<model::Named> formula_names(const lab::Run& run, const lab::Row& row) {
  const model::Variant& v = *row.variant;
  const auto number = [](int value) { return static_cast<double>(value); };
  const int K_read = run.alpha != 0 ? run.K : 0;
  const model::ShareOut shares = model::share_out(v, run.M, run.N, K_read, run.gpu.sms);
  const bool all_cut = shares.slices > 1 && shares.whole == 0;
  const int k_tiles = v.BK > 0 ? (K_read + v.BK - 1) / v.BK : 0;
  const int tiles = model::tiles_of(v, run.M, run.N), blocks = model::blocks_of(shares, tiles);
  const int slices = model::slices_of(shares, tiles);
  // To a kernel with maps, a slice is a product of its own, without an old C.
  const bool is_slice = all_cut && v.has_maps;
  return {
      {"M", number(run.M)},
      {"N", number(run.N)},
      {"K", number(is_slice ? shares.depth * v.BK : K_read)},
      {"BM", number(v.BM)},
      {"BN", number(v.BN)},
      {"BK", number(v.BK)},
      {"WM", number(v.WM)},
      {"WN", number(v.WN)},
      {"TM", number(v.TM)},
      {"TN", number(v.TN)},
      {"threads", number(v.threads())},
      {"reads_C", run.beta != 0 && !is_slice ? 1.0 : 0.0},
      {"vec", row.aligned ? 4.0 : 1.0},
      {"blocks", number(blocks)},
      {"tiles", number(blocks > 0 ? (slices + blocks - 1) / blocks : 0)},
      {"cuts", all_cut ? 1.0 : 0.0},
      {"depth", number(all_cut ? shares.depth : k_tiles)},
      {"adds", number(all_cut ? shares.slices : 0)}};
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

std::vector<AskedQuestion> asked(const Known& known) {
  constexpr std::pair<const char*, const char*> kAsked[] = {
      {"GMEM loads per thread?", "gmem_loads"},
      {"SMEM loads per thread?", "smem_loads"},
      {"GMEM stores per thread?", "gmem_stores_per_thread.max"},
      {"SMEM stores per thread?", "smem_stores_per_thread.max"},
      {"sectors per GMEM load request of a warp, on average?", "sectors_per_request"},
      {"wavefronts per SMEM load request of a warp, on average?", "wavefronts_per_request"},
      {"blocks per SM?", "occupancy.blocks_per_sm"}};
  std::vector<AskedQuestion> all;
  for (const auto& [what, path] : kAsked) {
    const double value = number(path, known).value_or(0);
    if (value > 0) all.push_back({what, "", value, text::exact(value)});
  }
  for (const AskedQuestion& question : questions_of(known.run, known.row))
    if (question.value) all.push_back(question);
  return all;
}

bool quiz(std::FILE* in, std::FILE* out, const Known& known) {
  const std::vector<model::Named> names = formula_names(known.run, known.row);
  std::string listed;
  for (const auto& [name, value] : names)
    listed += (listed.empty() ? "" : ", ") + std::string(name);
  std::fprintf(
      out, "\n%s",
      text::labelled(
          "", 0,
          "Predict first; then the counts are shown. Type a number or a formula of " + listed +
              ". An empty line skips a question.")
          .c_str());
  for (const AskedQuestion& question : asked(known)) {
    for (bool is_second = false;;) {
      std::fprintf(out, "%s  > ", text::labelled("", 2, question.text).c_str());
      std::fflush(out);
      const std::optional<std::string> line = read_line(in);
      if (!line) {
        std::fprintf(
            out,
            "\n  Without your predictions no counts are shown; leave --ask out to see them.\n");
        return false;
      }
      std::string verdict = "It is " + question.worked_out + ".";  // an empty line gives it up
      try {
        if (line->find_first_not_of(" \t") != line->npos) {
          const double predicted = model::evaluate(*line, names), value = *question.value;
          if (!std::isfinite(predicted)) throw std::invalid_argument("that is not a finite number");
          verdict = judged(predicted, value);
          if (!verdict.starts_with("Right") && !std::exchange(is_second, true))
            throw std::invalid_argument(predicted < value ? "Too few" : "Too many");
        }
        std::fprintf(out, "%s", text::labelled("", 4, verdict + " " + question.because).c_str());
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
