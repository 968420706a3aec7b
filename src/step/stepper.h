// The scenes that there are to step through, and where in them the reader is.
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

// `count` scenes, of which the one numbered `first` comes first.
struct StepScenes {
  int count = 1, first = 0;
  std::function<StepScene(int number)> load;
};

class Stepper {
 public:
  Stepper(const StepScenes& scenes, StepStyle style);
  const StepScene& scene();  // loaded when it is first come to
  const StepState& state() const { return state_; }
  void press(Key key);
  void go_to(const std::string& place, const std::string& asked);  // as move_to does
  std::vector<std::string> frame(int rows, int columns);
  bool is_faulty();  // a hazard or a fault was found in the present scene

 private:
  const StepScenes& scenes_;
  const StepStyle style_;
  std::map<int, StepScene> loaded_;
  StepState state_;
};

}  // namespace step
