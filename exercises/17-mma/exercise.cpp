#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

bool misses(const grade::Case& c, const char* target) {
  if (!c.right() || model::has_hazard(*c.row.counts) || c.missed.empty()) return false;
  return std::string(c.missed.front()->name) == target;
}

bool unfilled(const grade::Case& c, const char* array) {
  if (!model::has_hazard(*c.row.counts)) return false;
  const model::Hazard& hazard = c.row.counts->hazards.front();
  return hazard.kind == model::HazardKind::uninitialized && hazard.array == array;
}

// Which element of a fragment's matrix a lane takes for another one: [row][column].
struct Place {
  int row, column;
};
using Exchanged = std::array<std::array<Place, 8>, 16>;

Exchanged exchanged(
    int words, const auto& right, const auto& wrong, const std::array<int, 4>& word) {
  Exchanged places{};
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < words; ++i) {
      const Place at = right(lane, i);
      places[at.row][at.column] = wrong(lane, word[i]);
    }
  }
  return places;
}

// The page's arrangement of a and b, and those that are taken for it; with their words in any
// order.
constexpr Place of_a(int l, int i) {
  return {l / 4 + i % 2 * 8, l % 4 + i / 2 * 4};
}
constexpr Place a_across(int l, int i) {
  return {l % 4 + i * 4, l / 4};
}
constexpr Place a_in_pairs(int l, int i) {
  return {l / 4 + i % 2 * 8, l % 4 * 2 + i / 2};
}
constexpr Place of_b(int l, int i) {
  return {l % 4 + i * 4, l / 4};
}
constexpr Place b_across(int l, int i) {
  return {l / 4, l % 4 + i * 4};
}
constexpr Place b_in_pairs(int l, int i) {
  return {l % 4 * 2 + i, l / 4};
}

// Where a lane finds A(m, k), or B(k, n): by the exchanged places; in its tile, exchanged as a
// whole; or in the same 8 columns for both instructions.
auto in_a(const Exchanged& a) {
  return [a](int m, int k) {
    return Place{m / 16 * 16 + a[m % 16][k % 8].row, k / 8 * 8 + a[m % 16][k % 8].column};
  };
}
auto in_b(const Exchanged& b) {
  return [b](int n, int k) {
    return Place{n / 8 * 8 + b[k % 8][n % 8].column, k / 8 * 8 + b[k % 8][n % 8].row};
  };
}
Place in_transposed_tile(int line, int k) {
  return {line / 32 * 32 + k % 32, k / 32 * 32 + line % 32};
}
Place in_same_columns(int n, int k) {
  return {n / 16 * 16 + n % 8, k};
}

double product(const grade::Case& c, int m, int n, auto in_a, auto in_b) {
  const int K = c.shape.K;
  double sum = 0;
  for (int k = 0; k < K; ++k) {
    const Place a = in_a(m, k), b = in_b(n, k);
    sum += double(c.A[a.row * K + a.column]) * c.B[b.row * K + b.column];
  }
  return sum;
}

constexpr std::array<int, 4> kInOrder = {0, 1, 2, 3}, kOtherWay = {1, 0, 3, 2};

// More than tf32 may be off, and less than two results are apart by chance.
double tolerance(const grade::Case& c) {
  return 0x1p-10 * c.shape.K;
}

bool is_product(const grade::Case& c, auto a, auto b) {
  const auto [M, N, K, variant, large] = c.shape;
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      if (!(std::abs(c.C[m * N + n] - product(c, m, n, a, b)) <= tolerance(c))) return false;
    }
  }
  return true;
}

// Whether C is what comes of a, or of b, if its elements are exchanged.
bool is_with_wrong_a(const grade::Case& c) {
  const auto b = in_b(exchanged(2, of_b, of_b, kInOrder));
  if (is_product(c, in_transposed_tile, b)) return true;
  for (std::array<int, 4> word = kInOrder;;) {
    for (const auto& wrong : {of_a, a_across, a_in_pairs}) {
      if (is_product(c, in_a(exchanged(4, of_a, wrong, word)), b)) return true;
    }
    if (!std::ranges::next_permutation(word).found) return false;
  }
}

bool is_with_wrong_b(const grade::Case& c) {
  const auto a = in_a(exchanged(4, of_a, of_a, kInOrder));
  if (is_product(c, a, in_transposed_tile) || is_product(c, a, in_same_columns)) return true;
  for (const auto& word : {kInOrder, kOtherWay}) {
    for (const auto& wrong : {of_b, b_across, b_in_pairs}) {
      if (is_product(c, a, in_b(exchanged(2, of_b, wrong, word)))) return true;
    }
  }
  return false;
}

// Whether every result is there, but not all of them in their places.
bool is_rearranged(const grade::Case& c) {
  const auto [M, N, K, variant, large] = c.shape;
  const auto a = in_a(exchanged(4, of_a, of_a, kInOrder));
  const auto b = in_b(exchanged(2, of_b, of_b, kInOrder));
  std::vector<double> stored(c.C.begin(), c.C.end()), wanted;
  if (!std::ranges::all_of(stored, [](double value) { return std::isfinite(value); })) return false;
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) wanted.push_back(product(c, m, n, a, b));
  }
  std::ranges::sort(stored);
  std::ranges::sort(wanted);
  return std::ranges::equal(stored, wanted, [&](double one, double other) {
    return std::abs(one - other) <= tolerance(c);
  });
}

bool is_wrong(const grade::Case& c) {
  return !c.right() && !c.never_written && !model::has_hazard(*c.row.counts);
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
          return random.and_large(
              {{32, 32, 32},
               random.tiles(32, 32, 32 * random.between(2, 4)),
               {32, 32 * random.between(1, 2), 64, kTf32Numbers}},
              32, 32, 32);
        },
    .element =
        [](float drawn, const Shape& shape, bool, std::size_t) {
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
         {[](const grade::Case& c) { return unfilled(c, "As"); },
          "a is at fault: a lane loads it from the padding of As, where nothing is stored. Compare "
          "a[0] to a[3] with the page: which row, and which k?"},
         {[](const grade::Case& c) { return unfilled(c, "Bs"); },
          "b is at fault: a lane loads it from the padding of Bs, where nothing is stored. Compare "
          "b[0] and b[1] with the page: which k, and which column of B?"},
         {[](const grade::Case& c) {
            return std::ranges::count(c.writers, 0u) > 0 ||
                   (model::has_hazard(*c.row.counts) &&
                    c.row.counts->hazards.front().kind == model::HazardKind::race_on_result);
          },
          "d is at fault: some element of C has two lanes that store it, or none. Compare the "
          "store "
          "of C with the page: which row and column is sum[j][1], and which 8 columns has sum[1]?"},
         {[](const grade::Case& c) {
            return is_wrong(c) &&
                   std::ranges::all_of(c.C, [](float x) { return std::abs(x) < 1e-30f; });
          },
          "every result is 0, or nearly: a fragment does not have the bits of its numbers. A cast "
          "or "
          "an assignment to unsigned makes a whole number of a float; cvt_rna_tf32 gives its bits"},
         {[](const grade::Case& c) { return is_wrong(c) && is_rearranged(c); },
          "every result is right, but not in its place: d is at fault, or else the rows of a or "
          "the "
          "columns of b. Compare the store of C with the page: which row and column is sum[j][1]?"},
         {[](const grade::Case& c) { return is_wrong(c) && is_with_wrong_a(c); },
          "a is at fault: C is what comes of other elements in a. Compare a[0] to a[3] with the "
          "page: which row, and which k?"},
         {[](const grade::Case& c) { return is_wrong(c) && is_with_wrong_b(c); },
          "b is at fault: C is what comes of other elements in b. Compare b[0] and b[1] with the "
          "page: which k, and which column of B?"},
         {is_wrong,
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
          "", told_bias},
         {[](const grade::Case& c) { return is_biased(c, 2); },
          "the tensor core ignores the last 13 bits of each operand, which cuts it off towards 0: "
          "every product becomes smaller, and adding them up does not help. Round both operands",
          "", told_bias},
         {[](const grade::Case& c) { return is_biased(c, 1); },
          "one operand is rounded, the other is still cut off towards 0: round both", "",
          told_bias},
         {[](const grade::Case& c) { return misses(c, "relative error"); },
          "the operands are not rounded to the nearest tf32, with 10 bits after the point: they "
          "are "
          "cut off, always rounded in one direction, or have fewer bits",
          "", told_bias},
         {[](const grade::Case& c) { return misses(c, "floats loaded"); },
          "a lane needs four floats of As and four of Bs in 8 steps of k: load a once and use it "
          "for both multiplications"},
         {[](const grade::Case& c) { return misses(c, "shared bytes"); },
          "no shared memory beside As and Bs is needed: the lanes hold the fragments"},
         {[](const grade::Case& c) { return misses(c, "bytes of locals"); },
          "a lane needs its part of the fragments and no more: eight sums, four words of a and two "
          "of b at a time"}},
};
