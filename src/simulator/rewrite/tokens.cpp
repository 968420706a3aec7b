#include "simulator/rewrite/tokens.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace rewrite {

std::string place_of(std::string_view source, const Token& token) {
  std::string_view file;
  long line = 1;
  for (std::size_t begin = 0; begin <= token.at && begin < source.size();) {
    const std::size_t end = source.find('\n', begin);
    if (end == source.npos || end >= token.at) break;
    const std::string_view text = source.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t quote = text.find('"');
    const bool is_marker = text.size() > 2 && text.starts_with("# ") &&
                           std::isdigit(static_cast<unsigned char>(text[2])) != 0 &&
                           quote != text.npos;
    if (!is_marker) {
      ++line;
      continue;
    }
    std::from_chars(text.data() + 2, text.data() + text.size(), line);
    file = text.substr(quote + 1, text.rfind('"') - quote - 1);
  }
  const std::string number = std::to_string(line);
  return file.empty() ? "line " + number : std::string(file) + ":" + number;
}

void refuse(std::string_view source, const Token& token, const std::string& why) {
  throw std::runtime_error(place_of(source, token) + ": " + why);
}

std::string text_of(const std::vector<Token>& tokens, std::size_t first, std::size_t end) {
  std::string text;
  for (std::size_t i = first; i < end; ++i) {
    text += i > first ? " " : "";
    text += tokens[i].text;
  }
  return text;
}

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool in_name(char c) {
  return begins_name(c) || is_digit(c);
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (skip_space()) {
      const std::size_t begin = at_;
      const Kind kind = read();
      tokens_.push_back({kind, source_.substr(begin, at_ - begin), begin});
      line_begins_ = false;
    }
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return source_.substr(at_); }
  // '\0' after the end.
  char character(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void go_behind(std::string_view what, std::size_t from) {
    const std::size_t found = source_.find(what, from);
    at_ = found == source_.npos ? source_.size() : found + what.size();
  }
  bool at_continuation() const {
    return rest().starts_with("\\\n") || rest().starts_with("\\\r\n");
  }

  // As g++ -E prints a letter beyond ASCII: \U000003c0
  bool at_coded_letter() const {
    return character() == '\\' && (character(1) == 'u' || character(1) == 'U');
  }

  // To the next token; false if there is none.
  bool skip_space() {
    while (at_ < source_.size()) {
      if (rest().starts_with("//")) {
        skip_line();
      } else if (rest().starts_with("/*")) {
        go_behind("*/", at_ + 2);
      } else if (at_continuation()) {
        go_behind("\n", at_);
      } else if (std::isspace(static_cast<unsigned char>(character())) != 0) {
        line_begins_ |= character() == '\n';
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  // To the end of the line, or of the last one that continues it.
  void skip_line() {
    while (at_ < source_.size() && character() != '\n') {
      at_continuation() ? go_behind("\n", at_) : void(++at_);
    }
  }

  Kind read() {
    const char first = character();
    if (first == '#' && line_begins_) {
      read_directive();
      return Kind::directive;
    }
    if (is_digit(first) || (first == '.' && is_digit(character(1)))) {
      read_number();
      return Kind::number;
    }
    if (begins_name(first) || at_coded_letter()) {
      const std::size_t begin = at_;
      while (in_name(character()) || at_coded_letter()) ++at_;
      const std::string_view name = source_.substr(begin, at_ - begin);
      const bool is_prefix = name == "L" || name == "u" || name == "U" || name == "u8";
      const bool is_raw =
          name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R";
      if (is_raw && character() == '"') {
        read_raw_text();
      } else if (is_prefix && (character() == '"' || character() == '\'')) {
        read_text();
      } else {
        return Kind::name;
      }
      return Kind::text;
    }
    if (first == '"' || first == '\'') {
      read_text();
      return Kind::text;
    }
    read_sign();
    return Kind::sign;
  }

  // A comment that begins in a directive may end on a later line.
  void read_directive() {
    while (at_ < source_.size() && character() != '\n') {
      if (rest().starts_with("/*")) {
        go_behind("*/", at_ + 2);
      } else if (rest().starts_with("//")) {
        skip_line();
      } else if (character() == '"') {
        read_text();
      } else {
        at_continuation() ? go_behind("\n", at_) : void(++at_);
      }
    }
  }

  void read_number() {
    while (true) {
      const char c = character();
      const char next = character(1);
      const bool is_exponent =
          (c == 'e' || c == 'E' || c == 'p' || c == 'P') && (next == '+' || next == '-');
      if (is_exponent) {
        at_ += 2;
      } else if (in_name(c) || c == '.') {
        ++at_;
      } else if (c == '\'' && in_name(next)) {
        at_ += 2;
      } else {
        return;
      }
    }
  }

  // An unclosed quote, as in #error it's, ends with the line.
  void read_text() {
    const char quote = character();
    ++at_;
    while (at_ < source_.size() && character() != quote && character() != '\n') {
      at_ += character() == '\\' ? 2 : 1;
    }
    at_ = std::min(at_, source_.size());
    if (character() == quote) ++at_;
    read_suffix();
  }

  void read_raw_text() {
    const std::size_t open = source_.find('(', at_);
    if (open == source_.npos) {
      at_ = source_.size();
      return;
    }
    const std::string close = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    go_behind(close, open);
    read_suffix();
  }

  // "…"s, "…"_metres
  void read_suffix() {
    if (!begins_name(character())) return;
    while (in_name(character())) ++at_;
  }

  void read_sign() {
    constexpr std::string_view kLong[] = {
        "...", "::", "->", "<<", "<=", ">=", "==", "!=", "&&", "||"};
    // In operator<<<T>(...), a template's arguments follow <<.
    const bool names_operator = !tokens_.empty() && tokens_.back().is("operator");
    if (rest().starts_with("<<<") && !names_operator) {
      at_ += 3;
      return;
    }
    for (const std::string_view sign : kLong) {
      if (!rest().starts_with(sign)) continue;
      at_ += sign.size();
      return;
    }
    ++at_;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  bool line_begins_ = true;  // no token stands before this place in its line
  std::vector<Token> tokens_;
};

bool closes(const Token& token) {
  return is_any_of(token, {")", "]", "}"});
}

}  // namespace

bool is_any_of(const Token& token, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return token.is(word); });
}

bool opens(const Token& token) {
  return is_any_of(token, {"(", "[", "{"});
}

bool is_line_marker(const Token& token) {
  const std::string_view line = token.text;
  return token.kind == Kind::directive && line.size() > 2 && line[1] == ' ' && is_digit(line[2]);
}

std::vector<Token> tokens_of(std::string_view source) {
  return Tokenizer(source).run();
}

std::vector<Token> code_of(std::string_view source) {
  std::vector<Token> tokens = tokens_of(source);
  std::erase_if(tokens, is_line_marker);
  return tokens;
}

std::vector<bool> are_users(const std::vector<Token>& tokens) {
  std::vector<bool> users;
  users.reserve(tokens.size());
  bool in_user_file = true;
  for (const Token& token : tokens) {
    const std::string_view line = token.text;
    if (is_line_marker(token)) {
      // Flag 3 means a system's header. CUB's, libcu++'s and cuRAND's call themselves that.
      const std::size_t quote = line.rfind('"');
      in_user_file = quote == line.npos || line.find('3', quote) == line.npos ||
                     line.find("/cub/") != line.npos || line.find("/cuda/") != line.npos ||
                     line.find("/curand_") != line.npos;
    }
    users.push_back(in_user_file);
  }
  return users;
}

std::size_t closing(const std::vector<Token>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    depth += int{opens(tokens[i])} - int{closes(tokens[i])};
    if (depth == 0) return i;
  }
  return tokens.size();
}

std::size_t opening(const std::vector<Token>& tokens, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    depth += int{closes(tokens[i])} - int{opens(tokens[i])};
    if (depth == 0) return i;
  }
  return tokens.size();
}

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
class LineMarkers {
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
  LineMarkers place;
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
