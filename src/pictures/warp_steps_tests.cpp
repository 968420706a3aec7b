#include "pictures/warp_steps.h"

#include <doctest/doctest.h>

namespace pictures {

namespace {

StepPlan plan_of_steps(int steps, int wavefronts, int ahead) {
  StepPlan plan{{}, ahead};
  for (int k = 0; k < steps; ++k) plan.steps.push_back({k, k / 8, 2, wavefronts});
  return plan;
}

// Requests of a block with one thread: its tiles have one step of k, and each is one float of A.
struct OneThread {
  BlockRequests block{1, 1, 8, 1, {}};

  void copy(int epoch, int k) {
    add(epoch, "As", true, model::Direction::copy, k);
    add(epoch, "A", false, model::Direction::copy, k);
  }
  void load(int epoch, int k) { add(epoch, "As", true, model::Direction::load, k); }
  void add(int epoch, const char* array, bool shared, model::Direction direction, int k) {
    model::WarpAccess access{1u, 4, {}};
    access.address[0] = 4 * k;
    block.requests.push_back({0, epoch, 0, array, shared, direction, access, 1, 1});
  }
  StepPlan plan() const { return step_plan({nullptr, nullptr, block}); }
};

}  // namespace

TEST_CASE("a warp that loads a step when it multiplies it waits for every load") {
  const std::vector<StepTime> times = step_times(plan_of_steps(3, 5, 0), 20, 100);
  REQUIRE(times.size() == 3);
  CHECK(times[0].load_end == 24);  // four wavefronts after the first
  CHECK(times[0].multiply_begin == 24);
  CHECK(times[1].load_begin == 124);
  CHECK(times[2].multiply_end == 3 * 124);
}

TEST_CASE("a warp that loads a step ahead waits for the first load only") {
  const std::vector<StepTime> times = step_times(plan_of_steps(3, 5, 1), 20, 100);
  CHECK(times[1].load_begin == 0);
  CHECK(times[1].multiply_begin == 124);
  CHECK(times[2].load_begin == 124);
  CHECK(times[2].multiply_end == 24 + 3 * 100);
  // Unless the loads take longer than the multiplications.
  const std::vector<StepTime> slow = step_times(plan_of_steps(3, 5, 1), 150, 100);
  CHECK(slow[2].load_begin == 254);
  CHECK(slow[2].multiply_begin == 254 + 154);
}

TEST_CASE("what is loaded between a barrier and the copies behind it is loaded ahead") {
  OneThread in_time, ahead;
  in_time.copy(0, 0);
  in_time.copy(0, 1);
  in_time.copy(1, 2);
  in_time.load(1, 0);
  in_time.copy(2, 3);
  in_time.load(2, 1);
  CHECK(in_time.plan().ahead == 0);
  REQUIRE(in_time.plan().steps.size() == 2);
  CHECK(in_time.plan().steps[1].k == 1);
  CHECK(in_time.plan().steps[1].epoch == 2);
  CHECK(in_time.plan().steps[1].loads == 1);

  ahead.copy(0, 0);
  ahead.copy(0, 1);
  ahead.load(1, 0);
  ahead.copy(1, 2);
  ahead.load(2, 1);
  ahead.copy(2, 3);
  CHECK(ahead.plan().ahead == 1);
}

}  // namespace pictures
