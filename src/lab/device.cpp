#include "lab/device.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <semaphore>
#include <string>
#include <string_view>
#include <vector>

#include "lab/gpu/gpu.h"
#include "model/refusal.h"
#include "text/echoed.h"

namespace lab {

bool choose_device(const Request& request) {
  const model::Gpu* const named = model::find_gpu(request.gpu);
  if (named != nullptr && !model::has_clock(*named)) {
    if (request.device != Device::gpu) return false;
    throw model::Refusal(
        "--device gpu: the " + named->name + " is only traced, on the CPU; leave out --device gpu");
  }
  const gpu::Search& search = gpu::find();
  if (request.device == Device::cpu || search.found) return request.device != Device::cpu;
  if (request.device == Device::gpu) {
    throw model::Refusal(
        "--device gpu: there is no GPU to run on (" + search.why_not +
        "); leave it out to trace the kernels on the CPU");
  }
  return false;
}

model::Gpu choose_model(const Request& request, bool on_gpu) {
  if (!request.gpu.empty()) {
    if (const model::Gpu* known = model::find_gpu(request.gpu)) return *known;
    std::string names;
    for (const model::Gpu& known : model::known_gpus())
      names += (names.empty() ? "" : ", ") + known.name;
    throw model::Refusal(
        "--gpu " + text::echoed(request.gpu) + ": not in the table; choose one of " + names);
  }
  return on_gpu ? *gpu::find().found : *model::find_gpu("H200");
}

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// The number after `key` in a file of lines "key number", or the file's only number if `key` is
// empty. Returns `otherwise` if there is no such file or number (a limit may read "max").
std::uint64_t number_in(const std::string& path, const std::string& key, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t number;
  if (key.empty()) return file >> number ? number : otherwise;
  while (file >> word) {
    if (word == key) return file >> number ? number : otherwise;
  }
  return otherwise;
}

std::string in_words(double bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(
      text, sizeof text, bytes < 9.95 && unit > 0 ? "%.1f %s" : "%.0f %s", bytes, kUnits[unit]);
  return text;
}

}  // namespace

std::uint64_t available_memory(const std::string& root) {
  const std::uint64_t kilobytes = number_in(root + "/proc/meminfo", "MemAvailable:", kNoLimit);
  std::uint64_t available = kilobytes > kNoLimit / 1024 ? kNoLimit : kilobytes * 1024;
  // Of version 2 of control groups there is one line, 0::GROUP. The group and all groups around it
  // have a limit. In a container the group's own path is often invisible, and the outermost folder
  // is the container's.
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string group;
  while (std::getline(groups, group) && !group.starts_with("0::")) {
  }
  if (!groups) return available;
  for (group.erase(0, 3);; group.resize(group.rfind('/'))) {
    const std::string folder = root + "/sys/fs/cgroup" + group + "/";
    const std::uint64_t limit = number_in(folder + "memory.max", "", kNoLimit);
    const std::uint64_t usage = number_in(folder + "memory.current", "", 0);
    // Files that are cached count as usage.
    const std::uint64_t cached = number_in(folder + "memory.stat", "inactive_file", 0);
    const std::uint64_t used = usage - std::min(usage, cached);
    if (limit != kNoLimit) available = std::min(available, limit - std::min(limit, used));
    if (group.find('/') == group.npos) return available;
  }
}

void require_memory(
    double needed, std::uint64_t available, const std::string& request,
    const std::string& purpose) {
  if (needed <= static_cast<double>(available)) return;
  throw model::Refusal(
      request + ": " + in_words(needed) + " of memory is needed for " + purpose + ", and " +
      in_words(static_cast<double>(available)) + " is free; choose smaller matrices");
}

namespace {

constexpr std::size_t kStackBytes = std::size_t{8} << 20;
constexpr std::size_t kLeastStackBytes = std::size_t{2} << 20;

// The value of OMP_STACKSIZE: a number, in kilobytes unless B, K, M or G follows. OpenMP ignores
// any other text, and so does this.
void refuse_small_stacks(const char* name) {
  const char* const value = std::getenv(name);
  double number = 0;
  char unit = 'K';
  if (value == nullptr || std::sscanf(value, "%lf %c", &number, &unit) < 1) return;
  const std::size_t power = std::string_view("BKMG").find(static_cast<char>(std::toupper(unit)));
  if (power == std::string_view::npos || std::ldexp(number, 10 * power) >= kLeastStackBytes) return;
  throw model::Refusal(
      std::string(name) + "=" + text::echoed(value) +
      ": the threads need a stack of at least 2 MB; unset this variable");
}

// How many threads besides this one the system can create, up to `most`.
int threads_to_be_had(int most) {
  std::counting_semaphore<> go(0);
  const auto wait = [](void* until) -> void* {
    static_cast<std::counting_semaphore<>*>(until)->acquire();
    return nullptr;
  };
  std::vector<pthread_t> threads;
  for (pthread_t thread; static_cast<int>(threads.size()) < most;) {
    if (pthread_create(&thread, nullptr, wait, &go) != 0) break;
    threads.push_back(thread);
  }
  go.release(static_cast<std::ptrdiff_t>(threads.size()));
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return static_cast<int>(threads.size());
}

}  // namespace

void prepare_threads() {
  for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE"}) refuse_small_stacks(name);
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_setstacksize(&attributes, std::max(bytes, kStackBytes));
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  constexpr int kMostOfAProcessor = 8;
  const int most = std::min(omp_get_max_threads(), kMostOfAProcessor * omp_get_num_procs());
  omp_set_num_threads(1 + threads_to_be_had(most - 1));
}

std::string cpu_name() {
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace lab
