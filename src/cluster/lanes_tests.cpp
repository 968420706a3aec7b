// Whether the schedules wait for all that they need: their work is done in random orders, as lanes
// of GPUs may do it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cluster/devices.h"
#include "cluster/streamed.h"
#include "cluster/streams.h"
#include "cluster/summa.h"
#include "cpu_reference.h"

namespace cluster {

namespace {

// Devices that do nothing before someone waits for it, and then work of random lanes.
class Lazy : public Devices {
 public:
  Lazy(int devices, unsigned seed) : Devices(devices), lanes_(devices * kLanes), random_(seed) {
    for (int device = 0; device < devices; ++device) here_.push_back(device);
  }

  const std::vector<int>& here() const override { return here_; }
  double free_bytes(int) override { return std::numeric_limits<double>::infinity(); }
  void multiply(
      int device, Shape shape, float alpha, const float* A, const float* B, float beta,
      float* C) override {
    add(device, Lane::multiply,
        [=] { serial_gemm(shape.M, shape.N, shape.K, alpha, A, B, beta, C); });
  }
  void begin() override { marks_.clear(); }
  Mark mark(int device, Lane lane) override {
    const Mark mark = static_cast<Mark>(marks_.size());
    marks_.push_back(false);
    add(device, lane, [this, mark] { marks_[mark] = true; });
    return mark;
  }
  void wait(int device, Lane lane, Mark mark) override {
    lane_of(device, lane).push_back({[] {}, [this, mark] { return bool(marks_.at(mark)); }});
  }
  void wait_here(int, Mark mark) override {
    while (!marks_.at(mark)) do_one();
  }
  void finish() override {
    const auto is_empty = [](const Queue& lane) { return lane.empty(); };
    while (!std::all_of(lanes_.begin(), lanes_.end(), is_empty)) do_one();
  }
  double ms_between(int, Mark, Mark) override { return 0; }

 protected:
  float* new_memory(int, std::int64_t floats) override {
    memories_.emplace_back(floats + 1, std::numeric_limits<float>::quiet_NaN());
    return memories_.back().data();
  }
  void start_copy(
      int device, Lane lane, float* to, std::int64_t to_pitch, const float* from,
      std::int64_t from_pitch, int rows, int columns, bool) override {
    add(device, lane, [=] {
      for (int row = 0; row < rows; ++row) {
        std::copy_n(from + row * from_pitch, columns, to + row * to_pitch);
      }
    });
  }
  // Begins when the lanes of all devices have come to it, and none goes on before it is done.
  void start_broadcasts(const std::vector<Broadcast>& broadcasts) override {
    for (const Broadcast& b : broadcasts) {
      const auto come = std::make_shared<std::size_t>(0);
      const auto is_done = std::make_shared<bool>(false);
      for (const int device : b.devices) {
        add(device, Lane::arrive, [=] {
          if (++*come < b.devices.size()) return;
          for (float* const place : b.places) {
            if (place != b.places[b.owner]) std::copy_n(b.places[b.owner], b.floats, place);
          }
          *is_done = true;
        });
        lane_of(device, Lane::arrive).push_back({[] {}, [is_done] { return *is_done; }});
      }
    }
  }

 private:
  struct Work {
    std::function<void()> run;
    std::function<bool()> may_run;
  };
  using Queue = std::deque<Work>;
  static constexpr int kLanes = 3;

  Queue& lane_of(int device, Lane lane) { return lanes_[device * kLanes + static_cast<int>(lane)]; }
  void add(int device, Lane lane, std::function<void()> run) {
    lane_of(device, lane).push_back({std::move(run), [] { return true; }});
  }
  // Often one lane goes far ahead of the others.
  void do_one() {
    std::vector<Queue*> ready;
    for (Queue& lane : lanes_) {
      if (!lane.empty() && lane.front().may_run()) ready.push_back(&lane);
    }
    if (ready.empty()) throw std::logic_error("all lanes wait for one another");
    Queue& lane = *ready[random_() % ready.size()];
    for (unsigned most = random_() % 30; !lane.empty() && lane.front().may_run(); --most) {
      const Work work = std::move(lane.front());
      lane.pop_front();
      work.run();
      if (most == 0) return;
    }
  }

  std::vector<Queue> lanes_;
  std::vector<char> marks_;
  std::mt19937 random_;
  std::vector<int> here_;
  std::list<std::vector<float>> memories_;
};

struct Problem {
  Shape shape;
  std::vector<float> A, B, C, expected;

  HostMatrices matrices() { return {A.data(), B.data(), C.data()}; }
};

// Small whole numbers, whose sums are exact in any order.
Problem random_problem(Shape shape, float beta, unsigned seed) {
  std::mt19937 random(seed);
  const auto filled = [&](std::int64_t rows, std::int64_t columns) {
    std::vector<float> values(rows * columns);
    for (float& value : values) value = static_cast<float>(random() % 15) - 7;
    return values;
  };
  const auto [M, N, K] = shape;
  Problem p{shape, filled(M, K), filled(K, N), filled(M, N), {}};
  p.expected = p.C;
  serial_gemm(M, N, K, 1, p.A.data(), p.B.data(), beta, p.expected.data());
  return p;
}

}  // namespace

TEST_CASE("panels that are broadcast late or early are multiplied when they have arrived") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Grid grid{1 + static_cast<int>(seed % 3), 1 + static_cast<int>(seed / 3 % 3)};
    Problem p = random_problem({12, 14, 60}, 1, seed);
    const Schedule plan = schedule(p.shape, grid, 7);
    Lazy devices(grid.devices(), seed);
    Summa summa(plan, devices);
    summa.load(p.matrices());
    summa.multiply(1, 0);
    devices.finish();
    summa.multiply(1, 1);  // its marks are new
    devices.finish();
    summa.store(p.matrices());
    std::vector<float> twice = random_problem({12, 14, 60}, 0, seed).expected;
    for (float& value : twice) value *= 2;
    CHECK(p.C == twice);
  }
}

TEST_CASE("blocks that pass through early or late are multiplied when they are there, and leave") {
  int several = 0;
  for (unsigned seed = 0; seed < 84; ++seed) {
    CAPTURE(seed);
    const Grid grid{1 + static_cast<int>(seed % 2), 1 + static_cast<int>(seed / 2 % 2)};
    const float beta = seed % 3 == 0 ? 0 : 1;
    Problem p = random_problem({1100, 260, 9}, beta, seed);
    const int panel = seed % 5 == 0 ? 100 : 1 + static_cast<int>(seed % 5);
    constexpr double kMemory[] = {1e6, 3.2e5, 2.4e5};  // for one pass, two, and three
    const Streams plan = streams(p.shape, grid, panel, beta != 0, kMemory[seed % 7 / 3]);
    several += plan.columns < part_of(p.shape.N, grid.columns, 0).size;
    Lazy devices(grid.devices(), seed);
    Streamed streamed(plan, devices);
    streamed.multiply(p.matrices(), 1, beta);
    CHECK(p.C == p.expected);
  }
  CHECK(several > 15);
}

}  // namespace cluster
