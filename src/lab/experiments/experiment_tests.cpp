#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "lab/experiments/experiment.h"
#include "model/ceiling.h"
#include "testing/program.h"
#include "testing/thorough.h"

namespace experiments {

namespace {

void no_kernel(int, int, int, float, const float*, const float*, float, float*) {}

model::Variant made_up(const char* name, int side, int threads) {
  const model::KernelRef kernel{no_kernel, "made_up"};
  return {name, side, side, 8, 0, 0, 8, 8, 0, threads, 1, 0, kernel, kernel};
}

// A launch of a 1024 x 1024 x 1024 product that took this long.
Trial timed(
    const std::string& setting, int stage, double ms, double occupancy_percent = 50,
    int threads = 256) {
  static std::array<model::Stage, 10> stages{};
  static std::array<model::Variant, 2048> variants{};
  model::Variant& variant = variants[stage * 100 + threads / 16];
  variant = made_up("default", 16, threads);
  stages[stage].number = stage;
  stages[stage].variants = {variant};
  Trial trial{setting, {}, {}};
  trial.run.M = trial.run.N = trial.run.K = 1024;
  trial.run.alpha = 1;
  trial.run.gpu = *model::find_gpu("H200");
  trial.run.gpu_present = true;
  trial.row.number = stage;
  trial.row.stage = &stages[stage];
  trial.row.variant = &variant;
  trial.row.time = lab::Timing{ms, ms, ms, ms, ms, 1};
  trial.row.counts = model::Counts{};
  trial.row.occupancy = model::Occupancy{};
  trial.row.occupancy->percent = occupancy_percent;
  trial.row.occupancy->blocks_per_sm = 4;
  return trial;
}

bool says(const std::string& sentence, const char* words) {
  return sentence.find(words) != std::string::npos;
}

const Experiment& named(std::string_view name) {
  for (const Experiment& experiment : experiments()) {
    if (experiment.name == name) return experiment;
  }
  FAIL("no experiment ", name);
  std::abort();
}

}  // namespace

TEST_CASE("coarsening's conclusion depends on which stride is fastest") {
  const Trial trials[] = {
      timed("1", 4, 4, 100), timed("2", 4, 2, 100), timed("4", 4, 1, 50), timed("8", 4, 3, 25, 16)};
  const std::string pays = coarsening_shows(trials);
  CAPTURE(pays);
  CHECK(says(pays, "Stride 4 is best"));
  CHECK(says(pays, "4.00 times as fast as stride 1"));
  CHECK(says(pays, "occupancy falls from 100 to 50 %"));
  CHECK(says(pays, "stride 8 is slower again"));
  CHECK(says(pays, "16 threads in a warp of 32"));

  const Trial slower[] = {timed("1", 4, 1), timed("2", 4, 2), timed("4", 4, 4)};
  CHECK(says(coarsening_shows(slower), "does not pay"));

  const Trial ever_faster[] = {timed("1", 4, 4), timed("2", 4, 2), timed("4", 4, 1)};
  const std::string to_the_last = coarsening_shows(ever_faster);
  CHECK(says(to_the_last, "Stride 4 is best"));
  CHECK(says(to_the_last, "occupancy stays at 50 %"));
  CHECK_FALSE(says(to_the_last, "loses"));
}

TEST_CASE("block-shape's conclusion names a stage's best and worst shape, and the sectors") {
  Trial trials[] = {
      timed("8x8", 1, 8), timed("32x32", 1, 9), timed("8x8", 2, 10), timed("32x32", 2, 2)};
  trials[2].row.counts->gmem_loads.requests = 10;
  trials[2].row.counts->gmem_loads.pieces = 50;
  trials[3].row.counts->gmem_loads.requests = 10;
  trials[3].row.counts->gmem_loads.pieces = 25;
  const std::string slow = block_shape_shows(trials);
  CAPTURE(slow);
  CHECK(says(slow, "Stage 1 is best in 8x8"));
  CHECK(says(slow, "stage 2 is best in 32x32"));
  CHECK(says(
      slow, "5.00 times as fast as 8x8, where a request touches 5.00 sectors instead of 2.50"));
  CHECK(says(slow, "stage 2 in 8x8 is slower than stage 1 in 8x8"));

  const Trial others[] = {
      timed("8x8", 1, 8), timed("32x32", 1, 8), timed("8x8", 2, 1), timed("32x32", 2, 2)};
  const std::string quick = block_shape_shows(others);
  CAPTURE(quick);
  CHECK(says(quick, "Stage 1 does not depend on the shape"));
  CHECK(says(quick, "stage 2 is best in 8x8"));
  CHECK(says(quick, "stage 2 in 32x32 is no slower than stage 1"));
}

TEST_CASE("one-change's conclusion has each change's factor over the row above") {
  const Trial trials[] = {
      timed("stage 3", 3, 8), timed("TM 8", 4, 4), timed("TN 8: stage 5", 5, 3.2),
      timed("5 unrolled", 5, 1)};
  CHECK(
      one_change_shows(trials) ==
      "Speed relative to the row above, change by change: TM 8 2.00, TN 8: stage 5 1.25.");
  const Trial with_a_stage[] = {
      timed("stage 3", 3, 8), timed("TM 8", 4, 4), timed("13 as it is", 13, 2),
      timed("13, ring of 3", 13, 4), timed("13 without a swizzle", 13, 8)};
  CHECK(
      one_change_shows(with_a_stage) ==
      "Speed relative to the row above, change by change: TM 8 2.00. Speed relative to the "
      "stage as it is: 13, ring of 3 0.50, 13 without a swizzle 0.25.");
}

TEST_CASE("swapped-grid's conclusion has each stage's ratio") {
  const Trial trials[] = {
      timed("as it is", 1, 2), timed("swapped", 1, 1), timed("as it is", 2, 1),
      timed("swapped", 2, 1)};
  CHECK(
      swapped_grid_shows(trials) ==
      "With the grid swapped, stage 1 runs 2.00 times as fast as before, and stage 2 runs as "
      "fast as before.");
}

TEST_CASE(
    "tile-sizes' conclusion has the best tile, and the stages whose default is not the best") {
  Trial other = timed("5", 5, 1, 50, 128);
  model::Variant smaller = made_up("other", 32, 128);
  other.row.variant = &smaller;
  const Trial better[] = {timed("5", 5, 2), other, timed("6", 6, 3)};
  const std::string gains = tile_sizes_shows(better);
  CAPTURE(gains);
  CHECK(says(gains, "The best is stage 5's 32x32x8"));
  CHECK(says(gains, "3.00 times as fast as the last"));
  CHECK(says(gains, "stage 5 would be faster"));
  other.row.time->median_ms = 4;
  const Trial worse[] = {timed("5", 5, 2), other, timed("6", 6, 1)};
  CHECK(says(tile_sizes_shows(worse), "The best is stage 6's"));
  CHECK(says(tile_sizes_shows(worse), "each stage's default tile is its best"));
}

TEST_CASE("padding's conclusion says which layouts have conflicts, and which is fastest") {
  Trial trials[] = {timed("none", 7, 3), timed("+1", 7, 4), timed("+4", 7, 2)};
  for (int i : {0, 1}) {
    trials[i].row.counts->smem_stores.requests = 10;
    trials[i].row.counts->smem_stores.bank_conflicts = 5;
  }
  const std::string text = padding_shows(trials);
  CAPTURE(text);
  CHECK(says(text, "Free of conflicts: +4 (none: 0.50 per store)"));
  CHECK(says(text, "best is +4"));
  CHECK(says(text, "2.00 times as fast as +1, and 1.50 times as fast as none"));
  const Trial equal[] = {timed("none", 7, 3), timed("+4", 7, 3)};
  CHECK(says(padding_shows(equal), "All layouts are free of conflicts"));
  CHECK(says(padding_shows(equal), "all are equally fast"));
}

TEST_CASE("stages' conclusion is the least depth that is enough") {
  const Trial trials[] = {timed("1", 8, 4), timed("2", 9, 2), timed("3", 9, 2), timed("4", 9, 3)};
  CHECK(says(stages_shows(trials), "Depth 2 is enough"));
  CHECK(says(stages_shows(trials), "2.00 times as fast as depth 1"));
  CHECK(says(stages_shows(trials), "depth 4 is slower"));
  const Trial useless[] = {timed("1", 8, 2), timed("2", 9, 2), timed("3", 9, 3)};
  CHECK(says(stages_shows(useless), "Depth 1 is enough"));
}

TEST_CASE("shapes' conclusion says why the slowest is slow") {
  Trial even = timed("even", 9, 1), odd = timed("odd", 9, 1);
  odd.run.M = 1;  // of tiles that are 16 high
  const std::string wasteful = shapes_shows(std::array{even, odd});
  CAPTURE(wasteful);
  CHECK(says(wasteful, "\"even\" fits best"));
  CHECK(says(wasteful, "94 % of its tiles is outside C"));
  CHECK(says(wasteful, "the SMs have no block for 52 % of the time"));
  Trial slow = timed("slow", 9, 2);
  CHECK(says(shapes_shows(std::array{even, slow}), "fit evenly"));
  CHECK(says(shapes_shows(std::array{even, even}), "fit equally well"));
}

TEST_CASE("occupancy's conclusion is the least that is enough") {
  const Trial trials[] = {timed("4", 3, 1, 100), timed("3", 3, 1.01, 75), timed("2", 3, 2, 50)};
  const std::string text = occupancy_shows(trials);
  CAPTURE(text);
  CHECK(says(text, "Stage 3 needs 75.0 % occupancy"));
  CHECK(says(text, "with 50.0 % it is 0.500 times as fast as with 100.0 %"));
  const Trial indifferent[] = {timed("2", 3, 1, 100), timed("1", 3, 1, 50)};
  CHECK(says(occupancy_shows(indifferent), "less was not tried"));
}

TEST_CASE("on a narrow terminal the columns that do not fit are below the others") {
  const Trial trials[] = {timed("GPT-2 attention out", 9, 1), timed("GPT-2 MLP up", 9, 2)};
  const Experiment& shapes = named("shapes");
  const auto printed = [&](const char* columns) {
    const testing::Variable terminal("COLUMNS", columns);
    return testing::written([&](std::FILE* out) {
      print_experiment(out, shapes, trials[0].run, trials, report::Format::table, {});
    });
  };
  const std::string wide = printed("100"), narrow = printed("80");
  CHECK(testing::widest(wide) <= 100);
  CHECK(testing::widest(narrow) <= 80);
  const auto times = [](const std::string& text, const std::string& words) {
    int found = 0;
    for (std::size_t at = 0; (at = text.find(words, at)) != text.npos; ++at) ++found;
    return found;
  };
  CHECK(times(narrow, "\nGPT-2 MLP up ") == times(wide, "\nGPT-2 MLP up ") + 1);
  for (const Column* column : shapes.columns) {
    CAPTURE(column->headings[1]);
    CHECK(times(narrow, column->headings[1]) >= 1);
  }
}

TEST_CASE("an experiment with only one row, or with a row without a speed, shows nothing") {
  const Experiment& experiment = named("coarsening");
  CHECK(says(conclusion(experiment, std::array{timed("1", 4, 1)}), "no other to compare"));
  Trial unknown = timed("2", 4, 1);
  unknown.row.time.reset();
  CHECK(says(conclusion(experiment, std::array{timed("1", 4, 1), unknown}), "not every row"));
}

TEST_CASE("blocks at once are counted along rows, or along columns if the grid is swapped") {
  Trial trial = timed("as it is", 1, 1);
  trial.row.occupancy->blocks_per_sm = 1;  // 132 blocks of 16 x 16 on 64 x 64 tiles
  const FirstWave rows = first_wave(trial).value();
  CHECK(rows.block_rows == 3);
  CHECK(rows.block_columns == 64);
  CHECK(rows.bytes == 4.0 * 1024 * 16 * (3 + 64));
  model::Variant swapped = *trial.row.variant;
  swapped.kernel.name = "swapped_untiled<16, 16, true>";
  trial.row.variant = &swapped;
  const FirstWave columns = first_wave(trial).value();
  CHECK(columns.block_rows == 64);
  CHECK(columns.block_columns == 3);
}

TEST_CASE("extrapolated counts continue the growth between two products") {
  model::Counts near{}, far{};
  near.gmem_loads.accesses = {1, 3, 20};
  far.gmem_loads.accesses = {2, 5, 30};
  near.gmem_loads.requests = 10;
  far.gmem_loads.requests = 14;
  near.gmem_loads.pieces = 40;
  far.gmem_loads.pieces = 50;
  near.widenable[2].requests = 5;
  far.widenable[2].requests = 6;
  near.barriers = 4;
  far.barriers = 6;
  near.blocks_traced = far.blocks_traced = 1;
  const model::Counts counts = model::extrapolated(near, far, 3);
  CHECK(counts.gmem_loads.accesses.min == 4);
  CHECK(counts.gmem_loads.accesses.max == 9);
  CHECK(counts.gmem_loads.accesses.sum == 50);
  CHECK(counts.gmem_loads.requests == 22);
  CHECK(counts.gmem_loads.pieces == 70);
  CHECK(counts.widenable[2].requests == 8);
  CHECK(counts.barriers == 10);
  CHECK(counts.blocks_traced == 1);
  CHECK(counts.smem_loads.requests == 0);
}

TEST_CASE("extrapolated counts keep lines and hazards that only one of the two products has") {
  model::Counts near{}, far{};
  near.lines.resize(1);
  near.lines[0].requests = 7;
  near.hazards.push_back({model::HazardKind::out_of_bounds, "A", 0, 0, {}, {}});
  const model::Counts counts = model::extrapolated(near, far, -1);
  REQUIRE(counts.lines.size() == 1);
  CHECK(counts.lines[0].requests == 14);
  CHECK(counts.hazards.size() == 1);
  CHECK(model::extrapolated(far, near, 3).lines[0].requests == 21);
}

namespace {

struct Output {
  int exit_code;
  std::string text;  // of stdout and stderr
};

Output experiment(const std::string& arguments) {
  const testing::Output output =
      testing::gemm_steps("--device cpu --experiment " + arguments + " 2>&1");
  return {output.exit_code, output.out};
}

// Every number under `name` in the JSON, in order.
std::vector<double> numbers(const std::string& json, const std::string& name) {
  std::vector<double> found;
  const std::string key = "\"" + name + "\": ";
  for (std::size_t at = 0; (at = json.find(key, at)) != json.npos; at += key.size()) {
    found.push_back(std::strtod(json.c_str() + at + key.size(), nullptr));
  }
  return found;
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != text.npos;
}

}  // namespace

TEST_CASE("every experiment runs on a CPU, at a size that no tile divides, and has a conclusion") {
  int number = 0;
  for (const Experiment& e : experiments()) {
    if (!testing::chosen(number++, 3)) continue;
    CAPTURE(std::string(e.name));
    const std::string sides = e.otherwise.N == 0 ? " --size 36 --m 3" : " --m 35 --n 52 --k 41";
    const Output output = experiment(e.name + sides + " --no-color");
    CAPTURE(output.text);
    CHECK(output.exit_code == 0);
    CHECK(has(output.text, std::string("experiment ") + e.name));
    CHECK_FALSE(has(output.text, "Nothing can be compared"));
    CHECK_FALSE(has(output.text, " nan"));
  }
}

TEST_CASE("an experiment on an empty product says that nothing can be compared") {
  const Output output = experiment("padding --size 0");
  CHECK(output.exit_code == 0);
  CHECK(has(output.text, "Nothing can be compared"));
}

// All of these grids have at most eight blocks, so both runs trace all of them.
TEST_CASE("counts that are extrapolated along K equal those of the whole K") {
  int number = 0;
  for (const std::string arguments :
       {"tile-sizes --stage 5-6 --m 64 --n 64 --k 200",
        "tile-sizes --stage 7-8 --m 60 --n 127 --k 205", "padding --m 128 --n 64 --k 201",
        "stages --m 64 --n 256 --k 263", "swapped-grid --m 64 --n 60 --k 205",
        "block-shape --m 16 --n 16 --k 200", "coarsening --m 32 --n 32 --k 201"}) {
    if (!testing::chosen(number++, 3)) continue;
    CAPTURE(arguments);
    const Output some = experiment(arguments + " --format json");
    const Output all = experiment(arguments + " --format json --trace all");
    CHECK(some.exit_code == 0);
    for (const char* name :
         {"gmem_load_requests", "gmem_load_sectors", "gmem_store_sectors", "smem_load_requests",
          "smem_load_wavefronts", "smem_store_requests", "smem_store_wavefronts",
          "smem_load_bank_conflicts", "smem_store_bank_conflicts", "async_copy_wavefronts", "min",
          "max", "ceiling_tflops"}) {
      CAPTURE(std::string(name));
      const std::vector<double> expected = numbers(all.text, name);
      CHECK(!expected.empty());
      CHECK(numbers(some.text, name) == expected);
    }
  }
}

TEST_CASE("coarsening on an RTX 3090: occupancy and shared loads of the published sweep") {
  const Output output = experiment("coarsening --gpu \"RTX 3090\" --format json");
  REQUIRE(output.exit_code == 0);
  // Each launch has the number twice: among its figures and among its facts.
  const std::vector<double> threads = numbers(output.text, "threads_per_block");
  CHECK(threads == std::vector<double>{256, 256, 128, 128, 64, 64, 32, 32, 16, 16});
  const std::vector<double> percent = numbers(output.text, "occupancy_percent");
  REQUIRE(percent.size() == 5);
  const double expected[] = {100, 100, 66.67, 33.33, 33.33};
  const std::vector<double> written = numbers(output.text, "smem_load_requests_written");
  const std::vector<double> compiled = numbers(output.text, "smem_load_requests_compiled");
  REQUIRE(written.size() == 5);
  REQUIRE(compiled.size() == 5);
  const double warp_products = 0x1p31 / 32;  // M N K is 2^31
  for (int i = 0; i < 5; ++i) {
    const double s = 1 << i, half_a_warp = s == 16 ? 2 : 1;
    CAPTURE(s);
    CHECK(percent[i] == doctest::Approx(expected[i]).epsilon(0.0001));
    CHECK(written[i] == warp_products * (1 + 1 / s) * half_a_warp);
    // Today's compiler merges the 16 rows' loads in pairs, not in fours, at s = 16.
    CHECK(compiled[i] == warp_products * ((s == 16 ? 0.5 : 0.25) + 1 / s) * half_a_warp);
  }
}

TEST_CASE("padding As by 4 floats, or XOR, removes the conflicts; padding by 0 or 1 does not") {
  const Output output = experiment("padding --size 256 --format json");
  const std::vector<double> stores = numbers(output.text, "smem_store_conflicts_per_request");
  REQUIRE(stores.size() == 4);
  CHECK(stores[0] > 0);
  CHECK(stores[1] > 0);
  CHECK(stores[2] == 0);
  CHECK(stores[3] == 0);
  CHECK(has(output.text, "Free of conflicts: +4 and XOR 16"));
}

TEST_CASE("occupancy goes down one block at a time as shared memory goes up") {
  const Output output = experiment("occupancy --size 64 --gpu H200 --format json");
  CHECK(numbers(output.text, "blocks_per_sm") == std::vector<double>{8, 7, 6, 5, 4, 3, 2, 1});
  const std::vector<double> bytes = numbers(output.text, "smem_bytes_per_block");
  for (std::size_t i = 1; i < bytes.size(); ++i) CHECK(bytes[i] > bytes[i - 1]);
  const Output other = experiment("occupancy --size 64 --stage 5 --variant 64x64x8 --format json");
  CHECK(has(other.text, "thread_tiling_2d<64, 64, 8, 8, 8>"));
}

TEST_CASE(
    "the kernel of --stage has the tile that suits the problem, --variant first the large one") {
  const std::string large = "thread_tiling_2d<128, 128, 8, 8, 8>";
  const std::string flags = "occupancy --hazards off --size 64 --k 8 --stage 5 --format json";
  const Output suited = experiment(flags), first = experiment(flags + " --variant first");
  CHECK(suited.exit_code == 0);
  CHECK_FALSE(has(suited.text, large));
  CHECK(has(first.text, large));
}

TEST_CASE("a shape's tiles and waves follow from its sides") {
  const Output output =
      experiment("shapes --stage 2 --size 256 --m 1 --hazards off --gpu H200 --format json");
  const std::vector<double> blocks = numbers(output.text, "blocks_in_the_launch");
  const std::vector<double> wasted = numbers(output.text, "tiles_wasted");
  REQUIRE(blocks.size() == wasted.size());
  REQUIRE(blocks.size() > 2);
  CHECK(blocks[0] == 64);  // 256 x 256 in tiles of 32 x 32
  CHECK(wasted[0] == 0);
  CHECK(blocks[1] == 81);  // 260 x 260
  CHECK(wasted[1] == doctest::Approx(1 - 260.0 * 260 / (81 * 32 * 32)));
  CHECK(wasted.back() == doctest::Approx(1 - 1 / 32.0));  // one token
}

TEST_CASE("tile sizes are sorted with the best first, and --stage selects some") {
  const Output output =
      experiment("tile-sizes --size 256 --k 64 --hazards off --stage 6-7 --format json");
  const std::vector<double> ceilings = numbers(output.text, "ceiling_tflops");
  CHECK(ceilings.size() == 10);
  for (std::size_t i = 1; i < ceilings.size(); ++i) CHECK(ceilings[i] <= ceilings[i - 1]);
}

TEST_CASE("the list names every experiment, and so does the refusal of an unknown one") {
  const Output list = experiment("list"), unknown = experiment("alchemy");
  CHECK(list.exit_code == 0);
  CHECK(unknown.exit_code == 2);
  CHECK(has(unknown.text, "--experiment alchemy: there is no such experiment"));
  for (const Experiment& e : experiments()) {
    CHECK(has(list.text, e.name));
    CHECK(has(unknown.text, e.name));
  }
  for (const char* useless :
       {"padding --explain", "padding --stage 5", "padding --stage 7 --variant 64x64x8",
        "shapes --n 5", "occupancy --stage 5-6", "occupancy --stage 0", "shapes --stage 12345"}) {
    CAPTURE(std::string(useless));
    const Output refused = experiment(useless);
    CHECK(refused.exit_code == 2);
    CHECK(std::count(refused.text.begin(), refused.text.end(), '\n') == 1);
  }
}

}  // namespace experiments
