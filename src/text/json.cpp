#include "text/json.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <stdexcept>

#include "text/echoed.h"
#include "text/numbers.h"

namespace text {

namespace {

// What \b, \f, ... mean.
constexpr std::string_view kSigns = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";

void append_utf8(std::string& text, std::uint32_t code) {
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes
  text += static_cast<char>((more == 0 ? 0 : 0xff << (7 - more)) | code >> 6 * more);
  for (int left = more - 1; left >= 0; --left) {
    text += static_cast<char>(0x80 | (code >> 6 * left & 0x3f));
  }
}

// The number after \u at the start of `rest`; 0 if there is none.
std::uint32_t code_unit(std::string_view rest) {
  std::uint32_t code = 0;
  if (rest.starts_with("\\u") && rest.size() >= 6) {
    std::from_chars(rest.data() + 2, rest.data() + 6, code, 16);
  }
  return code;
}

class Reader {
 public:
  Reader(std::string_view json, JsonParts& parts) : json_(json), parts_(parts) {
    read_value("", 0);
    skip_space();
    if (at_ != json_.size()) fail();
  }

 private:
  [[noreturn]] void fail() const { throw std::invalid_argument("is not JSON"); }

  char next() const { return at_ < json_.size() ? json_[at_] : '\0'; }
  void skip_space() { at_ = std::min(json_.find_first_not_of(" \t\r\n", at_), json_.size()); }
  bool take(char sign) {
    skip_space();
    if (next() != sign) return false;
    ++at_;
    return true;
  }
  void need(char sign) {
    if (!take(sign)) fail();
  }

  std::string_view read_string() {
    skip_space();
    const std::size_t begin = at_;
    need('"');
    for (; next() != '"'; ++at_) {
      if (static_cast<unsigned char>(next()) < 0x20) fail();
      if (next() != '\\') continue;
      ++at_;
      if (next() != 'u') {
        if (kSigns.find(next()) == kSigns.npos) fail();
        continue;
      }
      for (int digit = 0; digit < 4; ++digit) {
        ++at_;
        if (!std::isxdigit(static_cast<unsigned char>(next()))) fail();
      }
    }
    ++at_;
    return json_.substr(begin, at_ - begin);
  }
  void read_digits() {
    const auto is_digit = [&] { return std::isdigit(static_cast<unsigned char>(next())) != 0; };
    if (!is_digit()) fail();
    while (is_digit()) ++at_;
  }
  void read_number() {
    if (next() == '-') ++at_;
    next() == '0' ? static_cast<void>(++at_) : read_digits();
    if (next() == '.') ++at_, read_digits();
    if (next() != 'e' && next() != 'E') return;
    ++at_;
    if (next() == '+' || next() == '-') ++at_;
    read_digits();
  }
  void read_members(const std::string& path, char close, bool named, int depth) {
    if (take(close)) return;
    int index = 0;
    do {
      const std::string name = named ? json_text(read_string()) : std::to_string(index++);
      if (named) need(':');
      read_value(path.empty() ? name : path + "." + name, depth + 1);
    } while (take(','));
    need(close);
  }
  void read_value(const std::string& path, int depth) {
    constexpr int kDeepest = 50;
    if (depth > kDeepest || parts_.contains(path)) fail();
    skip_space();
    const std::size_t begin = at_;
    const char first = next();
    if (first == '{' || first == '[') {
      ++at_;
      read_members(path, first == '{' ? '}' : ']', first == '{', depth);
    } else if (first == '"') {
      read_string();
    } else if (std::isalpha(static_cast<unsigned char>(first))) {
      for (const std::string_view word : {"true", "false", "null"}) {
        if (json_.substr(at_).starts_with(word)) at_ += word.size();
      }
      if (at_ == begin) fail();
    } else {
      read_number();
    }
    parts_[path] = json_.substr(begin, at_ - begin);
  }

  const std::string_view json_;
  JsonParts& parts_;
  std::size_t at_ = 0;
};

}  // namespace

std::string json_string(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) {
      json += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (length == 1 && static_cast<unsigned char>(c) < 0x20) {
      json += printed("\\u%04x", static_cast<unsigned>(c));
    } else {
      json += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return json + '"';
}

JsonParts json_parts(std::string_view json) {
  JsonParts parts;
  Reader(json, parts);
  return parts;
}

std::string json_text(std::string_view part) {
  if (!part.starts_with('"')) return std::string(part);
  part = part.substr(1, part.size() - 2);
  std::string text;
  while (!part.empty()) {
    const std::size_t plain = std::min(part.find('\\'), part.size());
    text += part.substr(0, plain);
    part.remove_prefix(plain);
    if (part.empty()) break;
    if (part[1] != 'u') {
      text += kMeanings[kSigns.find(part[1])];
      part.remove_prefix(2);
      continue;
    }
    std::uint32_t code = code_unit(part);
    part.remove_prefix(6);
    // Two halves are one character; half of one is none.
    const std::uint32_t low = code >= 0xd800 && code < 0xdc00 ? code_unit(part) : 0;
    if (low >= 0xdc00 && low < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      part.remove_prefix(6);
    }
    append_utf8(text, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
  }
  return text;
}

JsonValues json_values(std::string_view json) {
  JsonValues values;
  for (const auto& [path, part] : json_parts(json)) {
    if (part != "null" && part[0] != '{' && part[0] != '[') values[path] = json_text(part);
  }
  return values;
}

}  // namespace text
