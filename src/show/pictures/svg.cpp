#include "show/pictures/svg.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/numbers.h"

namespace pictures {

namespace {

// By Fill.
constexpr const char* kClasses[] = {"paper", "quiet",   "one",     "warp",
                                    "other", "trouble", "waiting", "outline"};

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
  // A value half way between two tenths, within a rounding error, is rounded up on every machine.
  const long long tenths = std::llround(std::floor(value * 10 + 0.5 + 1e-6));
  std::array<char, 32> text;
  char* end = std::to_chars(text.data(), text.data() + text.size(), std::abs(tenths) / 10).ptr;
  std::string result = (tenths < 0 ? "-" : "") + std::string(text.data(), end);
  if (tenths % 10 != 0)
    result += "." + std::string(1, static_cast<char>('0' + std::abs(tenths % 10)));
  return result;
}

void Svg::rect(double x, double y, double width, double height, Fill fill) {
  body_ += std::string("<rect class=\"area ") + kClasses[static_cast<int>(fill)] + "\" x=\"" +
           pixels(x) + "\" y=\"" + pixels(y) + "\" width=\"" + pixels(width) + "\" height=\"" +
           pixels(height) + "\"/>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, const char* kind) {
  body_ += std::string("<path class=\"") + kind + "\" d=\"M" + pixels(x1) + " " + pixels(y1) + "L" +
           pixels(x2) + " " + pixels(y2) + "\"/>\n";
}

void Svg::circle(double x, double y, double radius, Fill fill) {
  body_ += std::string("<circle class=\"mark ") + kClasses[static_cast<int>(fill)] + "\" cx=\"" +
           pixels(x) + "\" cy=\"" + pixels(y) + "\" r=\"" + pixels(radius) + "\"/>\n";
}

void Svg::diamond(double x, double y, double radius, Fill fill) {
  const std::string r = pixels(radius), back = pixels(-radius);
  path(
      "M" + pixels(x) + " " + pixels(y - radius) + "l" + r + " " + r + "l" + back + " " + r + "l" +
          back + " " + back + "z",
      (std::string("mark ") + kClasses[static_cast<int>(fill)]).c_str());
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

void Svg::bar(
    const Axis& axis, double from, double to, double y, double high, Fill fill,
    std::string_view words) {
  const double x = axis.x(from), width = axis.x(to) - x;
  if (width < 0.5) return;
  rect(x, y, width, high, fill);
  const bool fits = high >= 16 && text_width(words, {.small = true}) <= width;
  if (fits && !words.empty()) on_fill(x + width / 2, y + high / 2 + 4.5, words);
}

double Svg::ticks(const Axis& axis, double y, double step) {
  for (double at = 0; at <= axis.last; at += step) {
    line(axis.x(at), y, axis.x(at), y + 5, "thin");
    centred(axis.x(at), y + 18, text::grouped(std::llround(at)));
  }
  small(24, y + 18, "cycles");
  return y + 44;
}

void Svg::begin_mark(std::string_view told) {
  body_ += "<g class=\"told\"><title>" + xml_escaped(told) + "</title>\n";
}

Drawing Svg::with(const std::string& finding, double y, const std::string& more) {
  const std::string all = finding + more;
  std::string_view words = all;
  const auto put = [&](std::string_view line) {
    text(24, y, line);
    y += 19;
  };
  std::size_t fits = 0;  // characters, up to a space, that are known to fit
  for (std::size_t end = 0; end < words.size();) {
    end = std::min(words.find(' ', end + 1), words.size());
    if (fits > 0 && text_width(words.substr(0, end)) > kPictureWidth - 48) {
      put(words.substr(0, fits));
      words.remove_prefix(fits + 1);
      fits = end = 0;
    } else {
      fits = end;
    }
  }
  put(words);
  return {finding, body_, y + 4};
}

namespace {

// A pattern of 8 x 8 px: strokes on a colour.
std::string pattern(const char* name, const char* colour, const char* strokes) {
  return text::printed(
      "<pattern id=\"%s\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
      "<path d=\"M0 0h8v8H0z\" fill=\"%s\"/>%s</pattern>\n",
      name, colour, strokes);
}

// The changes for dark paper are below. A mark keeps its black border on both.
constexpr std::string_view kOnLight =
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
    "font-size:14px;fill:#1f2328}\n"
    ".title{font-size:18px;font-weight:600}.bold{font-weight:600}.small{font-size:12px}\n"
    ".faint{fill:#59636e}.middle{text-anchor:middle}.end{text-anchor:end}\n"
    ".page,.paper{fill:#fff}.page{stroke:#d1d9e0}.quiet{fill:#e4e8ec}.outline{fill:none}\n"
    ".one{fill:#e69f00}.warp{fill:url(#warp)}.other{fill:url(#other)}"
    ".trouble{fill:url(#trouble)}.waiting{fill:url(#waiting)}\n"
    ".area{stroke:#59636e;stroke-width:.7}.outline{stroke:#1f2328;stroke-width:2}\n"
    ".thin{stroke:#59636e;stroke-width:.7;fill:none}.hair{stroke:#a7b0b9;stroke-width:.5;"
    "fill:none}.thick{stroke:#1f2328;stroke-width:2;fill:none}"
    ".dashed{stroke:#1f2328;stroke-width:1.5;stroke-dasharray:5 4;fill:none}"
    ".casing{stroke:#fff;stroke-width:4;fill:none}\n"
    ".mark{stroke:#000;stroke-width:1.2}\n";
constexpr std::string_view kOnDark =
    "text{fill:#f0f6fc}.faint{fill:#a9b4c0}.page,.paper{fill:#0d1117}.page{stroke:#3d444d}"
    ".quiet{fill:#2f3742}\n"
    ".area,.thin{stroke:#9198a1}.hair{stroke:#4b535d}.outline,.thick,.dashed{stroke:#f0f6fc}"
    ".casing{stroke:#0d1117}\n"
    ".one,.warp,.other,.trouble,.waiting{stroke:#1f2328}\n";
constexpr std::string_view kOnBoth =
    ".on{fill:#000;paint-order:stroke;stroke:#fff;stroke-opacity:.55;stroke-width:3px}\n";

std::string definitions() {
  return "<defs>\n" +
         pattern(
             "warp", "#56b4e9",
             "<path d=\"M-2 2l4-4M0 8l8-8M6 10l4-4\" stroke=\"#b5def5\" stroke-width=\"2\"/>") +
         pattern(
             "other", "#4cc5a0",
             "<circle cx=\"2\" cy=\"2\" r=\"1\" fill=\"#00664a\"/>"
             "<circle cx=\"6\" cy=\"6\" r=\"1\" fill=\"#00664a\"/>") +
         pattern(
             "trouble", "#e8824a",
             "<path d=\"M0 0l8 8M8 0l-8 8\" stroke=\"#d55e00\" stroke-width=\"1.4\"/>") +
         pattern(
             "waiting", "#f0e442",
             "<path d=\"M0 2h8M0 6h8\" stroke=\"#a89c00\" stroke-width=\"1\"/>") +
         "</defs>\n";
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  constexpr std::string_view kReserved = "&<>\"'";
  constexpr const char* kWritten[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string escaped;
  for (const char c : text) {
    if (const std::size_t at = kReserved.find(c); at != kReserved.npos) {
      escaped += kWritten[at];
    } else if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') {
      escaped += c;
    }
  }
  return escaped;
}

namespace {

// With this at its beginning.
std::string whole(const Picture& picture, const std::string& beginning) {
  const double high = std::ceil(picture.drawing.height);
  const std::string size = text::printed("%d", kPictureWidth);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" height=\"" +
         pixels(high) + "\" viewBox=\"0 0 " + size + " " + pixels(high) + "\" role=\"img\">\n" +
         "<title>" + xml_escaped(picture.title) + "</title>\n<desc>" +
         xml_escaped(picture.drawing.finding) + "</desc>\n" + beginning +
         "<rect class=\"page\" x=\".5\" y=\".5\" width=\"" +
         text::printed("%d", kPictureWidth - 1) + "\" height=\"" + pixels(high - 1) +
         "\" rx=\"8\"/>\n<text class=\"title\" x=\"24\" y=\"36\">" + xml_escaped(picture.title) +
         "</text>\n" + picture.drawing.elements + "</svg>\n";
}

}  // namespace

std::string svg_file(const Picture& picture) {
  std::string style = "<style>\n" + std::string(kOnLight) + "@media(prefers-color-scheme:dark){\n";
  style.append(kOnDark).append("}\n").append(kOnBoth).append("</style>\n");
  return whole(picture, style + definitions());
}

std::string svg_on_page(const std::vector<Picture>& pictures) {
  std::string html = "<div class=\"drawings\"><style>\n.drawings{\n";
  html.append(kOnLight).append("}\n.dark .drawings{\n").append(kOnDark).append("}\n.drawings{\n");
  html.append(kOnBoth).append("}\n</style>\n");
  for (const Picture& picture : pictures) html += whole(picture, definitions());
  return html + "</div>\n";
}

std::vector<Rectangle> rectangles(const Cells& cells) {
  std::vector<Rectangle> all;
  for (auto cell = cells.begin(); cell != cells.end();) {
    const auto [row, col] = *cell;
    int cols = 0;
    while (cell != cells.end() && *cell == std::pair(row, col + cols)) ++cell, ++cols;
    const auto above = std::find_if(all.begin(), all.end(), [&](const Rectangle& r) {
      return r.row + r.rows == row && r.col == col && r.cols == cols;
    });
    if (above != all.end()) {
      ++above->rows;
    } else {
      all.push_back({row, col, 1, cols});
    }
  }
  return all;
}

std::string borders(const Owners& owner, double x, double y, double scale) {
  const int rows = static_cast<int>(owner.size());
  const int cols = owner.empty() ? 0 : static_cast<int>(owner[0].size());
  std::string d;
  // The runs of `length` cells in which `differs`, as strokes from where `begin` says.
  const auto draw = [&](int length, const char* stroke, auto differs, auto begin) {
    for (int at = 0; at < length;) {
      int last = at;
      while (last < length && differs(last)) ++last;
      if (last > at) d += "M" + begin(at) + stroke + pixels((last - at) * scale);
      at = last + 1;
    }
  };
  const auto point = [&](int row, int col) {
    return pixels(x + col * scale) + " " + pixels(y + row * scale);
  };
  for (int col = 1; col < cols; ++col) {
    draw(
        rows, "v", [&](int row) { return owner[row][col - 1] != owner[row][col]; },
        [&](int row) { return point(row, col); });
  }
  for (int row = 1; row < rows; ++row) {
    draw(
        cols, "h", [&](int col) { return owner[row - 1][col] != owner[row][col]; },
        [&](int col) { return point(row, col); });
  }
  return d;
}

}  // namespace pictures
