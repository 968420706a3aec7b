#include "lab/device.h"

#include <doctest/doctest.h>

#include "model/refusal.h"
#include "testing/program.h"

namespace lab {

namespace {

// A machine's memory files in /proc and /sys, in a temporary folder.
struct MemoryFiles {
  const testing::Folder folder;
  const std::string root = folder.path().string();

  MemoryFiles() {
    put("/proc/meminfo", "MemTotal:       2000 kB\nMemFree:  10 kB\nMemAvailable:   1000 kB\n");
  }

  void put(const std::string& path, const std::string& text) const {
    folder.write(path.substr(1), text);
  }
};

constexpr std::uint64_t kAvailable = 1000 * 1024;

}  // namespace

TEST_CASE("without control groups the kernel's MemAvailable counts") {
  const MemoryFiles machine;
  CHECK(available_memory(machine.root) == kAvailable);
  machine.put("/proc/self/cgroup", "0::/\n");
  CHECK(available_memory(machine.root) == kAvailable);
}

TEST_CASE("this machine has some free memory, and less than an exabyte") {
  CHECK(available_memory() > 0);
  CHECK(available_memory() < 1e18);
}

TEST_CASE("without /proc there is no limit") {
  CHECK(available_memory("/no/such/folder") == UINT64_MAX);
}

TEST_CASE("a control group's limit counts, less what is used and cannot be reclaimed") {
  const MemoryFiles machine;
  machine.put("/proc/self/cgroup", "9:name=systemd:/\nnonsense\n0::/job/step\n");
  machine.put("/sys/fs/cgroup/job/step/memory.max", "max\n");
  CHECK(available_memory(machine.root) == kAvailable);
  // The limit of a parent group counts, too.
  machine.put("/sys/fs/cgroup/job/memory.max", "600000\n");
  machine.put("/sys/fs/cgroup/job/memory.current", "200000\n");
  machine.put("/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 50000\n");
  CHECK(available_memory(machine.root) == 450000);
  machine.put("/sys/fs/cgroup/memory.max", "1234\n");  // the group as a container sees it
  CHECK(available_memory(machine.root) == 1234);
  machine.put("/sys/fs/cgroup/memory.current", "99999\n");
  CHECK(available_memory(machine.root) == 0);
}

TEST_CASE("a request for more than is free is refused with both amounts") {
  CHECK_THROWS_WITH_AS(
      require_memory(12e18, 21'400'000'000, "--size 1000000000", "A, B and C"),
      "--size 1000000000: 12 EB of memory is needed for A, B and C, and 21 GB is free; "
      "choose smaller matrices",
      model::Refusal);
  CHECK_THROWS_WITH_AS(
      require_memory(1.25e9, 0, "A.npy", "its values"),
      "A.npy: 1.2 GB of memory is needed for its values, and 0 B is free; "
      "choose smaller matrices",
      model::Refusal);
  CHECK_NOTHROW(require_memory(1000, 1000, "--size 1", "C"));
  CHECK_NOTHROW(require_memory(0, 0, "--size 0", "C"));
  CHECK_THROWS_AS(require_memory(1001, 1000, "--size 1", "C"), model::Refusal);
}

}  // namespace lab
