#include "lab/gpu/sensors.h"

#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gpu {

namespace {

// The part of NVML that we use, as nvml.h declares it. Every function returns 0 for success.
using Device = void*;
constexpr int kSmClock = 1;              // NVML_CLOCK_SM
constexpr int kGpuTemperature = 0;       // NVML_TEMPERATURE_GPU
constexpr unsigned kPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT, in mW
constexpr int kUnsignedInt = 1;          // NVML_VALUE_TYPE_UNSIGNED_INT

constexpr std::chrono::milliseconds kPeriod(8);

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace

// A function that this version of NVML lacks is null, and its value is not known.
struct Sensors::Nvml {
  struct FieldValue {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type, result;
    union {
      unsigned as_unsigned;
      unsigned long long widest;
    } value;
  };
  static_assert(sizeof(FieldValue) == 40, "nvmlFieldValue_t");

  explicit Nvml(void* opened) : library(opened) {}
  ~Nvml() {
    if (initialized) shutdown();
    dlclose(library);
  }

  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
  }

  bool connect(const std::string& pci_bus_id) {
    find(init, "nvmlInit_v2");
    find(shutdown, "nvmlShutdown");
    find(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
    find(clock, "nvmlDeviceGetClockInfo");
    find(power, "nvmlDeviceGetPowerUsage");
    find(limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(temperature, "nvmlDeviceGetTemperature");
    find(fields, "nvmlDeviceGetFieldValues");
    find(reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    if (!reasons) find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (!init || !shutdown || !by_bus_id || init() != 0) return false;
    initialized = true;
    return by_bus_id(pci_bus_id.c_str(), &device) == 0;
  }

  std::optional<double> instant_watts() const {
    FieldValue field{};
    field.id = kPowerInstant;
    const bool ok = fields && fields(device, 1, &field) == 0 && field.result == 0;
    if (!ok || field.type != kUnsignedInt) return std::nullopt;
    return 1e-3 * field.value.as_unsigned;
  }

  // Newer GPUs average this over a second.
  std::optional<double> average_watts() const {
    unsigned milliwatts = 0;
    if (!power || power(device, &milliwatts) != 0) return std::nullopt;
    return 1e-3 * milliwatts;
  }

  model::Reading read(bool instant) const {
    model::Reading reading;
    unsigned number = 0;
    unsigned long long bits = 0;
    if (clock && clock(device, kSmClock, &number) == 0) reading.sm_mhz = number;
    reading.watts = instant ? instant_watts() : average_watts();
    if (temperature && temperature(device, kGpuTemperature, &number) == 0) {
      reading.celsius = number;
    }
    if (reasons && reasons(device, &bits) == 0) reading.clock_reasons = bits;
    return reading;
  }

  void* library;
  Device device = nullptr;
  bool initialized = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_bus_id)(const char*, Device*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*limit)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*fields)(Device, int, FieldValue*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
};

Sensors::Sensors(const std::string& pci_bus_id, const std::string& library) {
  void* opened = dlopen(library.c_str(), RTLD_NOW);
  if (!opened) return;
  nvml_ = std::make_unique<Nvml>(opened);
  if (!nvml_->connect(pci_bus_id)) nvml_.reset();
}
Sensors::~Sensors() = default;

std::optional<model::DeviceState> Sensors::read_during(const std::function<void()>& work) const {
  if (!nvml_) return work(), std::nullopt;
  const bool instant = nvml_->instant_watts().has_value();
  std::vector<model::Reading> readings;
  const auto begin = std::chrono::steady_clock::now();
  {
    // The destructor stops and joins, also if the work throws.
    std::jthread reader;
    try {
      reader = std::jthread([&](std::stop_token stop) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock(mutex);
        const auto is_stopped = [&] { return stop.stop_requested(); };
        while (!stopped.wait_for(lock, stop, kPeriod, is_stopped)) {
          readings.push_back(nvml_->read(instant));
        }
      });
    } catch (const std::system_error&) {
      // If no thread can be started, only the reading at the end is left.
    }
    work();
  }
  const double ms = ms_since(begin);
  readings.push_back(nvml_->read(instant));
  model::DeviceState state = model::device_state(readings);
  state.measured_ms = ms;
  state.watts_are_averages = !instant;
  unsigned milliwatts = 0;
  if (nvml_->limit && nvml_->limit(nvml_->device, &milliwatts) == 0) {
    state.limit_watts = 1e-3 * milliwatts;
  }
  return state;
}

}  // namespace gpu
