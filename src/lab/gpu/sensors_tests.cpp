#include "lab/gpu/sensors.h"

#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "testing/program.h"

namespace gpu {

namespace {

// A library with NVML's functions, for one GPU on bus 1b. Each reading of the clock is 15 MHz
// lower. `and_more` may add functions that only some versions of NVML have.
std::string nvml_in(const testing::Folder& folder, const std::string& and_more = "") {
  folder.write("nvml.c", R"(
#include <string.h>
static unsigned mhz = 1995;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  *device = &mhz;
  return strcmp(id, "0000:1b:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* out) {
  *out = *(unsigned*)device -= 15;
  return type == 1 ? 0 : 2;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* out) { return *out = 650000, 0; }
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* out) { return *out = 700000, 0; }
int nvmlDeviceGetTemperature(void* device, int which, unsigned* out) { return *out = 54, which; }
)" + and_more);
  const std::string library = folder / "libnvml.so";
  const auto compiled =
      testing::run("g++ -x c -w -shared -fPIC '" + folder / "nvml.c" + "' -o '" + library + "'");
  REQUIRE(compiled.err == "");
  return library;
}

constexpr const char* kReasons =
    "int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* out) {"
    "  return *out = 4, 0; }\n";

// As nvml.h lays out nvmlFieldValue_t.
constexpr const char* kInstantPower =
    "struct Field { unsigned id, scope; long long time, latency; int type, result;"
    "  union { double d; unsigned u; unsigned long long ull; } value; };\n"
    "int nvmlDeviceGetFieldValues(void* device, int count, struct Field* field) {"
    "  field->type = 1; field->result = field->id == 186 ? 0 : 3; field->value.u = 671000;"
    "  return 0; }\n";

const std::string kBus = "0000:1b:00.0";

void work_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace

TEST_CASE("the sensors are read many times during long work, and once at the end of short work") {
  const testing::Folder folder;
  const Sensors sensors(kBus, nvml_in(folder, kReasons));
  const auto of_short = sensors.read_during([] {});
  REQUIRE(of_short);
  CHECK(of_short->readings == 1);
  CHECK(*of_short->median_mhz == 1980);
  CHECK(*of_short->mean_watts == 650);
  CHECK(of_short->watts_are_averages);
  CHECK(*of_short->limit_watts == 700);
  CHECK(*of_short->max_celsius == 54);
  REQUIRE(of_short->throttles->size() == 1);
  CHECK(of_short->throttles->front().reason == "the power limit");
  const auto of_long = sensors.read_during([] { work_ms(100); });
  CHECK(of_long->readings > 2);
  CHECK(*of_long->max_mhz == 1965);
  CHECK(*of_long->min_mhz < 1965);
  CHECK(of_long->measured_ms >= 100);
}

TEST_CASE("power is read without averaging if NVML can, and missing readings are not known") {
  const testing::Folder folder;
  const Sensors sensors(kBus, nvml_in(folder, kInstantPower));
  const auto state = sensors.read_during([] {});
  CHECK(*state->mean_watts == 671);
  CHECK_FALSE(state->watts_are_averages);
  CHECK_FALSE(state->throttles);
}

TEST_CASE("if NVML or its GPU is missing, the work still runs, and nothing is printed") {
  const testing::Folder folder;
  folder.write("empty.so", "no library");
  const std::string library = nvml_in(folder);
  int runs = 0;
  for (const auto& [bus, of] :
       {std::pair(kBus, folder / "none.so"),
        {kBus, folder / "empty.so"},
        {std::string("0000:2c:00.0"), library}}) {
    CAPTURE(bus);
    CHECK_FALSE(Sensors(bus, of).read_during([&] { ++runs; }));
  }
  CHECK(runs == 3);
}

TEST_CASE("work that fails ends the readings, too") {
  const testing::Folder folder;
  const Sensors sensors(kBus, nvml_in(folder));
  CHECK_THROWS_AS(sensors.read_during([] { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST_CASE("the GPU's work adds up until it pauses for more than a second") {
  Busy busy;
  CHECK(busy.before(5) == 0);
  busy.add(100, 400);
  busy.add(900, 1000);
  CHECK(busy.before(1000) == 400);
  CHECK(busy.before(2000) == 400);
  CHECK(busy.before(2001) == 0);
  busy.add(2100, 2150);
  CHECK(busy.before(2150) == 50);
}

}  // namespace gpu
