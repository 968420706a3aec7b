#include "step/stepper.h"

#include "step/frame.h"
#include "step/keys.h"
#include "step/navigation.h"
#include "step/place.h"

namespace step {

Stepper::Stepper(const StepScenes& scenes, StepStyle style) : scenes_(scenes), style_(style) {
  state_.scene = scenes.first;
  state_.scenes = scenes.count;
  state_ = first_state(scene(), state_);
}

const StepScene& Stepper::scene() {
  const auto known = loaded_.find(state_.scene);
  if (known != loaded_.end()) return known->second;
  return loaded_.emplace(state_.scene, scenes_.load(state_.scene)).first->second;
}

void Stepper::press(Key key) {
  const int before = state_.scene;
  state_ = apply(scene(), state_, key);
  if (state_.scene != before) state_ = first_state(scene(), state_);
}

void Stepper::go_to(const std::string& place, const std::string& asked) {
  state_ = move_to(scene(), state_, place, asked);
}

std::vector<std::string> Stepper::frame(int rows, int columns) {
  return render(scene(), state_, rows, columns, style_);
}

bool Stepper::is_faulty() {
  return !scene().recording.hazards.empty() || !scene().fault.empty();
}

}  // namespace step
