#include "try/scenes.h"

#include <string>

#include "machine/symbols.h"

namespace attempt {

step::StepScenes scenes_of(const step::RecordedRun& run, int M, int N, int K) {
  step::StepScenes scenes;
  scenes.count = static_cast<int>(run.launches.size());
  scenes.load = [&run, count = scenes.count, M, N, K](int number) {
    const model::Recording& launch = run.launches[number];
    const bool is_last = number + 1 == count;
    std::string name = machine::function_name(launch.kernel);
    if (count > 1) {
      name += ", launch " + std::to_string(number + 1) + " of " + std::to_string(count);
    }
    return step::scene_of(launch, name, is_last ? run.fault : "", M, N, K);
  };
  return scenes;
}

}  // namespace attempt
