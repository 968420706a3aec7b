#include "model/tensor_core.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace model {

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
    CHECK(tensor_core_dot(a, b, c, kHopperTensorCore) == static_cast<float>(sum));
    CHECK(tensor_core_dot(a, b, c, kAmpereTensorCore) == static_cast<float>(sum));
  }
}

TEST_CASE("a tensor core ignores the last 13 bits of an operand") {
  const float more = std::bit_cast<float>(0x3f801fffu);
  CHECK(tf32_seen(more) == 1.0f);
  CHECK(
      tensor_core_dot(std::vector{more}, std::vector{more}, 0, kHopperTensorCore) == 1.0f);
  // A NaN whose payload is only there becomes infinite.
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
  CHECK(tensor_core_dot(a, b, 1, kHopperTensorCore) == 1.0f);
  CHECK(tensor_core_dot(a, b, -1, kHopperTensorCore) == -1.0f + 2 * tiny);
  // With four of them the sum reaches the last place of 1.
  const std::vector four(4, tiny / 2), ones(4, 1.0f);
  CHECK(tensor_core_dot(four, ones, 1, kHopperTensorCore) == 1.0f + 2 * tiny);
  // An Ampere core has one place less, so it does not see them.
  CHECK(tensor_core_dot(four, ones, 1, kAmpereTensorCore) == 1.0f);
}

TEST_CASE("a tensor core cuts terms at the largest exponent, even if that term cancels") {
  const std::vector a{4096.0f, -4096.0f, std::ldexp(1.0f, -14)}, b{1.0f, 1.0f, 1.0f};
  CHECK(tensor_core_dot(a, b, 0, kHopperTensorCore) == 0.0f);
  const std::vector larger{4096.0f, -4096.0f, std::ldexp(1.0f, -13)};
  CHECK(tensor_core_dot(larger, b, 0, kHopperTensorCore) == std::ldexp(1.0f, -13));
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
    const double sum = tensor_core_dot(a, b, 0, kHopperTensorCore);
    CHECK(sum <= exact);
    error += (exact - sum) / exact;
  }
  CHECK(error / 200 > 3e-7);
  CHECK(error / 200 < 1e-5);
}

TEST_CASE("a tensor core keeps NaN, infinity, zero and subnormal numbers") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector one{1.0f};
  CHECK(tensor_core_dot(std::vector{kInfinity}, one, 0, kHopperTensorCore) == kInfinity);
  const float nan = tensor_core_dot(std::vector{kInfinity}, std::vector{0.0f}, 0, kHopperTensorCore);
  CHECK(std::bit_cast<std::uint32_t>(nan) == 0x7fffffffu);
  CHECK(tensor_core_dot(std::vector{0.0f}, one, 0, kHopperTensorCore) == 0.0f);
  const float smallest = std::numeric_limits<float>::denorm_min();
  CHECK(tensor_core_dot(std::vector{0.0f}, one, smallest, kHopperTensorCore) == smallest);
  const float huge = std::ldexp(1.0f, 127);
  CHECK(
      tensor_core_dot(std::vector{huge, huge}, std::vector{1.0f, 1.0f}, 0, kHopperTensorCore) ==
      kInfinity);
}

}  // namespace model
