// Stepping through the recorded work of one block: pure functions from a scene, a state and a key
// to the next state, and from a scene and a state to a frame of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/recording.h"

namespace step {

// What is stepped through, one launch; it does not change.
struct StepScene {
  std::string name;                       // "stage 3, shared-memory tiling (32x32)"
  std::string problem;                    // "C (32 x 64), K = 64"
  model::Recording recording;             // lines known; at least one event
  std::vector<std::string> source;        // the lines of the kernel's file
  int source_first = 0, source_last = 0;  // the kernel's, from 1; 0 where not known
  std::vector<std::string> sentences;     // for each of recording.hazards
  std::string fault;                      // why the kernel could not go on; empty where it could
  std::vector<int> row_words;             // of each of recording.arrays, for its picture
};

struct StepState {
  int scene = 0, scenes = 1;       // which of how many
  std::size_t at = 0;              // the event, in recording.events
  int warp = 0, lane = 0;          // chosen
  bool one_warp = false;           // next and back leave the steps of other warps out
  std::optional<int> array;        // shown; none: the one of the access
  std::optional<int> row, column;  // of that array, the first shown; none: where the access is
  int count = 0;                   // typed before a key; 0: none
  bool typing = false;             // into `search`
  std::string search;
  bool help = false, quit = false;
  std::string message;  // of the last key
};

// A character as it is typed, or one of these.
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

// The state after that key. Where state.scene changes, the caller must bring that scene and put the
// state at its beginning with first_state.
StepState apply(const StepScene& scene, StepState state, Key key);

// At the beginning of a scene; keeps what was chosen in `state` and is not of one scene.
StepState first_state(const StepScene& scene, StepState state);

struct StepStyle {
  bool colour = false;
  bool ascii = false;
};

// At most `rows` lines of at most `columns` columns.
std::vector<std::string> render(
    const StepScene& scene, const StepState& state, int rows, int columns, StepStyle style);

// The state at "barrier:2", "line:171", "step:40", "hazard:1" or "end" of the block. Throws a
// Refusal, which begins with `asked`, where `text` is none of these or there is no such place.
StepState move_to(
    const StepScene& scene, StepState state, const std::string& text, const std::string& asked);

// One thing that a script asks for.
struct ScriptStep {
  std::optional<Key> key;  // none: print the frame
};
// Words separated by blanks: a run of keys ("nn", "12n"), or the name of one (right, left, up,
// down, pageup, pagedown, home, end, enter, escape, space), or print. A word that begins with /
// searches for the rest of its line, and # begins a comment. Throws a Refusal for what is no key.
std::vector<ScriptStep> parse_script(std::string_view text);

// For the state and its picture. A block's steps lie side by side in recording.events.
struct BlockSteps {
  std::size_t begin, end;
};
BlockSteps steps_of_block(const model::Recording& recording, std::size_t at);

// The array whose picture is shown, and the word of it that the picture begins near: where the
// access is, or what was scrolled to. No array: -1.
struct StepWindow {
  int array = -1;
  int row = 0, column = 0;
  int rows = 0, columns = 0;  // of the array, in words
};
StepWindow window_of(const StepScene& scene, const StepState& state);

// The event at which a hazard is best looked at: its second side, where there is one.
std::size_t shown_at(const model::RecordedHazard& hazard);

}  // namespace step
