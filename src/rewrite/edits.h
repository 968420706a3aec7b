// Changes to a source text that keep each token on its line, and behind line markers in its column,
// too, so that the compiler's errors point to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rewrite/tokens.h"

namespace rewrite {

class Edits {
 public:
  explicit Edits(std::string_view source) : source_(source) {}

  // Changes must not overlap. Insertions at one place appear in the order of their calls.
  void insert(std::size_t at, std::string text);
  // From the beginning of `first` to the end of `last`. The line breaks of what is replaced follow
  // `text`, so that all later lines keep their numbers.
  void replace(const Token& first, const Token& last, std::string text);
  void remove(const Token& token) { replace(token, token, ""); }

  std::string applied() const;

 private:
  struct Edit {
    std::size_t at, bytes;
    std::string text;
  };
  std::string_view source_;
  std::vector<Edit> edits_;
};

}  // namespace rewrite
