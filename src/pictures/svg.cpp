#include "pictures/svg.h"

#include <array>
#include <charconv>
#include <cmath>

#include "pictures/picture.h"

namespace pictures {

namespace {

const char* class_of(Fill fill) {
  switch (fill) {
    case Fill::paper:
      return "paper";
    case Fill::quiet:
      return "quiet";
    case Fill::one:
      return "one";
    case Fill::warp:
      return "warp";
    case Fill::other:
      return "other";
    case Fill::trouble:
      return "trouble";
    case Fill::waiting:
      return "waiting";
    case Fill::outline:
      return "outline";
  }
  return "";
}

// How far DejaVu Sans advances for the characters from ' ' to '~', in hundredths of the font's
// size.
constexpr std::array<unsigned char, 95> kAdvance = {
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};
constexpr int kOtherAdvance = 84;  // of × and →; dashes and exponents are narrower
constexpr double kBolder = 1.12;   // DejaVu Sans Bold is wider by so much

}  // namespace

double text_width(std::string_view words, TextStyle style) {
  double hundredths = 0;
  for (const char c : words) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte <= '~') {
      hundredths += kAdvance[byte - ' '];
    } else if ((byte & 0xC0) == 0xC0) {  // the first byte of a longer character
      hundredths += kOtherAdvance;
    }
  }
  return hundredths / 100 * (style.small ? 12 : 14) * (style.bold ? kBolder : 1);
}

std::string pixels(double value) {
  // What lies half way between two tenths, give or take a rounding error, goes up everywhere.
  const long long tenths = std::llround(std::floor(value * 10 + 0.5 + 1e-6));
  std::array<char, 32> text;
  char* end = std::to_chars(text.data(), text.data() + text.size(), std::abs(tenths) / 10).ptr;
  std::string result = (tenths < 0 ? "-" : "") + std::string(text.data(), end);
  if (tenths % 10 != 0)
    result += "." + std::string(1, static_cast<char>('0' + std::abs(tenths % 10)));
  return result;
}

void Svg::rect(double x, double y, double width, double height, Fill fill) {
  body_ += std::string("<rect class=\"area ") + class_of(fill) + "\" x=\"" + pixels(x) + "\" y=\"" +
           pixels(y) + "\" width=\"" + pixels(width) + "\" height=\"" + pixels(height) + "\"/>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, const char* kind) {
  body_ += std::string("<path class=\"") + kind + "\" d=\"M" + pixels(x1) + " " + pixels(y1) + "L" +
           pixels(x2) + " " + pixels(y2) + "\"/>\n";
}

void Svg::circle(double x, double y, double radius, Fill fill) {
  body_ += std::string("<circle class=\"mark ") + class_of(fill) + "\" cx=\"" + pixels(x) +
           "\" cy=\"" + pixels(y) + "\" r=\"" + pixels(radius) + "\"/>\n";
}

void Svg::diamond(double x, double y, double radius, Fill fill) {
  const std::string r = pixels(radius), back = pixels(-radius);
  path(
      "M" + pixels(x) + " " + pixels(y - radius) + "l" + r + " " + r + "l" + back + " " + r + "l" +
          back + " " + back + "z",
      (std::string("mark ") + class_of(fill)).c_str());
}

void Svg::path(std::string_view d, const char* kind) {
  body_ += std::string("<path class=\"") + kind + "\" d=\"" + std::string(d) + "\"/>\n";
}

void Svg::text(double x, double y, std::string_view words, TextStyle style) {
  std::string classes;
  const auto add = [&](bool is, const char* name) {
    if (is) classes += (classes.empty() ? "" : " ") + std::string(name);
  };
  add(style.anchor == Anchor::middle, "middle");
  add(style.anchor == Anchor::end, "end");
  add(style.bold, "bold");
  add(style.small, "small");
  add(style.faint, "faint");
  add(style.on_fill, "on");
  body_ += "<text" + (classes.empty() ? "" : " class=\"" + classes + "\"") + " x=\"" + pixels(x) +
           "\" y=\"" + pixels(y) + "\">" + xml_escaped(words) + "</text>\n";
}

void Svg::grid(double x, double y, double width, double height, int columns, int rows) {
  std::string d;
  for (int c = 0; c <= columns; ++c) {
    d += "M" + pixels(x + width * c / columns) + " " + pixels(y) + "v" + pixels(height);
  }
  for (int r = 0; r <= rows; ++r) {
    d += "M" + pixels(x) + " " + pixels(y + height * r / rows) + "h" + pixels(width);
  }
  path(d, "hair");
}

double Svg::legend(double x, double y, Fill fill, std::string_view meaning) {
  rect(x, y - 11, 18, 13, fill);
  text(x + 24, y, meaning, {.small = true});
  return x + 24 + text_width(meaning, {.small = true}) + 18;
}

double Svg::paragraph(double x, double y, std::string_view words, double width, TextStyle style) {
  const auto put = [&](std::string_view line) {
    text(x, y, line, style);
    y += style.small ? 16 : 19;
  };
  std::size_t fits = 0;  // characters, up to a space, that are known to fit
  for (std::size_t end = 0; end < words.size();) {
    end = std::min(words.find(' ', end + 1), words.size());
    if (fits > 0 && text_width(words.substr(0, end), style) > width) {
      put(words.substr(0, fits));
      words.remove_prefix(fits + 1);
      fits = end = 0;
    } else {
      fits = end;
    }
  }
  if (!words.empty()) put(words);
  return y;
}

}  // namespace pictures
