#include "pictures/picture.h"

#include <cmath>

#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

// A pattern of 8 x 8 px: strokes on a colour.
std::string pattern(const char* name, const char* colour, const char* strokes) {
  return text::printed(
      "<pattern id=\"%s\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
      "<path d=\"M0 0h8v8H0z\" fill=\"%s\"/>%s</pattern>\n",
      name, colour, strokes);
}

// Light paper first; what dark paper changes stands below. A mark keeps its black border on both.
std::string style_sheet() {
  return "<style>\n"
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
         ".dashed{stroke:#1f2328;stroke-width:1.5;stroke-dasharray:5 4;fill:none}\n"
         ".mark{stroke:#000;stroke-width:1.2}\n"
         "@media(prefers-color-scheme:dark){\n"
         "text{fill:#f0f6fc}.faint{fill:#a9b4c0}.page,.paper{fill:#0d1117}.page{stroke:#3d444d}"
         ".quiet{fill:#2f3742}\n"
         ".area,.thin{stroke:#9198a1}.hair{stroke:#4b535d}.outline,.thick,.dashed{stroke:#f0f6fc}"
         "\n}\n"
         ".on{fill:#000;paint-order:stroke;stroke:#fff;stroke-opacity:.55;stroke-width:3px}\n"
         "</style>\n";
}

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
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') escaped += c;
    }
  }
  return escaped;
}

std::string svg_file(const Picture& picture) {
  const double high = std::ceil(picture.drawing.height);
  const std::string size = text::printed("%d", kPictureWidth);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" height=\"" +
         pixels(high) + "\" viewBox=\"0 0 " + size + " " + pixels(high) + "\" role=\"img\">\n" +
         "<title>" + xml_escaped(picture.title) + "</title>\n<desc>" +
         xml_escaped(picture.drawing.finding) + "</desc>\n" + style_sheet() + definitions() +
         "<rect class=\"page\" x=\".5\" y=\".5\" width=\"" +
         text::printed("%d", kPictureWidth - 1) + "\" height=\"" + pixels(high - 1) +
         "\" rx=\"8\"/>\n<text class=\"title\" x=\"24\" y=\"36\">" + xml_escaped(picture.title) +
         "</text>\n" + picture.drawing.elements + "</svg>\n";
}

}  // namespace pictures
