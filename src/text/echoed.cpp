#include "text/echoed.h"

#include <algorithm>
#include <deque>

#include "text/numbers.h"
#include "text/printable.h"

namespace text {

std::string echoed(std::string_view typed, int most) {
  std::deque<std::string> signs;
  for (std::string_view rest = typed; !rest.empty();) {
    const Sign sign = first_sign(rest);
    signs.push_back(sign.shown);
    rest.remove_prefix(sign.bytes);
  }
  const auto joined = [](auto begin, auto end) {
    std::string text;
    for (; begin != end; ++begin) text += *begin;
    return text;
  };
  const std::string whole = joined(signs.begin(), signs.end());
  if (display_width(whole) <= most) return whole;
  // Keeps more of the beginning than of the end, but some of the end, because the ends of paths
  // tell files apart.
  const int of_end = most / 3, of_beginning = most - 1 - of_end;
  auto first_left_out = signs.begin();
  for (int width = 0; (width += display_width(*first_left_out)) <= of_beginning;) ++first_left_out;
  auto end_begins = signs.end();
  for (int width = 0; (width += display_width(end_begins[-1])) <= of_end;) --end_begins;
  return joined(signs.begin(), first_left_out) + "…" + joined(end_begins, signs.end());
}

std::vector<std::string> shown_lines(std::string_view source) {
  std::vector<std::string> lines;
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    std::string_view line = source.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::string& shown = lines.emplace_back();
    while (!line.empty()) {
      const Sign sign = first_sign(line);
      shown += line[0] == '\t' ? "    " : sign.shown;
      line.remove_prefix(sign.bytes);
    }
    source.remove_prefix(std::min(end + 1, source.size()));
  }
  return lines;
}

}  // namespace text
