#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "experiments/experiment.h"
#include "model/ceiling.h"
#include "model/compiled_kernel.h"
#include "testing/golden.h"
#include "testing/program.h"

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
  for (const Stage& stage : experiment_table_plain().stages) {
    for (const Variant& variant : stage.variants) {
      runs_from.try_emplace(variant.kernel.name, stage.needs.instructions);
      runs_from.try_emplace(variant.kernel_any.name, stage.needs.instructions);
      if (!is_specialized(stage)) continue;
      copied_by_others.insert(variant.kernel.name);
      copied_by_others.insert(variant.kernel_any.name);
    }
  }
  for (const CompiledKernel& record : compiled_kernels()) {
    CAPTURE(record.kernel);
    CAPTURE(record.compute_capability);
    if (!record.has_loop()) continue;
    if (!runs_from.contains(std::string(record.kernel))) continue;  // those of a pre-pass
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

// The path of nvcc as the Makefile finds it, or "".
std::string nvcc_here() {
  if (std::system("command -v nvcc >/dev/null 2>&1") == 0) return "nvcc";
  const char* usual = "/usr/local/cuda/bin/nvcc";
  return std::filesystem::exists(usual) ? usual : "";
}

// The kernels in gemm_steps.cu, with explicit instances of three of them, one of each kind. Beside
// these, the four that run before those of stages 18 to 21 are no templates.
constexpr std::size_t kInstances = 8;
void write_source(const std::string& path) {
  std::ifstream whole("gemm_steps.cu");
  std::ofstream source(path);
  for (std::string line; std::getline(whole, line);) {
    if (line == "#ifndef KERNELS_ALONE  // examples/eight.cu takes only the kernels") break;
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
  const testing::Folder folder;
  const std::string made = folder / "kernels.inc", source = all ? "" : folder / "kernels.cu";
  if (!all) write_source(source);
  // If nobody can read the new main loops, those in the old file must be kept.
  std::filesystem::copy_file(kRecorded, made);
  const std::string command = std::string(all ? "" : "ARCHITECTURES=86 ") +
                              "src/model/record_kernels.sh " + nvcc + " " + made + " " + source +
                              " 2>/dev/null";
  CAPTURE(command);
  REQUIRE(std::system(command.c_str()) == 0);
  const std::vector<std::string> recorded = testing::lines_of(testing::contents(kRecorded)),
                                 now = testing::lines_of(testing::contents(made));
  REQUIRE(now.size() > 2);
  std::vector<std::string> others;
  for (std::size_t i = 2; i < now.size(); ++i) {
    if (std::find(recorded.begin(), recorded.end(), now[i]) == recorded.end()) {
      others.push_back(now[i]);
    }
  }
  CHECK(now.size() - 2 == (all ? compiled_kernels().size() : kInstances));
  if (now[1] != recorded[1]) {
    MESSAGE(
        "not compared: \"" << now[1] << "\", but recorded is \"" << recorded[1] << "\"; "
                           << others.size() << " of " << now.size() - 2 << " kernels differ");
  } else {
    for (const std::string& other : others) CHECK_MESSAGE(false, "not as recorded: " << other);
  }
}

TEST_CASE("without a disassembler, registers are recorded and main loops are kept") {
  if (std::system("PATH=/usr/bin:/bin; command -v cuobjdump nvdisasm >/dev/null") == 0) {
    MESSAGE("skipped: there is a disassembler here");
    return;
  }
  const testing::Folder folder;
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
  std::vector<std::string> lines = testing::lines_of(testing::contents(made));
  REQUIRE(lines.size() == 4);
  CHECK(lines[1] == "// Registers: nvcc 4.5.6. Main loops: nvcc 1.2.3.");
  CHECK(lines[2] == "{\"known<1, 2>\", 90, 40, 8, 1024, {1, 2, 3}, {}},");
  CHECK(lines[3] == "{\"strange<3>\", 90, 40, 8, 1024, {}, {}},");
}

namespace {

// As `nvdisasm -gi` writes it.
constexpr const char* kCode = R"(
	.target	sm_90
	.section	.text._Z5tiledPf,"ax",@progbits
.text._Z5tiledPf:
	//## File "/home/me/tiled.cu", line 9
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/              @!P0 EXIT ;
.L_x_1:
	//## File "/home/me/tiled.cu", line 12
        /*0020*/                   STS [R2], R3 ;
        /*0030*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
	//## File "/home/me/tiled.cu", line 14
        /*0040*/                   LDS.128 R4, [R5+0x10] ;
	//## File "/home/me/tiled.cu", line 3 inlined at "/home/me/tiled.cu", line 15
	//## File "/home/me/tiled.cu", line 15
        /*0050*/               @P1 LDS.U16 R8, [R6+UR4] ;
        /*0060*/               @P2 BRA `(.L_x_2) ;
	//## File "/home/me/tiled.cu", line 16
        /*0070*/                   LDS.64 R10, [R6] ;
.L_x_2:
	//## File "/home/me/tiled.cu", line 17
        /*0080*/                   LDS R12, [R6] ;
        /*0090*/              @!P3 BRA `(.L_x_1) ;
        /*00a0*/                   LDSM.16.M88.4 R16, [R7] ;
        /*00b0*/                   EXIT ;
.L_x_3:
        /*00c0*/                   BRA `(.L_x_3) ;
	.section	.nv.info,"",@"SHT_CUDA_INFO"
	.section	.text._Z4nonev,"ax",@progbits
.text._Z4nonev:
        /*0000*/                   EXIT ;
)";

std::vector<SassKernel> read(const std::string& text) {
  std::istringstream disassembly(text);
  return read_sass(disassembly);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("the shared-memory instructions of a disassembly are those in their golden file") {
  std::vector<testing::TitledText> texts;
  const auto add = [&](const std::string& title, const std::string& code) {
    std::ostringstream text;
    for (const SassKernel& kernel : read(code)) {
      text << kernel.name << '\n';
      for (const SharedInstruction& made : kernel.instructions) {
        const char* const kinds[] = {"load", "store", "load_matrices"};
        text << "  " << kinds[static_cast<int>(made.kind)] << ' ' << made.bytes
             << (made.predicated ? ", predicated" : "") << ", together " << made.together << ':';
        for (const auto& [file, line] : made.places) text << ' ' << file << ' ' << line;
        text << '\n';
      }
    }
    texts.emplace_back(title, text.str());
  };
  add("together: in every iteration of the loop, not jumped over, not after it", kCode);
  // Now there is no loop.
  add("a warp may end between two instructions", replaced(kCode, "@!P3 BRA `(.L_x_1)", "@P1 EXIT"));
  add("it does not", replaced(kCode, "@!P3 BRA `(.L_x_1)", "IADD3 R1, R1, R2, R3"));
  add("an iteration may leave out its second half", replaced(kCode, "(.L_x_2) ;", "(.L_x_1) ;"));
  add("a branch's target is computed: only within one block",
      replaced(kCode, "S2R R0, SR_TID.X", "BRX R2 -0x10"));
  testing::compare_with_golden("shared-instructions", texts);
}

namespace {

constexpr const char* kFile = "/home/me/tiled.cu";

// A load or store of `bytes` bytes per lane, without conflicts; what it costs as a wider one is
// that of a broadcast.
LineCounts written(
    int line, const char* array, Direction direction, std::int64_t requests, int bytes = 4) {
  LineCounts counts;
  counts.line = line;
  counts.array = array;
  counts.shared = true;
  counts.direction = direction;
  counts.bytes = bytes;
  counts.requests = counts.pieces = requests;
  counts.worst_pieces = 1;
  if (direction == Direction::load) counts.merging.watched = requests;
  return counts;
}

// All lanes are aligned alike: a wide load takes `wavefronts`.
LineCounts widenable(LineCounts counts, int wavefronts) {
  const std::int64_t pairs = counts.requests / 2, fours = counts.requests / 4;
  counts.merging.by_64 = {pairs, pairs * wavefronts, wavefronts};
  counts.merging.by_128 = {fours, fours * wavefronts, wavefronts};
  counts.merging.in_pairs = counts.merging.in_fours = counts.merging.watched;
  return counts;
}

void make(
    SassKernel& kernel, int count, SharedInstruction::Kind kind, int bytes, int together,
    int line) {
  for (int i = 0; i < count; ++i) {
    kernel.instructions.push_back({kind, bytes, false, together, {{kFile, line}}});
  }
}

using Kind = SharedInstruction::Kind;

CompiledLoads compiled(const std::vector<LineCounts>& lines, const SassKernel& kernel) {
  Counts counts;
  counts.lines = lines;
  return compiled_loads(counts, kernel, kFile, 10, 40);
}

}  // namespace

TEST_CASE("loads as written and as compiled are counted as in their golden file") {
  std::vector<testing::TitledText> texts;
  const auto add = [&](const char* title, const std::vector<LineCounts>& lines,
                       const SassKernel& kernel) {
    std::ostringstream text;
    const CompiledLoads loads = compiled(lines, kernel);
    const auto known = [](const std::optional<std::int64_t>& count) {
      return count ? std::to_string(*count) : "?";
    };
    const auto print = [&](const CompiledLine& line) {
      for (const std::string& array : line.arrays) text << ' ' << array;
      text << ' ' << line.requests << " requests, " << line.wavefronts << " wavefronts -> "
           << known(line.compiled_requests) << ", " << known(line.compiled_wavefronts) << '\n';
    };
    for (const CompiledLine& line : loads.lines) {
      text << "line " << line.line << '/' << line.helper_line << ", instructions";
      for (const int count : line.by_bytes) text << ' ' << count;
      text << ':';
      print(line);
    }
    text << "all:";
    print(loads.all());
    texts.emplace_back(title, text.str());
  };
  constexpr auto kLoad = Direction::load, kStore = Direction::store;
  const LineCounts wide = widenable(written(20, "As", kLoad, 800), 2);
  SassKernel kernel;
  make(kernel, 2, Kind::load, 16, 7, 20);
  make(kernel, 8, Kind::load, 4, 7, 21);
  add("one width for each line", {wide, written(21, "Bs", kLoad, 800)}, kernel);

  kernel = {};
  make(kernel, 8, Kind::load, 16, 7, 20);
  make(kernel, 32, Kind::load, 4, 7, 21);  // the compiler books B's to the next line
  add("two arrays, of which one can be wide",
      {widenable(written(20, "As", kLoad, 3200), 1), written(20, "Bs", kLoad, 3200)}, kernel);

  kernel = {};
  make(kernel, 2, Kind::store, 16, 7, 15);  // 100 times
  make(kernel, 8, Kind::load, 4, 7, 20);
  LineCounts repeated = written(20, "Bs", kLoad, 6400);
  repeated.merging.repeated = 5600;
  const LineCounts store = written(15, "As", kStore, 200, 16);
  add("partly left out; a store tells how often", {store, repeated}, kernel);
  for (SharedInstruction& made : kernel.instructions) {
    if (made.kind == Kind::load) made.together = 8;
  }
  add("a store in another block does not", {store, repeated}, kernel);

  kernel = {};
  make(kernel, 1, Kind::load, 16, 7, 20);
  make(kernel, 1, Kind::load, 4, 9, 20);  // the remaining iterations
  const std::vector<LineCounts> lines{widenable(written(20, "As", kLoad, 100), 1)};
  add("two widths in a loop that is partly unrolled", lines, kernel);
  kernel.instructions[1].together = 7;
  add("two widths in one block", lines, kernel);
  kernel.instructions[1].predicated = true;  // some warps leave it out
  add("two widths, one predicated", lines, kernel);

  kernel = {};
  make(kernel, 2, Kind::load, 16, 7, 20);
  LineCounts line = widenable(written(20, "As", kLoad, 800), 1);
  line.merging.by_128 = {200, 300, 2};
  add("wavefronts that differ from load to load: all are wide", {line}, kernel);
  make(kernel, 1, Kind::load, 8, 7, 20);
  line.requests = line.pieces = 1000;
  line.merging.by_128 = {250, 375, 2};
  add("not all are", {line}, kernel);

  kernel = {};
  make(kernel, 1, Kind::store, 4, 7, 15);
  make(kernel, 3, Kind::load, 4, 7, 20);
  repeated = written(20, "Bs", kLoad, 200);
  repeated.merging.repeated = 1;
  add("more compiled loads than the source has: a contradiction",
      {written(15, "As", kStore, 100), repeated}, kernel);

  kernel = {};
  kernel.instructions.push_back({Kind::load, 4, false, 7, {{kFile, 30}, {kFile, 5}}});
  kernel.instructions.push_back({Kind::load, 16, false, 8, {{kFile, 31}, {kFile, 5}}});
  LineCounts first = written(30, "As", kLoad, 40);
  LineCounts second = widenable(written(31, "As", kLoad, 40), 1);
  first.helper_line = second.helper_line = 5;
  add("a helper's line, called on two lines", {first, second}, kernel);
  testing::compare_with_golden("compiled-loads", texts);
}

TEST_CASE("neighbouring, aligned loads may be merged, and no others") {
  Counts counts;
  counts.lines = {
      widenable(written(20, "As", Direction::load, 800), 1),
      written(21, "Bs", Direction::load, 800),
      widenable(written(22, "Cs", Direction::load, 800), 1)};
  counts.lines[2].merging.in_fours = 400;
  const std::vector<MergeableLine> lines = mergeable_lines(counts);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].array == "As");
  CHECK(lines[0].loads == 4);
  CHECK(lines[0].wavefronts == 4);
  CHECK(lines[0].wavefronts_merged == 1);
  CHECK(lines[1].array == "Cs");
  CHECK(lines[1].loads == 2);
  CHECK(lines[1].share == 1);
  // Another array that the line loads by the same name.
  counts.lines[2].merging.in_pairs = 400;
  const std::vector<MergeableLine> half = mergeable_lines(counts);
  REQUIRE(half.size() == 2);
  CHECK(half[1].loads == 4);
  CHECK(half[1].share == 0.5);
}

}  // namespace model
