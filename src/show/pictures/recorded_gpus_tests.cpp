// A run's JSON makes its GPU known without a change of code.
#include "show/pictures/recorded_gpus.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lab/example_run.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "show/report/facts.h"
#include "testing/program.h"

namespace pictures {

namespace {

RecordedRun run_on(const std::string& gpu, int size = 256) {
  return {gpu + ".json", 8.6, 68, 1.71, 760, 0, {size, {{1, 2, 3, 0}}, gpu}};
}

}  // namespace

TEST_CASE("a GPU that the table lacks is described by the run's JSON") {
  const RecordedRun run = run_on("RTX 3080");
  const auto known = recorded_gpus({{run}});
  REQUIRE(known.size() == 1);
  CHECK(known[0].gpu.name == "RTX 3080");
  CHECK(known[0].gpu.sms == 68);
  CHECK(known[0].gpu.dram_gb_per_s == 760);
  CHECK(known[0].gpu.compute_capability == 86);
  CHECK(known[0].gpu.threads_per_sm == 1536);
  CHECK(recorded_gpus({{run_on("RTX 4090")}}).front().gpu.sms == 128);
  RecordedRun unknown = run;
  unknown.dram_gb_per_s = 0;
  CHECK_THROWS_WITH_AS(
      recorded_gpus({{unknown}}),
      "RTX 3080.json: its GPU is not in src/model/gpus.cpp, and the run does not describe it; "
      "record it again, or remove it from results/ and run make",
      model::Refusal);
}

TEST_CASE("the H200 comes first, then the other GPUs by name, each with its sizes in order") {
  std::vector<RecordedRun> runs;
  for (const char* gpu : {"T4", "H200", "RTX 4090"}) {
    for (const int size : {512, 256}) runs.push_back(run_on(gpu, size));
  }
  const std::vector<RecordedGpu> gpus = recorded_gpus(runs);
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[0].gpu.name == "H200");
  CHECK(gpus[1].gpu.name == "RTX 4090");
  CHECK(gpus[2].gpu.name == "T4");
  for (const RecordedGpu& of : gpus) {
    REQUIRE(of.ladders.size() == 2);
    CHECK(of.ladders[0].size == 256);
    CHECK(of.ladders[1].size == 512);
  }
}

TEST_CASE(
    "make reads the ladders of square matrices from the runs' JSON, and refuses part of a file") {
  lab::Run run = lab::example::timed_run();
  run.M = run.N = run.K = 256;
  run.gpu.name = "RTX 4090";
  run.rows[2].number = 1;
  run.rows[3].number = 2;
  lab::Row lacking = run.rows[3];
  lacking.number = 13;
  lacking.time.reset();
  lacking.why_not_run = "needs sm_90a";
  run.rows.insert(run.rows.begin() + 4, lacking);
  lab::Run wide = run, stage = run;
  wide.N = 512;
  stage.rows.erase(stage.rows.begin() + 2);
  const testing::Folder folder;
  const std::string json = report::json_text(run), cut = json.substr(0, 900);
  for (const auto& [name, contents] : std::vector<std::pair<std::string, std::string>>{
           {"a", json},
           {"b", report::json_text(wide)},
           {"c", report::json_text(stage)},
           {"d", "{}\n"},
           {"e", cut}}) {
    folder.write(name + ".json", contents);
  }
  const std::string command = "cd '" + folder.path().string() + "' && awk -f '" +
                              std::filesystem::current_path().string() +
                              "/src/show/pictures/recorded_runs.awk' ";
  const testing::Output found = testing::run(command + "a.json b.json c.json d.json");
  CHECK(found.err.empty());
  CHECK(found.out.starts_with("{\"a.json\", "));
  CHECK(found.out.ends_with("}, \"RTX 4090\"}},\n"));
  CHECK(std::count(found.out.begin(), found.out.end(), '\n') == 1);
  CHECK(testing::contains(found.out, ", 0, {256, {{0, "));
  CHECK(testing::contains(found.out, "}, {kCublasFp32, "));
  CHECK_FALSE(testing::contains(found.out, "{13, "));
  const testing::Output damaged = testing::run(command + "a.json e.json");
  CHECK(damaged.exit_code == 1);
  CHECK(damaged.err == "e.json: is not complete; record it again, or remove it and run make\n");
}

}  // namespace pictures
