#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "lab/example_run.h"
#include "lab/profile/profile.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "testing/fuzz.h"
#include "testing/program.h"

namespace profile {

namespace {

using lab::example::timed_run;
using lab::example::traced_run;
using testing::contains;
using testing::line_with;
using testing::widest;
using testing::written;

// Sample output of ncu for the tiling above: its messages, the program's output, a header, units,
// rows. What is not listed is 0.
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
  std::string header = "\"ID\",\"Kernel Name\",\"Grid Size\"", units = "\"\",\"\",\"\"";
  std::string row = "\"0\",\"" + kernel + "\",\"(2, 2, 1)\"";
  std::istringstream metrics(ncu_metrics());
  for (std::string name; std::getline(metrics, name, ',');) {
    header += ",\"" + name + "\"";
    units += ",\"sector\"";
    const auto value = values.find(name);
    row += ",\"" + (value != values.end() ? value->second : "0") + "\"";
  }
  return "==PROF== Connected to process 12\nloads, as \"written\"\n" + header + "\n" + units +
         "\n" + row + "\n==PROF== Disconnected\n";
}

std::string replaced_once(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
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
  comparison.text = written([&](std::FILE* out) {
    std::istringstream in(csv);
    comparison.agrees = print_profile(out, in, run);
  });
  return comparison;
}

}  // namespace

TEST_CASE("ncu's counts, with thousands separators, are printed beside the traced ones") {
  const auto [agrees, text] = compared(ncu_csv(kNcuName), profiled_run());
  CHECK(agrees);
  CHECK(widest(text) <= 100);
  // Above, every count has its metric's name.
  CHECK(contains(
      text, "  LDG sectors         smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld\n"));
  CHECK(contains(text, "  LDG sectors                   40,960          40,960               0"));
  CHECK(contains(text, "  STS wavefronts                 8,192           8,192               0"));
  CHECK_FALSE(contains(text, "  LDGSTS requests                    0"));
}

TEST_CASE("loads that the compiler merged are compared with the recorded instructions") {
  const std::string csv = ncu_csv(kNcuName);
  CHECK(contains(
      compared(csv, profiled_run()).text,
      "81,920         131,072         -49,152          81,920 c"));
  const std::string others = replaced_once(csv, "81,920", "81,921");
  const auto [agrees, text] = compared(others, profiled_run());
  CHECK(agrees);
  CHECK(contains(text, "81,921         131,072         -49,151          81,920 ?"));
  // If the source has wide loads, the compiler has no choice.
  lab::Run wide = profiled_run();
  wide.rows[0].counts->smem_loads.floats.sum *= 4;
  CHECK_FALSE(compared(csv, wide).agrees);
}

TEST_CASE("a global count that differs from ncu's is marked and fails") {
  const auto [agrees, text] = compared(ncu_csv(kNcuName, "8,193"), profiled_run());
  CHECK_FALSE(agrees);
  CHECK(contains(text, "8,193           8,192               1                 ≠"));
}

TEST_CASE("a count or a kernel that ncu's output lacks fails") {
  CHECK_FALSE(compared(ncu_csv(kNcuName, "n/a"), profiled_run()).agrees);
  CHECK_FALSE(compared(ncu_csv("other(int)"), profiled_run()).agrees);
  CHECK_FALSE(compared(ncu_csv("void thread_tiling_2d<(int)64>(int)"), profiled_run()).agrees);
  CHECK(compared(ncu_csv("thread_tiling_2d"), profiled_run()).agrees);
}

TEST_CASE("ncu counts cp.async as LDGSTS, and neither as LDG nor as STS") {
  lab::Run run = profiled_run();
  model::Counts& counts = *run.rows[0].counts;
  counts.async_gmem.requests = 4096;
  counts.async_gmem.pieces = 16384;
  counts.async_smem.pieces = 4096;
  const std::string text = compared(ncu_csv(kNcuName, "8,192", "4,000"), run).text;
  CHECK(contains(text, "  LDG requests                   8,192           4,096           4,096"));
  CHECK(contains(text, "  LDGSTS requests                    0           4,096          -4,096"));
  CHECK(contains(text, "≈ -2.3 %"));
  CHECK(
      contains(compared(ncu_csv(kNcuName, "8,192", "3,600"), run).text, "-496                 ≠"));
}

TEST_CASE("ncu counts boxes as TMA loads, and ldmatrix as LDSM") {
  lab::Run run = profiled_run();
  model::Counts& counts = *run.rows[0].counts;
  counts.async_gmem.requests = counts.box_requests = 40;
  counts.async_gmem.pieces = counts.box_sectors = 16000;
  counts.boxes_outside = 2;
  counts.box_sectors_delivered = 16384;
  counts.ldmatrix_requests = 100;
  counts.ldmatrix_wavefronts = 400;
  counts.mma_products = 7000;
  const std::string text = compared(ncu_csv(kNcuName), run).text;
  CHECK_FALSE(contains(text, "  LDGSTS requests       "));
  CHECK(contains(text, "  TMA loads                          0              42             -42"));
  CHECK(contains(text, "  TMA load sectors                   0          16,384         -16,384"));
  CHECK(contains(text, "  LDS requests                  81,920         130,972         -49,052"));
  CHECK(contains(text, "  LDSM requests                      0             100            -100"));
  CHECK(contains(text, "  LDSM wavefronts                    0             400            -400"));
  CHECK(contains(text, "  tensor operations                  0          14,000         -14,000"));
}

TEST_CASE("ncu counts atomics neither as LDG nor as STG") {
  lab::Run run = profiled_run();
  model::Counts& counts = *run.rows[0].counts;
  counts.atomic_requests = 2;
  counts.atomic_sectors = 3;
  const std::string text = compared(ncu_csv(kNcuName), run).text;
  CHECK(contains(text, "  LDG requests                   8,192           8,190               2"));
  CHECK(contains(text, "  LDG sectors                   40,960          40,957               3"));
  CHECK(contains(text, "  STG requests                   2,048           2,046               2"));
  CHECK(contains(text, "  STG sectors                   65,536          65,533               3"));
}

TEST_CASE("text that is not ncu's output is refused in one sentence") {
  const lab::Run run = profiled_run();
  CHECK_THROWS_AS(compared("", run), model::Refusal);
  CHECK_THROWS_AS(compared("==ERROR== no permission\n", run), model::Refusal);
  CHECK_THROWS_AS(compared("\"a\",\"b\"\n\"1\",\"2\"\n", run), model::Refusal);
  CHECK_THROWS_AS(compared(std::string(1000, '\0'), run), model::Refusal);
  const std::string csv = ncu_csv(kNcuName);
  CHECK_THROWS_AS(compared(csv.substr(0, csv.find("\"40,960") + 3), run), model::Refusal);
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
        std::istringstream csv(text);
        for (const NcuLaunch& launch : read_ncu(csv, kMetrics)) {
          REQUIRE(launch.values.size() == std::size(kMetrics));
          for (const auto& value : launch.values) REQUIRE(value.value_or(0) >= 0);
        }
      });
}

TEST_CASE("a sample cannot be compared with ncu's totals") {
  CHECK_THROWS_AS(compared(ncu_csv(kNcuName), traced_run()), model::Refusal);
}

namespace {

// Percent of the time that each unit is busy, with the data stage of L1 and shared memory as a
// whole.
std::string ncu_unit_csv(const std::string& values) {
  std::string header = "\"ID\",\"Kernel Name\"", units = "\"\",\"\"";
  std::istringstream metrics(ncu_unit_metrics());
  for (std::string name; std::getline(metrics, name, ',');) {
    header += ",\"" + name + "\"";
    units += ",\"%\"";
  }
  return header + "\n" + units + "\n\"0\",\"" + kNcuName + "\"," + values + "\n";
}

Comparison units_of(const std::string& csv, double of_ceiling) {
  lab::Run run = timed_run();
  run.rows = {run.rows[3]};
  const model::Ceiling ceiling = *lab::compiled_ceiling(run, run.rows[0]);
  run.rows[0].time->median_ms = ceiling.ms[ceiling.bound_by] / of_ceiling;
  Comparison comparison{};
  comparison.text = written([&](std::FILE* out) {
    std::istringstream in(csv);
    comparison.agrees = print_units(out, in, run);
  });
  return comparison;
}

}  // namespace

TEST_CASE("the unit that bounds a stage must be ncu's busiest, and the speed near the ceiling") {
  const std::string smem = "\"38\",\"55\",\"77\",\"83\",\"5\",\"1.5\",\"0\",\"1000\",\"4\"";
  const auto [agrees, text] = units_of(ncu_unit_csv(smem), 0.79);
  CHECK(agrees);
  CHECK(widest(text) <= 100);
  const std::string row = line_with(text, "5 2D thread tiling");
  CHECK(contains(row, "  79  77 "));  // SMEM: the model, ncu
  CHECK(contains(row, "   6 "));      // L1: the rest of the data stage
  CHECK(contains(row, " SMEM ="));
  CHECK_FALSE(units_of(ncu_unit_csv(smem), 0.59).agrees);
  CHECK_FALSE(units_of(ncu_unit_csv(smem), 1.01).agrees);
  const auto issue = units_of(ncu_unit_csv(replaced_once(smem, "55", "78")), 0.79);
  CHECK_FALSE(issue.agrees);
  CHECK(contains(line_with(issue.text, "5 2D thread tiling"), "SMEM ≠ issue"));
  CHECK(widest(issue.text) <= 100);
  CHECK_FALSE(
      units_of(replaced_once(ncu_unit_csv(smem), "thread_tiling_2d", "other"), 0.79).agrees);
  // The same kernel in a larger problem.
  const auto larger = units_of(ncu_unit_csv(replaced_once(smem, "\"4\"", "\"1,024\"")), 0.79);
  CHECK_FALSE(larger.agrees);
  CHECK(contains(larger.text, "SMEM, and ncu did not see this launch  ≠"));
}

namespace {

// A launch's values: blocks, bytes of shared memory, ns, L1 hits in percent, sectors and hits in
// L2, bytes from DRAM, warps that wait for a load and for the queue.
std::string ncu_cache_csv(const std::vector<std::string>& launches) {
  std::string text = "==PROF== Connected\n\"ID\",\"Kernel Name\"", units = "\"\",\"\"";
  std::istringstream metrics(ncu_cache_metrics());
  for (std::string name; std::getline(metrics, name, ',');) {
    text += ",\"" + name + "\"";
    units += ",\"sector\"";
  }
  text += "\n" + units + "\n";
  for (const std::string& launch : launches) text += "\"0\"," + launch + "\n";
  return text + "==PROF== Disconnected\n";
}

std::string caches_of(const std::vector<std::string>& launches) {
  return written([&](std::FILE* out) {
    std::istringstream in(ncu_cache_csv(launches));
    print_caches(out, in);
  });
}

const std::string kColdSwapped =
    "\"void swapped_untiled<(int)32, (int)32, (bool)0>(int, int)\",\"16,384\",\"0\","
    "\"24,000,000\",\"90.00\",\"2,000,000\",\"500,000\",\"1\",\"1\",\"1\"";
const std::string kSwapped =
    "\"void swapped_untiled<(int)32, (int)32, (bool)0>(int, int)\",\"16,384\",\"0\","
    "\"21,900,000\",\"95.35\",\"8,000,000\",\"6,000,000\",\"1,250,000,000\",\"16.66\",\"8.76\"";

}  // namespace

TEST_CASE("the counts of the caches are one line per kernel, from its last launch") {
  const std::string text = caches_of({kColdSwapped, kSwapped});
  CHECK(widest(text) <= 100);
  CHECK(
      line_with(text, "swapped_untiled") ==
      "swapped_untiled<32, 32, 0>             16,384    21.9  95.3     8.00  75.0    1,250    16.7 "
      "  8.8");
  CHECK_FALSE(contains(text, "90.0"));
}

TEST_CASE("launches with another grid or more shared memory have lines of their own") {
  const std::string other_grid = replaced_once(kSwapped, "16,384", "128");
  const std::string more_shared = replaced_once(kSwapped, "\"0\"", "\"1,024\"");
  const std::string text = caches_of({kSwapped, other_grid, more_shared, kSwapped});
  std::size_t lines = 0;
  for (const std::string& line : testing::lines_of(text)) {
    lines += contains(line, "swapped_untiled");
  }
  CHECK(lines == 3);
}

TEST_CASE("a kernel without requests to L2, or with a missing metric, has a dash there") {
  const std::string none = replaced_once(kSwapped, "\"8,000,000\"", "\"0\"");
  CHECK(contains(line_with(caches_of({none}), "swapped"), " 95.3        0     –    1,250 "));
  const std::string missing = replaced_once(kSwapped, "\"95.35\"", "\"n/a\"");
  CHECK(contains(line_with(caches_of({missing}), "swapped"), " 21.9     –     8.00 "));
  CHECK_THROWS_AS(caches_of({}), model::Refusal);
}

TEST_CASE("the shares that the model of waiting predicts stand beside ncu's") {
  const lab::Run run = timed_run();
  const auto busy = model::busy_on_average(
      lab::with_waiting(run, run.rows[3]).value(), lab::compiled_ceiling(run, run.rows[3]).value());
  const auto csv = [&](double more_smem) {
    constexpr double kCycles = 1000, kSectorBytes = 32;
    const double smem = busy[model::kSmem] + more_smem / 100;
    std::string values;
    for (const double percent :
         {busy[model::kFma], busy[model::kIssue], smem, smem + busy[model::kL1]}) {
      values += "\"" + std::to_string(100 * percent) + "\",";
    }
    const double l2_bytes = busy[model::kL2] * kCycles * model::l2_bytes_per_clock(run.gpu);
    return ncu_unit_csv(
        values + "\"" + std::to_string(l2_bytes / kSectorBytes) + "\",\"" +
        std::to_string(100 * busy[model::kDram]) + "\",\"0\",\"" + std::to_string(kCycles) +
        "\",\"4\"");
  };
  const std::string as_predicted = units_of(csv(0), 0.79).text;
  CHECK(contains(as_predicted, "For 1 of 1 stages every unit is predicted within 10 points"));
  CHECK(widest(as_predicted) <= 100);
  CHECK(contains(units_of(csv(9), 0.79).text, "For 1 of 1 stages"));
  const std::string missed = units_of(csv(11), 0.79).text;
  CHECK(contains(missed, "For 0 of 1 stages"));
  CHECK(contains(missed, "  11\n"));
}

TEST_CASE("of a user's kernel, as many of ncu's launches are added up as are traced") {
  lab::Run run = profiled_run();
  run.rows[0].stage = nullptr;
  run.rows[0].launch = lab::LaunchShape{};
  run.rows[0].launch->launches = 2;
  model::Counts& counts = *run.rows[0].counts;
  counts.gmem_loads.requests *= 2;
  const std::string once = ncu_csv(kNcuName);
  const std::string row = once.substr(once.find("\n\"0\",") + 1);
  const std::string line = row.substr(0, row.find('\n') + 1);
  const std::string thrice = replaced_once(once, line, line + line + line);
  CHECK(contains(
      compared(thrice, run).text,
      "  LDG requests                  16,384          16,384               0                 "
      "=\n"));
  // Of a whole program, it is the first launch.
  run.program = "mine.cu";
  CHECK(contains(
      compared(thrice, run).text,
      "  LDG requests                   8,192          16,384          -8,192                 "
      "≠\n"));
}

TEST_CASE("a user's loads from shared memory may stay in registers") {
  lab::Run run = profiled_run();
  run.rows[0].launch = lab::LaunchShape{};
  const model::Stage* const stage = run.rows[0].stage;
  for (const bool users : {false, true}) {
    run.rows[0].stage = users ? nullptr : stage;
    run.rows[0].counts->smem_loads.floats.sum += 1;  // wide
    run.rows[0].counts->smem_loads.requests += 7;
    const Comparison comparison = compared(ncu_csv(kNcuName), run);
    CHECK(comparison.agrees == users);
  }
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
  CHECK(
      run_on_gpu({Program("exit 1").path, {}, ""}, 0, 10).note ==
      "on the GPU main ended with 1, and on the CPU with 0");
  CHECK(
      run_on_gpu({Program("kill -SEGV $$").path, {}, ""}, 0, 10).note ==
      "on the GPU a signal ended the program (Segmentation fault)");
  CHECK(
      run_on_gpu({Program("exec sleep 60").path, {}, ""}, 0, 0.05).note ==
      "on the GPU the program did not end within 0.05 s of processor time, or waited for ten times "
      "as long, so nothing is timed; --limit allows more");
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
        "' src/lab/profile/shapes.sh program " + count + " 1");
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
