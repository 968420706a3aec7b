#include "step/place.h"

#include <algorithm>
#include <charconv>

#include "model/refusal.h"
#include "step/navigation.h"
#include "text/numbers.h"

namespace step {

namespace {

using Kind = model::RecordedEvent::Kind;

}  // namespace

StepState move_to(
    const StepScene& scene, StepState state, const std::string& text, const std::string& asked) {
  const auto refuse = [&](const std::string& why) { throw model::Refusal(asked + ": " + why); };
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  if (text == "end") {
    go_to(scene, state, block.end - 1);
    return state;
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string what = text.substr(0, colon);
  const std::string digits = colon < text.size() ? text.substr(colon + 1) : "1";
  std::size_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    refuse("there is no whole number after the colon; write for example barrier:2");
  }
  const auto of = [](const char* name, std::size_t count) {
    return text::printed(
        "there %s %zu %s%s in this block", count == 1 ? "is" : "are", count, name,
        count == 1 ? "" : "s");
  };
  if (what == "step") {
    const std::size_t steps = block.end - block.begin;
    if (number >= steps) refuse("the last step of this block is " + std::to_string(steps - 1));
    go_to(scene, state, block.begin + number);
    return state;
  }
  if (what == "hazard") {
    if (number < 1 || number > scene.recording.hazards.size()) {
      refuse(of("hazard", scene.recording.hazards.size()));
    }
    go_to(scene, state, shown_at(scene.recording.hazards[number - 1]));
    return state;
  }
  if (what != "barrier" && what != "line") {
    refuse("not a place; write barrier:2, line:171, step:40, hazard:1 or end");
  }
  std::size_t barriers = 0;
  for (std::size_t at = block.begin; at < block.end; ++at) {
    const model::RecordedEvent& event = scene.recording.events[at];
    barriers += event.kind == Kind::barrier;
    const bool there =
        what == "barrier"
            ? event.kind == Kind::barrier && barriers == number
            : event.site >= 0 && scene.recording.sites[event.site].line == static_cast<int>(number);
    if (!there) continue;
    go_to(scene, state, at);
    return state;
  }
  refuse(
      what == "barrier"
          ? of("barrier", barriers)
          : "no step is on that line; the kernel is on lines " +
                std::to_string(scene.source_first) + " to " + std::to_string(scene.source_last));
  return state;
}

}  // namespace step
