#include "step/parts.h"

#include <string>

#include "text/numbers.h"

namespace step {

std::vector<Line> help_lines() {
  const char* const kHelp[][2] = {
      {"n, space, right", "the next step: a request of a warp, or a barrier"},
      {"p, left", "back"},
      {"b  B", "to the next barrier, and back"},
      {"w  W", "the next warp, the one before; f: n and p stay with it"},
      {"l  L", "the next lane, the one before"},
      {"o  O", "the next block that is recorded, the one before"},
      {"s  S", "the next stage (or launch), the one before"},
      {"g  G", "to the block's beginning, to its end"},
      {"x  X", "to the next hazard, to the one before"},
      {"/text  r", "search a line with that text, or of that number; again"},
      {"a", "the next array's picture; behind the last it follows the steps"},
      {"up down < >", "move the picture; pageup, pagedown by eight rows"},
      {"12n", "a number before a key: so many times"},
      {"q", "quit"},
  };
  std::vector<Line> lines{{bold("Keys")}};
  for (const auto& [keys, what] : kHelp) {
    lines.push_back({{"  "}, bold(text::pad_right(keys, 17)), {what}});
  }
  for (const char* text :
       {"", "Between two barriers a GPU runs warps in any order; here one after the other.",
        "A lane is 0 to 9, then a to v; * is more than one. Global memory is fetched in",
        "sectors of 32 B (paper GPU: 16); in one wavefront each of the 32 banks (8) of",
        "shared memory gives one word.", "", "Any key goes back."}) {
    lines.push_back({{text}});
  }
  return lines;
}

}  // namespace step
