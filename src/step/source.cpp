#include "step/parts.h"

#include <algorithm>
#include <string>

#include "text/numbers.h"

namespace step {

std::vector<Line> source_around(const StepScene& scene, int current, int rows) {
  std::vector<Line> lines;
  const int last = static_cast<int>(scene.source.size());
  if (scene.source_first <= 0 || last == 0) {
    if (rows > 0) lines.push_back({{"  the kernel's source is not available"}});
    return lines;
  }
  const int centre = current > 0 ? current : scene.source_first + rows / 2;
  const int end = std::min(std::max(scene.source_last, centre), last);
  const int begin = std::min(scene.source_first, centre);
  const int first = std::clamp(centre - rows / 2, begin, std::max(begin, end - rows + 1));
  for (int number = first; number < first + rows && number <= end; ++number) {
    const bool is_current = number == current;
    const std::string text = text::printed("%s%4d  ", is_current ? ">" : " ", number);
    lines.push_back({{text + scene.source[number - 1]}});
    if (is_current) lines.back().back().colour = text::Colour::bold;
  }
  return lines;
}

}  // namespace step
