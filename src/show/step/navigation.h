// The reader's position in a scene, how keys, words and scripts move it, and its frame of text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "show/step/scene.h"

namespace step {

// A typed character, or one of these.
using Key = int;
enum SpecialKey : Key {
  kBackspaceKey = 8,
  kEnterKey = 13,
  kEscapeKey = 27,
  kUpKey = 0x110000,  // beyond Unicode
  kDownKey,
  kLeftKey,
  kRightKey,
  kPageUpKey,
  kPageDownKey,
  kHomeKey,
  kEndKey
};

// The reader's position in a scene, and the choices made on the way.
struct StepState {
  int scene = 0, scenes = 1;       // which scene, of how many
  std::size_t at = 0;              // the event, in recording.events
  int warp = 0, lane = 0;          // chosen
  bool one_warp = false;           // next and back skip the steps of other warps
  std::optional<int> array;        // the array that is shown; none: that of the access
  std::optional<int> row, column;  // the first row of it that is shown; none: where the access is
  int count = 0;                   // typed before a key; 0: none
  bool typing = false;             // typed into `search`
  std::string search;
  bool help = false, quit = false;
  std::string message;  // about the last key
};

// The array that is shown, and the word near which the picture starts: that of the access, or the
// one that the user scrolled to. No array: -1.
struct StepWindow {
  int array = -1;
  int row = 0, column = 0;
  int rows = 0, columns = 0;  // of the array, in words
};
StepWindow window_of(const StepScene& scene, const StepState& state);

// The state after that key. If state.scene changes, the caller must load that scene and reset the
// state to its start with first_state.
StepState apply(const StepScene& scene, StepState state, Key key);

// The state at the start of a scene. Keeps the choices in `state` that do not depend on the scene.
StepState first_state(const StepScene& scene, StepState state);

// The state at "barrier:2", "line:171", "step:40", "hazard:1" or "end" of the block. Throws a
// Refusal that begins with `requested` if `text` is none of these or there is no such place.
StepState move_to(
    const StepScene& scene, StepState state, const std::string& text, const std::string& requested);

// One step of a script.
struct ScriptStep {
  std::optional<Key> key;  // empty: print the frame
};
// A script consists of words separated by blanks: a run of keys ("nn", "12n"), the name of a key
// (right, left, up, down, pageup, pagedown, home, end, enter, escape, space), or print. A word that
// begins with / searches for the rest of its line, and # begins a comment. Throws a Refusal for a
// word that is not a key.
std::vector<ScriptStep> parse_script(std::string_view text);

struct StepStyle {
  bool colour = false;
  bool ascii = false;
};

// The state as a frame: at most `rows` lines of at most `columns` columns.
std::vector<std::string> render(
    const StepScene& scene, const StepState& state, int rows, int columns, StepStyle style);

}  // namespace step
