#include "model/registers.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

TEST_CASE("every recorded kernel stands once for each architecture, with figures a GPU can have") {
  std::set<std::string_view> kernels;
  std::set<int> architectures;
  std::set<std::pair<std::string_view, int>> records;
  for (const KernelRecord& record : kernel_records()) {
    CAPTURE(record.kernel);
    CAPTURE(record.compute_capability);
    CHECK(record.registers > 0);
    CHECK(record.registers <= 255);
    CHECK(record.spill_bytes >= 0);
    CHECK(record.static_smem_bytes >= 0);
    CHECK(record.static_smem_bytes <= 48 * 1024);
    kernels.insert(record.kernel);
    architectures.insert(record.compute_capability);
    records.insert({record.kernel, record.compute_capability});
  }
  CHECK(architectures == std::set<int>{75, 80, 86, 89, 90, 100, 120});
  CHECK(records.size() == kernel_records().size());
  CHECK(records.size() == kernels.size() * architectures.size());
}

TEST_CASE("a kernel is found for its own architecture, else for the nearest one below") {
  const std::string_view kernel = kernel_records().front().kernel;
  const auto architecture_for = [&](int compute_capability) {
    const auto record = find_kernel_record(kernel, compute_capability);
    return record ? record->compute_capability : 0;
  };
  CHECK(architecture_for(75) == 75);
  CHECK(architecture_for(86) == 86);
  CHECK(architecture_for(87) == 86);
  CHECK(architecture_for(103) == 100);
  CHECK(architecture_for(110) == 100);
  CHECK(architecture_for(121) == 120);
  CHECK(architecture_for(70) == 0);
}

TEST_CASE("spaces do not matter in a kernel's name, and an unknown kernel has no record") {
  for (const KernelRecord& record : kernel_records()) {
    std::string name(record.kernel);
    std::erase(name, ' ');
    const auto found = find_kernel_record(name, record.compute_capability);
    REQUIRE(found);
    CHECK(found->kernel == record.kernel);
    CHECK(found->registers == record.registers);
  }
  CHECK(!find_kernel_record("no such kernel", 90));
  CHECK(!find_kernel_record("", 90));
}
