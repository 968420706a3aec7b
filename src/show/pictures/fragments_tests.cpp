#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/gpus.h"
#include "model/tensor_core.h"
#include "show/pictures/first_block.h"
#include "show/pictures/pictures.h"
#include "simulator/cuda/instructions.h"
#include "simulator/cuda/launch.h"
#include "simulator/trace/trace.h"
#include "testing/pattern.h"
#include "testing/program.h"

namespace pictures {

namespace {

struct Word {
  std::string text;
  double x, y;
};

// An element of a matrix: which lane holds it, in which register.
struct Drawn {
  int lane, number;
};
using DrawnMatrix = std::vector<std::vector<Drawn>>;  // [row][col]

// The picture has the lanes of A's elements row by row, then B's, then the sums'. The registers are
// named at the edges: each element has the name that is nearest, across first or, for B, down.
struct DrawnFragments {
  DrawnMatrix A, B, D;

  explicit DrawnFragments(const std::string& svg) {
    std::vector<Word> lanes;
    for (const testing::Match& word : testing::all_matches(
             svg,
             "<text class=\"([^\"]*)\" x=\"([^\"]*)\" y=\"([^\"]*)\">(\\d+|[abd]\\d)</text>")) {
      const Word one{word[4], std::stod(word[2]), std::stod(word[3])};
      const bool is_faint = std::string(word[1]).find("faint") != std::string::npos;
      if (std::isdigit(one.text[0]) && !is_faint) lanes.push_back(one);
      if (!std::isdigit(one.text[0]) && is_faint) names_.push_back(one);
    }
    REQUIRE(lanes.size() == 16 * 8 + 8 * 8 + 16 * 8);
    auto next = lanes.begin();
    A = matrix('a', 16, next);
    B = matrix('b', 8, next);
    D = matrix('d', 16, next);
  }

 private:
  std::vector<Word> names_;

  DrawnMatrix matrix(char letter, int rows, std::vector<Word>::iterator& next) const {
    constexpr int kCols = 8;
    DrawnMatrix matrix(rows);
    for (std::vector<Drawn>& row : matrix) {
      for (int col = 0; col < kCols; ++col, ++next) {
        const auto distance = [&](const Word& name) {
          const double across = std::abs(name.x - next->x), down = std::abs(name.y - next->y);
          if (name.text[0] != letter) return 1e9;
          return letter == 'b' ? down : 1000 * across + down;
        };
        const Word& name = *std::ranges::min_element(names_, {}, distance);
        row.push_back({std::stoi(next->text), std::stoi(name.text.substr(1))});
      }
    }
    return matrix;
  }
};

std::string picture() {
  for (const auto& entry : std::filesystem::directory_iterator("figures")) {
    if (entry.path().stem().string().ends_with("-fragments"))
      return testing::contents(entry.path().string());
  }
  FAIL("no picture of fragments");
  return "";
}

constexpr int value_of(int lane, int number) {
  return 1 + lane + model::kWarpSize * number;
}

// Every lane gives its values of A and B, and writes the sums that it gets.
__global__ void multiply_values(float* sums) {
  const int lane = static_cast<int>(threadIdx.x);
  const auto bits = [&](int number) {
    return std::bit_cast<unsigned>(static_cast<float>(value_of(lane, number)));
  };
  float d[4] = {};
  const unsigned a[4] = {bits(0), bits(1), bits(2), bits(3)}, b[2] = {bits(0), bits(1)};
  mma_m16n8k8_tf32(d, a, b);
  for (int i = 0; i < 4; ++i) sums[4 * lane + i] = d[i];
}

}  // namespace

TEST_CASE("the drawn lanes and registers of fragments are those with which an mma multiplies") {
  const DrawnFragments drawn(picture());
  std::vector<float> sums(4 * model::kWarpSize, -1.0f);
  const machine::Machine machine{model::find_gpu("H200")};
  const model::Counts counts = trace::trace(
      machine, {}, [&] { launch(multiply_values, 1, model::kWarpSize, 0, sums.data()); });
  CHECK(counts.mmas == 1);
  for (int row = 0; row < 16; ++row) {
    for (int col = 0; col < 8; ++col) {
      int sum = 0;
      for (int k = 0; k < 8; ++k) {
        const Drawn &a = drawn.A[row][k], &b = drawn.B[k][col];
        sum += value_of(a.lane, a.number) * value_of(b.lane, b.number);
      }
      CAPTURE(row);
      CAPTURE(col);
      const Drawn& d = drawn.D[row][col];
      CHECK(sums.at(4 * d.lane + d.number) == static_cast<float>(sum));
    }
  }
}

TEST_CASE("a picture of fragments is refused if the lanes load or store other columns") {
  const TracedStage right = first_block(*model::find_stage(stage_table_traced.stages, 12), 4);
  const auto with_other = [&](bool shared, model::Direction direction, const char* matrix) {
    TracedStage wrong = right;
    for (const Moved& moved : elements_moved(right.block)) {
      RecordedRequest& request = wrong.block.requests[moved.request];
      if (moved.thread != 6 || request.shared != shared || request.direction != direction ||
          moved.elements[0].matrix != matrix[0])
        continue;
      request.access.address[6] += 16;
      break;
    }
    return wrong;
  };
  CHECK_THROWS_AS(draw_fragments(with_other(true, model::Direction::load, "B")), std::logic_error);
  CHECK_THROWS_AS(
      draw_fragments(with_other(false, model::Direction::store, "C")), std::logic_error);
}

}  // namespace pictures
