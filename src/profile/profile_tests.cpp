#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>

#include "lab/example_run.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "profile/profile.h"
#include "testing/fuzz.h"
#include "testing/golden.h"
#include "testing/program.h"

namespace profile {

namespace {

using lab::example::timed_run;
using lab::example::traced_run;
using testing::contains;
using testing::line_with;
using testing::written;

// Output of ncu, and of the program: ncu's messages, a header, units, rows. A row begins with the
// kernel in quotes.
std::string ncu_output(std::string_view kind, const std::vector<std::string>& rows) {
  std::string header = "\"ID\",\"Kernel Name\"", units = "\"\",\"\"", lines;
  std::istringstream metrics(ncu_metrics(kind));
  for (std::string name; std::getline(metrics, name, ',');) {
    header += ",\"" + name + "\"";
    units += ",\"sector\"";
  }
  for (const std::string& row : rows) lines += "\"0\"," + row + "\n";
  return "==PROF== Connected to process 12\nloads, as \"written\"\n" + header + "\n" + units +
         "\n" + lines + "==PROF== Disconnected\n";
}

// The counts of the tiling above. What is not listed is 0.
std::string ncu_csv(
    const std::string& kernel, const std::string& first_value = "8,192",
    const std::string& wavefronts_of_copies = "0") {
  const std::map<std::string, std::string> values = {
      {"smsp__sass_inst_executed_op_global_ld.sum", first_value},
      {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", "40,960"},
      {"smsp__sass_inst_executed_op_global_st.sum", "2,048"},
      {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", "65,536"},
      {"smsp__sass_inst_executed_op_shared_st.sum", "8,192"},
      {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "8,192"},
      {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", wavefronts_of_copies},
      {"smsp__sass_inst_executed_op_shared_ld.sum", "81,920"},
      {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "327680.00"}};
  std::string row = "\"" + kernel + "\"";
  std::istringstream metrics(ncu_metrics("counts"));
  for (std::string name; std::getline(metrics, name, ',');) {
    const auto value = values.find(name);
    row += ",\"" + (value != values.end() ? value->second : "0") + "\"";
  }
  return ncu_output("counts", {row});
}

std::string replaced_once(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// The row of one launch.
std::string row_of(const std::string& csv) {
  return csv.substr(csv.find("\"0\","));
}

const char* const kNcuName =
    "void thread_tiling_2d<(int)128, (int)128, (int)8, (int)8, (int)8>(int, int, int, float, const "
    "float *, const float *, float, float *)";

// Only the tiling: the other rows have only a traced sample.
lab::Run profiled_run() {
  lab::Run run = traced_run();
  run.rows = {run.rows[3]};
  return run;
}

struct Comparison {
  bool agrees;
  std::string text;
};

Comparison compared(const std::string& csv, const lab::Run& run) {
  Comparison comparison{};
  comparison.text = written([&](std::FILE* out) { comparison.agrees = print_ncu(out, csv, run); });
  return comparison;
}

}  // namespace

TEST_CASE("ncu agrees if it counted every kernel, and equal counts where they must be equal") {
  const std::string csv = ncu_csv(kNcuName);
  const std::string idle =
      replaced_once(replaced_once(ncu_csv(kNcuName, "4"), "\"2,048\"", "\"0\""), "65,536", "0");
  for (const auto& [what, of_ncu, agrees] : std::vector<std::tuple<std::string, std::string, bool>>{
           {"loads that the compiler merged otherwise", replaced_once(csv, "81,920", "81,921"),
            true},
           {"another global count", ncu_csv(kNcuName, "8,193"), false},
           {"a launch that stands in for another and returns at once", csv + row_of(idle), true},
           {"another launch", csv + row_of(ncu_csv(kNcuName, "4")), false},
           {"a missing count", ncu_csv(kNcuName, "n/a"), false},
           {"another kernel", ncu_csv("other(int)"), false},
           {"another tile", ncu_csv("void thread_tiling_2d<(int)64>(int)"), false},
           {"the name alone", ncu_csv("thread_tiling_2d"), true}}) {
    CAPTURE(what);
    CHECK(compared(of_ncu, profiled_run()).agrees == agrees);
  }
  // If the source has wide loads, the compiler has no choice, but a user's may stay in registers.
  lab::Run wide = profiled_run();
  wide.rows[0].counts->smem_loads.floats.sum *= 4;
  CHECK_FALSE(compared(csv, wide).agrees);
  wide.rows[0].stage = nullptr;
  wide.rows[0].launch = lab::LaunchShape{};
  CHECK(compared(csv, wide).agrees);
}

TEST_CASE("text that is not ncu's output, and a traced sample, are refused in one sentence") {
  const std::string csv = ncu_csv(kNcuName);
  for (const std::string& text :
       {std::string(), std::string("==ERROR== no permission\n"), std::string(1000, '\0'),
        std::string("\"a\",\"b\"\n\"1\",\"2\"\n"), csv.substr(0, csv.find("\"40,960") + 3)}) {
    CHECK_THROWS_AS(compared(text, profiled_run()), model::Refusal);
  }
  CHECK_THROWS_AS(compared(csv, traced_run()), model::Refusal);
}

TEST_CASE("any text is read as ncu's output, or refused in one sentence") {
  testing::Fuzz fuzz(
      {ncu_csv(kNcuName), ncu_csv("x", "n/a"), "\"ID\",\"Kernel Name\"\n\"0\",\"x\"\n"},
      {"\"", "\",\"", "\n", "\"ID\"", "\"Kernel Name\"", "1,048,576", "1e400", "inf", "-1",
       "\r\n"});
  constexpr std::string_view kMetrics[] = {"sm__cycles_elapsed.max", "lts__t_sectors.sum"};
  testing::fuzz<model::Refusal>(
      [&] { return fuzz.next(); },
      [&](const std::string& text) {
        for (const NcuLaunch& launch : read_ncu(text, kMetrics)) {
          REQUIRE(launch.values.size() == std::size(kMetrics));
          for (const auto& value : launch.values) REQUIRE(value.value_or(0) >= 0);
        }
      });
}

namespace {

// Percent of the time that each unit is busy, with the data stage of L1 and shared memory as a
// whole.
std::string ncu_unit_csv(const std::string& values) {
  return ncu_output("units", {"\"" + std::string(kNcuName) + "\"," + values});
}

Comparison units_of(const std::string& csv, double of_ceiling) {
  lab::Run run = timed_run();
  run.rows = {run.rows[3]};
  const model::Ceiling ceiling = *lab::ceilings(run, run.rows[0]).compiled;
  run.rows[0].time->median_ms = ceiling.ms[ceiling.bound_by] / of_ceiling;
  return compared(csv, run);
}

}  // namespace

TEST_CASE("a stage's unit must be ncu's busiest, its speed near the ceiling: see the golden file") {
  const std::string smem = "\"38\",\"55\",\"77\",\"83\",\"5\",\"1.5\",\"0\",\"1000\",\"4\"";
  const auto fits = units_of(ncu_unit_csv(smem), 0.79);
  CHECK(fits.agrees);
  CHECK_FALSE(units_of(ncu_unit_csv(smem), 0.59).agrees);
  CHECK_FALSE(units_of(ncu_unit_csv(smem), 1.01).agrees);
  const auto issue = units_of(ncu_unit_csv(replaced_once(smem, "55", "78")), 0.79);
  CHECK_FALSE(issue.agrees);
  CHECK_FALSE(
      units_of(replaced_once(ncu_unit_csv(smem), "thread_tiling_2d", "other"), 0.79).agrees);
  // A launch in which the kernel stands in for another and returns at once.
  std::string idle = replaced_once(smem, "\"77\"", "\"1\"");
  idle = replaced_once(idle, "\"1000\"", "\"10\"");
  CHECK(units_of(ncu_unit_csv(smem) + row_of(ncu_unit_csv(idle)), 0.79).agrees);
  CHECK_FALSE(units_of(ncu_unit_csv(idle), 0.79).agrees);
  // The same kernel in a larger problem.
  const auto larger = units_of(ncu_unit_csv(replaced_once(smem, "\"4\"", "\"1,024\"")), 0.79);
  CHECK_FALSE(larger.agrees);
  testing::compare_with_golden(
      "units", {{"fits", fits.text}, {"another unit", issue.text}, {"larger", larger.text}});
}

namespace {

// A launch's values: blocks, bytes of shared memory, ns, L1 hits in percent, sectors and hits in
// L2, bytes from DRAM, warps that wait for a load and for the queue.
std::string caches_of(const std::vector<std::string>& launches) {
  return compared(ncu_output("caches", launches), {}).text;
}

const std::string kColdSwapped =
    "\"void swapped_untiled<(int)32, (int)32, (bool)0>(int, int)\",\"16,384\",\"0\","
    "\"24,000,000\",\"90.00\",\"2,000,000\",\"500,000\",\"1\",\"1\",\"1\"";
const std::string kSwapped =
    "\"void swapped_untiled<(int)32, (int)32, (bool)0>(int, int)\",\"16,384\",\"0\","
    "\"21,900,000\",\"95.35\",\"8,000,000\",\"6,000,000\",\"1,250,000,000\",\"16.66\",\"8.76\"";

}  // namespace

TEST_CASE(
    "each kernel, grid and size of shared memory has a line of caches, as in its golden file") {
  const auto with = [](const std::string& from, const std::string& to) {
    return replaced_once(kSwapped, from, to);
  };
  testing::compare_with_golden(
      "caches",
      {{"one kernel", caches_of({kColdSwapped, kSwapped})},
       {"three launches",
        caches_of({kSwapped, with("16,384", "128"), with("\"0\"", "\"1,024\""), kSwapped})},
       {"no requests to L2", caches_of({with("\"8,000,000\"", "\"0\"")})},
       {"a missing metric", caches_of({with("\"95.35\"", "\"n/a\"")})}});
  CHECK_THROWS_AS(caches_of({}), model::Refusal);
}

TEST_CASE("ncu's counts stand beside the traced ones, as in their golden file") {
  std::vector<testing::TitledText> outputs;
  const auto add = [&](const std::string& title, const std::string& csv, auto change) {
    lab::Run run = profiled_run();
    change(run, *run.rows[0].counts);
    const std::string text = compared(csv, run).text;
    // The first also has the names of the metrics.
    outputs.emplace_back(
        title, text.substr(outputs.empty() ? 0 : text.find("ncu          traced")));
  };
  const std::string csv = ncu_csv(kNcuName);
  const auto nothing = [](lab::Run&, model::Counts&) {};
  add("equal", csv, nothing);
  add("merged otherwise", replaced_once(csv, "81,920", "81,921"), nothing);
  add("not equal", ncu_csv(kNcuName, "8,193"), nothing);
  for (const auto& [copied, beyond_fills] :
       {std::pair("4,000", 0), {"3,600", 495}, {"3,600", 496}}) {
    add("cp.async", ncu_csv(kNcuName, "8,192", copied), [&](lab::Run&, model::Counts& counts) {
      counts.async_gmem.requests = 4096;
      counts.async_gmem.pieces = 16384;
      counts.async_smem.pieces = 4096;
      counts.wavefronts_beyond_fills = beyond_fills;
    });
  }
  add("boxes, ldmatrix and atomics", csv, [](lab::Run&, model::Counts& counts) {
    counts.async_gmem.requests = counts.box_requests = 40;
    counts.async_gmem.pieces = counts.box_sectors = 16000;
    counts.boxes_outside = 2;
    counts.box_sectors_delivered = 16384;
    counts.ldmatrix_requests = 100;
    counts.ldmatrix_wavefronts = 400;
    counts.mma_products = 7000;
    counts.atomic_requests = 2;
    counts.atomic_sectors = 3;
  });
  // As many launches as are traced; of a whole program the first.
  const std::string row = csv.substr(csv.find("\n\"0\",") + 1);
  const std::string line = row.substr(0, row.find('\n') + 1);
  for (const char* program : {"", "mine.cu"}) {
    add("a user's kernel", replaced_once(csv, line, line + line + line),
        [&](lab::Run& run, model::Counts& counts) {
          run.rows[0].stage = nullptr;
          run.rows[0].launch = lab::LaunchShape{};
          run.rows[0].launch->launches = 2;
          counts.gmem_loads.requests *= 2;
          run.program = program;
        });
  }
  testing::compare_with_golden("profile", outputs);
}

TEST_CASE("template arguments are compared whatever their types are") {
  CHECK(same_kernel("void f<(unsigned int)32>(float *)", "f<32u>"));
  CHECK(same_kernel("void f<(int)-1, (unsigned long)8>(float *)", "f<-1, 8ul>"));
  CHECK(same_kernel("void f<(bool)1>(float *)", "f<true>"));
  CHECK_FALSE(same_kernel("void f<(unsigned int)32>(float *)", "f<16u>"));
}

namespace {

// A program that runs these lines of a shell, in place of one for the GPU.
struct Program {
  explicit Program(const std::string& lines) {
    std::ofstream(path) << "#!/bin/sh\n" << lines;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  ~Program() { std::filesystem::remove(path); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  const std::string path = std::filesystem::absolute(testing::built() / "gpu_run_tests.sh");
};

}  // namespace

TEST_CASE("a program's launches on the GPU are timed by kernel, whatever it prints") {
  const Program program(
      "echo noise; echo noise >&2\n"
      "printf 'void tile<32, true>(float const*, int)\\t 0.5 0.25 1\\n' > $GEMM_STEPS_TIMES\n"
      "printf 'add(%s)\\t 2\\n' \"$1 in $PWD\" >> $GEMM_STEPS_TIMES\n"
      "exit 3\n");
  const GpuRun run = run_on_gpu({program.path, {"a word"}, "/"}, 3, 10);
  CHECK(run.note == "");
  REQUIRE(time_of(run, "tile<32, true>"));
  CHECK(time_of(run, "tile<32, true>")->median_ms == 0.5);
  CHECK(time_of(run, "tile<32, true>")->repetitions == 3);
  REQUIRE(time_of(run, "add"));
  CHECK(time_of(run, "add")->max_ms == 2);
  CHECK(run.times.count("add(a word in /)") == 1);
  CHECK_FALSE(time_of(run, "tile<16, true>"));
}

TEST_CASE("a program that ends differently on the GPU, or not at all, gets a note") {
  for (const auto& [lines, note] : std::vector<std::pair<std::string, std::string>>{
           {"exit 1", "on the GPU main ended with 1, and on the CPU with 0"},
           {"kill -SEGV $$", "on the GPU a signal ended the program (Segmentation fault)"},
           {"exec sleep 60",
            "on the GPU the program did not end within 0.05 s of processor time, or waited for ten "
            "times as long, so nothing is timed; --limit allows more"}}) {
    CHECK(run_on_gpu({Program(lines).path, {}, ""}, 0, 0.05).note == note);
  }
  CHECK(
      run_on_gpu({"/no/such/program", {}, ""}, 0, 10).note ==
      "the program for the GPU could not be started, so nothing is timed");
}

TEST_CASE("the counts of random shapes are compared, and those that are not equal are printed") {
  const testing::Folder folder;
  const std::string report =
      "ncu      Version 1\n\ncount    its metric\n\nstage 2 coalesced: coalesced<32>\n"
      "  LDG requests     8     8     0     =\n"
      "  LDS requests     4     8    -4   4 c\n\n"
      "=  equal\n≠  not equal, but should be\n";
  const auto compared = [&](const std::string& of_one_shape, int code, const std::string& count) {
    folder.write("report", of_one_shape);
    folder.write(
        "profile", "cat '" + (folder / "report") + "'\nexit " + std::to_string(code) + "\n");
    return testing::run(
        "chmod +x '" + (folder / "profile") + "'; PROFILE='" + (folder / "profile") +
        "' src/profile/profile.sh shapes program " + count + " 1");
  };
  const testing::Output equal = compared(report, 0, "2");
  CHECK(equal.exit_code == 0);
  CHECK(line_with(equal.out, "ncu ") == "ncu      Version 1");
  CHECK(line_with(equal.out, " kernels").ends_with(" 1 kernels,   2 counts"));
  CHECK(equal.out.ends_with("no count differs\n"));
  const testing::Output differs = compared(replaced_once(report, "0     =", "1     ≠"), 1, "1");
  CHECK(differs.exit_code == 1);
  CHECK(contains(differs.out, "\n  stage 2  LDG requests     8     8     1     ≠\n"));
  CHECK(compared(report, 2, "1").exit_code == 2);
  for (const char* count : {"0", "x", "''"}) CHECK(compared(report, 0, count).exit_code == 2);
}

}  // namespace profile
