// Random inputs: valid ones, changed and mixed with each other. The same seed gives the same inputs
// on every machine.
#pragma once

#include <doctest/doctest.h>

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

  void change(std::string& input) {
    const std::size_t at = upto(input.size() + 1), length = upto(one_in(4) ? 200 : 5);
    switch (upto(9)) {
      case 0:  // flip a bit
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << upto(8)));
        break;
      case 1:  // any byte
        input.insert(at, 1, static_cast<char>(upto(256)));
        break;
      case 2:  // a byte that often has a meaning
        if (at < input.size()) input[at] = one_of(kSpecial);
        break;
      case 3:
        input.erase(at, length);
        break;
      case 4:
        input.resize(at);
        break;
      case 5:
        input.insert(at, one_of(words_));
        break;
      case 6: {  // insert a piece of another input
        const std::string& other = one_of(known_);
        const std::size_t from = upto(other.size() + 1);
        input.insert(at, other.substr(from, length));
        break;
      }
      case 7: {  // join the beginning of this one and the end of another
        input.resize(at);
        const std::string& other = one_of(known_);
        input += other.substr(upto(other.size() + 1));
        break;
      }
      case 8: {  // repeat a piece of this one
        const std::string piece = input.substr(at, 1 + length % 8);
        for (std::size_t times = one_in(10) ? 300 : upto(4); times > 0; --times) {
          input.insert(at, piece);
        }
        break;
      }
    }
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
