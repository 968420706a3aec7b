#include "lab/memory.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <limits>

#include "model/refusal.h"

namespace lab {

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

// The files in which a version of control groups reports a group's memory.
struct GroupFiles {
  std::string folder;  // the folder of the outermost group
  const char* limit;
  const char* usage;
  const char* reclaimable;  // the key in memory.stat of cached files, which count as usage
};

// The memory that the group and all groups around it leave. In a container the group's own path is
// often invisible, and the outermost folder is the container's.
std::uint64_t left_in_groups(const GroupFiles& files, std::string group) {
  std::uint64_t left = kNoLimit;
  while (true) {
    const std::string folder = files.folder + group + "/";
    const std::uint64_t limit = number_in(folder + files.limit, "", kNoLimit);
    const std::uint64_t usage = number_in(folder + files.usage, "", 0);
    const std::uint64_t cached = number_in(folder + "memory.stat", files.reclaimable, 0);
    const std::uint64_t used = usage - std::min(usage, cached);
    if (limit != kNoLimit) left = std::min(left, limit - std::min(limit, used));
    const std::size_t slash = group.rfind('/');
    if (slash == group.npos) return left;
    group.resize(slash);
  }
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

  // Each line is number:controllers:group. Version 2 has number 0 and no controllers.
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      const GroupFiles files{
          root + "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
      available = std::min(available, left_in_groups(files, group));
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      const GroupFiles files{
          root + "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
          "total_inactive_file"};
      available = std::min(available, left_in_groups(files, group));
    }
  }
  return available;
}

void require_memory(
    double needed, std::uint64_t available, const std::string& request,
    const std::string& purpose) {
  if (needed <= static_cast<double>(available)) return;
  throw model::Refusal(
      request + ": " + in_words(needed) + " of memory is needed for " + purpose + ", and " +
      in_words(static_cast<double>(available)) + " is free; choose smaller matrices");
}

}  // namespace lab
