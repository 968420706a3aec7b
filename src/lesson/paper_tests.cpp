// Checks the numbers that walkthrough.md works out "on paper" against the paper GPU.
#include <doctest/doctest.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "testing/printed.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace lesson {

namespace {

// The output of --explain for each kernel of examples/eight.cu, by the kernel's name.
std::map<std::string, std::string> explained() {
  const testing::Output output = testing::run(
      (testing::built() / "try" / "eight").string() +
      " --size 8 --gpu paper --explain --section kernel,counts,occupancy,ceiling");
  CHECK(output.exit_code == 0);
  std::map<std::string, std::string> kernels;
  const std::vector<std::string> lines = testing::lines_of(output.out);
  std::string name;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const bool is_name = lines[i + 1].starts_with("────") && !lines[i].starts_with(" ");
    if (is_name) name = lines[i];
    kernels[name] += lines[i] + "\n";
  }
  return kernels;
}

const std::string& kernel(const std::string& name) {
  static const std::map<std::string, std::string> all = explained();
  REQUIRE(all.count(name) == 1);
  return all.at(name);
}

// Accesses per thread, and sectors or wavefronts per request, of the kernel's n-th line that does
// `deed` ("SMEM load  As"), from 0.
struct Asked {
  double per_thread = -1, per_request = -1;
  bool operator==(const Asked&) const = default;
};
Asked asked(const std::string& name, const std::string& deed, int n = 0) {
  Asked found;
  for (const std::string& line : testing::lines_of(kernel(name))) {
    const std::size_t at = line.find("| " + deed + " ");
    if (at == std::string::npos || n-- > 0) continue;
    int bytes = 0;
    REQUIRE(
        std::sscanf(
            line.c_str() + at + 3 + deed.size(), "%d B, %lf per thread, %lf", &bytes,
            &found.per_thread, &found.per_request) == 3);
    break;
  }
  return found;
}

// The second number of the line "GMEM loads  256  640  2.50": sectors of all of C.
int sectors_of_loads(const std::string& name) {
  int requests = -1, sectors = -1;
  for (const std::string& line : testing::lines_of(kernel(name))) {
    if (std::sscanf(line.c_str(), "  GMEM loads %d %d", &requests, &sectors) == 2) break;
  }
  return sectors;
}

}  // namespace

TEST_CASE("chapter 1 on paper: 4 sectors of A and 1 of B, 640 for all of C") {
  CHECK(asked("naive<4, 4>", "GMEM load  A") == Asked{8, 4});
  CHECK(asked("naive<4, 4>", "GMEM load  B") == Asked{8, 1});
  CHECK(sectors_of_loads("naive<4, 4>") == 640);
}

TEST_CASE("chapter 2 on paper: a sector per request, 256 for all of C") {
  CHECK(asked("coalesced<4, 4>", "GMEM load  A") == Asked{8, 1});
  CHECK(asked("coalesced<4, 4>", "GMEM load  B") == Asked{8, 1});
  CHECK(sectors_of_loads("coalesced<4, 4>") == 256);
}

TEST_CASE("chapter 3 on paper: 4 loads from global memory, 16 from shared, 64 sectors") {
  const std::string name = "shared_memory_tiling<4, 4, 4>";
  CHECK(asked(name, "GMEM load  A") == Asked{2, 1});
  CHECK(asked(name, "GMEM load  B") == Asked{2, 1});
  CHECK(asked(name, "SMEM load  As") == Asked{8, 1});
  CHECK(asked(name, "SMEM load  Bs") == Asked{8, 1});
  CHECK(sectors_of_loads(name) == 64);
}

TEST_CASE("chapter 4 on paper: 8 loads from global memory, 24 from shared") {
  const std::string name = "thread_coarsening_1d<4, 4, 4, 2>";
  CHECK(asked(name, "GMEM load  A").per_thread + asked(name, "GMEM load  B").per_thread == 8);
  CHECK(asked(name, "SMEM load  As").per_thread + asked(name, "SMEM load  Bs").per_thread == 24);
}

TEST_CASE("chapter 5 on paper: a load of As takes 2 wavefronts, one of Bs 1") {
  const std::string name = "thread_tiling_2d<4, 4, 4, 2, 2>";
  CHECK(asked(name, "GMEM load  A").per_thread + asked(name, "GMEM load  B").per_thread == 16);
  CHECK(asked(name, "SMEM load  As") == Asked{16, 2});
  CHECK(asked(name, "SMEM load  Bs") == Asked{16, 1});
}

TEST_CASE("chapter 6 on paper: 8 float4 from global memory, 16 from shared") {
  const std::string name = "vectorized<8, 8, 4, 4, 4, 4>";
  CHECK(asked(name, "GMEM load  A") == Asked{4, 4});
  CHECK(asked(name, "GMEM load  B") == Asked{4, 4});
  CHECK(asked(name, "SMEM load  As") == Asked{8, 1});
  CHECK(asked(name, "SMEM load  Bs") == Asked{8, 1});
}

TEST_CASE("chapter 7 on paper: rows of 8 and of 12 conflict, a float4 after four rows helps") {
  for (int store = 0; store < 4; ++store) {
    CAPTURE(store);
    CHECK(asked("vectorized<8, 8, 8, 4, 4, 4>", "SMEM store As", store) == Asked{4, 2});
    CHECK(asked("conflict_free<8, 8, 8, 4, 4, 4>", "SMEM store As", store) == Asked{4, 2});
    CHECK(asked("padded_by_four_rows", "SMEM store As", store) == Asked{4, 1});
  }
  CHECK(asked("padded_by_four_rows", "SMEM load  As") == Asked{8, 1});
  CHECK(asked("padded_by_four_rows", "SMEM load  Bs") == Asked{8, 1});
}

TEST_CASE("chapter 8 on paper: lanes in a column need 10 floats per step, in a square 8") {
  constexpr int kLanes = 4, kSteps = 8;
  const auto floats_per_step = [](const std::string& name) {
    const double loads =
        asked(name, "GMEM load  A").per_thread + asked(name, "GMEM load  B").per_thread;
    return loads * kLanes / kSteps;
  };
  CHECK(floats_per_step("thread_tiling_2d<8, 2, 4, 2, 2>") == 10);
  CHECK(floats_per_step("thread_tiling_2d<4, 4, 4, 2, 2>") == 8);
  // Stage 8's own kernel: two neighbouring lanes load the same float4.
  CHECK(asked("warp_tiling<8, 8, 4, 8, 8, 4, 4, 4>", "SMEM load  As") == Asked{8, 1});
  CHECK(asked("warp_tiling<8, 8, 4, 8, 8, 4, 4, 4>", "SMEM load  Bs") == Asked{8, 1});
}

TEST_CASE("chapter 9 on paper: every step is read once, and both tiles are copied ahead") {
  const std::string name = "async_pipeline<8, 8, 4, 8, 8, 4, 4, 3, 4>";
  CHECK(asked(name, "GMEM copy  A") == Asked{16, 1});
  CHECK(asked(name, "GMEM copy  B") == Asked{4, 4});
  CHECK(asked(name, "SMEM load  dynamic", 0) == Asked{8, 1});
  CHECK(asked(name, "SMEM load  dynamic", 1) == Asked{8, 1});
}

TEST_CASE(
    "occupancy on paper: 2 blocks of 4 warps fill an SM; 256 B per block leave it half empty") {
  CHECK(testing::contains(
      kernel("naive<4, 4>"),
      "2 blocks x 4 warps = 8 of the 8 warps that an SM can hold: 100.00 %"));
  CHECK(testing::contains(
      kernel("vectorized<8, 8, 4, 4, 4, 4>"),
      "4 blocks x 1 warps = 4 of the 8 warps that an SM can hold: 50.00 %"));
}

TEST_CASE("the paper GPU has no clock, and every output format says so") {
  const std::string on_paper = "--gpu paper --size 32 --stage 1-3 ";
  const testing::Output table = testing::gemm_steps(on_paper);
  CHECK(table.exit_code == 0);
  CHECK(testing::contains(table.out, "no clock"));
  CHECK_FALSE(testing::contains(table.out, "≤"));
  const testing::Output explained =
      testing::gemm_steps("--gpu paper --size 32 --stage 2 --explain");
  CHECK(testing::contains(explained.out, "there are no times and no ceilings"));
  CHECK_FALSE(testing::contains(explained.out, "TFLOP/s,"));
  CHECK_FALSE(testing::contains(explained.out, "32 neighbours"));
  const testing::Output json = testing::gemm_steps(on_paper + "--format json");
  CHECK(testing::contains(json.out, "\"boost_ghz\": null"));
  CHECK(testing::contains(json.out, "\"compiled_tflops\": null"));
  CHECK(testing::contains(json.out, "\"warp_lanes\": 4"));
}

TEST_CASE("the paper GPU is traced, even if a GPU is requested") {
  const testing::Output refused = testing::gemm_steps("--gpu paper --device gpu");
  CHECK(refused.exit_code == 2);
  CHECK(testing::contains(refused.err, "the paper GPU is only traced"));
}

TEST_CASE("a step on the paper GPU shows its four lanes, sectors and banks") {
  const std::string step = "--gpu paper --size 16 --step --print ";
  const std::string banks = testing::gemm_steps(step + "--stage 6 --frame 3").out;
  CHECK(testing::contains(banks, "warp 0, 4 lanes store 4 B to As"));
  CHECK(testing::contains(banks, "\n  bank           0\n"));
  const std::string wavefront = testing::line_with(banks, "wavefront   1");
  CHECK(text::display_width(wavefront) == 17 + 8);
  const std::string sectors = testing::gemm_steps(step + "--stage 1 --frame 1").out;
  CHECK(testing::contains(sectors, "4 sectors, ideal 1"));
  CHECK(testing::contains(sectors, "[0...]"));
}

TEST_CASE("kernels that divide by 32 themselves are right on the paper GPU") {
  const testing::Output output = testing::gemm_steps("--gpu paper --size 70 --stage 8-9");
  CHECK(output.exit_code == 0);
  CHECK(testing::contains(testing::line_with(output.out, "warp tiling"), "ok"));
  CHECK(testing::contains(testing::line_with(output.out, "async pipeline"), "ok"));
}

}  // namespace lesson
