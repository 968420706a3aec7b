// A finished picture, and the SVG file that it becomes.
#pragma once

#include <string>
#include <string_view>

namespace pictures {

inline constexpr int kPictureWidth = 800;  // px, what a page of the walkthrough has

// Everything below the title.
struct Drawing {
  std::string finding;   // what it shows, in a sentence or two: for readers who do not see it
  std::string elements;  // SVG
  double height;         // px, of the whole picture
  bool operator==(const Drawing&) const = default;
};

struct Picture {
  std::string name;  // of the file, without its end: "stage5-tiles"
  std::string title;
  Drawing drawing;
};

// The whole file. One style sheet in it says how the drawing's classes look, on light paper and on
// dark.
std::string svg_file(const Picture& picture);

// With the characters that XML keeps for itself written out, and what no XML may hold left out.
std::string xml_escaped(std::string_view text);

}  // namespace pictures
