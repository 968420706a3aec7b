#include "text/numbers.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace text {

std::string printed(const char* format, ...) {
  std::va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

namespace {

// Every byte except the continuation bytes 10xxxxxx starts a code point.
bool starts_code_point(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

// The first `width` code points.
std::string_view prefix(std::string_view text, int width) {
  std::size_t end = 0;
  for (int seen = 0; end < text.size(); ++end) {
    if (starts_code_point(text[end]) && seen++ == width) break;
  }
  return text.substr(0, end);
}

}  // namespace

int display_width(std::string_view utf8) {
  int width = 0;
  for (char byte : utf8) width += starts_code_point(byte);
  return width;
}

std::string pad_left(std::string_view text, int width) {
  return repeated(" ", width - display_width(text)) + std::string(text);
}

std::string pad_right(std::string_view text, int width) {
  return std::string(text) + repeated(" ", width - display_width(text));
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string without_trailing_spaces(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string shortened(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  return width < 1 ? "" : std::string(prefix(text, width - 1)) + "…";
}

std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> lines(1);
  while (true) {
    const std::size_t start = text.find_first_not_of(" \n");
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    std::string_view word = text.substr(0, text.find_first_of(" \n"));
    word = prefix(word, width);
    text.remove_prefix(word.size());
    const int used = display_width(lines.back());
    if (used > 0 && used + 1 + display_width(word) > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::string labelled(std::string_view label, int width, std::string_view words) {
  std::string text;
  for (const std::string& line : wrapped(words, report_width() - width)) {
    text += pad_right(text.empty() ? label : "", width);
    text += line;
    text += '\n';
  }
  return text;
}

std::string grouped(long long value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    const bool after_digit = at > 0 && digits[at - 1] != '-';
    if (after_digit && (digits.size() - at) % 3 == 0) text += ',';
    text += digits[at];
  }
  return text;
}

std::string exact(double value) {
  if (!std::isfinite(value) || std::fabs(value) >= 1e15) return printed("%g", value);
  std::string text = printed("%.4f", std::fabs(value));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string sign = value < 0 && text != "0" ? "-" : "";
  return sign + grouped(std::atoll(text.substr(0, point).c_str())) + text.substr(point);
}

std::string shortest(double value) {
  char digits[32];  // the longest double takes 24 characters
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string significant(double value) {
  if (value == 0 || !std::isfinite(value)) return printed("%g", value);
  // The exponent is taken from the rounded number, so that 9.999 becomes 10.0 and not 10.00.
  const std::string rounded = printed("%.2e", value);
  const int exponent = std::atoi(rounded.substr(rounded.find('e') + 1).c_str());
  return exponent >= 3 ? grouped(std::llround(value))
                       : printed("%.*f", std::max(0, 2 - exponent), value);
}

std::string brief(double value) {
  if (value == 0) return "0";
  if (std::fabs(value) < 0.005) return "<0.01";
  if (std::fabs(value) < 9.995) return printed("%.2f", value);
  if (std::fabs(value) < 99.95) return printed("%.1f", value);
  return std::isfinite(value) ? grouped(std::llround(value)) : printed("%g", value);
}

std::string ranges_of(const std::set<int>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at++;
    int last = first;
    while (at != numbers.end() && *at == last + 1) last = *at++;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    // "2, 3" is shorter to read than a range of two.
    if (last > first) text += (last == first + 1 ? ", " : "–") + std::to_string(last);
  }
  return text;
}

std::string numbers_of_bits(std::uint32_t bits) {
  std::set<int> numbers;
  for (int bit = 0; bit < 32; ++bit) {
    if (bits >> bit & 1u) numbers.insert(bit);
  }
  return ranges_of(numbers);
}

std::string scientific(double value) {
  if (value == 0 || !std::isfinite(value)) return printed("%g", value);
  const std::string text = printed("%.0e", value);
  const std::size_t e = text.find('e');
  return text.substr(0, e + 1) + std::to_string(std::atoi(text.substr(e + 1).c_str()));
}

bool is_terminal(std::FILE* out) {
  const char* name = std::getenv("TERM");
  const std::string_view kind = name != nullptr ? name : "";
  return !kind.empty() && kind != "dumb" && isatty(fileno(out));
}

int report_width() {
  constexpr int kLeast = 80;
  const char* typed = std::getenv("COLUMNS");
  int columns = typed != nullptr ? std::atoi(typed) : 0;
  winsize window{};
  if (columns <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) columns = window.ws_col;
  return columns > 0 ? std::clamp(columns, kLeast, kReportWidth) : kReportWidth;
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  char text[sizeof "2026-01-01T00:00:00Z"];
  std::strftime(text, sizeof text, "%FT%TZ", std::gmtime(&now));
  return text;
}

std::vector<int> widths_of(const std::vector<Cells>& lines, std::size_t left) {
  std::vector<int> widths(lines.front().size());
  for (const Cells& cells : lines) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const int width = std::max(std::abs(widths[c]), display_width(cells[c]));
      widths[c] = c < left ? -width : width;
    }
  }
  return widths;
}

std::string in_columns(const Cells& cells, const std::vector<int>& widths, int gap) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    line += repeated(" ", c == 0 ? 0 : gap) +
            (widths[c] < 0 ? pad_right(cells[c], -widths[c]) : pad_left(cells[c], widths[c]));
  }
  return without_trailing_spaces(line) + "\n";
}

}  // namespace text
