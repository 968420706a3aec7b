// Writes the elements of SVG pictures: text in, the same bytes on every machine out.
//
// A picture names classes; one style sheet (svg.cpp) defines how they look, on light paper and on
// dark. Colours are Okabe and Ito's (Color Universal Design, 2008), which colour-blind readers can
// distinguish, and each has a pattern of its own, so that a grey print shows the same.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pictures {

// The styles of areas. The names are those of the classes in the style sheet.
enum class Fill {
  paper,    // the background again
  quiet,    // present, but not used: grey
  one,      // the one thread, or the subject of the picture: orange, plain
  warp,     // its warp: sky blue, rising lines
  other,    // a third party: green, dots
  trouble,  // what is costly: vermilion, crossed lines
  waiting,  // in flight: yellow, level lines
  outline   // no area, only its border
};

enum class Anchor { start, middle, end };

struct TextStyle {
  Anchor anchor = Anchor::start;
  bool bold = false;
  bool small = false;    // 12 px, else 14
  bool faint = false;    // details that a reader may skip
  bool on_fill = false;  // on an area of a light colour, dark on dark paper too
};

// Everything below a picture's title.
struct Drawing {
  std::string finding;   // what it shows, in a sentence or two, for readers who cannot see it
  std::string elements;  // SVG
  double height;         // px, of the whole picture
  bool operator==(const Drawing&) const = default;
};

// A quantity, for example cycles, from 0 at the left. What lies outside is drawn at the ends.
struct Axis {
  double left, wide;  // px
  double last;        // at its right end
  double x(double at) const { return left + std::clamp(at / last, 0.0, 1.0) * wide; }
};

// Lengths are in px, from the upper left corner.
class Svg {
 public:
  void rect(double x, double y, double width, double height, Fill fill);
  void line(double x1, double y1, double x2, double y2, const char* kind = "thin");
  void text(double x, double y, std::string_view words, TextStyle style = {});
  void bold(double x, double y, std::string_view words) { text(x, y, words, {.bold = true}); }
  void small(double x, double y, std::string_view words) { text(x, y, words, {.small = true}); }
  // The others are small, too.
  void small_bold(double x, double y, std::string_view words) {
    text(x, y, words, {.bold = true, .small = true});
  }
  void faint(double x, double y, std::string_view words) {
    text(x, y, words, {.small = true, .faint = true});
  }
  void right(double x, double y, std::string_view words) {  // it ends there
    text(x, y, words, {.anchor = Anchor::end, .small = true});
  }
  void centred(double x, double y, std::string_view words) {
    text(x, y, words, {.anchor = Anchor::middle, .small = true});
  }
  void centred_faint(double x, double y, std::string_view words) {
    text(x, y, words, {.anchor = Anchor::middle, .small = true, .faint = true});
  }
  void on_fill(double x, double y, std::string_view words, bool is_filled = true) {  // centred
    text(x, y, words, {.anchor = Anchor::middle, .small = true, .on_fill = is_filled});
  }
  // Marks of a value, visible on any area, on light and on dark paper.
  void circle(double x, double y, double radius, Fill fill);
  void diamond(double x, double y, double radius, Fill fill);
  void path(std::string_view d, const char* kind);  // d as SVG says, a line and no area
  // A lattice of columns x rows cells.
  void grid(double x, double y, double width, double height, int columns, int rows);
  // A sample of a fill with what it means; returns where the next may begin.
  double legend(double x, double y, Fill fill, std::string_view meaning);
  // An area from one value to another, unless it is too narrow, with its words if they fit.
  void bar(
      const Axis& axis, double from, double to, double y, double high, Fill fill,
      std::string_view words = "");
  // The cycles at each multiple of `step`, below y; returns the y below.
  double ticks(const Axis& axis, double y, double step);

  // What is drawn from begin_mark() to end_mark() tells this where a reader points at it.
  void begin_mark(std::string_view told);
  void end_mark() { body_ += "</g>\n"; }

  // All so far, with its finding below, and what else is to be said there.
  Drawing with(const std::string& finding, double y, const std::string& more = "");
  const std::string& elements() const { return body_; }

 private:
  std::string body_;
};

// The width of words in the widest of the fonts that the style sheet names.
double text_width(std::string_view words, TextStyle style = {});

// At most one decimal: "12", "12.5". Never in exponents, and the same on every machine.
std::string pixels(double value);

// A finished picture, and the SVG file that it becomes.
inline constexpr int kPictureWidth = 800;  // px, what a page of the walkthrough has

struct Picture {
  std::string name;  // of the file, without its end: "stage5-tiles"
  std::string title;
  Drawing drawing;
};

// The whole file. One style sheet in it says how the drawing's classes look, on light paper and on
// dark.
std::string svg_file(const Picture& picture);

// The pictures as parts of an HTML page, which is dark if an element around them has the class
// "dark".
std::string svg_on_page(const std::vector<Picture>& pictures);

// Escapes the characters that XML reserves, and leaves out those that XML does not allow.
std::string xml_escaped(std::string_view text);

// The elements of a matrix, drawn as areas: each a cell of a grid.
using Cells = std::set<std::pair<int, int>>;  // (row, column)

struct Rectangle {
  int row, col, rows, cols;
};

// The cells as few rectangles: runs along the rows, those below each other joined.
std::vector<Rectangle> rectangles(const Cells& cells);

using Owners = std::vector<std::vector<int>>;  // [row][col]: thread; negative: not one

// An SVG path of the lines between neighbours that belong to different threads. (x, y) is the
// grid's corner, a cell is `scale` wide.
std::string borders(const Owners& owner, double x, double y, double scale);

}  // namespace pictures
