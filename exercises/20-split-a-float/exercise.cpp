#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

bool misses(const grade::Case& c, const char* target) {
  if (!c.right() || model::has_hazard(*c.row.counts) || c.missed.empty()) return false;
  return std::string(c.missed.front()->name) == target;
}

// In this variant every element has at most 8 bits, so nothing is lost in any product or sum.
constexpr int kShortNumbers = 1;
// In these, low parts of A, or of B, that are rounded lose a third of what those lose that are cut
// off.
constexpr int kLongLowPartsOfA = 2, kLongLowPartsOfB = 3;

// The most that the sums of a tensor core lose here, in any order, over all tiles along K.
constexpr double kOfSums = 3e-6;

bool misses_error(const grade::Case& c) {
  return misses(c, "relative error") && c.shape.variant != kShortNumbers;
}

// Without its last bits: those that a tensor core ignores, for example.
float without(int bits, float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~0u << bits);
}
float cut(float x) {
  return without(13, x);
}
// The nearest tf32.
float nearest(float x) {
  return cut(std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + 0x1000));
}

// The two numbers that are multiplied in place of a float.
struct Parts {
  double high, low;
};
using Split = Parts (*)(float);

Parts right(float x) {
  return {cut(x), nearest(x - cut(x))};
}
Parts only_high(float x) {
  return {cut(x), 0};
}
Parts only_rounded(float x) {
  return {nearest(x), 0};
}
Parts of_another_high(float x) {
  return {cut(x), nearest(x - nearest(x))};
}
template <int bits>
Parts of_another_mask(float x) {
  return {cut(x), nearest(x - without(bits, x))};
}
Parts of_rounded(float x) {
  return {cut(x), nearest(nearest(x) - cut(x))};
}
Parts of_x(float x) {
  return {cut(x), nearest(x)};
}
Parts without_sign(float x) {
  return {cut(x), std::abs(nearest(x - cut(x)))};
}
Parts negated(float x) {
  return {cut(x), -nearest(x - cut(x))};
}
Parts high_without_sign(float x) {
  return {std::abs(cut(x)), nearest(x - std::abs(cut(x)))};
}
Parts of_high_without_sign(float x) {
  return {cut(x), nearest(x - std::abs(cut(x)))};
}
Parts both_without_sign(float x) {
  return {std::abs(cut(x)), nearest(std::abs(x) - std::abs(cut(x)))};
}
// The mask clears another number of bits than the tensor core ignores.
template <int bits>
Parts masked(float x) {
  return {cut(without(bits, x)), nearest(x - without(bits, x))};
}
Parts cut_off(float x) {
  return {cut(x), cut(x - cut(x))};
}

// The first tile of C, or the sums that it has with other parts of the elements, row by row.
using TileOfC = std::vector<double>;

constexpr int kTile = 32;

// a_low * b_low is left out. `crossed`: how often a * b_low and a_low * b are added.
struct Crossed {
  int a_low = 1, b_low = 1;
};
TileOfC products(const grade::Case& c, Split a, Split b, Crossed crossed = {}) {
  const int K = c.shape.K;
  const auto split = [&](const lab::Floats& matrix, Split parts) {
    std::vector<Parts> all;
    for (int i = 0; i < kTile * K; ++i) all.push_back(parts(matrix[i]));
    return all;
  };
  const std::vector<Parts> of_A = split(c.A, a), of_B = split(c.B, b);
  TileOfC tile;
  for (int m = 0; m < kTile; ++m) {
    for (int n = 0; n < kTile; ++n) {
      double sum = 0;
      for (int k = 0; k < K; ++k) {
        const Parts &x = of_A[m * K + k], &y = of_B[n * K + k];
        sum += x.high * y.high + crossed.b_low * x.high * y.low + crossed.a_low * x.low * y.high;
      }
      tile.push_back(sum);
    }
  }
  return tile;
}

Parts exactly(float x) {
  return {x, 0};
}
TileOfC exact(const grade::Case& c) {
  return products(c, exactly, exactly);
}
TileOfC stored(const grade::Case& c) {
  TileOfC tile;
  for (int i = 0; i < kTile * kTile; ++i) {
    tile.push_back(c.C[i / kTile * c.shape.N + i % kTile]);
  }
  return tile;
}

TileOfC difference(TileOfC one, const TileOfC& other) {
  for (std::size_t i = 0; i < one.size(); ++i) one[i] -= other[i];
  return one;
}
double dot(const TileOfC& one, const TileOfC& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += one[i] * other[i];
  return sum;
}
double norm(const TileOfC& tile) {
  return std::sqrt(dot(tile, tile));
}

// A way to split a float that is wrong, for A, for B or for both.
struct Mistake {
  Split split;
  const char* text;
};
constexpr const char* kAnotherHigh =
    "low is the rest of another number than the one that is multiplied. The tensor core ignores "
    "the "
    "last 13 bits of what it gets: subtract from x exactly the number that it sees";
constexpr const char* kHighWithoutSign = "high has lost its sign: the mask must keep the first bit";
constexpr const char* kFewerBits =
    "the mask clears fewer bits than the tensor core ignores: 13. It does not see what stands "
    "between, "
    "and that is not in the low part either";
constexpr const char* kMoreBits =
    "the mask clears more bits than the tensor core ignores: 13. So the low part is larger than it "
    "must be, and a tf32 number cannot hold as many bits of it";
const Mistake kMistakes[] = {
    {only_high,
     "a product is missing: a * b_low + a_low * b are two, and both are as large as 2^-11 of a * "
     "b. "
     "Is each low part multiplied by the other operand's high part? And does mma get the bits of a "
     "number, and not of 0?"},
    {only_rounded,
     "low parts are not there or not used. If high is rounded to the nearest tf32, then low is "
     "x - high, of the x that was not rounded"},
    {of_another_high, kAnotherHigh},
    {of_another_mask<14>, kAnotherHigh},
    {of_another_mask<15>, kAnotherHigh},
    {of_another_mask<16>, kAnotherHigh},
    {of_rounded,
     "low comes from an x that is already rounded to tf32, so its last bits are lost. Subtract "
     "high "
     "from x itself"},
    {of_x, "low is x itself: it must be what high has left of it, x - high"},
    {without_sign,
     "low has lost its sign: it is negative if x is, because high is cut off towards zero"},
    {negated, "low has the wrong sign: x = high + low, so low is x - high and not high - x"},
    {high_without_sign, kHighWithoutSign},
    {of_high_without_sign, kHighWithoutSign},
    {both_without_sign, "the signs are lost: the mask must keep the first bit"},
    {masked<8>, kFewerBits},
    {masked<9>, kFewerBits},
    {masked<10>, kFewerBits},
    {masked<11>, kFewerBits},
    {masked<12>, kFewerBits},
    {masked<14>, kMoreBits},
    {masked<15>, kMoreBits},
    {masked<16>, kMoreBits}};
constexpr const char* kTwice =
    "one of the products of high and low is there twice, and the other is missing: a * b_low and "
    "a_low * b are two different ones";

// The mistake that explains the errors best, if it leaves no more of them than sums lose anyway.
const char* mistake_in(const grade::Case& c) {
  if (c.shape.variant == kShortNumbers) return nullptr;
  const TileOfC C = stored(c), whole = exact(c);
  const double errors = norm(difference(C, whole));
  double least = std::min(0.5 * errors, 0.05 * errors + 3e-7 * norm(whole));
  const char* text = nullptr;
  const auto try_it = [&](const TileOfC& expected, const char* words) {
    const double left = norm(difference(C, expected));
    if (left < least) least = left, text = words;
  };
  for (const Mistake& mistake : kMistakes) {
    try_it(products(c, mistake.split, mistake.split), mistake.text);
    try_it(products(c, mistake.split, right), mistake.text);
    try_it(products(c, right, mistake.split), mistake.text);
  }
  try_it(products(c, right, right, {0, 2}), kTwice);
  try_it(products(c, right, right, {2, 0}), kTwice);
  return text;
}

// Whether the errors contain those of low parts that are cut off, of A or of B. Sums that are cut
// off make results smaller, too, so what is proportional to the results is left out.
bool has_cut_low_parts(const grade::Case& c) {
  const TileOfC whole = exact(c), rounded = products(c, right, right);
  const auto beside = [&](TileOfC tile) {
    const double part = dot(tile, whole) / dot(whole, whole);
    for (std::size_t i = 0; i < tile.size(); ++i) tile[i] -= part * whole[i];
    return tile;
  };
  const TileOfC errors = beside(difference(stored(c), whole));
  const auto contain = [&](const TileOfC& cut) {
    const TileOfC expected = beside(difference(cut, whole));
    return dot(errors, expected) > 0.5 * dot(expected, expected);
  };
  return contain(products(c, cut_off, exactly)) || contain(products(c, exactly, cut_off));
}

std::string told_error(const grade::Case& c) {
  return text::printed(
      "the relative error is %.2g, and the results are too %s: on average by %.2g of their values",
      c.measures.at("relative_error"), c.measures.at("bias") < 0 ? "small" : "large",
      std::abs(c.measures.at("bias")));
}

// The same, computed once for all hints: they are tried one after the other on one case, and each
// case keeps its results until the end.
const char* known_mistake_in(const grade::Case& c) {
  static const float* results = nullptr;
  static const char* text = nullptr;
  if (results != c.C.data()) text = mistake_in(c);
  results = c.C.data();
  return text;
}

std::vector<grade::Hint> hints_about_split() {
  std::vector<const char*> texts = {kTwice};
  for (const Mistake& mistake : kMistakes) {
    if (std::ranges::find(texts, mistake.text) == texts.end()) texts.push_back(mistake.text);
  }
  std::vector<grade::Hint> hints;
  for (const char* text : texts) {
    hints.push_back(
        {[text](const grade::Case& c) {
           if (model::has_hazard(*c.row.counts) || c.never_written) return false;
           return (!c.right() || misses_error(c)) && known_mistake_in(c) == text;
         },
         text, "", told_error});
  }
  return hints;
}

std::vector<grade::Hint> all_hints() {
  std::vector<grade::Hint> hints = {
      {[](const grade::Case& c) { return c.measures.at("mmas") == 0; },
       "the multiplications are to be made by mma_m16n8k8_tf32"},
      {[](const grade::Case& c) {
         return misses(c, "mma instructions") &&
                c.measures.at("mmas") > 3 * c.measures.at("results") * c.shape.K / 1024;
       },
       "three products are enough: a_low * b_low is below 2^-20 of a * b"},
      {[](const grade::Case& c) { return misses(c, "mma instructions"); },
       "three products are wanted: split each float into high + low, and multiply out (a + a_low) "
       "* "
       "(b + b_low), without the smallest"},
      {[](const grade::Case& c) {
         return c.shape.variant == kShortNumbers && misses(c, "relative error");
       },
       "in this shape no element has more than 8 bits, so each low part is 0 and each sum exact: "
       "what "
       "else changes the operands or the results? A factor brings back no lost bits",
       "", told_error}};
  for (const grade::Hint& hint : hints_about_split()) hints.push_back(hint);
  for (const grade::Hint& hint : std::vector<grade::Hint>{
           {[](const grade::Case& c) {
              return misses_error(c) && c.measures.at("relative_error") > kOfSums;
            },
            "high and low of an element do not add up to it, or they are multiplied by the wrong "
            "ones. Work out both parts of x = 1 + 2^-13 by hand, and compare",
            "", told_error},
           {[](const grade::Case& c) { return misses_error(c) && has_cut_low_parts(c); },
            "the low parts are cut off: the tensor core ignores their last 13 bits, too, and what "
            "is "
            "lost there is in no other part. Round them to the nearest tf32",
            "", told_error},
           {[](const grade::Case& c) { return misses_error(c) && c.shape.K == kTile; },
            "the parts are right, and the order of the additions is not: the tensor core cuts off "
            "each sum, and loses the more, the larger it is. Add the small products to sums of "
            "their "
            "own, or all of a tile before the first large one",
            "", told_error},
           {misses_error,
            "one tile along K is exact enough, and several are not: the sum in the tensor core "
            "becomes "
            "larger from tile to tile, and each addition cuts it off. Start with zeros for each "
            "tile, "
            "and add its sums by +, which rounds",
            "", told_error},
           {[](const grade::Case& c) { return misses(c, "floats loaded"); },
            "a lane needs four floats of As and four of Bs in 8 steps of k: load each once and "
            "split "
            "it once"},
           {[](const grade::Case& c) { return misses(c, "shared bytes"); },
            "no shared memory beside As and Bs is needed: each lane splits its own fragments"},
           {[](const grade::Case& c) { return misses(c, "bytes of locals"); },
            "a lane needs the fragments of 8 steps of k at a time, and no more than two or three "
            "sets of eight sums"}}) {
    hints.push_back(hint);
  }
  return hints;
}

double relative(const TileOfC& tile, const TileOfC& whole) {
  return norm(difference(tile, whole)) / norm(whole);
}

TileOfC in_fp32(const grade::Case& c) {
  TileOfC tile;
  const int K = c.shape.K;
  for (int i = 0; i < kTile * kTile; ++i) {
    float sum = 0;
    for (int k = 0; k < K; ++k) {
      sum = std::fma(c.A[i / kTile * K + k], c.B[i % kTile * K + k], sum);
    }
    tile.push_back(sum);
  }
  return tile;
}

// Of the shape with the most tiles along K.
std::string score(const grade::Submission& submission) {
  const grade::Case& c = *std::ranges::max_element(
      submission.cases, {}, [](const grade::Case& one) { return one.shape.K; });
  const TileOfC whole = exact(c), fp32 = in_fp32(c);
  const double yours = relative(stored(c), whole), plain = relative(fp32, whole);
  return text::printed(
             "relative error of C's first tile at K %d\n"
             "  one product of tf32 numbers     %8.1e\n"
             "  fp32, one FFMA after the other  %8.1e\n"
             "  yours                           %8.1e\n",
             c.shape.K, relative(products(c, only_rounded, only_rounded), whole), plain, yours) +
         text::printed("score: fp32 has %.2f times your error\n", plain / yours);
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "split a float: C = A * B^T by tensor cores, with the error of fp32",
    .product = {.B = grade::Order::transposed},
    // Of one product of numbers that are cut off: such an answer is right, but misses the error.
    .precision = {0x1p-10, 0x1p-23},
    .variants =
        {{{"BM", 32}, {"BN", 32}, {"BK", 32}, {"WM", 16}, {"WN", 16}, {"MOST", 2.7e-7}},
         {{"BM", 32}, {"BN", 32}, {"BK", 32}, {"WM", 16}, {"WN", 16}, {"MOST", 0}},
         {{"BM", 32}, {"BN", 32}, {"BK", 32}, {"WM", 16}, {"WN", 16}, {"MOST", 2.2e-7}},
         {{"BM", 32}, {"BN", 32}, {"BK", 32}, {"WM", 16}, {"WN", 16}, {"MOST", 2.2e-7}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{32, 32, 32},
               random.tiles(32, 32, 32 * random.between(4, 6)),
               {32, 32 * random.between(1, 2), 64, kShortNumbers},
               {32, 32 * random.between(1, 2), 32, kLongLowPartsOfA},
               {32 * random.between(1, 2), 32, 32, kLongLowPartsOfB}},
              32, 32, 32);
        },
    .element =
        [](float drawn, const Shape& shape, bool of_B, std::size_t) {
          if (shape.variant == kShortNumbers) return std::round(drawn * 0x1p7f) * 0x1p-7f;
          // The product has all 24 bits of a float. (A drawn number is a multiple of 2^-24.)
          if (shape.variant < kLongLowPartsOfA) return drawn * 1.1f;
          if (of_B != (shape.variant == kLongLowPartsOfB))
            return std::round(drawn * 0x1p3f) * 0x1p-3f;
          // From 1 to 1 + 2^-10, or negative: the low part has all 13 bits, and the last two are 1.
          // Cut off to the 11 bits of a tf32 it loses 3 units, and rounded only 1. All sums are
          // exact.
          const std::uint32_t bits = std::bit_cast<std::uint32_t>(drawn * 1.1f);
          return std::bit_cast<float>((bits & 0x80000fff) | 0x3f801003);
        },
    .targets =
        {{"mma instructions", "mmas", "3 * M*N*K/(16*8*8)", false, true},
         {"relative error", "relative_error", "MOST", false},
         {"floats loaded", "smem_load_floats", "M*N*K*(1/WM + 1/WN)"},
         {"shared bytes", "smem_bytes", "4*(BM + BN)*(BK + 4)", false},
         {"global loads", "gmem_loads", "(M*N*K/BN + M*N*K/BM)/4"},
         {"bytes of locals", "local_bytes", "800", false}},
    .hints = all_hints(),
    .score = score,
};
