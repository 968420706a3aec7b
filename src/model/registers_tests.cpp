#include "model/registers.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "testing/program.h"

namespace model {

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

namespace {

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// nvcc as the Makefile finds it, or "".
std::string nvcc_here() {
  if (testing::run("command -v nvcc").exit_code == 0) return "nvcc";
  const char* usual = "/usr/local/cuda/bin/nvcc";
  return std::filesystem::exists(usual) ? usual : "";
}

// The kernels' part of gemm_steps.cu with three of them, one of each kind, or the whole of it.
void write_source(const std::string& path, bool all) {
  std::ifstream whole("gemm_steps.cu");
  std::ofstream source(path);
  for (std::string line; std::getline(whole, line);) {
    if (!all && line.starts_with("// The ladder as data.")) break;
    source << line << '\n';
  }
  if (all) return;
  for (const char* kernel :
       {"naive<32, 32>", "thread_tiling_2d<128, 128, 8, 8, 8>",
        "async_pipeline<64, 256, 8, 64, 64, 16, 8, 4, 4>"}) {
    source << "template __global__ void " << kernel
           << "(int, int, int, float, const float*, const float*, float, float*);\n";
  }
}

}  // namespace

TEST_CASE("nvcc makes of the kernels what is recorded, where it is the version that was recorded") {
  const std::string nvcc = nvcc_here();
  if (nvcc.empty()) {
    MESSAGE("skipped: there is no nvcc here");
    return;
  }
  const bool all = std::getenv("GEMM_STEPS_TEST_ALL") != nullptr;
  const testing::Folder folder;
  const std::string made = folder / "registers.inc", source = folder / "kernels.cu";
  write_source(source, all);
  const std::string command = std::string(all ? "" : "ARCHITECTURES=86 ") +
                              "src/model/record_registers.sh " + nvcc + " " + made + " " +
                              folder / "mix.inc" + " " + source;
  CAPTURE(command);
  REQUIRE(testing::run(command).exit_code == 0);
  const std::string version = first_line_of(made);
  std::ifstream lines(made), recorded_file("src/model/registers.inc");
  std::set<std::string> recorded;
  for (std::string line; std::getline(recorded_file, line);) recorded.insert(line);
  std::vector<std::string> others;
  int kernels = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('{')) continue;
    ++kernels;
    if (!recorded.contains(line)) others.push_back(line);
  }
  CHECK(kernels == (all ? static_cast<int>(kernel_records().size()) : 3));
  if (version != first_line_of("src/model/registers.inc")) {
    MESSAGE(
        "not compared: \"" << version << "\", but recorded is \""
                           << first_line_of("src/model/registers.inc") << "\"; " << others.size()
                           << " of " << kernels << " kernels differ");
  } else {
    for (const std::string& other : others) CHECK_MESSAGE(false, "not as recorded: " << other);
  }
}

}  // namespace model
