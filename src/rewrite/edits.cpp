#include "rewrite/edits.h"

#include <algorithm>
#include <utility>

namespace rewrite {

void Edits::insert(std::size_t at, std::string text) {
  edits_.push_back({at, 0, std::move(text)});
}

void Edits::replace(const Token& first, const Token& last, std::string text) {
  const std::string_view old = source_.substr(first.at, last.end() - first.at);
  const auto lost = std::count(old.begin(), old.end(), '\n');
  const auto kept = std::count(text.begin(), text.end(), '\n');
  if (lost > kept) text.append(static_cast<std::size_t>(lost - kept), '\n');
  edits_.push_back({first.at, old.size(), std::move(text)});
}

std::string Edits::applied() const {
  std::vector<Edit> sorted = edits_;
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const Edit& a, const Edit& b) {  // What is inserted stands before what is replaced.
        return std::pair(a.at, a.bytes > 0) < std::pair(b.at, b.bytes > 0);
      });
  std::string text;
  std::size_t done = 0;
  for (const Edit& edit : sorted) {
    text += source_.substr(done, edit.at - done);
    text += edit.text;
    done = edit.at + edit.bytes;
  }
  text += source_.substr(done);
  return text;
}

}  // namespace rewrite
