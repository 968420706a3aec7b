// Writes SVG pictures: text in, the same bytes on every machine out.
//
// A picture says what things are, by class; one style sheet says how that looks, on light paper and
// on dark. Colours are Okabe and Ito's (Color Universal Design, 2008), which colour-blind readers
// tell apart, and every one has a pattern of its own, so that a grey print says the same.
#pragma once

#include <string>
#include <string_view>

namespace pictures {

inline constexpr int kPictureWidth = 800;  // px, what a page of the walkthrough has

// How an area looks. The names are those of the classes in the style sheet.
enum class Fill {
  paper,    // the background again
  quiet,    // there, but nothing happens to it: grey
  one,      // the one thread, or what is to be looked at: orange, plain
  warp,     // its warp: sky blue, rising lines
  other,    // a third party: green, dots
  trouble,  // what costs: vermilion, crossed lines
  waiting,  // on its way: yellow, level lines
  outline   // no area, only its border
};

enum class Anchor { start, middle, end };

struct TextStyle {
  Anchor anchor = Anchor::start;
  bool bold = false;
  bool small = false;    // 12 px, else 14
  bool faint = false;    // what a reader may skip
  bool on_fill = false;  // on an area of a light colour, dark on dark paper too
};

class Svg {
 public:
  // `title` stands at the top of the picture; `finding`, a sentence or two, is what it shows, for
  // readers who do not see it.
  Svg(std::string_view title, std::string_view finding);

  // Lengths in px, from the upper left corner.
  void rect(double x, double y, double width, double height, Fill fill);
  void line(double x1, double y1, double x2, double y2, const char* kind = "thin");
  void text(double x, double y, std::string_view words, TextStyle style = {});
  void circle(double x, double y, double radius, Fill fill);
  void path(std::string_view d, const char* kind);  // d as SVG says, a line and no area
  // A lattice of columns x rows cells.
  void grid(double x, double y, double width, double height, int columns, int rows);
  // A sample of a fill with what it means; returns where the next may begin.
  double legend(double x, double y, Fill fill, std::string_view meaning);
  // Words in lines of at most `columns` characters; returns the y of the line after the last.
  double paragraph(double x, double y, std::string_view words, int columns, TextStyle style = {});

  // The whole file, for a picture so high.
  std::string file(double height) const;

 private:
  std::string title_, finding_, body_;
};

// With the characters that XML keeps for itself written out, and what no XML may hold left out.
std::string xml_escaped(std::string_view text);

// At most one decimal: "12", "12.5". Never in exponents, and the same on every machine.
std::string pixels(double value);

}  // namespace pictures
