#include "step/window.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace step {

namespace {

using Kind = model::RecordedEvent::Kind;

}  // namespace

StepWindow window_of(const StepScene& scene, const StepState& state) {
  const model::Recording& recording = scene.recording;
  const model::RecordedEvent& event = recording.events[state.at];
  const auto array_of = [&](const model::RecordedEvent& of) {
    return of.kind == Kind::request ? recording.sites[of.site].array : -1;
  };
  const auto is_shared = [&](int array) { return array >= 0 && recording.arrays[array].shared; };
  // The array of the access if it is shared; else the previous shared one; else the first one.
  StepWindow window;
  if (state.array) {
    window.array = *state.array;
  } else if (is_shared(array_of(event))) {
    window.array = array_of(event);
  } else {
    int of_any_kind = -1;
    const BlockSteps block = steps_of_block(recording, state.at);
    for (std::size_t at = state.at + 1; at-- > block.begin && !is_shared(window.array);) {
      window.array = array_of(recording.events[at]);
      if (of_any_kind < 0) of_any_kind = window.array;
    }
    for (const model::RecordedSite& site : recording.sites) {
      if (is_shared(window.array)) break;
      window.array = site.array;
      if (of_any_kind < 0) of_any_kind = site.array;
    }
    if (!is_shared(window.array)) window.array = of_any_kind;
  }
  if (window.array < 0) return window;
  const std::int64_t words = (recording.arrays[window.array].bytes + 3) / 4;
  window.columns = std::max(1, scene.row_words[window.array]);
  window.rows = static_cast<int>((words + window.columns - 1) / window.columns);
  if (array_of(event) == window.array && event.access.active != 0) {
    const std::uint64_t word = event.access.address[std::countr_zero(event.access.active)] / 4;
    window.row = static_cast<int>(word / window.columns);
    window.column = static_cast<int>(word % window.columns);
  }
  window.row = state.row.value_or(window.row);
  window.column = state.column.value_or(window.column);
  return window;
}

void choose_array(const StepScene& scene, StepState& state) {
  const model::Recording& recording = scene.recording;
  const auto is_used = [&](int array) {
    return std::any_of(
        recording.sites.begin(), recording.sites.end(),
        [&](const model::RecordedSite& site) { return site.array == array; });
  };
  int array = state.array ? *state.array + 1 : 0;
  const int arrays = static_cast<int>(recording.arrays.size());
  while (array < arrays && !is_used(array)) ++array;
  state.array.reset();
  if (array < arrays) state.array = array;
  state.row.reset();
  state.column.reset();
  state.message = array < arrays ? "the picture stays with " + recording.arrays[array].name
                                 : "the picture follows the accesses";
}

void scroll(const StepScene& scene, StepState& state, int rows, int columns) {
  const StepWindow window = window_of(scene, state);
  if (window.array < 0) return;
  const auto moved = [&](int from, int by, int of) -> int {
    return std::clamp<std::int64_t>(from + std::int64_t{by} * std::max(state.count, 1), 0, of - 1);
  };
  state.row = moved(window.row, rows, window.rows);
  state.column = moved(window.column, columns, window.columns);
}

}  // namespace step
