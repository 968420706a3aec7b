// Where the reader is in a scene, and what was chosen on the way.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace step {

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

}  // namespace step
