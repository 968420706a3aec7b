// Whether the words of a figure can be read: none over another, none over a line, none cut off.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "pictures/picture.h"
#include "pictures/svg.h"

namespace pictures {

namespace {

struct Box {
  std::string words;
  double left, top, right, bottom;
  bool on_fill;
};

struct Stroke {
  double x1, y1, x2, y2;
};

std::string unescaped(std::string text) {
  const std::pair<const char*, const char*> all[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [entity, character] : all) {
    for (std::size_t at = 0; (at = text.find(entity, at)) != text.npos; ++at) {
      text.replace(at, std::string_view(entity).size(), character);
    }
  }
  return text;
}

// Where the words of a picture stand, in the widest font.
std::vector<Box> boxes_of(const std::string& svg) {
  static const std::regex element(
      "<text(?: class=\"([^\"]*)\")? x=\"([^\"]*)\" y=\"([^\"]*)\">([^<]*)</text>");
  std::vector<Box> boxes;
  for (std::sregex_iterator it(svg.begin(), svg.end(), element), end; it != end; ++it) {
    const std::string classes = (*it)[1], words = unescaped((*it)[4]);
    const auto is = [&](const char* name) { return classes.find(name) != classes.npos; };
    const double x = std::stod((*it)[2]), y = std::stod((*it)[3]);
    double size = is("small") ? 12 : 14;
    double width = text_width(words, {.bold = is("bold") || is("title"), .small = is("small")});
    if (is("title")) {
      width *= 18 / size;
      size = 18;
    }
    const double left = is("middle") ? x - width / 2 : is("end") ? x - width : x;
    // Digits and small letters are 0.75 high; what hangs below the line is left out.
    boxes.push_back({words, left, y - 0.72 * size, left + width, y, is("on")});
  }
  return boxes;
}

std::vector<Stroke> strokes_of(const std::string& svg) {
  static const std::regex line(
      "<path class=\"(?:thick|dashed)\" d=\"M([\\d.-]+) ([\\d.-]+)L([\\d.-]+) ([\\d.-]+)\"");
  std::vector<Stroke> strokes;
  for (std::sregex_iterator it(svg.begin(), svg.end(), line), end; it != end; ++it) {
    strokes.push_back(
        {std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4])});
  }
  return strokes;
}

bool overlap(const Box& a, const Box& b) {
  constexpr double kTouch = 0.5;
  return std::min(a.right, b.right) - std::max(a.left, b.left) > kTouch &&
         std::min(a.bottom, b.bottom) - std::max(a.top, b.top) > kTouch;
}

bool crosses(const Stroke& s, const Box& box) {
  constexpr int kSteps = 2000;
  for (int i = 0; i <= kSteps; ++i) {
    const double x = s.x1 + (s.x2 - s.x1) * i / kSteps, y = s.y1 + (s.y2 - s.y1) * i / kSteps;
    if (box.left < x && x < box.right && box.top < y && y < box.bottom) return true;
  }
  return false;
}

// One sentence for each fault.
std::vector<std::string> faults_of(const std::string& svg, double height) {
  const std::vector<Box> boxes = boxes_of(svg);
  const std::vector<Stroke> strokes = strokes_of(svg);
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& box = boxes[i];
    if (box.left < 8 || box.right > kPictureWidth - 8 || box.top < 4 || box.bottom > height - 4) {
      faults.push_back("\"" + box.words + "\" leaves the picture");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(box, boxes[j])) {
        faults.push_back("\"" + box.words + "\" lies over \"" + boxes[j].words + "\"");
      }
    }
    const bool is_crossed = std::any_of(
        strokes.begin(), strokes.end(), [&](const Stroke& s) { return crosses(s, box); });
    if (is_crossed && !box.on_fill) faults.push_back("\"" + box.words + "\" lies over a line");
  }
  return faults;
}

double height_of(const std::string& svg) {
  std::smatch match;
  REQUIRE(std::regex_search(svg, match, std::regex("height=\"([\\d.]+)\"")));
  return std::stod(match[1]);
}

}  // namespace

TEST_CASE("no words of a figure lie over others, over a line, or outside of it") {
  for (const auto& entry : std::filesystem::directory_iterator("figures")) {
    CAPTURE(entry.path().string());
    std::ifstream file(entry.path());
    const std::string svg{std::istreambuf_iterator<char>(file), {}};
    CHECK(boxes_of(svg).size() > 5);
    for (const std::string& fault : faults_of(svg, height_of(svg))) FAIL_CHECK(fault);
  }
}

TEST_CASE("words that cannot be read are found") {
  const auto faults = [](auto draw) {
    Svg svg;
    draw(svg);
    return faults_of(svg.elements(), 100);
  };
  CHECK(faults([](Svg& svg) { svg.text(24, 40, "DRAM"), svg.text(70, 40, "L2"); }).empty());
  CHECK(faults([](Svg& svg) { svg.text(24, 40, "DRAM"), svg.text(50, 40, "L2"); }).size() == 1);
  CHECK(faults([](Svg& svg) { svg.text(24, 40, "a & b"), svg.text(24, 56, "c < d"); }).empty());
  CHECK(faults([](Svg& svg) { svg.text(24, 40, "a & b"), svg.text(24, 46, "c < d"); }).size() == 1);
  CHECK(faults([](Svg& svg) { svg.text(770, 40, "too far"); }).size() == 1);
  CHECK(faults([](Svg& svg) { svg.text(790, 40, "end", {.anchor = Anchor::end}); }).empty());
  CHECK(faults([](Svg& svg) { svg.text(24, 120, "below"); }).size() == 1);
  const auto crossed = [&](TextStyle style) {
    return faults([&](Svg& svg) {
      svg.text(24, 40, "crossed", style);
      svg.line(40, 20, 50, 60, "thick");
    });
  };
  CHECK(crossed({}).size() == 1);
  CHECK(crossed({.on_fill = true}).empty());
}

TEST_CASE("words are broken into lines by their width") {
  Svg svg;
  const double y = svg.paragraph(24, 20, "iiii iiii WWWW WWWW WWWW", 60);
  const std::vector<Box> lines = boxes_of(svg.elements());
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].words == "iiii iiii");
  CHECK(lines[3].words == "WWWW");
  CHECK(y == 20 + 4 * 19);
  Svg empty;
  CHECK(empty.paragraph(24, 20, "", 60) == 20);
  CHECK(empty.elements().empty());
}

}  // namespace pictures
