#include "lab/long_product.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "lab/device.h"
#include "lab/measure.h"
#include "simulator/trace/trace.h"
#include "text/numbers.h"

namespace lab {

namespace {

// K grows in steps of whole lines. A loop may be unrolled twice, and its lines then take turns.
int step_along_K(const model::Variant& variant) {
  constexpr int kLine = 32;  // floats in 128 bytes
  return std::max(kLine, 2 * variant.BK);
}

// The steps in which the copies that are in flight at a time lie.
int steps_in_flight(const model::Variant& variant) {
  const int step = step_along_K(variant);
  return (std::max(1, variant.pipeline * variant.BK) + step - 1) / step;
}

// Counts what a kernel does along K, in blocks with `turns` tiles of C each. Every tile along K
// adds the same to each count. So if K is long, `trace` runs for two short ones, and the counts are
// extrapolated (model::extrapolated). Every tile of C adds the same, too: of more than one turn,
// `trace` runs for one and two.
model::Counts counts_along(
    int K, int turns, const model::Variant& variant,
    const std::function<model::Counts(int, int)>& trace) {
  const int step = step_along_K(variant);
  const int near = steps_in_flight(variant) * step + K % step, far = near + step;
  const bool is_long = K > far;
  if (!is_long && turns <= 2) return trace(K, turns);
  const int shortest = is_long ? near : K;
  const model::Counts one = trace(shortest, 1);
  const model::Counts tile =
      is_long ? model::extrapolated(one, trace(far, 1), (K - near) / step) : one;
  if (turns == 1) return tile;
  const model::Counts no_tile = model::extrapolated(one, trace(shortest, 2), -1);
  return model::extrapolated(no_tile, tile, turns);
}

// By how many steps each part of every tile can be shorter, in a shorter K that is cut alike.
int steps_to_spare(
    const model::Variant& v, const model::ShareOut& shares, ProblemSize of, int sms) {
  const int step = step_along_K(v), least = steps_in_flight(v) * step;
  const auto cuts_alike = [&](int steps) {
    const int K = of.K - steps * shares.parts * step, depth = shares.depth - steps * step / v.BK;
    if (K - (shares.parts - 1) * depth * v.BK < least) return false;  // its last part
    const model::ShareOut fewer = model::share_out(v, of.M, of.N, K, sms);
    return fewer.whole == 0 && fewer.parts == shares.parts && fewer.depth == depth;
  };
  int steps = 0;
  while (cuts_alike(steps + 1)) ++steps;
  return steps;
}

}  // namespace

LongProduct::LongProduct(const Request& request, ProblemSize sides)
    : request_(request), sides_(sides) {
  require_memory(
      bytes_needed(sides), available_memory(), text::printed("C of %d x %d", sides.M, sides.N),
      "copies of C");
  result_ = Floats(std::size_t(sides.M) * sides.N);
  latest_ = &problems_[0];
  *latest_ = {sides.M, sides.N, 0, request.alpha, request.beta, {}, {}, Floats(result_.size())};
}

double LongProduct::bytes_needed(ProblemSize sides) {
  constexpr int kCopies = 3;  // of C: before the product, after it, and find_remedy()'s
  return kCopies * 4.0 * sides.M * sides.N;
}

const Problem& LongProduct::with_K(int K) {
  const Problem without{sides_.M, sides_.N, 0, request_.alpha, request_.beta, {}, {}, {}};
  Problem& p = problems_.try_emplace(K, without).first->second;
  if (p.K != K) change_K(p, K, request_.seed);
  std::swap(p.C, latest_->C);
  latest_ = &p;
  return p;
}

model::Counts LongProduct::count(
    const model::StageTable& traced, const model::Variant& v, machine::Machine machine) {
  const int sms = machine.gpu->sms, K = request_.alpha == 0 ? 0 : sides_.K;
  const model::ShareOut shares = model::share_out(v, sides_.M, sides_.N, K, sms);
  const int tiles = model::tiles_of(v, sides_.M, sides_.N);
  constexpr int kMany = 8;  // more than a sample has
  const bool alike =
      sides_.M % v.BM == 0 && sides_.N % v.BN == 0 && tiles > kMany && shares.whole > 0;
  if (alike) machine.blocks = machine::Blocks::kFirst;
  const bool in_turns = alike && model::is_in_turns(shares, tiles);
  // All lines of A and B are split before one block of parts is traced. A block of a C of two tiles
  // does the same, and few lines are split.
  std::optional<LongProduct> small;
  if (alike && model::multiplies_parts(v)) small.emplace(request_, ProblemSize{v.BM, 2 * v.BN, K});
  LongProduct& product = small ? *small : *this;
  const int its_tiles = small ? 2 : tiles;
  const auto trace_with = [&](int K_traced, int turns) {
    const int sms_traced = in_turns ? (its_tiles + turns - 1) / turns : sms;
    const Problem& p = product.with_K(K_traced);
    const std::vector<machine::GlobalArray> arrays = p.arrays(product.result_);
    machine.arrays = arrays;
    machine.sample = sample_of(p, v, sms_traced);
    return trace::trace(
        machine, arrays, p.product_by(gemm_of(traced, v, sms_traced), product.result_));
  };
  if (shares.whole == 0) {
    const int spare =
        shares.parts > 1 ? steps_to_spare(v, shares, {sides_.M, sides_.N, K}, sms) : 0;
    const int step = shares.parts * step_along_K(v), near = K - spare * step;
    if (spare < 2) return trace_with(K, 1);
    return model::extrapolated(trace_with(near, 1), trace_with(near + step, 1), spare);
  }
  const int turns = in_turns ? (tiles + shares.blocks - 1) / shares.blocks : 1;
  model::Counts counts = counts_along(K, turns, v, trace_with);
  counts.blocks = model::blocks_of(shares, tiles);
  return counts;
}

}  // namespace lab
