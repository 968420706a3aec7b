#include "model/stage.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/ceiling.h"
#include "text/echoed.h"

namespace model {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Recursive descent, one function for each level of precedence:
//   sum     = product { (+|-) product }
//   product = factor { (*|/) factor }
//   factor  = { - } ( number | name | ceil ( sum ) | (min|max) ( sum { , sum } ) | ( sum ) )
class Parser {
 public:
  Parser(std::string_view formula, std::span<const Named> names)
      : formula_(formula), names_(names) {}

  double whole() {
    const double value = sum();
    if (next() != kEnd) fail("expected an operator or the end", at_);
    return value;
  }

 private:
  static constexpr char kEnd = '\0';
  static constexpr int kMaxDepth = 100;

  double sum() {
    double value = product();
    for (;;) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = factor();
    for (;;) {
      if (take('*')) {
        value *= factor();
      } else if (take('/')) {
        const std::size_t slash = at_ - 1;
        const double divisor = factor();
        if (divisor == 0) fail("division by zero", slash);
        value /= divisor;
      } else {
        return value;
      }
    }
  }

  double factor() {
    double sign = 1;
    while (take('-')) sign = -sign;
    const char c = next();
    if (is_digit(c) || c == '.') return sign * number();
    if (begins_name(c)) return sign * name_or_function();
    if (take('(')) return sign * rest_of_brackets();
    fail("expected a number, a name or (", at_);
  }

  double number() {
    double value = 0;
    const char* first = formula_.data() + at_;
    const auto [end, error] = std::from_chars(first, formula_.data() + formula_.size(), value);
    if (error != std::errc{}) fail("not a number that fits", at_);
    at_ += end - first;
    return value;
  }

  double name_or_function() {
    const std::size_t begin = at_;
    while (at_ < formula_.size() && (begins_name(formula_[at_]) || is_digit(formula_[at_]))) ++at_;
    const std::string_view name = formula_.substr(begin, at_ - begin);
    if (name == "ceil" || name == "min" || name == "max") {
      if (!take('(')) fail("expected ( after " + std::string(name), at_);
      return rest_of_brackets(name);
    }
    for (const Named& known : names_) {
      if (known.name == name) return known.value;
    }
    fail("unknown name " + text::echoed(name), begin);
  }

  double rest_of_brackets(std::string_view function = "") {
    if (++depth_ > kMaxDepth) fail("too many brackets inside one another", at_ - 1);
    double value = sum();
    while ((function == "min" || function == "max") && take(',')) {
      const double other = sum();
      value = function == "min" ? std::min(value, other) : std::max(value, other);
    }
    if (!take(')')) fail("expected )", at_);
    --depth_;
    return function == "ceil" ? std::ceil(value) : value;
  }

  // The next non-blank character; kEnd after the last. A NUL in the formula is passed on as an
  // unprintable character, so that it does not look like the end.
  char next() {
    while (at_ < formula_.size() && formula_[at_] == ' ') ++at_;
    if (at_ == formula_.size()) return kEnd;
    return formula_[at_] == kEnd ? '\1' : formula_[at_];
  }

  bool take(char wanted) {
    if (next() != wanted) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void fail(const std::string& what, std::size_t position) const {
    throw std::invalid_argument(
        "formula \"" + text::echoed(formula_) + "\": " + what + " at character " +
        std::to_string(position + 1));
  }

  std::string_view formula_;
  std::span<const Named> names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluate(std::string_view formula, std::span<const Named> names) {
  return Parser(formula, names).whole();
}

namespace {

auto ceil_div(auto a, auto b) {
  return (a + b - 1) / b;
}

}  // namespace

ShareOut slices_of_K(int tiles, int k_tiles, int sms) {
  constexpr int kLeastSaved = 64;
  const int depth = ceil_div(k_tiles, std::max(1, sms / tiles));
  if (k_tiles - depth < kLeastSaved) return {tiles, 1, k_tiles};
  return {0, ceil_div(k_tiles, depth), depth};
}

int tiles_of(const Variant& variant, int M, int N) {
  return ceil_div(M, variant.BM) * ceil_div(N, variant.BN);
}

ShareOut share_out(const Variant& variant, int M, int N, int K, int sms) {
  const int k_tiles = variant.BK > 0 ? std::max(1, ceil_div(K, variant.BK)) : 1;
  const int tiles = tiles_of(variant, M, N);
  const bool may_cut = variant.share_out != nullptr && sms > 0 && tiles > 0;
  ShareOut shares = may_cut ? variant.share_out(tiles, k_tiles, sms) : ShareOut{tiles, 1, k_tiles};
  if (variant.sharing == Sharing::persistent) {
    const int slices = slices_of(shares, tiles);
    shares.blocks = sms > 0 ? std::min(sms, slices) : slices;
  }
  return shares;
}

bool is_in_turns(const ShareOut& shares, int tiles) {
  return shares.blocks > 0 && shares.blocks < slices_of(shares, tiles);
}

int blocks_of(const ShareOut& shares, int tiles) {
  return shares.blocks > 0 ? shares.blocks : slices_of(shares, tiles);
}

double most_tiles(const ShareOut& shares, int tiles, int k_tiles, int sms) {
  if (shares.slices == 1) return ceil_div(tiles, sms);
  return static_cast<double>(shares.whole) / sms + static_cast<double>(shares.depth) / k_tiles;
}

double tiles_computed(
    const ShareOut& shares, int tiles, int k_tiles, const std::vector<std::int64_t>& blocks) {
  std::int64_t computed = 0;  // K tiles
  for (const std::int64_t block : blocks) {
    if (is_in_turns(shares, tiles)) {
      computed += k_tiles * ((tiles - block + shares.blocks - 1) / shares.blocks);
      continue;
    }
    const std::int64_t slice =
        block < shares.whole ? 0 : (block - shares.whole) / (tiles - shares.whole);
    computed += block < shares.whole
                    ? k_tiles
                    : std::min<std::int64_t>(shares.depth, k_tiles - slice * shares.depth);
  }
  return static_cast<double>(computed) / k_tiles;
}

std::int64_t floats_of_sums(const ShareOut& shares, const Variant& variant, int tiles) {
  return std::int64_t{tiles - shares.whole} * shares.slices * variant.BM * variant.BN;
}

std::vector<std::int64_t> sample_of(const ShareOut& shares, int tiles) {
  std::vector<std::int64_t> blocks;
  if (shares.whole > 0) blocks = {0};
  if (is_in_turns(shares, tiles)) blocks.push_back((tiles - 1) % shares.blocks);
  const int cut = tiles - shares.whole;
  for (int slice = 0; slice < shares.slices && cut > 0; ++slice) {
    const std::int64_t first = shares.whole + std::int64_t{slice} * cut;
    if (shares.whole == 0) blocks.push_back(first);
    blocks.push_back(first + cut - 1);  // the corner of C, where both edges are
  }
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

namespace {

// See Spread.
double clocks_of(const Variant& variant, const Gpu& gpu, double results, double tiles) {
  if (!has_clock(gpu)) return 0;
  const double products = products_per_clock(gpu, variant.multiplier);
  if (variant.multiplier == Multiplier::ffma || products == 0) {
    return results / gpu.fp32_lanes_per_sm;
  }
  const double bytes = tiles * (variant.BM + variant.BN) * bytes_of_element(variant);
  return results / products + bytes / (l2_bytes_per_clock(gpu) / gpu.sms);
}

// The share of the clocks that the smaller tile may take: suited_variant() has the reasons.
double worth_it(const Variant& larger, const Variant& smaller) {
  if (smaller.multiplier == Multiplier::ffma) return 0.75;
  const bool is_much_smaller = 2 * smaller.BM * smaller.BN < larger.BM * larger.BN;
  return is_much_smaller ? 0.7 : 0.8;
}

// The share of K along which the busiest SM multiplies, if no tile is whole.
double share_of_K(const Variant& variant, const Gpu& gpu, int M, int N, int K) {
  const ShareOut shares = share_out(variant, M, N, K, gpu.sms);
  return K > 0 && shares.whole == 0 ? 1.0 * shares.depth * variant.BK / K : 1;
}

// See suited_variant.
bool has_few_results(int M, int N, int K) {
  constexpr double kProducts = 16, kNumbers = 1 << 22;
  return kProducts * std::min(M, N) <= K && 1.0 * std::max(M, N) * K >= kNumbers;
}

bool fits(const Variant& variant, const Gpu& gpu) {
  return variant.shared_bytes <= gpu.smem_bytes_per_block;
}

}  // namespace

Spread spread(const Variant& variant, const Gpu& gpu, int M, int N, int K) {
  const long long tiles = ceil_div(1LL * M, variant.BM) * ceil_div(1LL * N, variant.BN);
  const long long of_busiest = ceil_div(tiles, gpu.sms);
  const long long results = of_busiest * variant.BM * variant.BN;
  return {
      tiles, results, of_busiest * gpu.warp.warps_of(variant.threads()),
      share_of_K(variant, gpu, M, N, K) *
          clocks_of(variant, gpu, static_cast<double>(results), static_cast<double>(of_busiest))};
}

NamedKernel find_kernel(const StageTable& table, int number, std::string_view name) {
  for (const Stage& stage : table.stages) {
    for (const Variant& variant : stage.variants) {
      if (stage.number == number && (name.empty() || name == variant.name)) return {stage, variant};
    }
  }
  throw std::logic_error("no such kernel: " + std::to_string(number) + " " + std::string(name));
}

const Variant& first_variant(const Stage& stage, const Gpu& gpu) {
  for (const Variant& variant : stage.variants) {
    if (fits(variant, gpu) && !variant.for_few_results) return variant;
  }
  return stage.variants.front();
}

namespace {

bool has_lanes(const Stage& stage, const Gpu& gpu) {
  return stage.needs.instructions == 0 || gpu.warp.lanes == kGpuWarp.lanes;
}

bool has_room(const Stage& stage, const Gpu& gpu) {
  return stage.variants.empty() || fits(first_variant(stage, gpu), gpu);
}

}  // namespace

std::string why_not_run(const Stage& stage, const Gpu& gpu) {
  if (!has_lanes(stage, gpu)) return "needs warps of 32";
  if (!has_room(stage, gpu)) {
    return "needs " + std::to_string(first_variant(stage, gpu).shared_bytes / 1024) + " KB SMEM";
  }
  const auto [hardware, from, only_there] = stage.needs;
  const bool later = gpu.compute_capability > from && !only_there;
  if (later || gpu.compute_capability == from || from == 0) return "";
  return "needs sm_" + std::to_string(from) + (only_there ? "a" : "");
}

bool is_traceable(const Stage& stage, const Gpu& gpu) {
  return has_lanes(stage, gpu) && has_room(stage, gpu);
}

namespace {

// The clocks of spread(), with those that pass while slices are added up, and loads from shared
// memory beside the FFMAs: TM + TN floats, four at a time, for TM * TN products.
double clocks_with_sums(const Variant& variant, const Gpu& gpu, int M, int N, int K) {
  const double loads = 0.25 * (variant.TM + variant.TN) / (variant.TM * variant.TN);
  const double clocks = spread(variant, gpu, M, N, K).clocks *
                        (variant.multiplier == Multiplier::ffma ? 1 + loads : 1);
  const ShareOut shares = share_out(variant, M, N, K, gpu.sms);
  if (shares.slices == 1) return clocks;
  // One block adds up the slices of a tile, or a kernel does, with all SMs.
  const bool by_one_block = !variant.has_maps;
  const double tile = 4.0 * shares.slices * variant.BM * variant.BN;
  const double bytes = by_one_block ? tile * gpu.sms : 2 * tile * tiles_of(variant, M, N);
  return clocks + bytes / l2_bytes_per_clock(gpu) / K;
}

}  // namespace

const Variant& suited_variant(const Stage& stage, const Gpu& gpu, int M, int N, int K) {
  constexpr long long kWarpsToHideWaiting = 12;
  const Variant* chosen = &first_variant(stage, gpu);
  if (!has_clock(gpu) || M == 0 || N == 0) return *chosen;
  const bool few_results = has_few_results(M, N, K);
  for (const Variant& variant : stage.variants) {
    if (!fits(variant, gpu)) continue;
    if (few_results) {
      const bool may_run = variant.for_small || variant.for_few_results;
      if (may_run &&
          clocks_with_sums(variant, gpu, M, N, K) < clocks_with_sums(*chosen, gpu, M, N, K)) {
        chosen = &variant;
      }
      continue;
    }
    if (!variant.for_small) continue;
    const Spread now = spread(*chosen, gpu, M, N), then = spread(variant, gpu, M, N);
    const bool sooner = then.clocks <= worth_it(*chosen, variant) * now.clocks;
    const bool more_warps = chosen->pipeline == 0 && now.warps < kWarpsToHideWaiting &&
                            then.warps > now.warps && then.results <= now.results;
    if (sooner || more_warps) chosen = &variant;
  }
  return *chosen;
}

const Variant& comparable_variant(
    const Variant& variant, const Stage& other, const Gpu& gpu, int M, int N, int K) {
  for (const Variant& candidate : other.variants) {
    if (std::string_view(candidate.name) == variant.name) return candidate;
  }
  return suited_variant(other, gpu, M, N, K);
}

}  // namespace model
