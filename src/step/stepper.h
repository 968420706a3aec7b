// The scenes to step through, and the reader's position in them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "step/key.h"
#include "step/line.h"
#include "step/scene.h"
#include "step/state.h"

namespace step {

// `count` scenes; the one numbered `first` is shown first.
struct StepScenes {
  int count = 1, first = 0;
  std::function<StepScene(int number)> load;
};

class Stepper {
 public:
  Stepper(const StepScenes& scenes, StepStyle style);
  const StepScene& scene();  // loaded when first shown
  const StepState& state() const { return state_; }
  void press(Key key);
  void go_to(const std::string& place, const std::string& asked);  // like move_to
  std::vector<std::string> frame(int rows, int columns);
  bool is_faulty();  // the present scene has a hazard or a fault

 private:
  const StepScenes& scenes_;
  const StepStyle style_;
  std::map<int, StepScene> loaded_;
  StepState state_;
};

}  // namespace step
