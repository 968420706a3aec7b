// The reader's position in a scene, and the choices made on the way.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace step {

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

}  // namespace step
