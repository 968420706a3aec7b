#include "model/formula.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "testing/fuzz.h"

namespace model {

namespace {

constexpr Named kNames[] = {{"K", 256}, {"BK", 8}, {"BN", 128}, {"threads", 256}, {"reads_C", 1}};

double value_of(const std::string& formula) {
  return evaluate(formula, kNames);
}

std::string complaint_about(const std::string& formula) {
  try {
    evaluate(formula, kNames);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("formulas have the usual precedence and associate to the left") {
  CHECK(value_of("2*K + reads_C") == 513);
  CHECK(value_of("1 + 2 * 3 - 4 / 8") == 6.5);
  CHECK(value_of("(1 + 2) * 3") == 9);
  CHECK(value_of("8 / 4 / 2") == 1);
  CHECK(value_of("8 - 4 - 2") == 2);
  CHECK(value_of("ceil(K / BK) * BK*BN / threads") == 128);
  CHECK(value_of("ceil((K+1)/BK)") == 33);
  CHECK(value_of("max(K/BK, 2*BN) + 1") == 257);
  CHECK(value_of("max(K, max(1, 2))") == 256);
  CHECK(value_of("  .5e1 ") == 5);
}

TEST_CASE("a minus sign may precede any factor") {
  CHECK(value_of("-K") == -256);
  CHECK(value_of("2 * -3") == -6);
  CHECK(value_of("2 - -3") == 5);
  CHECK(value_of("-(1 + 2) * 3") == -9);
  CHECK(value_of("-ceil(0.5)") == -1);
}

TEST_CASE("text that is not a formula is refused with the place") {
  CHECK(complaint_about("2*L") == "formula \"2*L\": unknown name L at character 3");
  CHECK(contains(complaint_about(""), "expected a number, a name or ( at character 1"));
  CHECK(contains(complaint_about("1 +"), "at character 4"));
  CHECK(contains(complaint_about("(1 + 2"), "expected ) at character 7"));
  CHECK(contains(complaint_about("1 2"), "expected an operator or the end at character 3"));
  CHECK(contains(complaint_about("K)"), "expected an operator or the end at character 2"));
  CHECK(contains(complaint_about("1 / (K - 256)"), "division by zero at character 3"));
  CHECK(contains(complaint_about("ceil"), "expected ( after ceil"));
  CHECK(contains(complaint_about("floor(1)"), "unknown name floor"));
  CHECK(contains(complaint_about("1e999"), "not a number that fits"));
  CHECK(contains(complaint_about("."), "not a number that fits"));
  CHECK(contains(complaint_about("0x10"), "at character 2"));
  CHECK(contains(complaint_about("+1"), "at character 1"));
  CHECK(complaint_about(std::string("1\0", 2)) != "");
}

TEST_CASE("brackets nest a hundred deep, and a million do not overflow the stack") {
  const auto nested = [](int depth) {
    return std::string(depth, '(') + "1" + std::string(depth, ')');
  };
  CHECK(value_of(nested(100)) == 1);
  CHECK(contains(complaint_about(nested(101)), "too many brackets"));
  CHECK(contains(complaint_about(nested(1000000)), "too many brackets"));
  CHECK(value_of(std::string(1000000, '-') + "1") == 1);
  std::string side_by_side = "0";
  for (int i = 0; i < 1000; ++i) side_by_side += "+(1)";
  CHECK(value_of(side_by_side) == 1000);
}

namespace {

// Writes formulas by the grammar, and computes their values at the same time.
struct Writer {
  testing::Fuzz& fuzz;
  std::string text = "";
  bool divides_by_zero = false;
  int depth = 0;

  double sum() {
    double value = product();
    for (std::size_t more = fuzz.upto(3); more > 0; --more) {
      const bool plus = fuzz.one_in(2);
      text += plus ? "+" : " - ";
      const double term = product();
      value = plus ? value + term : value - term;
    }
    return value;
  }
  double product() {
    double value = factor();
    for (std::size_t more = fuzz.upto(3); more > 0; --more) {
      const bool times = fuzz.one_in(2);
      text += times ? "*" : " /";
      const double other = factor();
      if (!times) divides_by_zero = divides_by_zero || other == 0;
      value = times ? value * other : value / other;
    }
    return value;
  }
  double factor() {
    if (fuzz.one_in(8)) {
      text += "-";
      return -factor();
    }
    if (++depth < 5 && fuzz.one_in(3)) {
      const bool up = fuzz.one_in(2);
      text += up ? "ceil(" : "( ";
      const double value = sum();
      text += ")";
      return up ? std::ceil(value) : value;
    }
    if (fuzz.one_in(2)) {
      const Named& name = fuzz.one_of(kNames);
      text += name.name;
      return name.value;
    }
    const double value = static_cast<double>(fuzz.upto(2000)) / 8;
    text += text::shortest(value);
    return value;
  }
};

}  // namespace

TEST_CASE("any formula by the grammar has the value that its writer computed") {
  testing::Fuzz fuzz({""}, {""});
  for (int i = 0; i < testing::fuzz_count(); ++i) {
    Writer writer{fuzz};
    const double value = writer.sum();
    if (writer.divides_by_zero) {
      CHECK_MESSAGE(contains(complaint_about(writer.text), "division by zero"), writer.text);
    } else if (value_of(writer.text) != value) {
      FAIL_CHECK(writer.text, " should be ", value);
    }
  }
}

TEST_CASE("any text is evaluated as a formula, or refused in one sentence") {
  testing::Fuzz fuzz(
      {"2*K + reads_C", "ceil(K / BK) * BK*BN / threads", "-(1 + 2) * 3", ".5e1", "((1))", "1e300"},
      {"ceil(", "(", ")", "K", "BK", "-", "1e", "1e999", "0", "/0", "0x1", "_", "\x1b[31m", "é",
       std::string(101, '('), "nan", "inf"});
  testing::fuzz<std::invalid_argument>([&] { return fuzz.next(); }, value_of);
}

}  // namespace model
