#include "model/compiled_kernel.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/stage_tables.h"

namespace model {

TEST_CASE("every kernel is recorded once per architecture, with plausible numbers") {
  std::set<std::string_view> kernels;
  std::set<int> architectures;
  std::set<std::pair<std::string_view, int>> records;
  for (const CompiledKernel& record : compiled_kernels()) {
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
  CHECK(records.size() == compiled_kernels().size());
  CHECK(records.size() == kernels.size() * architectures.size());
}

TEST_CASE("a kernel's record is that of its own architecture, else of the nearest older one") {
  const std::string_view kernel = compiled_kernels().front().kernel;
  const auto architecture_for = [&](int compute_capability) {
    const auto record = find_compiled_kernel(kernel, compute_capability);
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
  for (const CompiledKernel& record : compiled_kernels()) {
    std::string name(record.kernel);
    std::erase(name, ' ');
    const auto found = find_compiled_kernel(name, record.compute_capability);
    REQUIRE(found);
    CHECK(found->kernel == record.kernel);
    CHECK(found->registers == record.registers);
  }
  CHECK(!find_compiled_kernel("no such kernel", 90));
  CHECK(!find_compiled_kernel("", 90));
}

TEST_CASE("a main loop multiplies, and copies what it multiplies") {
  std::map<std::string, int> runs_from;
  std::set<std::string> copied_by_others;
  for (const Stage& stage : stage_table_plain.stages) {
    for (const Variant& variant : stage.variants) {
      runs_from.try_emplace(variant.kernel.name, stage.runs_from);
      runs_from.try_emplace(variant.kernel_any.name, stage.runs_from);
      if (!stage.specialized) continue;
      copied_by_others.insert(variant.kernel.name);
      if (variant.otherwise == nullptr) copied_by_others.insert(variant.kernel_any.name);
    }
  }
  for (const CompiledKernel& record : compiled_kernels()) {
    CAPTURE(record.kernel);
    CAPTURE(record.compute_capability);
    if (!record.has_loop()) continue;
    // A trap stands for an instruction that the GPU lacks.
    if (record.compute_capability < runs_from[std::string(record.kernel)]) continue;
    const InstructionMix& loop = record.loop;
    CHECK(loop.ffma + loop.mma + record.inner.ffma + record.inner.mma > 0);
    if (copied_by_others.contains(std::string(record.kernel))) continue;
    const int copies = loop.ldg32 + loop.ldg64 + loop.ldg128 + loop.ldgsts32 + loop.ldgsts128;
    CHECK(copies > 0);
    const bool uses_smem = loop.lds() + record.inner.lds() > 0;
    CHECK((loop.bar > 0) == uses_smem);
    CHECK((loop.smem_waits + record.inner.smem_waits > 0) == uses_smem);
    CHECK((loop.gmem_waits > 0) == (loop.ldg32 + loop.ldg64 + loop.ldg128 > 0));
    CHECK(record.inner.ffma + record.inner.mma <= record.inner.all());
    // Some instruction needs the result of the one before it; none waits for three banks.
    CHECK(loop.stall_cycles > 0);
    CHECK(loop.bank_cycles <= loop.all());
    CHECK(record.inner.bank_cycles <= record.inner.all());
  }
}

TEST_CASE("cp.async is in the loop from sm_80 on, and plain copies below") {
  for (int capability : {75, 80, 86, 89, 90}) {
    CAPTURE(capability);
    const auto record =
        find_compiled_loop("async_pipeline<128, 256, 8, 64, 64, 16, 8, 4, 4>", capability);
    REQUIRE(record);
    // A thread copies 4 floats of A, and 2 times 4 of B. The loop for the last tiles is not
    // counted.
    const InstructionMix& loop = record->loop;
    CHECK(loop.ldgsts32 == (capability < 80 ? 0 : 4));
    CHECK(loop.ldgsts128 == (capability < 80 ? 0 : 2));
    CHECK(loop.ldg32 == (capability < 80 ? 4 : 0));
    CHECK(loop.ldg128 == (capability < 80 ? 2 : 0));
  }
}

TEST_CASE("the iterations do all multiplications of a thread") {
  CompiledKernel record{};
  record.loop.ffma = 32;
  CHECK(rounds(record, 2, 64, 0).loop == 4);
  CHECK(rounds(record, 2, 64, 0).inner == 0);
  record.loop.ffma = 0;
  record.inner.ffma = 64;
  CHECK(rounds(record, 64, 256, 8).loop == 32);
  CHECK(rounds(record, 64, 256, 8).inner == 256);
  record.loop.ffma = 64;  // a step before the inner loop
  CHECK(rounds(record, 64, 256, 8).inner == 224);
  CHECK(rounds(CompiledKernel{}, 64, 256, 8).loop == 0);

  // 128 instructions of 16 x 8 x 8 for 128 results per lane and 32 steps; the FFMAs round.
  CompiledKernel tensor{};
  tensor.loop.mma = tensor.loop.ffma = 128;
  tensor.loop.mma_products = 128 * 16 * 8 * 8;
  CHECK(rounds(tensor, 128, 4096, 32).loop == 128);
  CHECK(rounds(tensor, 128, 4096, 32).inner == 0);
}

TEST_CASE("a loop's record is that of its own architecture, else of the nearest older one") {
  const std::string_view kernel = "naive<32, 32>";
  REQUIRE(find_compiled_loop(kernel, 87));
  CHECK(find_compiled_loop(kernel, 87)->compute_capability == 86);
  CHECK(!find_compiled_loop(kernel, 70));
  CHECK(!find_compiled_loop("no such kernel", 90));
}

// One of our sources profiled its 1D coarsening on an RTX 3090 at M N K = 2^31 (16 x 16 tiles, BK
// 16, s results per thread). It counted 83.89, 50.33, 33.55, 25.17 and 41.94 million loads from
// shared memory: M N K / 32 (1/4 + 1/s), because the compiler loads A's tile four words at a time.
TEST_CASE("the recorded loops give the loads that a profiler counted for 1D coarsening") {
  constexpr double kProducts = 0x1p31;
  constexpr int kTile = 16;
  const std::pair<int, double> counted[] = {{1, 83.89}, {2, 50.33}, {4, 33.55}, {8, 25.17}};
  const auto millions = [&](int s, int capability) {
    const std::string name = "thread_coarsening_1d<16, 16, 16, " + std::to_string(s) + ">";
    const CompiledKernel record = find_compiled_loop(name, capability).value();
    const Rounds a_tile = rounds(record, s, kTile, kTile);
    const double warps = s == 16 ? 1 : kTile * kTile / s / 32.0;  // 16 threads fill half of one
    const double loads =
        warps * (a_tile.loop * record.loop.lds() + a_tile.inner * record.inner.lds());
    return kProducts / (kTile * kTile * kTile) * loads * 1e-6;
  };
  for (int capability : {75, 80, 86, 89, 90, 100, 120}) {
    CAPTURE(capability);
    for (const auto& [s, as_counted] : counted) {
      CAPTURE(s);
      CHECK(millions(s, capability) == doctest::Approx(as_counted).epsilon(0.0002));
      CHECK(millions(s, capability) == doctest::Approx(kProducts / 32e6 * (0.25 + 1.0 / s)));
    }
    // With 16 results nvcc 13 unrolls two steps instead of four, so it loads two words at a time.
    CHECK(millions(16, capability) == doctest::Approx(2 * kProducts / 32e6 * (0.5 + 1.0 / 16)));
  }
}

namespace {

const std::string kRecorded = "src/model/compiled_kernels.inc";

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The path of nvcc as the Makefile finds it, or "".
std::string nvcc_here() {
  if (std::system("command -v nvcc >/dev/null 2>&1") == 0) return "nvcc";
  const char* usual = "/usr/local/cuda/bin/nvcc";
  return std::filesystem::exists(usual) ? usual : "";
}

// The kernels in gemm_steps.cu, with explicit instances of three of them, one of each kind.
void write_source(const std::string& path) {
  std::ifstream whole("gemm_steps.cu");
  std::ofstream source(path);
  for (std::string line; std::getline(whole, line);) {
    if (line.starts_with("// The ladder as data.")) break;
    source << line << '\n';
  }
  for (const char* kernel :
       {"naive<32, 32>", "thread_tiling_2d<128, 128, 8, 8, 8>",
        "async_pipeline<128, 256, 8, 64, 64, 16, 8, 4, 4>"}) {
    source << "template __global__ void " << kernel
           << "(int, int, int, float, const float*, const float*, float, float*);\n";
  }
}

}  // namespace

TEST_CASE("nvcc's output equals the record, if it is the recorded version") {
  const std::string nvcc = nvcc_here();
  if (nvcc.empty()) {
    MESSAGE("skipped: there is no nvcc here");
    return;
  }
  const bool all = std::getenv("GEMM_STEPS_TEST_ALL") != nullptr;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("gemm_steps_registers_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string made = folder / "kernels.inc";
  std::string source = "src/experiments/kernels.cu";
  if (!all) write_source(source = folder / "kernels.cu");
  // If nobody can read the new main loops, those in the old file must be kept.
  std::filesystem::copy_file(kRecorded, made);
  const std::string command = std::string(all ? "" : "ARCHITECTURES=86 ") +
                              "src/model/record_kernels.sh " + nvcc + " " + made + " " + source +
                              " 2>/dev/null";
  CAPTURE(command);
  REQUIRE(std::system(command.c_str()) == 0);
  const std::vector<std::string> recorded = lines_of(kRecorded), now = lines_of(made);
  REQUIRE(now.size() > 2);
  std::vector<std::string> others;
  for (std::size_t i = 2; i < now.size(); ++i) {
    if (std::find(recorded.begin(), recorded.end(), now[i]) == recorded.end()) {
      others.push_back(now[i]);
    }
  }
  CHECK(now.size() - 2 == (all ? compiled_kernels().size() : 3));
  if (now[1] != recorded[1]) {
    MESSAGE(
        "not compared: \"" << now[1] << "\", but recorded is \"" << recorded[1] << "\"; "
                           << others.size() << " of " << now.size() - 2 << " kernels differ");
  } else {
    for (const std::string& other : others) CHECK_MESSAGE(false, "not as recorded: " << other);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("without a disassembler, registers are recorded and main loops are kept") {
  if (std::system("PATH=/usr/bin:/bin; command -v cuobjdump nvdisasm >/dev/null") == 0) {
    MESSAGE("skipped: there is a disassembler here");
    return;
  }
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("gemm_steps_no_sass_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string made = folder / "kernels.inc", nvcc = folder / "nvcc";
  std::ofstream(made) << "// anything\n"
                         "// Registers: nvcc 1.2.3. Main loops: nvcc 1.2.3.\n"
                         "{\"known<1, 2>\", 90, 7, 0, 0, {1, 2, 3}, {}},\n";
  std::ofstream(nvcc) << "#!/bin/sh\n"
                         "[ \"$1\" != --version ] || { echo 'release 4.5, V4.5.6'; exit; }\n"
                         "for kernel in 'known<1, 2>' 'strange<3>'; do\n"
                         "  echo \"Compiling entry function '$kernel' for 'sm_90a'\"\n"
                         "  echo '0 bytes stack frame, 8 bytes spill stores'\n"
                         "  echo 'Used 40 registers, 1024 bytes smem'\n"
                         "done\n";
  std::filesystem::permissions(nvcc, std::filesystem::perms::owner_all);
  const std::string command = "PATH=/usr/bin:/bin ARCHITECTURES=90a src/model/record_kernels.sh " +
                              nvcc + " " + made + " any.cu 2>/dev/null";
  CHECK(std::system(command.c_str()) == 0);
  std::vector<std::string> lines = lines_of(made);
  REQUIRE(lines.size() == 4);
  CHECK(lines[1] == "// Registers: nvcc 4.5.6. Main loops: nvcc 1.2.3.");
  CHECK(lines[2] == "{\"known<1, 2>\", 90, 40, 8, 1024, {1, 2, 3}, {}},");
  CHECK(lines[3] == "{\"strange<3>\", 90, 40, 8, 1024, {}, {}},");
  std::filesystem::remove_all(folder);
}

}  // namespace model
