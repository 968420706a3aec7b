#include "step/parts.h"

#include <string>

#include "text/numbers.h"

namespace step {

std::vector<Line> help_lines() {
  const char* const kHelp[][2] = {
      {"n, space, right", "next step: a request of a warp, or a barrier"},
      {"p, left", "back"},
      {"b  B", "next barrier, previous barrier"},
      {"w  W", "next warp, previous warp; f: n and p stay with it"},
      {"l  L", "next lane, previous lane"},
      {"o  O", "next recorded block, previous one"},
      {"s  S", "next stage (or launch), previous one"},
      {"g  G", "start of the block, its end"},
      {"x  X", "next hazard, previous hazard"},
      {"/text  r", "search for a line by text or number; repeat"},
      {"a", "next array's picture; after the last, follow the steps"},
      {"up down < >", "move the picture; pageup, pagedown by eight rows"},
      {"12n", "a number before a key repeats it"},
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
