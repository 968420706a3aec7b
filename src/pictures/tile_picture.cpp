#include "pictures/tile_picture.h"

#include <algorithm>

#include "text/numbers.h"

namespace pictures {

namespace {

// One box, cut into `down` x `across` parts.
struct Panel {
  std::string name, size;
  long long down, across;
  std::string parts;
};

constexpr int kMostDown = 4, kMostAcross = 8;
constexpr int kHeight = kMostDown + 5;

std::vector<std::string> drawn(const Panel& panel) {
  const int down = static_cast<int>(std::clamp<long long>(panel.down, 1, kMostDown));
  const int across = static_cast<int>(std::clamp<long long>(panel.across, 1, kMostAcross));
  const bool more_down = panel.down > down, more_across = panel.across > across;
  std::vector<std::string> lines{panel.name, panel.size};
  lines.push_back("┌" + text::repeated("─", 2 * across + 1) + (more_across ? "─ ─" : "┐"));
  for (int row = 0; row < down; ++row) {
    const std::string first = row == 0 ? "■" : "□";
    lines.push_back(
        "│ " + first + " " + text::repeated("□ ", across - 1) + (more_across ? " …" : "│"));
  }
  lines.push_back(
      more_down ? "  " + text::repeated("⋮ ", across)
                : "└" + text::repeated("─", 2 * across + 1) + (more_across ? "─ ─" : "┘"));
  lines.push_back(panel.parts);
  return lines;
}

}  // namespace

std::vector<std::string> tile_picture(const model::Variant& v, int M, int N) {
  const auto size = [](long long rows, long long columns) {
    return text::printed("%lld x %lld", rows, columns);
  };
  const auto cut = [](int length, int part) {
    return part > 0 ? (static_cast<long long>(length) + part - 1) / part : 1;
  };
  const auto panel = [&](const char* name, int rows, int columns, int part_rows, int part_columns,
                         const char* parts) {
    const long long down = cut(rows, part_rows), across = cut(columns, part_columns);
    return Panel{name, size(rows, columns), down, across, size(down, across) + " " + parts};
  };
  const int TM = std::max(v.TM, 1), TN = std::max(v.TN, 1);
  const bool of_warps = v.WM > 0 && v.WN > 0;
  std::vector<Panel> panels{panel("matrix C", M, N, v.BM, v.BN, "blocks")};
  if (of_warps) {
    panels.push_back(panel("block's tile", v.BM, v.BN, v.WM, v.WN, "warps"));
    panels.push_back(panel("warp's tile", v.WM, v.WN, TM, TN, "lanes"));
  } else {
    panels.push_back(panel("block's tile", v.BM, v.BN, TM, TN, "threads"));
  }
  if (TM * TN > 1) panels.push_back(panel("thread's tile", TM, TN, 1, 1, "results"));

  std::vector<std::string> picture(kHeight);
  for (const Panel& next : panels) {
    const std::vector<std::string> lines = drawn(next);
    int width = 0;
    for (const std::string& line : lines) width = std::max(width, text::display_width(line));
    const bool last = &next == &panels.back();
    for (std::size_t row = 0; row < picture.size(); ++row) {
      // ■ of one box is the next box.
      const std::string arrow = last ? "" : row == 3 ? "  → " : "    ";
      picture[row] += text::pad_right(row < lines.size() ? lines[row] : "", width) + arrow;
    }
  }
  while (!picture.empty() && text::without_trailing_spaces(picture.back()).empty())
    picture.pop_back();
  for (std::string& line : picture) line = text::without_trailing_spaces(line);
  return picture;
}

}  // namespace pictures
