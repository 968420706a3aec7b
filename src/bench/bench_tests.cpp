// make bench, make plot, and their output for made-up times.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bench/speeds.h"
#include "lab/example_run.h"
#include "show/report/facts.h"
#include "testing/program.h"

namespace bench {

namespace {

using testing::contains;

Speed speed(
    int size, std::optional<int> stage, const std::string& name, double q1, double median,
    double q3) {
  lab::Timing time{};
  time.median_ms = median;
  time.quartile1_ms = q1;
  time.quartile3_ms = q3;
  time.repetitions = 20;
  return {size, stage, name, "a GPU", time, ""};
}

const std::vector<Speed> kBase = {
    speed(64, 1, "naive", 9.9, 10, 10.1), speed(64, 2, "coalesced", 4.9, 5, 5.1),
    speed(64, {}, "cuBLAS fp32", 0.99, 1, 1.01), speed(128, 1, "naive", 80, 81, 83)};

testing::Output bench(
    const std::string& settings, const std::string& program = testing::program()) {
  const testing::Folder folder;
  return testing::run(
      settings + " " + (testing::built() / "bench_speeds").string() + " '" + program + "' '" +
      folder / "bench.csv" + "'");
}

}  // namespace

TEST_CASE("a run's stages on the GPU and cuBLAS are used") {
  lab::Run run = lab::example::timed_run();
  run.rows[2].time.reset();
  run.rows[2].why_not_run = "needs sm_90a";
  const std::vector<Speed> speeds = speeds_of_run(report::json_text(run));
  REQUIRE(speeds.size() == run.rows.size() - 2);
  CHECK(speeds[0].stage == 4);
  CHECK(speeds[0].note == "needs sm_90a");
  CHECK(!speeds[0].time);
  CHECK(speeds[1].stage == 5);
  CHECK(speeds[1].size == 256);
  CHECK(speeds[1].device == "RTX 3090");
  CHECK(speeds[1].time->quartile1_ms == 0.01315);
  CHECK(tflops(speeds[1]) == doctest::Approx(2.0 * 256 * 256 * 256 / 0.0132e9));
  CHECK(!speeds[2].stage);
  CHECK_THROWS(speeds_of_run(""));
}

TEST_CASE("without OpenBLAS, its row says what is missing") {
  CHECK(
      OpenBlas("libnowhere.so.0").why_not() ==
      "not installed (libnowhere.so.0); on Debian: apt install libopenblas0");
  const Speed missing{64, {}, "OpenBLAS", "a CPU", {}, "not installed"};
  CHECK(contains(table_of({kBase[0], missing}), "OpenBLAS                  not installed\n"));
  CHECK(
      OpenBlas("libm.so.6").why_not() == "libm.so.6 has no cblas_sgemm or cannot set its threads");
}

TEST_CASE("OpenBLAS multiplies the matrices as they lie in memory") {
  const OpenBlas openblas;
  if (!openblas.why_not().empty()) {
    MESSAGE("skipped: OpenBLAS is " << openblas.why_not());
    return;
  }
  const float A[] = {1, 2, 3, 4}, B[] = {5, 6, 7, 8};
  float C[4] = {};
  openblas.multiply(1, 2, A, B, C);
  CHECK(C[0] == 19);
  CHECK(C[1] == 22);
  CHECK(C[2] == 43);
  CHECK(C[3] == 50);
}

TEST_CASE("make bench times the CPU's rows, and prints them as a table or CSV") {
  const testing::Output csv = bench("SIZES='16 24' FORMAT=csv");
  CHECK(csv.exit_code == 0);
  const std::vector<std::string> lines = testing::lines_of(csv.out);
  REQUIRE(lines.size() == 1 + 2 * 3);
  CHECK(lines[0].starts_with("size,stage,name,device,runs,median_ms,"));
  CHECK(lines[1].starts_with("16,0,serial,"));
  CHECK(lines[2].starts_with("16,,OpenMP CPU,"));
  CHECK(lines[6].starts_with("24,,OpenBLAS,"));
  const testing::Output table = bench("SIZES=16");
  CHECK(contains(table.out, "M = N = K = 16 "));
  CHECK(contains(table.out, "\n   OpenMP CPU "));
}

TEST_CASE("where the program has a GPU, make bench also has the ladder and cuBLAS") {
  lab::Run run = lab::example::timed_run();
  run.M = run.N = run.K = 16;
  const testing::Folder folder;
  folder.write("run.json", report::json_text(run));
  // A program that ran on one.
  folder.write(
      "program",
      "#!/bin/sh\n[ \"$*\" = '--device gpu --list' ] && exit\n"
      "[ \"$*\" = '--device gpu --trace none --stage 1- --size 16 --format json' ] &&"
      " cat '" +
          folder / "run.json" + "'\n");
  const testing::Output table = testing::run("chmod +x '" + folder / "program'").exit_code == 0
                                    ? bench("SIZES=16", folder / "program")
                                    : testing::Output{};
  CHECK(table.exit_code == 0);
  CHECK(contains(table.out, "\nGPU      RTX 3090\n"));
  for (const char* row :
       {" 0 serial ", "   OpenMP CPU ", "   OpenBLAS ", " 4 naive ", " 5 2D thread tiling ",
        "   cuBLAS fp32 "}) {
    CAPTURE(row);
    CHECK(contains(table.out, std::string("\n") + row));
  }
  CHECK(contains(table.out, " to 0.0135 "));
}

TEST_CASE("make bench refuses in one sentence what it cannot do") {
  for (const auto& [settings, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"SIZES='16 12x'", "bench: SIZES: 12x is not a size; give whole numbers from 1 to"},
           {"SIZES='16 16'", "bench: SIZES: 16 is there twice"},
           {"FORMAT=xml", "bench: FORMAT=xml: give FORMAT=csv"}}) {
    CAPTURE(settings);
    const testing::Output refused = bench(settings);
    CHECK(refused.exit_code == 2);
    CHECK(refused.out.empty());
    CHECK(contains(refused.err, sentence));
    CHECK(refused.err.find('\n') == refused.err.size() - 1);
  }
}

TEST_CASE("make plot draws every kernel's speeds, and says what is missing") {
  const testing::Folder folder;
  folder.write("bench.csv", csv_of(kBase));
  folder.write("empty.csv", csv_of({}));
  const auto plot = [&](const std::string& csv) {
    return testing::run("src/bench/plot.sh '" + folder / csv + "' '" + folder / "plot.svg'");
  };
  const testing::Output without =
      testing::run("PATH=/nowhere /bin/bash src/bench/plot.sh bench.csv plot.svg");
  CHECK(without.exit_code == 2);
  CHECK(
      without.err ==
      "plot: gnuplot, which draws, is missing; install it, for example by: apt install "
      "gnuplot-nox\n");
  if (testing::run("command -v gnuplot").exit_code != 0) {
    MESSAGE("skipped: gnuplot is missing");
    return;
  }
  CHECK(contains(plot("no.csv").err, "no.csv: no such file; make bench writes it"));
  CHECK(plot("no.csv").exit_code == 2);
  CHECK(contains(plot("empty.csv").err, "empty.csv: has no times"));
  CHECK(!std::filesystem::exists(folder / "plot.svg"));
  const testing::Output drawn = plot("bench.csv");
  CHECK(drawn.exit_code == 0);
  const std::string svg = testing::contents(folder / "plot.svg");
  for (const char* part :
       {">1 naive<", ">2 coalesced<", ">cuBLAS fp32<", ">64<", ">128<", "prefers-color-scheme"}) {
    CAPTURE(part);
    CHECK(contains(svg, part));
  }
}

}  // namespace bench
