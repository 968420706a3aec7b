// make bench and make plot, where they have a GPU and where they have none.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lab/example_run.h"
#include "show/report/facts.h"
#include "testing/program.h"

namespace bench {

namespace {

using testing::contains;

testing::Output bench(
    const std::string& settings, const std::string& program = testing::program()) {
  const testing::Folder folder;
  return testing::run(
      settings + " " + (testing::built() / "bench_speeds").string() + " '" + program + "' '" +
      folder / "bench.csv" + "'");
}

// What make bench does with a program that ran on a GPU.
testing::Output bench_of_gpu(const std::string& settings) {
  lab::Run run = lab::example::timed_run();
  run.M = run.N = run.K = 16;
  run.rows[2].time.reset();
  run.rows[2].why_not_run = "needs sm_90a";
  const testing::Folder folder;
  folder.write("run.json", report::json_text(run));
  folder.write(
      "program",
      "#!/bin/sh\n[ \"$*\" = '--device gpu --list' ] && exit\n"
      "[ \"$*\" = '--device gpu --trace none --stage 1- --size 16 --format json' ] &&"
      " cat '" +
          folder / "run.json" + "'\n");
  testing::run("chmod +x '" + folder / "program'");
  return bench(settings, folder / "program");
}

}  // namespace

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
  CHECK(contains(table.out, "\nGPU      none: "));
}

TEST_CASE("where the program has a GPU, make bench also has the ladder and cuBLAS") {
  const testing::Output table = bench_of_gpu("SIZES=16");
  CHECK(table.exit_code == 0);
  CHECK(contains(table.out, "\nGPU      RTX 3090\n"));
  for (const char* row :
       {" 0 serial ", "   OpenMP CPU ", "   OpenBLAS ",
        " 4 naive                     needs sm_90a\n", " 5 2D thread tiling ", "   cuBLAS fp32 "}) {
    CAPTURE(row);
    CHECK(contains(table.out, std::string("\n") + row));
  }
  // 2 * 16^3 operations in 0.0132 ms.
  CHECK(contains(
      bench_of_gpu("SIZES=16 FORMAT=csv").out,
      "\n16,5,2D thread tiling,RTX 3090,20,0.0132,0.01315,0.0135,false,0.00062"));
}

TEST_CASE("make bench refuses in one sentence what it cannot do") {
  for (const auto& [settings, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"SIZES='16 12x'", "bench: SIZES: 12x is not a size; give whole numbers from 1 to"},
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
  const std::string csv = bench_of_gpu("SIZES=16 FORMAT=csv").out;
  folder.write("bench.csv", csv);
  folder.write("empty.csv", csv.substr(0, csv.find('\n') + 1));
  const auto plot = [&](const std::string& of, const std::string& path) {
    return testing::run(
        path + "/bin/bash src/bench/plot.sh '" + folder / of + "' '" + folder / "plot.svg'");
  };
  CHECK(
      contains(plot("bench.csv", "PATH=/nowhere ").err, "plot: gnuplot, which draws, is missing"));
  if (testing::run("command -v gnuplot").exit_code != 0) {
    MESSAGE("skipped: gnuplot is missing");
    return;
  }
  CHECK(contains(plot("no.csv", "").err, "no.csv: no such file; make bench writes it"));
  CHECK(contains(plot("empty.csv", "").err, "empty.csv: has no times"));
  CHECK(!std::filesystem::exists(folder / "plot.svg"));
  CHECK(plot("bench.csv", "").exit_code == 0);
  const std::string svg = testing::contents(folder / "plot.svg");
  for (const char* part :
       {">0 serial<", ">5 2D thread tiling<", ">cuBLAS fp32<", ">16<", "prefers-color-scheme"}) {
    CAPTURE(part);
    CHECK(contains(svg, part));
  }
}

}  // namespace bench
