// Random inputs: valid ones, changed and mixed with each other. The same seed gives the same inputs
// on every machine.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/echoed.h"
#include "text/numbers.h"

namespace testing {

// The number of inputs per parser. GEMM_STEPS_FUZZ in the environment overrides it.
inline int fuzz_count() {
  const char* value = std::getenv("GEMM_STEPS_FUZZ");
  return value != nullptr ? std::atoi(value) : 10'000;
}

class Fuzz {
 public:
  // `valid` are inputs to start from, and `words` are words that the parser knows.
  Fuzz(std::vector<std::string> valid, std::vector<std::string> words)
      : known_(std::move(valid)), valid_(known_.size()), words_(std::move(words)) {}

  // A random number below `end`.
  std::size_t upto(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  bool one_in(std::size_t n) { return upto(n) == 0; }
  template <class List>
  const auto& one_of(const List& list) {
    return list[upto(std::size(list))];
  }

  // One of the known inputs, changed in up to six places. Some of the results become known inputs.
  std::string next() {
    // Most changes spoil an input, so every second one starts from a valid one.
    std::string input = known_[upto(one_in(2) ? valid_ : known_.size())];
    for (std::size_t changes = upto(7); changes > 0; --changes) change(input);
    constexpr std::size_t kMostKnown = 200, kMostBytes = 4000;
    if (one_in(20) && input.size() <= kMostBytes) {
      if (known_.size() < valid_ + kMostKnown) {
        known_.push_back(input);
      } else {
        known_[valid_ + upto(kMostKnown)] = input;
      }
    }
    return input;
  }

  // Puts something else into the place of a piece, which may be empty.
  void change(std::string& input) {
    const std::size_t at = upto(input.size() + 1), from_end = input.size() - at;
    const std::size_t length = one_in(8) ? from_end : std::min(from_end, upto(one_in(4) ? 200 : 5));
    const std::string piece = input.substr(at, 8);
    const std::string& other = one_of(known_);
    const std::string instead[] = {
        "",
        std::string(1, static_cast<char>(upto(256))),
        std::string(1, one_of(kSpecial)),  // which often has a meaning
        one_of(words_),
        other.substr(upto(other.size() + 1), one_in(2) ? other.npos : upto(9)),
        text::repeated(piece, one_in(10) ? 300 : upto(4))};
    input.replace(at, length, one_of(instead));
  }

 private:
  static constexpr char kSpecial[] = "\n\r\t\x1b\x7f\xff\xc3\x80'\"\\()[]{}<>,:;=+-*/#%09L ";

  std::mt19937_64 random_{20269};
  std::vector<std::string> known_;
  const std::size_t valid_;
  std::vector<std::string> words_;
};

// Whether `text` is fit for a message: one line of visible characters that is not too long to read.
inline bool is_sentence(std::string_view text) {
  constexpr int kMost = 500;  // columns
  return !text.empty() && text::echoed(text, kMost) == text;
}

// Calls `parse` with the inputs of `next`. It may accept an input or throw a `Refused` with a
// sentence, and both must happen. Anything else fails the test, with the number of the input.
template <class Refused, class Next, class Parse>
void fuzz(Next next, Parse parse) {
  int taken = 0, refused = 0;
  const int count = fuzz_count();
  for (int i = 0; i < count; ++i) {
    const auto input = next();
    INFO("input ", i);
    try {
      parse(input);
      ++taken;
    } catch (const Refused& refusal) {
      ++refused;
      if (!is_sentence(refusal.what())) FAIL_CHECK("input ", i, ": no sentence: ", refusal.what());
    } catch (const std::exception& exception) {
      FAIL_CHECK("input ", i, ": ", exception.what());
    }
  }
  CHECK(taken > count / 50);
  CHECK(refused > count / 50);
}

}  // namespace testing
