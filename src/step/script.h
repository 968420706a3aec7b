// Keys from a file.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "step/key.h"

namespace step {

// One thing that a script asks for.
struct ScriptStep {
  std::optional<Key> key;  // none: print the frame
};
// Words separated by blanks: a run of keys ("nn", "12n"), or the name of one (right, left, up,
// down, pageup, pagedown, home, end, enter, escape, space), or print. A word that begins with /
// searches for the rest of its line, and # begins a comment. Throws a Refusal for what is no key.
std::vector<ScriptStep> parse_script(std::string_view text);

}  // namespace step
