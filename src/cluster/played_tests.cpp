#include "cluster/played.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cluster/streamed.h"
#include "cluster/streams.h"
#include "cluster/summa.h"
#include "cpu_reference.h"
#include "model/refusal.h"

namespace cluster {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// A product, and what C must be. The numbers are small and whole, so that sums are exact in fp32,
// whatever their order.
struct Problem {
  Shape shape;
  float alpha, beta;
  std::vector<float> A, B, C, expected;

  HostMatrices matrices() { return {A.data(), B.data(), C.data()}; }
};

Problem random_problem(Shape shape, float alpha, float beta, std::mt19937& random) {
  const auto filled = [&](std::int64_t rows, std::int64_t columns) {
    std::vector<float> values(rows * columns);
    for (float& value : values) value = static_cast<float>(random() % 15) - 7;
    return values;
  };
  const auto [M, N, K] = shape;
  Problem p{shape, alpha, beta, filled(M, K), filled(K, N), filled(M, N), {}};
  p.expected = p.C;
  for (std::int64_t row = 0; row < M; ++row) {
    for (std::int64_t column = 0; column < N; ++column) {
      double sum = 0;
      for (std::int64_t k = 0; k < K && alpha != 0; ++k) {
        sum += double(p.A[row * K + k]) * p.B[k * N + column];
      }
      float& c = p.expected[row * N + column];
      c = static_cast<float>(alpha * sum + (beta == 0 ? 0 : beta * c));
    }
  }
  // What BLAS does not read may be anything.
  const auto spoil = [](std::vector<float>& values) {
    std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
  };
  if (beta == 0) spoil(p.C);
  if (alpha == 0) spoil(p.A), spoil(p.B);
  return p;
}

std::string in_words(const Problem& p, Grid grid, int panel) {
  return std::to_string(p.shape.M) + " x " + std::to_string(p.shape.N) + " x " +
         std::to_string(p.shape.K) + " on " + in_words(grid) + ", panels of " +
         std::to_string(panel) + ", alpha " + std::to_string(p.alpha) + ", beta " +
         std::to_string(p.beta);
}

Played played(Grid grid, double memory = kUnlimited) {
  return {grid.devices(), Processes::all(), serial_gemm, memory};
}

// Of the multiplication alone, without the loads before it.
template <class Plan>
bool are_as_predicted(const Plan& plan, const Devices& devices) {
  bool are_equal = true;
  for (const int device : devices.here()) {
    are_equal = are_equal && devices.load(device) == predicted_load(plan, device);
  }
  return are_equal;
}

void check_summa(Problem p, Grid grid, int panel) {
  const std::string words = in_words(p, grid, panel);
  CAPTURE(words);
  const Schedule plan = schedule(p.shape, grid, panel);
  Played devices = played(grid);
  Summa summa(plan, devices);
  summa.load(p.matrices());
  devices.reset_counters();
  summa.multiply(p.alpha, p.beta);
  CHECK(are_as_predicted(plan, devices));
  summa.store(p.matrices());
  CHECK(p.C == p.expected);
}

// Returns the number of passes of the first device.
int check_streamed(Problem p, Grid grid, int panel, double memory) {
  const std::string words = in_words(p, grid, panel);
  CAPTURE(words);
  CAPTURE(memory);
  const Streams plan = streams(p.shape, grid, panel, p.beta != 0, memory);
  Played devices = played(grid, memory);
  Streamed streamed(plan, devices);
  int progressed = 0, steps = 0;
  for (const auto& of_device : plan.steps) steps += static_cast<int>(of_device.size());
  streamed.multiply(p.matrices(), p.alpha, p.beta, [&](int done) { progressed += done; });
  CHECK(progressed <= steps);
  CHECK(are_as_predicted(plan, devices));
  CHECK(p.C == p.expected);
  return plan.columns == 0 ? 0 : (part_of(p.shape.N, grid.columns, 0).size - 1) / plan.columns + 1;
}

std::string refusal_of(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const model::Refusal& refusal) {
    return refusal.what();
  }
  return "";
}

const std::vector<Shape> kShapes = {{1, 1, 1},  {35, 79, 19}, {13, 7, 97}, {64, 64, 64},
                                    {31, 2, 3}, {2, 37, 5},   {20, 20, 0}, {0, 8, 8},
                                    {8, 0, 8},  {0, 0, 0},    {33, 34, 1}};
const std::vector<std::pair<float, float>> kFactors = {{1, 0}, {0, 0}, {2, -0.5}, {0, 2}, {1, 1}};

std::vector<Grid> grids_of_up_to_8() {
  std::vector<Grid> grids;
  for (int rows = 1; rows <= 8; ++rows) {
    for (int columns = 1; rows * columns <= 8; ++columns) grids.push_back({rows, columns});
  }
  return grids;
}

}  // namespace

TEST_CASE("on every grid of up to 8 devices, C is the product, and the counts are the formula's") {
  std::mt19937 random(22);
  for (const Shape shape : kShapes) {
    for (const auto& [alpha, beta] : kFactors) {
      const Problem p = random_problem(shape, alpha, beta, random);
      for (const Grid grid : grids_of_up_to_8()) {
        for (const int panel : {1, 6, 1000}) check_summa(p, grid, panel);
      }
    }
  }
}

TEST_CASE("random products on random grids are right, and the counts are the formula's") {
  std::mt19937 random(23);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  for (int i = 0; i < 300; ++i) {
    const auto [alpha, beta] = kFactors[upto(4)];
    const Problem p = random_problem({upto(90), upto(90), upto(90)}, alpha, beta, random);
    const Grid grid{1 + upto(4), 1 + upto(4)};
    check_summa(p, grid, 1 + upto(40));
    check_streamed(p, grid, 1 + upto(40), kUnlimited);
  }
}

TEST_CASE("256 devices multiply small matrices, also where most have no part of K") {
  std::mt19937 random(24);
  check_summa(random_problem({40, 41, 3}, 1, 1, random), {16, 16}, 64);
  check_summa(random_problem({256, 3, 50}, 1, 0, random), {256, 1}, 64);
  check_summa(random_problem({3, 300, 50}, 1, 0, random), {1, 256}, 64);
  check_streamed(random_problem({40, 41, 3}, 1, 1, random), {16, 16}, 64, kUnlimited);
}

TEST_CASE("from the host's memory, C is the product, and the counts are the formula's") {
  std::mt19937 random(25);
  for (const Shape shape : kShapes) {
    for (const auto& [alpha, beta] : kFactors) {
      const Problem p = random_problem(shape, alpha, beta, random);
      for (const Grid grid : {Grid{1, 1}, Grid{1, 3}, Grid{2, 2}, Grid{5, 1}}) {
        for (const int panel : {1, 6, 1000}) check_streamed(p, grid, panel, kUnlimited);
      }
    }
  }
}

TEST_CASE("blocks, panels and passes in any number give the product") {
  std::mt19937 random(26);
  // Rows of 3, 2 and 1 blocks; panels of K; and memory for 1, 2 or 3 passes over the columns.
  int most = 0;
  for (const int rows : {700, 512, 9}) {
    for (const int K : {1, 9, 24}) {
      for (const int columns : {129, 260, 385}) {
        const Problem p = random_problem({rows, columns, K}, 1, rows % 2 == 0 ? 0 : 2, random);
        for (const int panel : {8, 24}) {
          const double places = 4.0 * (2 * 256 * std::min(panel, K) + K * 128 + 2 * 256 * 128);
          for (const double memory : {kUnlimited, 1.6 * places, places}) {
            most = std::max(most, check_streamed(p, {1, 1}, panel, memory));
          }
        }
      }
    }
  }
  CHECK(most == 4);
}

TEST_CASE("a product that is repeated gives the same C again, and counts as much again") {
  std::mt19937 random(27);
  Problem p = random_problem({50, 60, 70}, 1, 0, random);
  const Schedule plan = schedule(p.shape, {2, 3}, 16);
  Played devices = played(plan.grid);
  Summa summa(plan, devices);
  summa.load(p.matrices());
  for (int i = 0; i < 2; ++i) {
    devices.reset_counters();
    summa.multiply(p.alpha, p.beta);
    CHECK(are_as_predicted(plan, devices));
  }
  summa.store(p.matrices());
  CHECK(p.C == p.expected);
}

TEST_CASE("loading sends a device its parts, and storing sends C's part back") {
  std::mt19937 random(28);
  Problem p = random_problem({50, 60, 70}, 1, 1, random);
  const Schedule plan = schedule(p.shape, {2, 3}, 16);
  Played devices = played(plan.grid);
  Summa summa(plan, devices);
  summa.load(p.matrices());
  std::int64_t received = 0, sent = 0;
  for (int device = 0; device < 6; ++device) received += devices.load(device).bytes_received;
  CHECK(received == 4 * (50 * 70 + 70 * 60 + 50 * 60));
  devices.reset_counters();
  const std::vector<float> before = p.C;
  std::fill(p.C.begin(), p.C.end(), 0.0F);
  summa.store(p.matrices());
  CHECK(p.C == before);
  for (int device = 0; device < 6; ++device) sent += devices.load(device).bytes_sent;
  CHECK(sent == 4 * 50 * 60);
}

TEST_CASE("a ring passes a panel from its owner to the device before it") {
  const Broadcast broadcast{
      .devices = {4, 5, 6, 7}, .places = {}, .owner = 2, .along_row = true, .floats = 1};
  CHECK(senders(broadcast) == std::vector<int>{2, 3, 0});
  CHECK(
      senders({.devices = {3}, .places = {}, .owner = 0, .along_row = true, .floats = 1}).empty());
}

TEST_CASE("counters are reset, but what a device holds is still held") {
  Played devices = played({1, 2});
  float values[6] = {1, 2, 3, 4, 5, 6};
  float* const place = devices.allocate(1, 4);
  devices.copy_in(1, Lane::arrive, place, {values, 3, 2, 2});
  CHECK(std::vector<float>(place, place + 4) == std::vector<float>{1, 2, 4, 5});
  CHECK(devices.load(1) == Load{0, 16, 0, 1, 16});
  CHECK(devices.load(0) == Load{});
  devices.reset_counters();
  CHECK(devices.load(1) == Load{0, 0, 0, 0, 16});
}

TEST_CASE("a device without the memory for its part is named in one sentence") {
  std::mt19937 random(29);
  Problem p = random_problem({100, 100, 100}, 1, 0, random);
  const Schedule plan = schedule(p.shape, {1, 2}, 50);
  const auto most = static_cast<double>(
      std::max(predicted_load(plan, 0).bytes_held, predicted_load(plan, 1).bytes_held));
  Played enough = played(plan.grid, most);
  CHECK_NOTHROW(Summa(plan, enough));
  Played too_little = played(plan.grid, most - 1);
  const std::string said = refusal_of([&] { Summa(plan, too_little); });
  CAPTURE(said);
  CHECK(said.starts_with("GPU 1 has no memory for "));
  CHECK(said.ends_with(" MB; choose smaller matrices or more GPUs"));
  CHECK(said.find('\n') == std::string::npos);
}

TEST_CASE("from the host, too little memory is refused before anything is copied") {
  const Streams plan = streams({1000, 300, 10}, {1, 1}, 10, true, kUnlimited);
  Played too_little = played({1, 1}, static_cast<double>(predicted_load(plan, 0).bytes_held) - 1);
  CHECK(refusal_of([&] { Streamed(plan, too_little); }).starts_with("GPU 0 has no memory for "));
  CHECK(too_little.load(0).bytes_received == 0);
}

TEST_CASE("a local product that throws leaves nothing behind but the exception") {
  std::mt19937 random(30);
  Problem p = random_problem({40, 40, 40}, 1, 0, random);
  const Schedule plan = schedule(p.shape, {2, 2}, 8);
  int products = 0;
  const auto failing = [&](int, int, int, float, const float*, const float*, float, float*) {
    if (++products == 3) throw std::runtime_error("a kernel's fault");
  };
  Played devices(4, Processes::all(), failing);
  Summa summa(plan, devices);
  summa.load(p.matrices());
  CHECK_THROWS_WITH(summa.multiply(1, 0), "a kernel's fault");
  CHECK(products == 3);
}

}  // namespace cluster
