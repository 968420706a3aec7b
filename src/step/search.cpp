#include "step/search.h"

#include <charconv>
#include <string>
#include <vector>

#include "step/navigation.h"

namespace step {

namespace {

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

void search(const StepScene& scene, StepState& state) {
  if (state.search.empty()) {
    state.message = "nothing to search for: type / and part of a line, or its number";
    return;
  }
  const std::string wanted = lower(state.search);
  int number = 0;
  const char* end = wanted.data() + wanted.size();
  const auto parsed = std::from_chars(wanted.data(), end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  const auto is_it = [&](const model::RecordedEvent& event) {
    const int line = event.site >= 0 ? scene.recording.sites[event.site].line : 0;
    if (is_number) return line == number;
    return line > 0 && line <= static_cast<int>(scene.source.size()) &&
           lower(scene.source[line - 1]).find(wanted) != std::string::npos;
  };
  // Searches forward for another line (or this one again after others), and then from the start.
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  const std::vector<model::RecordedEvent>& events = scene.recording.events;
  const std::size_t steps = block.end - block.begin;
  for (std::size_t i = 1; i <= steps; ++i) {
    const std::size_t at = block.begin + (state.at - block.begin + i) % steps;
    if (!is_it(events[at])) continue;
    go_to(scene, state, at);
    if (i > block.end - 1 - block.begin) state.message = "there is no other such step";
    return;
  }
  state.message = "no step of this block is on a line with \"" + state.search + "\"";
}

void type(const StepScene& scene, StepState& state, Key key) {
  if (key == kEscapeKey) {
    state.typing = false;
    state.search.clear();
  } else if (key == kEnterKey || key == '\n') {
    state.typing = false;
    search(scene, state);
  } else if (key == kBackspaceKey || key == 127) {
    if (!state.search.empty()) state.search.pop_back();
  } else if (key >= ' ' && key < 127 && state.search.size() < 60) {
    state.search += static_cast<char>(key);
  }
}

}  // namespace step
