#include "model/device_state.h"

#include <doctest/doctest.h>

#include <vector>

namespace model {

TEST_CASE("a GPU's state is the range of its readings; what none of them says is not known") {
  const std::vector<Reading> readings = {
      {1980, 640, 50, 0}, {1935, 671, 52, 0x4}, {1980, 655, 53, 0x1}, {1965, 654, 51, 0}};
  const DeviceState state = device_state(readings);
  CHECK(state.readings == 4);
  CHECK(*state.min_mhz == 1935);
  CHECK(*state.median_mhz == 1965);  // a clock that it had
  CHECK(*state.max_mhz == 1980);
  CHECK(*state.mean_watts == 655);
  CHECK(*state.max_watts == 671);
  CHECK(*state.max_celsius == 53);
  REQUIRE(state.throttles);
  REQUIRE(state.throttles->size() == 1);
  CHECK(state.throttles->front().reason == "the power limit");
  CHECK(state.throttles->front().readings == 1);

  const DeviceState silent = device_state(std::vector<Reading>{{{}, 300, {}, {}}, {}});
  CHECK_FALSE(silent.median_mhz);
  CHECK_FALSE(silent.max_celsius);
  CHECK_FALSE(silent.throttles);
  CHECK(*silent.mean_watts == 300);
}

TEST_CASE("an idle GPU and a clock that the user chose are not throttled; heat is one reason") {
  const DeviceState chosen = device_state(std::vector<Reading>{{1200, {}, {}, 0x1 | 0x2 | 0x100}});
  REQUIRE(chosen.throttles);
  CHECK(chosen.throttles->empty());
  const DeviceState hot = device_state(std::vector<Reading>{{1200, {}, {}, 0x20 | 0x40}});
  REQUIRE(hot.throttles->size() == 1);
  CHECK(hot.throttles->front().reason == "heat");
  CHECK(hot.throttles->front().readings == 1);
}

TEST_CASE("several measurements together have the widest range and all reasons") {
  CHECK_FALSE(together({}));
  std::vector<DeviceState> states = {
      device_state(std::vector<Reading>{{1980, 600, 50, 0}}),
      device_state(std::vector<Reading>{{1900, 700, 60, 0x4}, {1890, 690, 60, 0x4 | 0x20}}),
      device_state(std::vector<Reading>{{1980, {}, {}, {}}})};
  states[1].limit_watts = 700;
  const DeviceState all = *together(states);
  CHECK(all.readings == 4);
  CHECK(*all.median_mhz == 1980);
  CHECK(*all.min_mhz == 1890);
  CHECK(*all.max_watts == 700);
  CHECK(*all.limit_watts == 700);
  REQUIRE(all.throttles->size() == 2);
  CHECK(all.throttles->at(0).readings == 2);
  CHECK(all.throttles->at(1).reason == "heat");
  CHECK_FALSE(together(std::vector<DeviceState>{states[2]})->throttles);
}

}  // namespace model
