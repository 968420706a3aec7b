#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "model/tensor_core.h"
#include "school/grade/complaint.h"
#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

constexpr int kNumbers = 64;  // of a line: a row of A or a column of B
constexpr double kStrong = 0x1p-7, kWrong = 1e-3;

using Line = std::vector<double>;

double largest_of(const Line& line) {
  double largest = 0;
  for (const double x : line) largest = std::max(largest, std::abs(x));
  return largest;
}
int strong_in(const Line& line) {
  const double least = kStrong * largest_of(line);
  return static_cast<int>(
      std::ranges::count_if(line, [&](double x) { return x != 0 && std::abs(x) >= least; }));
}

// A line that is handed in, or what is wrong with it.
struct Read {
  Line line{};
  std::string problem{};
};

// "-2^-40", "0.5"
std::optional<double> number_in(std::string_view text) {
  const auto read = [](std::string_view part, double& value) {
    const auto [end, error] = std::from_chars(part.begin(), part.end(), value);
    return error == std::errc() && end == part.end();
  };
  const std::size_t hat = text.find('^');
  double base = 0, power = 1;
  if (!read(text.substr(0, hat), base)) return std::nullopt;
  if (hat != text.npos && !read(text.substr(hat + 1), power)) return std::nullopt;
  const double value = std::copysign(std::pow(std::abs(base), power), base);
  const double magnitude = std::abs(value);
  const bool fits = value == 0 || (magnitude >= 0x1p-100 && magnitude <= 0x1p100);
  if (!fits) return std::nullopt;
  return static_cast<float>(value);
}

Read line_in(std::string text) {
  Read read;
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t times = item.find('x');
    const auto count = times == item.npos ? 1 : number_in(item.substr(0, times));
    const auto value = number_in(times == item.npos ? item : item.substr(times + 1));
    if (!count || !value || *count < 1 || *count > kNumbers || *count != std::floor(*count)) {
      read.problem = "\"" + item.substr(0, 40) +
                     "\" is no number from 2^-100 to 2^100, and no count and number: write items "
                     "like 40 x 1, 23 x -2^-40, 0";
      return read;
    }
    read.line.insert(read.line.end(), static_cast<std::size_t>(*count), *value);
    begin = end + 1;
  }
  if (read.line.size() != kNumbers) {
    read.problem =
        text::printed("it has %zu numbers, and %d are wanted", read.line.size(), kNumbers);
  }
  return read;
}

// What becomes of the product of a row and a column in parts.
struct Product {
  double exact = 0, magnitude = 0, from_parts = 0;
  double error() const { return std::abs(from_parts - exact); }
  bool is_wrong() const { return !(error() <= kWrong * magnitude); }
};

constexpr double kOneUnit = 0x1p-10;  // for all numbers
double unit_for(const Line& line) {
  int exponent = 0;
  std::frexp(largest_of(line), &exponent);
  return std::ldexp(1.0, exponent - 15);
}

struct Parts {
  double high, low;
};
Parts parts_of(double in_units) {
  const auto nearest = [](double x) {
    return double(model::widened(model::narrowed(x, model::kFp16), model::kFp16));
  };
  const double high = nearest(in_units);
  return {high, nearest(in_units - high)};
}

Product multiplied(const Line& row, const Line& column, double unit_of_row, double unit_of_column) {
  Product product;
  for (int k = 0; k < kNumbers; ++k) {
    product.exact += row[k] * column[k];
    product.magnitude += std::abs(row[k] * column[k]);
    const Parts a = parts_of(row[k] / unit_of_row), b = parts_of(column[k] / unit_of_column);
    const double products = a.high * b.high + a.low * b.high + a.high * b.low;
    product.from_parts += products * unit_of_row * unit_of_column;
  }
  return product;
}

struct Test {
  bool one_unit;  // for all numbers
  bool can_be_fooled;
  bool (*says_yes)(const Line& row, const Line& column);
  const char* asks;   // what it looks at
  const char* right;  // where to look if the result is right
};

bool is_small(const Line& row, const Line& column) {
  return largest_of(row) <= 64 && largest_of(column) <= 64;
}

const Test kTests[] = {
    {true, true, is_small, "it looks for magnitudes above 64, in the row and in the column",
     "the unit is 2^-10, and the last bit of fp16 is 2^-24 of that: which numbers become 0?"},
    {false, true, is_small, "it looks for magnitudes above 64, in the row and in the column",
     "the unit is made for the largest number of the line. Which numbers become 0 then? They must "
     "be all that the sum consists of: what does the other line have where the largest stands?"},
    {false, true, [](const Line& row, const Line&) { return 2 * strong_in(row) > kNumbers; },
     "it counts the strong numbers of the row: at least 2^-7 of the largest",
     "the test does not look at the column. What must stand there, where the row has its strong "
     "numbers, so that only the others take part in the sum?"},
    {false, true,
     [](const Line& row, const Line& column) {
       return 2 * strong_in(row) >= kNumbers && 2 * strong_in(column) >= kNumbers;
     },
     "it counts the strong numbers of both lines: at least 2^-7 of the largest of the line",
     "for some k both numbers are strong, and their product is far larger than what is lost. Half "
     "of 64 places are strong in each line: can they all be different ones?"},
    {false, false,
     [](const Line& row, const Line& column) {
       return 2 * strong_in(row) > kNumbers && 2 * strong_in(column) > kNumbers;
     },
     "it counts the strong numbers of both lines: at least 2^-7 of the largest of the line",
     "33 of 64 places in the row and 33 in the column: how many have they in common? And what is "
     "lost of the others, beside the product of two strong numbers?"}};

std::optional<grade::Complaint> about_test(int number, const grade::Answers& answers) {
  const Test& test = kTests[number - 1];
  const std::string row_name = "row_" + std::to_string(number),
                    column_name = "column_" + std::to_string(number),
                    name = "test " + std::to_string(number);
  Line lines[2];
  int none = 0;
  for (int i = 0; i < 2; ++i) {
    const std::string line_name = i == 0 ? row_name : column_name;
    const auto answer = answers.find(line_name);
    if (answer == answers.end() || answer->second.empty()) {
      return grade::Complaint{
          "no answer yet to " + line_name, "a line of 64 numbers, or none",
          "write: answer " + line_name + ": 40 x 1, 24 x 2^-40"};
    }
    if (answer->second == "none") {
      ++none;
      continue;
    }
    const Read read = line_in(answer->second);
    if (!read.problem.empty()) {
      return grade::Complaint{
          line_name + " cannot be used", read.problem, "\"" + answer->second.substr(0, 60) + "\""};
    }
    lines[i] = read.line;
  }
  if (none == 1) {
    return grade::Complaint{
        "one line of " + name + " is none, and the other is not",
        "a test is fooled by a row and a column together", row_name + ", " + column_name};
  }
  if (none == 2) {
    if (!test.can_be_fooled) return std::nullopt;
    return grade::Complaint{name + " can be fooled", test.right, test.asks};
  }
  const auto& [row, column] = lines;
  const Product product = test.one_unit ? multiplied(row, column, kOneUnit, kOneUnit)
                                        : multiplied(row, column, unit_for(row), unit_for(column));
  const std::string numbers = text::printed(
      "the row's largest magnitude is %g, and %d of its numbers are strong; the column's is %g, "
      "with "
      "%d; the sum of |a*b| is %g, and the error of the result %g",
      largest_of(row), strong_in(row), largest_of(column), strong_in(column), product.magnitude,
      product.error());
  if (!test.says_yes(row, column)) {
    return grade::Complaint{name + " is not fooled: it says no", test.asks, numbers};
  }
  if (product.magnitude == 0) {
    return grade::Complaint{
        name + " is not fooled: every product is 0", "a result of 0 is right for them", numbers};
  }
  if (!product.is_wrong()) {
    return grade::Complaint{
        name + " is not fooled: it says yes, and the result is right", test.right, numbers};
  }
  return std::nullopt;
}

const std::vector<grade::Question> kQuestions = {
    {"shared",
     "S of K numbers are strong in the row, and T of K in the column: for how many k are surely "
     "both?",
     "counted_shared",
     {{"S + T", "that counts each strong number, and not the k that two of them share"},
      {"(S + T)/2", "the strong numbers of a row may stand where the column's do not"},
      {"K - S", "that is how many of the row are not strong"},
      {"S + T - K/2", "there are K places for all of them"},
      {"S*T/K",
       "that is how many it is on average, if they lie at random; which number is sure?"}}},
    {"enough",
     "how many strong numbers must each line have, so that P of the k are surely strong in both?",
     "counted_enough",
     {{"K/2 + P", "with one more in each line, two more of the k are sure"},
      {"K/2", "two halves need not meet: then none of the k is sure"},
      {"K/2 + 1", "that makes two of the k sure, and P are wanted"},
      {"K + P", "a line has only K numbers; both lines together need that many"},
      {"P", "P strong numbers of each line may stand in different places"}}}};

// The sure number, counted: the strong ones of the row come first, and those of the column last.
int shared(int K, int S, int T) {
  int both = 0;
  for (int k = 0; k < K; ++k) both += k < S && k >= K - T;
  return both;
}

std::vector<grade::Case> drawn(grade::Random random) {
  std::vector<grade::Case> cases;
  for (int i = 0; i < 5; ++i) {
    grade::Case c;
    const int K = 16 * random.between(2, 9), S = K / 2 + random.between(2, K / 2 - 1);
    const int T = K - S + random.between(1, S - 1), P = 2 * random.between(2, K / 2 - 1);
    int enough = 0;
    while (shared(K, enough, enough) < P) ++enough;
    c.shape = {1, 1, K};
    c.measures = {
        {"K", K},
        {"S", S},
        {"T", T},
        {"P", P},
        {"counted_shared", shared(K, S, T)},
        {"counted_enough", enough}};
    cases.push_back(c);
  }
  return cases;
}

std::optional<grade::Complaint> check_answers(const grade::Submission& submission) {
  for (int number = 1; number <= std::ssize(kTests); ++number) {
    if (const auto complaint = about_test(number, submission.answers)) return complaint;
  }
  const std::vector<grade::Case> cases = drawn(grade::Random(submission.seed));
  return grade::complaint_about(kQuestions, submission.answers, cases, "the grader");
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "find data that fool a test, and the test that cannot be fooled",
    .check_answers = check_answers,
};
