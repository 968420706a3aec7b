#include "rewrite/edits.h"

#include <algorithm>
#include <cstdlib>
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

namespace {

// Follows a source's line markers.
class Place {
 public:
  void go_on(std::string_view text) {
    for (const char c : text) {
      if (c != '\n') {
        line_ += c;
        continue;
      }
      if (line_.starts_with("# ") && line_.find('"') != line_.npos) {
        number_ = std::strtol(line_.c_str() + 2, nullptr, 10);
        marker_ = line_.substr(line_.find('"'));
      } else {
        ++number_;
      }
      line_.clear();
    }
  }
  // A line marker and white space that lead back to this place, or to so many columns before it;
  // nothing without markers.
  std::string again(std::size_t before = 0) const {
    if (marker_.empty()) return "";
    const std::size_t file_end = marker_.rfind('"') + 1;
    const bool in_system = marker_.find('3', file_end) != marker_.npos;
    std::string text = "\n# " + std::to_string(number_) + " " + marker_.substr(0, file_end) +
                       (in_system ? " 3\n" : "\n");
    for (std::size_t i = 0; i + before < line_.size(); ++i) text += line_[i] == '\t' ? '\t' : ' ';
    return text;
  }
  // A text that is not the user's. Each of its words ends at this place, so that an error in it is
  // not reported for a column that the user's line does not have.
  std::string with(std::string_view text) const {
    std::string placed;
    while (!text.empty()) {
      const std::size_t word = std::min(text.find(' ', text.find_first_not_of(' ')), text.size());
      const std::size_t end = std::min(text.find_first_not_of(' ', word), text.size());
      placed += again(end);
      placed += text.substr(0, end);
      text.remove_prefix(end);
    }
    return placed;
  }

 private:
  long number_ = 1;
  std::string marker_;  // from the quote on
  std::string line_;    // up to here
};

}  // namespace

std::string Edits::applied() const {
  std::vector<Edit> sorted = edits_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Edit& a, const Edit& b) {
    // What is inserted stands before what is replaced.
    return std::pair(a.at, a.bytes > 0) < std::pair(b.at, b.bytes > 0);
  });
  std::string text;
  std::size_t done = 0;
  Place place;
  for (const Edit& edit : sorted) {
    const std::string_view kept = source_.substr(done, edit.at - done);
    const std::string_view replaced = source_.substr(edit.at, edit.bytes);
    place.go_on(kept);
    place.go_on(replaced);
    text += kept;
    text += place.with(edit.text);
    text += place.again();
    done = edit.at + edit.bytes;
  }
  text += source_.substr(done);
  return text;
}

}  // namespace rewrite
