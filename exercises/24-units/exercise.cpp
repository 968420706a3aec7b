#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

constexpr int kTile = 16, kPiece = 64;

// What the elements are, beside those that are drawn.
enum Data {
  kUniform,
  kShort,   // of at most 8 bits, and each row has another magnitude
  kSpread,  // each line has another magnitude
  kSpikes,  // in each line, one number is much larger than the rest
  kZeros    // some lines are zeros
};

// The places of the large numbers in a piece of A and of B, in its second half.
constexpr std::size_t kSpikeOfA = 37, kSpikeOfB = 50;

float element(float drawn, const Shape& shape, bool of_B, std::size_t at) {
  const std::size_t row = at / shape.K, k = at % shape.K % kPiece;
  const auto line = static_cast<int>(row * 7 + at % shape.K / kPiece * 3);
  const std::size_t own = of_B ? kSpikeOfB : kSpikeOfA, other = of_B ? kSpikeOfA : kSpikeOfB;
  switch (shape.variant) {
    case kShort:
      return std::ldexp(
          std::round(drawn * 0x1p7f), static_cast<int>((row + 2 * of_B) % 5 * 8) - 23);
    case kSpread:
      return std::ldexp(drawn * 1.1f, line % 9 * 8 - 32);
    case kSpikes:  // almost 2^13, and negative
      return k == own ? -0x1.fffffep12f : k == other ? 0 : drawn * 1.1f;
    case kZeros:
      return line % 4 == 1 ? 0 : drawn * 1.1f;
    default:
      return drawn * 1.1f;
  }
}

bool misses(const grade::Case& c, const char* target) {
  if (!c.right() || model::has_hazard(*c.row.counts) || c.missed.empty()) return false;
  return std::string(c.missed.front()->name) == target;
}

// Wrong, or not exact enough.
bool is_off(const grade::Case& c) {
  if (model::has_hazard(*c.row.counts) || c.never_written) return false;
  return !c.right() || misses(c, "relative error");
}

// Of the first tile of C: the results, what they should be, and the sums of the products'
// magnitudes.
struct Compared {
  double result, exact, magnitude;
};
std::vector<Compared> compared(const grade::Case& c) {
  const int K = c.shape.K;
  std::vector<Compared> all;
  for (int i = 0; i < kTile * kTile; ++i) {
    const int m = i / kTile, n = i % kTile;
    double exact = 0, magnitude = 0;
    for (int k = 0; k < K; ++k) {
      const double product = double(c.A[m * K + k]) * c.B[n * K + k];
      exact += product;
      magnitude += std::abs(product);
    }
    all.push_back({c.C[m * c.shape.N + n], exact, magnitude});
  }
  return all;
}

bool is_infinite(const grade::Case& c) {
  return is_off(c) && std::ranges::any_of(compared(c), [](const Compared& one) {
           return !std::isfinite(one.result);
         });
}

// Whether the results differ from the exact ones by powers of two, and some by others than 1. Small
// results, of products that cancel each other, are left out: their errors are relatively large.
bool is_off_by_units(const grade::Case& c) {
  if (!is_off(c)) return false;
  bool differs = false;
  for (const auto& [result, exact, magnitude] : compared(c)) {
    if (exact == 0 || std::abs(exact) < magnitude / 32) continue;
    const double power = std::log2(std::abs(result / exact));
    if (!(std::abs(power - std::round(power)) < 0.01)) return false;
    differs = differs || std::round(power) != 0;
  }
  return differs;
}

std::string told(const grade::Case& c) {
  return text::printed("the relative error is %.2g", c.measures.at("relative_error"));
}

grade::Values sizes(double most) {
  return {{"BM", kTile}, {"BN", kTile}, {"PIECE", kPiece}, {"MOST", most}};
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "units: C = A * B^T from fp16 parts, each line in a unit of its own",
    .product = {.B = grade::Order::transposed},
    // Of one product of fp16 numbers: such an answer is right, but misses the error.
    .precision = {0x1p-11, 0x1p-23},
    .variants = {sizes(4e-7), sizes(0), sizes(4e-7), sizes(4e-7), sizes(4e-7)},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{16, 16, 64, kUniform},
               {16, 16 * random.between(1, 2), 64, kShort},
               {16, 16 * random.between(1, 2), 128, kSpread},
               {16 * random.between(1, 2), 16, 64, kSpikes},
               {16, 16, 64, kZeros},
               random.tiles(16, 16, 64)},
              16, 16, 64);
        },
    .element = element,
    .targets =
        {{"relative error", "relative_error", "MOST", false},
         {"shared bytes", "smem_bytes", "(BM + BN)*(4*PIECE + 4)", false},
         {"barriers per block", "barriers/blocks", "2*K/PIECE", false}},
    .hints =
        {{[](const grade::Case& c) { return c.shape.variant == kZeros && is_infinite(c); },
          "in a line of zeros the largest number is 0, and so is its unit: what is 0 / 0? Such a "
          "line "
          "may have any unit that is a normal float",
          "", told},
         {is_infinite,
          "some number has more units than fp16 can hold, and became an infinity. The unit must be "
          "made for the largest |x| of this very line, so that it has less than 2^15 units; and "
          "low "
          "counts units, too",
          "", told},
         {is_off_by_units,
          "the results are off by powers of two: a sum of products must be multiplied by the unit "
          "of "
          "its row of A and by that of its row of B, which is line BM + col + j",
          "", told},
         {[](const grade::Case& c) { return c.shape.variant == kShort && is_off(c); },
          "in this shape no number has more than 8 bits, so each is an fp16 number of units, and "
          "nothing should be lost. A division is exact only if the unit is a power of two",
          "", told},
         {[](const grade::Case& c) {
            return is_off(c) && c.shape.variant != kSpikes && !c.right();
          },
          "high and low of a number, times the unit, do not add up to it. Both count units: low is "
          "the nearest fp16 number of what high leaves of x / unit",
          "", told},
         {[](const grade::Case& c) { return is_off(c) && c.shape.variant != kSpikes; },
          "bits are lost that two fp16 numbers can hold: the low parts are missing, or they are "
          "not "
          "what high leaves of x / unit",
          "", told},
         {is_off,
          "one number of each line is large, and the others lose bits, because they have too few "
          "units: fp16 has no bits below 2^-24. Choose the smallest unit with which the largest "
          "number still fits",
          "", told},
         {[](const grade::Case& c) { return misses(c, "shared bytes"); },
          "no shared memory beside lines and units is needed"},
         {[](const grade::Case& c) { return misses(c, "barriers per block"); },
          "a thread splits its own line, so no other barrier is needed"}},
};
