#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

#include "model/tensor_core.h"
#include "report/explain/sections.h"
#include "report/explain/words.h"
#include "text/numbers.h"

namespace report {

namespace {

constexpr int kHidden = model::kFp32Format.fraction_bits - model::kTf32Format.fraction_bits;

// "0 10000000 1001001000 0111111011011": sign, exponent, and the fraction in two parts, the second
// of which a tf32 number does not have.
std::string bits_of(float x, bool is_tf32) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  std::string text;
  for (int bit = 31; bit >= (is_tf32 ? kHidden : 0); --bit) {
    text += (bits >> bit & 1u) != 0 ? '1' : '0';
    if (bit == 31 || bit == model::kFp32Format.fraction_bits || bit == kHidden) text += ' ';
  }
  return text;
}

std::string line(const char* name, double value, const std::string& bits, const char* remark) {
  return text::without_trailing_spaces(
             text::printed("  %-10s%-17.9g%-37s%s", name, value, bits.c_str(), remark)) +
         "\n";
}

std::string sum(const char* name, double value, double exact) {
  const double error = std::fabs(value - exact) / exact;
  return text::printed("  %-34s%-17.10g%.0e\n", name, value, error);
}

}  // namespace

std::string split_of(const Explained& explained) {
  const auto& [run, row, style, whole, format] = explained;
  const bool splits = row.variant && row.variant->multiplier == model::Multiplier::wgmma_3xtf32;
  if (!splits || whole) return "";
  const auto a = std::numbers::pi_v<float>, b = std::numbers::e_v<float>;
  const auto [high, low] = model::split_into_tf32(a);
  const auto [b_high, b_low] = model::split_into_tf32(b);
  std::string text = heading("The split of one product: a is pi, and b is e", style);
  text += text::printed("  %-10s%-17s%s\n", "", "value", "sign, exponent, fraction");
  text += line("a", a, bits_of(a, false), "");
  text += line("high", high, bits_of(high, true), "what the tensor cores see of a");
  text += line("a - high", a - high, bits_of(a - high, false), "exact");
  text += line("low", low, bits_of(low, true), "rounded to tf32");
  const double exact = static_cast<double>(a) * b;
  const double highs = static_cast<double>(high) * b_high;
  const double middle = static_cast<double>(high) * b_low + static_cast<double>(low) * b_high;
  const double lows = static_cast<double>(low) * b_low;
  text += text::printed("\n  %-34s%-17s%s\n", "products", "sum", "relative error");
  text += sum("high * b_high", highs, exact);
  text += sum("+ high * b_low + low * b_high", highs + middle, exact);
  text += sum("+ low * b_low, which is left out", highs + middle + lows, exact);
  text += sum("for comparison: a * b in fp32", a * b, exact);
  return text;
}

}  // namespace report
