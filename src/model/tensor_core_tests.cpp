#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "model/tensor_core.h"

namespace model {

namespace {

float dot(std::vector<float> a, std::vector<float> b, float c) {
  return tensor_core_dot(a, b, c, kHopperTensorCore);
}

}  // namespace

TEST_CASE("a tensor core adds small integers exactly") {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> small(-31, 31);
  for (int round = 0; round < 1000; ++round) {
    std::vector<float> a(8), b(8);
    int sum = small(random);
    const auto c = static_cast<float>(sum);
    for (int k = 0; k < 8; ++k) {
      const int x = small(random), y = small(random);
      a[k] = static_cast<float>(x);
      b[k] = static_cast<float>(y);
      sum += x * y;
    }
    CHECK(dot(a, b, c) == static_cast<float>(sum));
  }
}

TEST_CASE("a tensor core ignores the last 13 bits of an operand") {
  const float more = std::bit_cast<float>(0x3f801fffu);
  CHECK(tf32_seen(more) == 1.0f);
  CHECK(dot({more}, {more}, 0) == 1.0f);
  // A NaN whose payload is only in those bits becomes infinite.
  CHECK(std::isinf(tf32_seen(std::bit_cast<float>(0x7f800001u))));
}

TEST_CASE("the copy engine rounds to tf32 as on an H200") {
  const std::uint32_t measured[][2] = {
      {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000},
      {0x3f803000, 0x3f804000}, {0x3f802fff, 0x3f802000}, {0x3f801fff, 0x3f802000},
      {0xbf801000, 0xbf800000}, {0xbf803000, 0xbf804000}, {0x7f7fffff, 0x7f800000},
      {0x7f800001, 0x7fffe000}, {0x7fc00001, 0x7fffe000}, {0xffffffff, 0x7fffe000},
      {0x00001000, 0x00000000}, {0x00000fff, 0x00000000}, {0x007fffff, 0x00800000},
      {0x7f800000, 0x7f800000}};
  for (const auto& [from, to] : measured) {
    const float rounded = tf32_copied(std::bit_cast<float>(from));
    CHECK(std::bit_cast<std::uint32_t>(rounded) == to);
  }
}

TEST_CASE("a tensor core cuts where fp32 rounds") {
  const float tiny = std::ldexp(1.0f, -24);
  // 1 + 3 * 2^-25 rounds up to 1 + 2^-23 or, cut off, stays 1.
  const std::vector a{tiny, tiny / 2}, b{1.0f, 1.0f};
  CHECK(dot(a, b, 1) == 1.0f);
  CHECK(dot(a, b, -1) == -1.0f + 2 * tiny);
  // With four of them the sum reaches the last place of 1.
  const std::vector four(4, tiny / 2), ones(4, 1.0f);
  CHECK(dot(four, ones, 1) == 1.0f + 2 * tiny);
}

TEST_CASE("a tensor core cuts terms at the largest exponent, even if that term cancels") {
  const std::vector a{4096.0f, -4096.0f, std::ldexp(1.0f, -14)}, b{1.0f, 1.0f, 1.0f};
  CHECK(dot(a, b, 0) == 0.0f);
  const std::vector larger{4096.0f, -4096.0f, std::ldexp(1.0f, -13)};
  CHECK(dot(larger, b, 0) == std::ldexp(1.0f, -13));
}

TEST_CASE("a tensor core's sum of cut terms is biased towards zero") {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> unit(0, 1);
  double error = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<float> a(512), b(512);
    double exact = 0;
    for (int k = 0; k < 512; ++k) {
      a[k] = tf32_seen(unit(random));
      b[k] = tf32_seen(unit(random));
      exact += static_cast<double>(a[k]) * b[k];
    }
    const double sum = dot(a, b, 0);
    CHECK(sum <= exact);
    error += (exact - sum) / exact;
  }
  CHECK(error / 200 > 3e-7);
  CHECK(error / 200 < 1e-5);
}

TEST_CASE("a tensor core keeps NaN, infinity, zero and subnormal numbers") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(dot({kInfinity}, {1}, 0) == kInfinity);
  const float nan = dot({kInfinity}, {0}, 0);
  CHECK(std::bit_cast<std::uint32_t>(nan) == 0x7fffffffu);
  CHECK(dot({0}, {1}, 0) == 0.0f);
  const float smallest = std::numeric_limits<float>::denorm_min();
  CHECK(dot({0}, {1}, smallest) == smallest);
  const float huge = std::ldexp(1.0f, 127);
  CHECK(dot({huge, huge}, {1, 1}, 0) == kInfinity);
  // Only the step with the infinity is special: the one before it cuts.
  std::vector<float> a(16, std::ldexp(1.0f, -25)), b(16, 1.0f);
  a[0] = 1;
  CHECK(dot(a, b, 0) == 1 + 3 * std::ldexp(1.0f, -23));
  a[15] = kInfinity;
  CHECK(dot(a, b, 0) == kInfinity);
  for (const float special : {kInfinity, std::bit_cast<float>(0xff800001u)}) {
    const float sum = dot({1}, {1}, special);
    CHECK(std::isinf(sum) == std::isinf(special));
    CHECK(std::isfinite(sum) == false);
  }
}

namespace {

constexpr std::uint32_t kAll = 1u << 16;

// By definition: sign, exponent and fraction of the number, as a sum of powers of two.
double value_of(std::uint16_t bits, NarrowFormat format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int field = bits >> format.fraction_bits & ((1 << format.exponent_bits) - 1);
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const double one = field == 0 ? 0 : 1 << format.fraction_bits;
  const double magnitude =
      std::ldexp(one + fraction, std::max(field, 1) - bias - format.fraction_bits);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

bool is_finite(std::uint16_t bits, NarrowFormat format) {
  return (bits & 0x7fffu) < ((1u << format.exponent_bits) - 1) << format.fraction_bits;
}

// Found by bisection over all numbers that are not negative, which their bits order. `value` says
// what they are; of two numbers that are equally near, the farther one is taken if `away`.
template <class Number, class Value>
std::uint16_t nearest(Number magnitude, NarrowFormat format, Value value, bool away = false) {
  std::uint16_t below = 0;
  for (int step = 1 << 14; step != 0; step /= 2) {
    const auto next = static_cast<std::uint16_t>(below + step);
    if (is_finite(next, format) && value(next) <= magnitude) below = next;
  }
  const Number low = value(below);
  // What follows the largest number lies as far above it as the number before lies below.
  const Number high = is_finite(below + 1, format) ? value(below + 1) : 2 * low - value(below - 1);
  const Number beyond = magnitude - low - (high - magnitude);
  return below + (beyond > 0 || (beyond == 0 && (away || below % 2 != 0)));
}

}  // namespace

TEST_CASE("every number of 16 bits survives the way to float and back, however it is rounded") {
  CHECK(widened(0x3c00, kFp16) == 1.0);
  CHECK(widened(0x7bff, kFp16) == 65504.0);
  CHECK(widened(0x3f80, kBfloat16) == 1.0);
  for (const NarrowFormat format : {kFp16, kBfloat16}) {
    CAPTURE(format.fraction_bits);
    int wrong = 0;
    for (std::uint32_t i = 0; i < kAll; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      const float wide = widened(bits, format);
      if (std::isnan(wide)) {
        wrong += is_finite(bits, format) || narrowed(wide, format) != kNarrowNaN;
        continue;
      }
      for (const Toward rounding :
           {Toward::nearest, Toward::nearest_away, Toward::zero, Toward::above, Toward::below}) {
        wrong += narrowed(wide, format, rounding) != bits;
      }
      if (is_finite(bits, format)) wrong += wide != value_of(bits, format);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a tensor core cuts every term at the largest exponent, that of subnormal numbers, too") {
  std::mt19937 random(5);
  constexpr TensorCore kCore = kHopperTensorCoreOfHalves;
  for (const NarrowFormat format : {kFp16, kBfloat16}) {
    CAPTURE(format.fraction_bits);
    const int most = (1 << format.exponent_bits) - 1;
    int wrong = 0;
    for (int round = 0; round < 4000; ++round) {
      // Every other time all are subnormal or near 1, so that the terms meet.
      const auto next = [&] {
        const int field = round % 2 == 0 ? int(random() % most) : round / 2 % 2 * (most / 2);
        const auto rest = random() % 4 == 0 ? 0 : random() & ((1u << format.fraction_bits) - 1);
        return static_cast<std::uint16_t>(
            random() % 2 << 15 | field << format.fraction_bits | rest);
      };
      const auto exponent = [&](std::uint16_t x) {
        return std::max(x >> format.fraction_bits & most, 1) - most / 2;
      };
      constexpr int kMost = TensorCoreFactors::kMost, kColumns = TensorCoreColumns::kColumns;
      std::uint16_t row[kMost];
      TensorCoreFactors a, columns[kColumns];
      for (int k = 0; k < kMost; ++k) a.set(k, row[k] = next(), format);
      float sums[kColumns], expected[kColumns];
      for (int j = 0; j < kColumns; ++j) {
        const int range = round % 40 - 30;
        const float c = (round + j) % 3 == 0 ? 0 : std::ldexp(float(random() % 999) - 500, range);
        sums[j] = c;
        int largest = c == 0 ? -1000 : std::max(std::ilogb(c), -126);
        double products[kMost];
        for (int k = 0; k < kMost; ++k) {
          const std::uint16_t y = next();
          columns[j].set(k, y, format);
          products[k] = value_of(row[k], format) * value_of(y, format);
          if (products[k] != 0) largest = std::max(largest, exponent(row[k]) + exponent(y));
        }
        double sum = std::trunc(std::ldexp(c, kTensorCorePlaces - largest));
        for (const double product : products) {
          sum += std::trunc(std::ldexp(product, kTensorCorePlaces - largest));
        }
        sum = std::ldexp(sum, largest - kTensorCorePlaces);
        // Cut to a float's 24 bits, or to its last place.
        const int place = sum == 0 ? 0 : std::max(std::ilogb(sum) - 23, -149);
        expected[j] = float(std::ldexp(std::trunc(std::ldexp(sum, -place)), place));
      }
      add_tensor_core_dots(a, TensorCoreColumns(columns), kMost, sums, kCore);
      wrong += !std::equal(sums, sums + kColumns, expected);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("rounding to 16 bits takes the nearest number, and of two the even or the farther one") {
  std::mt19937_64 random(1);
  for (const NarrowFormat format : {kFp16, kBfloat16}) {
    CAPTURE(format.fraction_bits);
    int wrong = 0;
    const auto check = [&](double value) {
      if (!std::isfinite(value)) return;
      const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
      for (const bool away : {false, true}) {
        const std::uint16_t expected = nearest(
            std::abs(value), format, [&](int bits) { return value_of(bits, format); }, away);
        const Toward rounding = away ? Toward::nearest_away : Toward::nearest;
        wrong += narrowed(value, format, rounding) != (sign | expected);
      }
    };
    for (int i = 0; i < 300000; ++i) {
      check(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
      check(std::bit_cast<double>(random()));
    }
    // On, just below and just above the middle between two neighbours.
    for (std::uint16_t bits = 0; is_finite(bits, format); ++bits) {
      const double middle = value_of(bits, format) / 2 + value_of(bits + 1, format) / 2;
      for (const double value :
           {middle, std::nextafter(middle, 0), std::nextafter(middle, 1e300)}) {
        check(value);
        check(-value);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("directed rounding to 16 bits") {
  for (const NarrowFormat format : {kFp16, kBfloat16}) {
    CAPTURE(format.fraction_bits);
    int wrong = 0;
    for (std::uint16_t bits = 0; is_finite(bits + 1, format); ++bits) {
      const double above = std::nextafter(value_of(bits, format), 1e300);
      const auto next = static_cast<std::uint16_t>(bits + 1);
      wrong += narrowed(above, format, Toward::zero) != bits;
      wrong += narrowed(above, format, Toward::below) != bits;
      wrong += narrowed(above, format, Toward::above) != next;
      wrong += narrowed(-above, format, Toward::zero) != (bits | 0x8000);
      wrong += narrowed(-above, format, Toward::above) != (bits | 0x8000);
      wrong += narrowed(-above, format, Toward::below) != (next | 0x8000);
    }
    CHECK(wrong == 0);
    const std::uint16_t infinity = narrowed(std::numeric_limits<double>::infinity(), format);
    CHECK(narrowed(1e300, format) == infinity);
    CHECK(narrowed(1e300, format, Toward::zero) == infinity - 1);
    CHECK(narrowed(-1e300, format, Toward::above) == ((infinity - 1) | 0x8000));
    CHECK(narrowed(-1e300, format, Toward::below) == (infinity | 0x8000));
  }
}

// In integers: a * b and c in units of the smallest bit of a product.
TEST_CASE("a fused multiply-add of fp16 rounds once") {
  std::mt19937 random(3);
  int wrong = 0, decided_by_c = 0;
  for (int i = 0; i < 300000; ++i) {
    const auto any = [&] { return static_cast<std::uint16_t>(random()); };
    const std::uint16_t a = any(), b = any();
    std::uint16_t c = any();
    // Half the time c is tiny beside the product.
    if (i % 2 == 0) c &= 0x83ff;
    if (!is_finite(a, kFp16) || !is_finite(b, kFp16) || !is_finite(c, kFp16)) continue;
    const auto in_units = [](std::uint16_t x) {
      return static_cast<__int128>(std::ldexp(value_of(x, kFp16), 24));
    };
    const __int128 sum = in_units(a) * in_units(b) + (in_units(c) << 24);
    if (sum == 0) continue;
    const __int128 magnitude = sum < 0 ? -sum : sum;
    // Exact in 128 bits; a long double would do as well, where it has 64.
    std::uint16_t expected =
        nearest(magnitude, kFp16, [&](std::uint16_t bits) { return in_units(bits) << 24; });
    if (sum < 0) expected |= 0x8000;
    wrong += narrowed_fma(a, b, c, kFp16) != expected;
    decided_by_c += narrowed_fma(a, b, 0, kFp16) != expected;
  }
  CHECK(wrong == 0);
  CHECK(decided_by_c > 1000);
}

TEST_CASE("a fused multiply-add of bf16 sees what a double would lose") {
  // (1 + 2^-7)^2 * 2^k ... the product lies in the middle between two numbers, and c decides.
  const auto bits = [](double value) { return narrowed(value, kBfloat16); };
  const double a = 1.5, b = 1.0 + 1.0 / 128;  // 1.51171875: between 1.5078125 and 1.515625
  const double product = a * b;
  REQUIRE(product == (1.5078125 + 1.515625) / 2);
  const std::uint16_t up = narrowed_fma(bits(a), bits(b), bits(1e-30), kBfloat16);
  const std::uint16_t down = narrowed_fma(bits(a), bits(b), bits(-1e-30), kBfloat16);
  CHECK(widened(up, kBfloat16) == 1.515625f);
  CHECK(widened(down, kBfloat16) == 1.5078125f);
}

TEST_CASE("two tf32 numbers hold a float up to 2^-22 of it") {
  std::mt19937 random(4);
  double most_low = 0, most_left = 0;
  for (int i = 0; i < 100000; ++i) {
    // Exponents for which the rest of a float is a normal number.
    const auto bits = static_cast<std::uint32_t>(random() % 0x72800000u + 0x0c800000u);
    const auto x = std::bit_cast<float>(random() % 2 != 0 ? bits : bits | 0x80000000u);
    const auto [high, low] = split_into_tf32(x);
    for (const float part : {high, low}) CHECK((std::bit_cast<std::uint32_t>(part) & 0x1fffu) == 0);
    most_low = std::max(most_low, std::fabs(low / double{x}));
    most_left = std::max(most_left, std::fabs((double{x} - high - low) / x));
  }
  CHECK(most_low <= 0x1p-10);
  CHECK(most_low > 0x1p-11);
  CHECK(most_left <= 0x1p-22);
  CHECK(most_left > 0x1p-23);
}

TEST_CASE("a matrix descriptor has its fields where the PTX ISA puts them") {
  const MatrixDescriptor matrix{0x12340, 16, 1024, 0, Swizzle::span_128};
  CHECK(encoded(matrix) == (0x1234ull | 1ull << 16 | 64ull << 32 | 1ull << 62));
  for (const Swizzle swizzle :
       {Swizzle::none, Swizzle::span_32, Swizzle::span_64, Swizzle::span_128}) {
    const MatrixDescriptor other{0x3fff0, 0x120, 0x2340, 5, swizzle};
    const MatrixDescriptor back = decoded(encoded(other));
    CHECK(back.start == other.start);
    CHECK(back.leading == other.leading);
    CHECK(back.stride == other.stride);
    CHECK(back.base_offset == other.base_offset);
    CHECK(back.swizzle == other.swizzle);
  }
}

TEST_CASE("a swizzle moves 16 bytes within their span, and is its own inverse") {
  for (const Swizzle swizzle : {Swizzle::span_32, Swizzle::span_64, Swizzle::span_128}) {
    const auto span = static_cast<std::uint32_t>(span_of(swizzle));
    std::set<std::uint32_t> reached;
    for (std::uint32_t address = 0; address < 4096; address += 4) {
      const std::uint32_t to = swizzled(address, swizzle);
      CHECK(to / span == address / span);
      CHECK(to % 16 == address % 16);
      CHECK(swizzled(to, swizzle) == address);
      reached.insert(to);
    }
    CHECK(reached.size() == 1024);
  }
  CHECK(swizzled(0x3f0, Swizzle::none) == 0x3f0);
}

TEST_CASE("with a 128-byte swizzle eight rows have a column in all banks") {
  const MatrixDescriptor matrix{2048, 16, 1024, 0, Swizzle::span_128};
  std::set<std::uint32_t> banks;
  for (int row = 0; row < 8; ++row) {
    for (int byte = 0; byte < 16; byte += 4) {
      banks.insert(address_in(matrix, row, 32 + byte) / 4 % 32);
    }
  }
  CHECK(banks.size() == 32);
  // Row 3, k = 5: the second piece of 16 bytes, moved to piece 1 XOR 3.
  CHECK(address_in(matrix, 3, 20) == 2048 + 3 * 128 + (1 ^ 3) * 16 + 4);
  CHECK(address_in(matrix, 11, 20) == 2048 + 1024 + 3 * 128 + (1 ^ 3) * 16 + 4);
}

TEST_CASE("the rows of a row-major matrix in boxes are those of k of an MN-major operand") {
  // Boxes of 64 rows with 64 elements of 16 bits, 8192 bytes apart. Eight rows have 1024 bytes.
  const MatrixDescriptor matrix{4096, 8192, 1024, 0, Swizzle::span_128};
  for (int k = 0; k < 16; ++k) {
    for (int n = 0; n < 256; ++n) {
      const std::uint32_t place = 4096 + n / 64 * 8192 + k * 128 + n % 64 * 2;
      CHECK(address_in_transposed(matrix, n, k) == swizzled(place, Swizzle::span_128));
    }
  }
  // Column 75, k = 9: the second piece of 16 bytes in row 9 of the second box, moved to 1 XOR 1.
  CHECK(address_in_transposed(matrix, 75, 9) == 4096 + 8192 + 9 * 128 + 0 * 16 + 6);
  // Without a swizzle, matrices of eight k with eight elements, 16 bytes each.
  const MatrixDescriptor plain{256, 128, 512, 0, Swizzle::none};
  CHECK(address_in_transposed(plain, 0, 0) == 256);
  CHECK(address_in_transposed(plain, 3, 1) == 256 + 16 + 6);
  CHECK(address_in_transposed(plain, 8, 0) == 256 + 512);
  CHECK(address_in_transposed(plain, 1, 9) == 256 + 128 + 16 + 2);
}

TEST_CASE("without a swizzle an operand is made of matrices of eight rows of 16 bytes") {
  const MatrixDescriptor matrix{256, 128, 512, 0, Swizzle::none};
  CHECK(address_in(matrix, 0, 0) == 256);
  CHECK(address_in(matrix, 1, 0) == 272);
  CHECK(address_in(matrix, 1, 16) == 272 + 128);
  CHECK(address_in(matrix, 9, 20) == 256 + 512 + 16 + 128 + 4);
}

TEST_CASE("each element of a fragment is in one register of one lane, as the PTX ISA has it") {
  const auto is_spread = [](const FragmentLayout& layout) {
    std::set<std::pair<int, int>> elements;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < layout.elements(); ++i) {
        const auto [major, minor] = layout.position(lane, i);
        if (major >= layout.majors || minor >= layout.minors) return false;
        elements.insert({major, minor});
      }
    }
    return static_cast<int>(elements.size()) == layout.majors * layout.minors;
  };
  for (const auto& [rows, depth, bits] :
       {std::array{16, 4, 32},
        {16, 8, 32},
        {16, 8, 16},
        {16, 16, 16},
        {16, 16, 8},
        {16, 32, 8},
        {8, 16, 8},
        {8, 4, 64}}) {
    CAPTURE(rows);
    CAPTURE(depth);
    CAPTURE(bits);
    const MmaFragments mma = fragments_of_mma(rows, depth, bits);
    CHECK(is_spread(mma.a));
    CHECK(is_spread(mma.b));
    CHECK(is_spread(mma.d));
  }
  // simulator/cuda/instructions.h has these formulas, for m16n8k8 of tf32.
  const auto [a, b, d] = fragments_of_mma(16, 8, 32);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      CHECK(a.position(lane, i).major == lane / 4 + i % 2 * 8);
      CHECK(a.position(lane, i).minor == lane % 4 + i / 2 * 4);
      CHECK(d.position(lane, i).major == lane / 4 + i / 2 * 8);
      CHECK(d.position(lane, i).minor == 2 * (lane % 4) + i % 2);
    }
    for (int i = 0; i < 2; ++i) {
      CHECK(b.position(lane, i).major == lane / 4);
      CHECK(b.position(lane, i).minor == lane % 4 + 4 * i);
    }
  }
}

}  // namespace model
