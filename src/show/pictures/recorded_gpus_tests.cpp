// A recorded run, as text or JSON, makes its GPU known without a change of code.
#include "show/pictures/recorded_gpus.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lab/example_run.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "show/report/facts.h"
#include "show/report/table.h"
#include "testing/program.h"

namespace pictures {

namespace {

// A ladder of two stages and a third that its GPU cannot run.
lab::Run run_on(const std::string& gpu, int size = 256) {
  lab::Run run = lab::example::timed_run();
  run.M = run.N = run.K = size;
  run.gpu.name = gpu;
  run.rows[2].number = 1;
  run.rows[3].number = 2;
  lab::Row lacking = run.rows[3];
  lacking.number = 13;
  lacking.name = "Hopper";
  lacking.time.reset();
  lacking.why_not_run = "needs sm_90a";
  run.rows.insert(run.rows.begin() + 4, lacking);
  return run;
}

std::string text_of(const lab::Run& run) {
  return testing::written([&](std::FILE* out) { report::print_table(out, run, {}); });
}

std::string file(const std::string& name, const std::string& contents) {
  return name + '\0' + contents + '\0';
}

std::string refusal_of(const std::string& files) {
  try {
    recorded_gpus(files);
  } catch (const model::Refusal& refusal) {
    return refusal.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a recorded run makes its GPU known, as text and as JSON") {
  const lab::Run run = run_on("RTX 4090");
  const auto from_text = recorded_gpus(file("results/rtx-4090-256.txt", text_of(run)));
  const auto from_json = recorded_gpus(file("results/rtx-4090-256.json", report::json_text(run)));
  REQUIRE(from_text.size() == 1);
  REQUIRE(from_json.size() == 1);
  CHECK(from_json[0].gpu.name == "RTX 4090");
  CHECK(from_json[0].gpu.sms == 128);
  CHECK(from_text[0].gpu.name == "RTX 4090");
  const RecordedLadder &text = from_text[0].ladders.at(0), &json = from_json[0].ladders.at(0);
  CHECK(json.size == 256);
  CHECK(text.size == 256);
  for (const int number : {-1, 0, 1, 2}) {
    CAPTURE(number);
    CHECK(json.of(number).tflops > 0);
    CHECK(text.of(number).tflops == doctest::Approx(json.of(number).tflops).epsilon(0.01));
    CHECK(
        text.of(number).cublas_percent ==
        doctest::Approx(json.of(number).cublas_percent).epsilon(0.1));
  }
  CHECK(json.of(2).tflops == *lab::tflops(run, run.rows[3]));
  CHECK(json.speeds.size() == 5);
  CHECK(text.speeds.size() == 5);
}

TEST_CASE("a GPU that the table lacks is described by the run's JSON") {
  lab::Run run = run_on("RTX 3080");
  run.gpu.sms = 68;
  run.gpu.dram_gb_per_s = 760;
  const auto known = recorded_gpus(file("results/rtx-3080-256.json", report::json_text(run)));
  REQUIRE(known.size() == 1);
  CHECK(known[0].gpu.name == "RTX 3080");
  CHECK(known[0].gpu.sms == 68);
  CHECK(known[0].gpu.dram_gb_per_s == 760);
  CHECK(known[0].gpu.compute_capability == 86);
  CHECK(known[0].gpu.threads_per_sm == 1536);
  CHECK(
      refusal_of(file("results/rtx-3080-256.txt", text_of(run))) ==
      "results/rtx-3080-256.txt: its GPU is not in src/model/gpus.cpp; add the run's JSON, which "
      "describes the GPU");
}

TEST_CASE("the H200 comes first, then the other GPUs by name, each with its sizes in order") {
  std::string files;
  for (const char* gpu : {"T4", "H200", "RTX 4090"}) {
    for (const int size : {512, 256}) {
      files += file("results/x.json", report::json_text(run_on(gpu, size)));
    }
  }
  const std::vector<RecordedGpu> gpus = recorded_gpus(files);
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

TEST_CASE("a run that is not a ladder of square matrices is left out") {
  lab::Run wide = run_on("T4");
  wide.N = 512;
  lab::Run stage = run_on("T4");
  stage.rows.erase(stage.rows.begin() + 2);
  CHECK(recorded_gpus(file("results/t4-256.json", report::json_text(wide))).empty());
  CHECK(recorded_gpus(file("results/t4-256.json", report::json_text(stage))).empty());
  const std::string contrast = testing::contents("results/h200-bf16-4096.txt");
  CHECK(recorded_gpus(file("results/h200-bf16-4096.txt", contrast)).empty());
}

TEST_CASE("a damaged recording is refused with its name") {
  const std::string json = report::json_text(run_on("T4"));
  CHECK(
      refusal_of(file("results/t4-256.json", json.substr(0, 900))) ==
      "results/t4-256.json: is not JSON; record it again, or remove it from results/ and run make");
  CHECK(refusal_of(file("results/t4-256.json", "{}"))
            .starts_with("results/t4-256.json: is not a run that --json wrote"));
  CHECK(refusal_of(file("results/t4-256.txt", "problem  C (256 x 256)\n"))
            .starts_with("results/t4-256.txt: no table"));
}

TEST_CASE("make finds the recorded runs in a folder: JSON before text, and no other files") {
  const testing::Folder folder;
  const std::string json = "{\n  \"program\": \"gemm_steps\",\n", text = "problem  C (64 x 64)\n";
  folder.write("rtx-4090-64.json", json);
  folder.write("rtx-4090-64.txt", text);
  folder.write("t4-128.txt", text);
  folder.write("t4-ncu-256.txt", "ncu      Version\n");
  folder.write("t4-accuracy.txt", text);
  folder.write("t4-8x4x2.txt", text);
  folder.write("t4-512.json", "{}");
  const testing::Output found =
      testing::run("src/show/pictures/recorded_files.sh '" + folder.path().string() + "'");
  CHECK(found.exit_code == 0);
  const auto entry = [&](const std::string& name) {
    const std::string path = folder / name;
    return "\".asciz \\\"" + path + "\\\"\\n.incbin \\\"" + path + "\\\"\\n.byte 0\\n\"\n";
  };
  CHECK(found.out == entry("rtx-4090-64.json") + entry("t4-128.txt"));
}

}  // namespace pictures
