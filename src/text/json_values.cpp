#include "text/json_values.h"

#include <charconv>
#include <stdexcept>

namespace text {

namespace {

void append_utf8(std::string& text, unsigned code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  } else {
    text +=
        {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
         static_cast<char>(0x80 | (code & 0x3f))};
  }
}

class Reader {
 public:
  Reader(std::string_view json, JsonValues& values) : rest_(json), values_(values) {}

  void read() {
    read_value("", 0);
    skip_space();
    if (!rest_.empty()) fail();
  }

 private:
  [[noreturn]] void fail() const { throw std::invalid_argument("is not JSON"); }

  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  bool take(char sign) {
    skip_space();
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char sign) {
    if (!take(sign)) fail();
  }
  std::string_view take_bytes(std::size_t count) {
    if (rest_.size() < count) fail();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  char escaped() {
    constexpr std::string_view kSigns = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const std::size_t which = kSigns.find(take_bytes(1));
    if (which == kSigns.npos) fail();
    return kMeanings[which];
  }
  unsigned code_unit() {
    const std::string_view digits = take_bytes(4);
    unsigned code = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), code, 16);
    if (error != std::errc() || end != digits.end()) fail();
    return code;
  }
  std::string read_string() {
    need('"');
    std::string text;
    for (;;) {
      const std::size_t plain = rest_.find_first_of("\"\\");
      if (plain == rest_.npos) fail();
      text += take_bytes(plain);
      if (take_bytes(1) == "\"") return text;
      if (rest_.starts_with('u')) {
        rest_.remove_prefix(1);
        append_utf8(text, code_unit());
      } else {
        text += escaped();
      }
    }
  }

  void read_members(const std::string& path, char close, bool named, int depth) {
    if (take(close)) return;
    int index = 0;
    do {
      skip_space();
      std::string name = named ? read_string() : std::to_string(index++);
      if (named) need(':');
      read_value(path.empty() ? name : path + "." + name, depth + 1);
    } while (take(','));
    need(close);
  }

  // A number, true, false or null.
  void read_word(const std::string& path) {
    const std::size_t end = std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size());
    const std::string_view word = take_bytes(end);
    double number = 0;
    const auto [stop, error] = std::from_chars(word.begin(), word.end(), number);
    const bool is_number = error == std::errc() && stop == word.end();
    if (!is_number && word != "true" && word != "false" && word != "null") fail();
    if (word != "null") values_[path] = word;
  }

  void read_value(const std::string& path, int depth) {
    constexpr int kDeepest = 50;
    if (depth > kDeepest) fail();
    skip_space();
    if (take('{')) return read_members(path, '}', true, depth);
    if (take('[')) return read_members(path, ']', false, depth);
    if (!rest_.starts_with('"')) return read_word(path);
    values_[path] = read_string();
  }

  std::string_view rest_;
  JsonValues& values_;
};

}  // namespace

JsonValues json_values(std::string_view json) {
  JsonValues values;
  Reader(json, values).read();
  return values;
}

}  // namespace text
