// What the figures show. Whether their words can be read is tested in a browser
// (show/page/page_tests.cpp).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/report.h"
#include "lab/example_run.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "model/gpus.h"
#include "model/recording.h"
#include "model/refusal.h"
#include "show/pictures/block_times.h"
#include "show/pictures/pictures.h"
#include "show/pictures/recorded_gpus.h"
#include "show/pictures/svg.h"
#include "show/report/facts.h"
#include "testing/golden.h"
#include "testing/pattern.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace pictures {

namespace {

using testing::contents;

// The drawn figures, by name. The first test checks that this program draws the same.
std::map<std::string, std::string> figures() {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator("figures")) {
    all[entry.path().stem().string()] = contents(entry.path());
  }
  return all;
}

}  // namespace

TEST_CASE("the figures in figures/ are what the program draws, byte for byte") {
  std::set<std::string> drawn;
  std::vector<Picture> all = draw_pictures(stage_table_traced);
  all.push_back(cluster::draw_ownership());
  for (const Picture& p : all) {
    CAPTURE(p.name);
    drawn.insert(p.name);
    const bool is_drawn = contents("figures/" + p.name + ".svg") == svg_file(p);
    CHECK_MESSAGE(is_drawn, "make figures draws them again");
  }
  for (const auto& [name, svg] : figures()) {
    CAPTURE(name);
    CHECK_MESSAGE(drawn.contains(name), "no picture has this name any more: remove the file");
  }
}

TEST_CASE("every figure is 800 px wide, under 100 KB, and says what it shows") {
  std::set<std::string> drawings;
  for (const auto& [name, svg] : figures()) {
    CAPTURE(name);
    CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\""));
    CHECK(svg.size() < 100'000);
    const std::size_t finding = svg.find("<desc>"), end = svg.find("</desc>");
    CHECK(end - finding > 40);
    CHECK(svg.find("nan") == svg.npos);
    CHECK(svg.find("inf") == svg.npos);
    for (std::size_t at = svg.find("font-size:"); at != svg.npos;
         at = svg.find("font-size:", at + 1)) {
      CHECK(std::atoi(svg.c_str() + at + 10) >= 12);
    }
    // No two differ only in their titles.
    CHECK(drawings.insert(svg.substr(svg.find("</text>"))).second);
  }
}

TEST_CASE(
    "the pipeline's picture has the ceilings that were recorded beside the hardware's counts") {
  const std::string table = contents("results/h200-ceilings-4096.txt");
  const testing::Match drawn =
      testing::first_match(figures().at("stage9-pipeline"), "ceilings are ([\\d.]+) and ([\\d.]+)");
  REQUIRE(drawn);
  const char* const stages[] = {"8 +warp tiling", "9 +async pipeline"};
  for (int i = 0; i < 2; ++i) {
    CAPTURE(std::string(stages[i]));
    const testing::Match row =
        testing::first_match(table, "\\n *" + std::string(stages[i]) + " +[\\d.]+ +([\\d.]+) ");
    REQUIRE(row);
    // Drawn for the data sheet's clock; recorded for the one that was counted.
    CHECK(std::stod(drawn[1 + i]) == doctest::Approx(std::stod(row[1])).epsilon(0.005));
  }
}

TEST_CASE("pixels have at most one decimal, and halves go up on every machine") {
  CHECK(pixels(12) == "12");
  CHECK(pixels(12.34) == "12.3");
  CHECK(pixels(12.25) == "12.3");
  CHECK(pixels(12.25 - 1e-9) == "12.3");
  CHECK(pixels(-0.5) == "-0.5");
  CHECK(pixels(0.04) == "0");
  CHECK(pixels(1e6) == "1000000");
}

TEST_CASE("figures are written whole, into a directory that is made, or refused") {
  namespace fs = std::filesystem;
  const testing::Folder folder;
  const fs::path directory = folder.path() / "deep" / "er";
  const Picture a{"a", "title", {"finding", "<path/>", 10}};
  write_pictures(directory.string(), {a});
  CHECK(contents(directory / "a.svg") == svg_file(a));
  CHECK(std::distance(fs::directory_iterator(directory), {}) == 1);
  const std::string not_a_directory = (directory / "a.svg").string();
  CHECK_THROWS_AS(write_pictures(not_a_directory, {a}), model::Refusal);
  CHECK_THROWS_AS(write_pictures("/proc/figures", {a}), model::Refusal);
  fs::create_directory(directory / "b.svg");
  CHECK_THROWS_AS(write_pictures(directory.string(), {{"b", "", {}}}), model::Refusal);
  CHECK(!fs::exists(directory / "b.svg.partial"));
}

namespace {

std::string shown(const BlockRequests& block) {
  return testing::written([&](std::FILE* out) {
    print_show(out, Show{"title", {}, {}, {{"kernel", "grid 1", block, ""}}}, {});
  });
}

// Adds a request of a warp, whose lanes' words are this many bytes apart.
void add(
    BlockRequests& block, const char* array, bool shared, model::Direction direction, int apart,
    int warp = 0) {
  model::WarpAccess access{~0u, 4, {}};
  for (int lane = 0; lane < model::kWarpSize; ++lane)
    access.address[lane] = lane * apart + warp * 256;
  const int pieces =
      shared ? model::wavefronts_of_load(access).size() : model::sectors(access).size();
  const int number = static_cast<int>(block.events.size());
  block.arrays.push_back({array, 0, shared});
  block.sites.push_back({number, direction, false, 0, {}});
  block.events.push_back(
      {model::RecordedEvent::Kind::request, 0, warp, 0, number, access, pieces, 1});
}

}  // namespace

TEST_CASE("what a block did is drawn as in its golden file, with one and with many pieces") {
  using model::Direction;
  BlockRequests block{}, small{};
  block.M = block.N = block.K = small.M = small.N = small.K = 64;
  add(block, "A", false, Direction::load, 4096);
  add(block, "B", false, Direction::load, 0);
  add(block, "As", true, Direction::load, 128);
  add(block, "Bs", true, Direction::load, 0);
  for (int warp = 0; warp < 32; ++warp) add(block, "C", false, Direction::store, 4, warp);
  add(small, "As", true, Direction::load, 4);
  add(small, "C", false, Direction::store, 256);
  testing::compare_with_golden("show", {{"many", shown(block)}, {"few", shown(small)}});
}

namespace {

RecordedRun run_on(const std::string& gpu, int size = 256) {
  return {gpu + ".json", 8.6, 68, 1.71, 760, 0, {size, {{1, 2, 0}}, gpu}};
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

TEST_CASE("the blocks of a grid compute C row by row, and stage 11's order is band by band") {
  constexpr int kSide = 64, kTiles = 16;  // of a tile, and of tiles in a row of C
  const auto tiles_of = [](int number) {
    const model::Stage& stage = *model::find_stage(stage_table_traced.stages, number);
    const auto variant = std::ranges::find_if(
        stage.variants, [](const model::Variant& v) { return v.BM == kSide && v.BN == kSide; });
    const lab::Problem p =
        lab::random_problem({kTiles * kSide, kTiles * kSide, variant->BK}, 1, 0, 1);
    const std::vector<std::int64_t> blocks{7, 8, 15, 16};
    model::Recorder recorder{.blocks = blocks};
    machine::Machine machine{.gpu = model::find_gpu("H200"), .recorder = &recorder};
    machine.sample = [&](machine::Extent) { return blocks; };
    lab::traced(p, stage_table_traced, *variant, machine);
    std::vector<std::pair<int, int>> tiles;  // row and column
    for (const std::int64_t block : blocks) {
      const Written written =
          written_by(requests_of_block(recorder.launches.at(0), block, p.M, p.N, p.K));
      tiles.push_back({written.row / kSide, written.col / kSide});
    }
    return tiles;
  };
  using Tiles = std::vector<std::pair<int, int>>;
  CHECK(tiles_of(10) == Tiles{{0, 7}, {0, 8}, {0, 15}, {1, 0}});
  CHECK(tiles_of(11) == Tiles{{7, 0}, {0, 1}, {7, 1}, {0, 2}});
}

namespace {

// One tile of C and `tiles` tiles along K.
TracedStage traced(int number, int tiles) {
  const model::Stage& stage = *model::find_stage(stage_table_traced.stages, number);
  const model::Variant& v = stage.variants[0];
  return traced_stage(stage_table_traced, stage, {v.BM, v.BN, tiles * v.BK});
}

}  // namespace

TEST_CASE("blocks copy and multiply in the order of their golden file") {
  std::vector<testing::TitledText> outputs;
  const auto add = [&](const char* title, int stage, int tiles, const Pace& pace, int blocks) {
    const std::vector<TileWork> work = schedule(plan_of(traced(stage, tiles)), pace, blocks);
    std::string text = text::printed("multiplying %g\n", multiplying(work));
    for (const TileWork& w : work) {
      text += text::printed(
          "block %d, tile %d: copy %g to %g, multiply %g to %g\n", w.block, w.tile, w.copy_begin,
          w.copy_end, w.multiply_begin, w.multiply_end);
    }
    outputs.emplace_back(title, text);
  };
  const Pace even{10, 30, 2, 0}, slow{60, 30, 1, 0};
  add("in turn", 8, 3, even, 1);
  add("two blocks in turn", 8, 8, even, 2);
  add("ahead", 9, 8, even, 1);
  add("copies take longer, ahead", 9, 8, slow, 1);
  add("copies take longer, in turn", 8, 8, slow, 1);
  add("in a ring of four places", 16, 6, even, 1);
  add("copies take longer, in a ring", 16, 6, slow, 1);
  add("in a ring, by a thread that also multiplies", 14, 6, even, 1);
  CHECK(multiplying({}) == 0);
  testing::compare_with_golden("schedules", outputs);
}

}  // namespace pictures
