// A strict JSON parser for tests.
#pragma once

#include <cctype>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

namespace testing {

// JSON as RFC 8259 defines it: maps each path to its value, with strings unquoted but escapes kept.
// Throws for anything else.
class StrictJson {
 public:
  explicit StrictJson(const std::string& text) : text_(text) {
    value("");
    space();
    if (at_ != text_.size()) fail();
  }
  std::map<std::string, std::string> values;

 private:
  [[noreturn]] void fail() const {
    throw std::runtime_error("not JSON at " + text_.substr(at_, 40));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() {
    while (peek() == ' ' || peek() == '\n') ++at_;
  }
  void take(char wanted) {
    if (peek() != wanted) fail();
    ++at_;
  }
  void digits() {
    if (!std::isdigit(peek())) fail();
    while (std::isdigit(peek())) ++at_;
  }
  std::string string() {
    take('"');
    const std::size_t begin = at_;
    while (peek() != '"') {
      if (static_cast<unsigned char>(peek()) < 0x20) fail();
      if (text_[at_++] != '\\') continue;
      if (peek() == 'u') {
        for (int i = 1; i <= 4; ++i) {
          if (!std::isxdigit(text_.at(at_ + i))) fail();
        }
      } else if (!std::strchr("\"\\/bfnrt", peek())) {
        fail();
      }
      ++at_;
    }
    return text_.substr(begin, at_++ - begin);
  }
  void number() {
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (peek() == '.') ++at_, digits();
    if (peek() != 'e' && peek() != 'E') return;
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    digits();
  }
  void members(const std::string& path, char close, bool named) {
    ++at_;
    space();
    for (int index = 0; peek() != close; ++index) {
      if (index > 0) take(','), space();
      std::string name = std::to_string(index);
      if (named) name = string(), space(), take(':');
      const std::string inner = path.empty() ? name : path + "." + name;
      if (values.count(inner)) fail();
      value(inner);
      space();
    }
    ++at_;
    values[path] = named ? "{}" : "[]";
  }
  void value(const std::string& path) {
    space();
    const std::size_t begin = at_;
    if (peek() == '{') return members(path, '}', true);
    if (peek() == '[') return members(path, ']', false);
    if (peek() == '"') {
      values[path] = string();
      return;
    }
    for (const std::string word : {"true", "false", "null"}) {
      if (text_.compare(at_, word.size(), word) == 0) at_ += word.size();
    }
    if (at_ == begin) number();
    values[path] = text_.substr(begin, at_ - begin);
  }

  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace testing
