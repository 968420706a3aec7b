#include <cmath>

#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

bool misses(const grade::Case& c, const char* target) {
  if (!c.right() || model::has_hazard(*c.row.counts) || c.missed.empty()) return false;
  return std::string(c.missed.front()->name) == target;
}

// Ignoring the last 13 bits makes a number from 2^e to 2^(e + 1) smaller by 2^-11 * 2^e on average.
// If all are equally likely, the results become smaller by 2^-11 * (3/2) / (7/3) of themselves for
// each operand that is cut off. Rounding leaves no bias.
constexpr double kBiasOfOne = 0x1p-11 * 9 / 14;

bool is_biased(const grade::Case& c, int operands) {
  const double cut = -c.measures.at("bias") / kBiasOfOne;
  return misses(c, "relative error") && cut > operands - 0.5 && cut < operands + 0.5;
}

std::string told_bias(const grade::Case& c) {
  const double bias = c.measures.at("bias");
  return text::printed(
      "the results are too %s: on average by %.2g of their values; rounded, this is below 5e-5",
      bias < 0 ? "small" : "large", std::abs(bias));
}

// The variant whose operands need no rounding. A kernel that makes up for the bias of cut operands
// by a factor misses the error there.
constexpr int kTf32Numbers = 1;

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "mma: C = A * B^T from fragments, rounded to tf32",
    .product = {.B = grade::Order::transposed},
    // Of operands that are cut off: such an answer is right, but misses the error.
    .precision = {0x1p-10, 0x1p-23},
    .variants =
        {{{"BM", 32}, {"BN", 32}, {"BK", 32}, {"WM", 16}, {"WN", 16}},
         {{"BM", 32}, {"BN", 32}, {"BK", 32}, {"WM", 16}, {"WN", 16}}},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {32, 32, 32},
              random.tiles(32, 32, 32 * random.between(2, 4)),
              {32, 32 * random.between(1, 2), 64, kTf32Numbers}};
        },
    .element =
        [](float drawn, const Shape& shape) {
          return shape.variant == kTf32Numbers ? std::round(drawn * 0x1p10f) * 0x1p-10f : drawn;
        },
    .targets =
        {{"mma instructions", "mmas", "M*N*K/(16*8*8)", false, true},
         {"relative error", "relative_error", "3.3e-4", false},
         {"floats loaded", "smem_load_floats", "M*N*K*(1/WM + 1/WN)"},
         {"shared bytes", "smem_bytes", "4*(BM + BN)*(BK + 4)", false},
         {"global loads", "gmem_loads", "(M*N*K/BN + M*N*K/BM)/4"},
         {"bytes of locals", "local_bytes", "800", false}},
    .hints =
        {{[](const grade::Case& c) { return c.measures.at("mmas") == 0; },
          "the multiplications are to be made by mma_m16n8k8_tf32, two for the 16 x 16 results of "
          "a "
          "warp in 8 steps of k; no other instruction is needed"},
         {[](const grade::Case& c) {
            return !c.right() && !c.never_written && !model::has_hazard(*c.row.counts);
          },
          "compare your fragments with the page, one by one: which row and which k is a[1], b[1]? "
          "Which row and column of C is sum[j][1]?"},
         {[](const grade::Case& c) { return misses(c, "mma instructions"); },
          "each mma multiplies 16 x 8 elements of A by 8 x 8 of B: a warp needs two of them for "
          "its "
          "16 x 16 results in 8 steps of k, and no more to be right"},
         {[](const grade::Case& c) {
            return c.shape.variant == kTf32Numbers && misses(c, "relative error");
          },
          "in this shape all elements of A and B are tf32 numbers already, and nothing is lost: "
          "what "
          "else changes the operands or the results? A factor repairs no rounding",
          told_bias},
         {[](const grade::Case& c) { return is_biased(c, 2); },
          "the tensor core ignores the last 13 bits of each operand, which cuts it off towards 0: "
          "every product becomes smaller, and adding them up does not help. Round both operands",
          told_bias},
         {[](const grade::Case& c) { return is_biased(c, 1); },
          "one operand is rounded, the other is still cut off towards 0: round both", told_bias},
         {[](const grade::Case& c) { return misses(c, "relative error"); },
          "the operands are not rounded to the nearest tf32, with 10 bits after the point: they "
          "are "
          "cut off, always rounded in one direction, or have fewer bits",
          told_bias},
         {[](const grade::Case& c) { return misses(c, "floats loaded"); },
          "a lane needs four floats of As and four of Bs in 8 steps of k: load a once and use it "
          "for both multiplications"},
         {[](const grade::Case& c) { return misses(c, "shared bytes"); },
          "no shared memory beside As and Bs is needed: the lanes hold the fragments"},
         {[](const grade::Case& c) { return misses(c, "bytes of locals"); },
          "a lane needs its part of the fragments and no more: eight sums, four words of a and two "
          "of b at a time"}},
};
