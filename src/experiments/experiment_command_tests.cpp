#include "experiments/experiment_command.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "testing/program.h"

namespace experiments {

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
  for (const Experiment& e : experiments()) {
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
  for (const std::string arguments :
       {"tile-sizes --stage 5-6 --m 64 --n 64 --k 200",
        "tile-sizes --stage 7-8 --m 60 --n 127 --k 205", "padding --m 128 --n 64 --k 201",
        "stages --m 64 --n 256 --k 263", "swapped-grid --m 64 --n 60 --k 205",
        "block-shape --m 16 --n 16 --k 200", "coarsening --m 32 --n 32 --k 201"}) {
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
      experiment("shapes --size 256 --m 1 --hazards off --gpu H200 --format json");
  const std::vector<double> blocks = numbers(output.text, "blocks_in_the_launch");
  const std::vector<double> wasted = numbers(output.text, "tiles_wasted");
  REQUIRE(blocks.size() == wasted.size());
  REQUIRE(blocks.size() > 2);
  CHECK(blocks[0] == 2);  // 256 x 256 in tiles of 128 x 256
  CHECK(wasted[0] == 0);
  CHECK(blocks[1] == 6);  // 260 x 260
  CHECK(wasted[1] == doctest::Approx(1 - 260.0 * 260 / (6 * 128 * 256)));
  CHECK(wasted.back() == doctest::Approx(1 - 1 / 128.0));  // one token
}

TEST_CASE("tile sizes are sorted with the best first, and --stage selects some") {
  const Output output = experiment("tile-sizes --size 512 --stage 6-7 --format json");
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
