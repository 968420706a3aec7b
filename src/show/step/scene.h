// A scene: the recorded work of the first blocks of one launch; the reader's position in it, how
// keys, words and scripts move it, and its frame of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/recording.h"
#include "model/warp_access.h"
#include "show/pictures/block_requests.h"

namespace step {

// What an action belongs to.
struct ActionContext {
  // Of the phase of its barrier: what has come or is on its way after this action, and in all; and
  // whether a thread has waited for it, else in_all may lack something.
  struct Sums {
    int arrivals = 0, boxes = 0;
    std::uint64_t bytes = 0;
    bool is_complete = false;
  } so_far, in_all;
  int multiplied = 0;  // the wgmma that the action's warp has started
};
std::vector<ActionContext> contexts_of(const model::Recording& recording);  // of each action

// The places in shared memory that tiles come to in turn, by the copy engine or by cp.async. What
// comes together is a phase of an mbarrier, or a group of copies.
struct Ring {
  struct Change {
    // A warp copies; it waits for what others still copy, or for what is here; or it gives back.
    enum Kind { comes, waits, here, empty } kind;
    std::size_t at;  // the event
    int warp, place;
    std::uint64_t number, bytes;  // of the phase or group
    // Afterwards: whether it has come, and the warps that have waited for it.
    bool is_here = false;
    std::set<int> waited = {};
  };
  struct Part {  // of a place: the tile of one matrix
    int place, array, matrix;
    std::uint64_t begin, end;  // in bytes of the array
  };
  std::vector<std::string> places;  // "full[0]" or, without an mbarrier, "place 0"; no single one
  int boxes = 0;                    // so many of them are filled by boxes
  std::vector<Change> changes;
  std::vector<Part> parts;  // none if they overlap, or there is one place
};

// The recording of one launch. It does not change.
struct StepScene {
  std::string name;                       // "stage 3, shared-memory tiling (32x32)"
  std::string problem;                    // "C (32 x 64), K = 64"
  bool is_product = false;                // else nobody knows whether tiles are copied as they are
  model::Recording recording;             // with lines; at least one event
  std::vector<std::string> source;        // the lines of the kernel's file
  int source_first = 0, source_last = 0;  // the kernel's lines, from 1; 0 if unknown
  std::vector<std::string> sentences;     // for each of recording.hazards
  std::string fault;                      // why the kernel could not continue; empty if it could
  std::vector<int> row_words;             // for each of recording.arrays, for its picture
  std::vector<ActionContext> contexts;    // for each of recording.actions
  Ring ring;
};
Ring ring_of(const StepScene& scene);

// The part of the ring with that byte of an array; null if none has it.
const Ring::Part* part_at(const Ring& ring, int array, std::uint64_t byte);

// "As, place 0", or "A, place 0" of dynamic shared memory; without a part, the array's name.
std::string name_of(const StepScene& scene, int array, const Ring::Part* part);

// The steps of the block that the event `at` belongs to. They are consecutive in recording.events.
struct BlockSteps {
  std::size_t begin, end;
};
BlockSteps steps_of_block(const model::Recording& recording, std::size_t at);

// Those that the kernel uses, and perhaps -1. A recording lists the shared arrays of every kernel
// in the program.
std::set<int> used_arrays(const model::Recording& recording);

// The event that shows a hazard best: its second access if it has one.
std::size_t shown_at(const model::RecordedHazard& hazard);

// The word that a hazard marks; from a step to the next barrier, and in its other step.
struct HazardMark {
  int array;
  std::uint64_t word;
  std::size_t begin, end;
};
HazardMark mark_of(const model::Recording& recording, const model::RecordedHazard& hazard);

// Words of one array that a step changes alike, in ascending runs. What is copied asynchronously is
// filled when all of its phase or group has come; a matrix is filled where it was read or written.
struct WordChange {
  static constexpr int kAsBefore = -2;  // the words hold what they held

  std::size_t at;  // the event
  int array;
  enum State { empty, coming, filled } state;
  int matrix;  // whose words they hold; -1 if it is not known
  struct Run {
    std::uint64_t first, words;
    std::int64_t held, apart;  // the matrix's word in the first one, and from each to the next
  };
  std::vector<Run> runs;
};
std::vector<WordChange> word_changes(const StepScene& scene, BlockSteps steps);

// What a warp does from a step on: "running", "ready", "waiting for full[2]" or "ended"; "not seen
// again" if the recording ends before the block.
struct WarpChange {
  std::size_t at;  // the event
  int warp;
  std::string doing;
};
std::vector<WarpChange> warp_changes(const StepScene& scene, BlockSteps steps);

// A tile that the lanes of a warp hold together when they multiply: the lane of each element, row
// by row.
struct Fragment {
  const char* name;  // "A", "B", "sums"
  int rows, columns;
  std::vector<int> lanes;
};
std::vector<Fragment> fragments_of(const model::RecordedAction& action);

// "full[2]" of an action; "barrier 1", if it is a named one.
std::string name_of_barrier(const model::Recording& recording, const model::RecordedAction& of);

// What happens at that step: "warp 1, 32 lanes store 4 B to As: 2 wavefronts, ideal 1 <- bank
// conflict". Parts of the ring have the name of their array unless they are named.
std::string step_text(const StepScene& scene, std::size_t at, bool names_parts = true);

// Why the request at that step costs what it costs, report::request_sentence; or what the action at
// that step waits for, or who waits for it. Empty for other steps.
std::string sentence_at(const StepScene& scene, std::size_t at);

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
  const Ring::Part* part = nullptr;  // that is shown; null: all of the array
  int row = 0, column = 0;
  int first_row = 0, rows = 0, columns = 0;  // that are shown, in words
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

// The keys of a script; none: print the frame. A script consists of words separated by blanks: a
// run of keys ("nn", "12n"), the name of a key (right, left, up, down, pageup, pagedown, home, end,
// enter, escape, space), or print. A word that begins with / searches for the rest of its line, and
// # begins a comment. Throws a Refusal for a word that is not a key.
std::vector<std::optional<Key>> parse_script(std::string_view text);

struct StepStyle {
  bool colour = false;
  bool ascii = false;
};

// The state as a frame: at most `rows` lines of at most `columns` columns.
std::vector<std::string> render(
    const StepScene& scene, const StepState& state, int rows, int columns, StepStyle style);

}  // namespace step
