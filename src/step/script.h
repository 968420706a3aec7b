// Keys from a file.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "step/key.h"

namespace step {

// One step of a script.
struct ScriptStep {
  std::optional<Key> key;  // empty: print the frame
};
// A script consists of words separated by blanks: a run of keys ("nn", "12n"), the name of a key
// (right, left, up, down, pageup, pagedown, home, end, enter, escape, space), or print. A word that
// begins with / searches for the rest of its line, and # begins a comment. Throws a Refusal for a
// word that is not a key.
std::vector<ScriptStep> parse_script(std::string_view text);

}  // namespace step
