#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/devices.h"
#include "cluster/schedule.h"
#include "cpu_reference.h"
#include "model/refusal.h"
#include "testing/program.h"

namespace cluster {

namespace {

using testing::contains;
using testing::line_with;

// These settings let Open MPI start more processes than there are cores, even as root. A test that
// hangs fails.
const std::string kMpirun =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
    "OMP_WAIT_POLICY=passive\n"
    "timeout 300 mpirun ";

// For a test of several processes: says so if they cannot be started.
bool is_alone() {
  static const std::string reason = [] {
    const testing::Output there = testing::run("command -v mpirun");
    if (there.exit_code != 0) return "skipped: there is no mpirun; install openmpi-bin";
    const testing::Output one = testing::run(
        "OMPI_COMM_WORLD_SIZE=2 PMI_SIZE=2 timeout 300 " + testing::program() +
        " --gpus 2 --size 8 --stage 0");
    if (contains(one.err, "without MPI")) {
      return "skipped: the program was built without MPI; install libopenmpi-dev and build again";
    }
    return "";
  }();
  if (!reason.empty()) MESSAGE(reason);
  return !reason.empty();
}

testing::Output mpirun(const std::string& arguments) {
  return testing::run(kMpirun + arguments);
}

int count(const std::string& text, const std::string& words) {
  int times = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != text.npos; at += words.size()) ++times;
  return times;
}

// The output below the ladder.
std::string section(const std::string& out) {
  const std::size_t at = out.find("More than one GPU");
  return at == out.npos ? "" : out.substr(at);
}

std::string without_returns(std::string text) {
  std::erase(text, '\r');
  return text;
}

void check_ended(const testing::Output& run) {
  CAPTURE(run.out);
  CAPTURE(run.err);
  CHECK(run.exit_code != 0);
  CHECK(run.exit_code != 124);  // timeout's
  CHECK(section(run.out).empty());
}

const std::string kSmall = " --device cpu --size 64 --stage 0 --no-color";

}  // namespace

TEST_CASE("a process that is alone keeps its own values") {
  Processes& alone = Processes::all();
  REQUIRE(alone.size() == 1);
  CHECK(alone.is_first());
  CHECK(alone.rank_on_machine() == 0);
  CHECK(alone.collect(7) == std::vector<double>{7});
  int value = 5;
  alone.share(&value, sizeof value);
  alone.wait_for_all();
  alone.abort(9);
  CHECK(value == 5);
  CHECK_NOTHROW(require_equal(alone, "any command"));
}

TEST_CASE("a process was started by mpirun if its variables say that there are several") {
  for (const auto& [open_mpi, mpich, are_several] :
       std::vector<std::tuple<const char*, const char*, bool>>{
           {nullptr, nullptr, false},
           {nullptr, "4", true},
           {"2", nullptr, true},
           {"16", nullptr, true},
           {"1", nullptr, false},
           {"0", nullptr, false},
           {"", nullptr, false},
           {"many", nullptr, false}}) {
    const testing::Variable one("OMPI_COMM_WORLD_SIZE", open_mpi), other("PMI_SIZE", mpich);
    CHECK(started_by_mpirun() == are_several);
  }
}

// The launches of four processes do not wait for one another, so the model has another time for
// them.
TEST_CASE("four processes print the same result and counts as one for four GPUs") {
  if (is_alone()) return;
  for (const std::string arguments :
       {" --device cpu --size 200 --stage 0 --no-color --gpus 4 --resident host",
        " --device cpu --m 35 --n 79 --k 19 --stage 0 --no-color --gpus 4 --grid 4x1 --panel 5 "
        "--beta 2"}) {
    CAPTURE(arguments);
    const testing::Output one = testing::run(testing::program() + arguments);
    const testing::Output four = mpirun("-n 4 " + testing::program() + arguments);
    CAPTURE(four.err);
    CHECK(four.exit_code == 0);
    const std::string output = without_returns(four.out);
    CHECK(count(output, "More than one GPU") == 1);
    CHECK(count(output, "problem ") == 1);
    for (const char* line : {"schedule:", "check:", "GPU 0 ", "GPU 3 "}) {
      CHECK(line_with(output, line) == line_with(one.out, line));
    }
    for (const char* words : {"equal", "  ok\n"}) CHECK(contains(section(output), words));
  }
}

TEST_CASE("without --gpus, each of mpirun's processes is a GPU") {
  if (is_alone()) return;
  const testing::Output run = mpirun("-n 3 " + testing::program() + kSmall);
  CHECK(run.exit_code == 0);
  CHECK(contains(line_with(run.out, "distributed"), "1 x 3"));
}

TEST_CASE("processes that cannot work together end with a sentence that says why") {
  if (is_alone()) return;
  const testing::Folder folder;
  const std::string other = folder / "gemm_steps", program = testing::program() + kSmall;
  std::filesystem::copy_file(testing::program(), other);
  std::ofstream(other, std::ios::app) << "x";
  for (const auto& [arguments, sentence] : std::vector<std::pair<std::string, const char*>>{
           {"-n 1 " + program + " : -n 1 " + other + kSmall,
            "process 1 runs another build of gemm_steps than process 0"},
           {"-n 2 " + program + " : -n 1 " + program + " --seed 2",
            "process 2 was started with other flags than process 0"},
           {"-n 1 " + program + " : -n 1 " + program + " --frobnicate",
            "gemm_steps: --frobnicate: no such flag"},
           {"-n 2 " + program + " --gpus 3", "--gpus 3: mpirun started 2 processes"}}) {
    const testing::Output run = mpirun(arguments);
    check_ended(run);
    CHECK(contains(run.err, sentence));
  }
}

// The ladder of such a product takes a minute.
TEST_CASE("if a process is killed, the others end soon, say why, and leave no file half-written") {
  if (is_alone()) return;
  if (testing::run("command -v pgrep ps").exit_code != 0) {
    MESSAGE("skipped: pgrep or ps is missing; install procps");
    return;
  }
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    const testing::Folder folder;
    const std::string command = testing::program() + " --device cpu --size 1016 --gpus 2";
    const testing::Output run = mpirun(
        "-n 2 " + command + " >'" + folder / "out" + "' &\n" +
        "limited=$!\n"
        "for try in {1..100}; do\n"
        "  set -- $(pgrep -P \"$(pgrep -P $limited)\" 2> /dev/null)\n"
        "  [ $# = 2 ] && break\n"
        "  sleep 0.05\n"
        "done\n"
        "sleep 0.8\n"
        "echo killing one of $#\n"
        "kill -9 $" +
        std::to_string(rank + 1) +
        "\n"
        "wait $limited\n"
        "code=$?\n"
        "for try in {1..50}; do\n"
        "  left=$(ps -o stat= -p $1,$2 | grep -vc Z)\n"
        "  [ $left = 0 ] && break\n"
        "  sleep 0.1\n"
        "done\n"
        "echo $left are left\n"
        "exit $code");
    check_ended(run);
    CHECK(run.out == "killing one of 2\n0 are left\n");
    const std::string survivor = std::to_string(1 - rank);
    CHECK(
        count(run.err, "gemm_steps: process " + survivor + " ends, since another has ended") == 1);
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      files.push_back(file.path().filename());
    }
    CHECK(files == std::vector<std::string>{"out"});
  }
}

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// A product, and the right C. The numbers are small and whole, so that sums are exact in fp32,
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
  // A matrix that BLAS does not read may contain anything.
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

// Devices that do nothing until a caller waits, and then do the work of random lanes, as lanes of
// GPUs may do it: they show whether a product waits for everything that it needs.
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
  // Begins when the lanes of both devices have reached it, and neither continues before it is done.
  void start_transfers(const std::vector<Transfer>& transfers) override {
    for (const Transfer& t : transfers) {
      const auto come = std::make_shared<int>(0);
      for (const int device : {t.from, t.to}) {
        add(device, Lane::arrive, [=] {
          if (++*come == 2) std::copy_n(t.source, t.floats, t.target);
        });
      }
      for (const int device : {t.from, t.to}) {
        lane_of(device, Lane::arrive).push_back({[] {}, [come] { return *come == 2; }});
      }
    }
  }
  void free_memory() override { memories_.clear(); }

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
  // Often one lane runs far ahead of the others.
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

// The counts of the multiplication alone, without the loads before it.
template <class Plan>
void check_counts(const Plan& plan, const Devices& devices) {
  for (const int device : devices.here()) {
    CHECK(devices.load(device) == predicted_load(plan, device));
  }
}

using Make = std::function<std::unique_ptr<Devices>(Grid, double memory)>;

std::unique_ptr<Devices> played(Grid grid, double memory = kUnlimited) {
  return std::make_unique<Played>(grid.devices(), Processes::all(), serial_gemm, memory);
}
Make lazy(unsigned seed) {
  return [=](Grid grid, double) { return std::make_unique<Lazy>(grid.devices(), seed); };
}

// Twice: what the devices remember of the first product must not matter.
void check_summa(Problem p, Grid grid, int panel, const Make& make = played) {
  const std::string words = in_words(p, grid, panel);
  CAPTURE(words);
  const Schedule plan = schedule(p.shape, grid, panel);
  const std::unique_ptr<Devices> devices = make(grid, kUnlimited);
  Summa summa(plan, *devices);
  for (int times = 0; times < 2; ++times) {
    summa.load(p.matrices());
    devices->reset_counters();
    summa.multiply(p.alpha, p.beta);
    devices->finish();
    check_counts(plan, *devices);
  }
  summa.store(p.matrices());
  CHECK(p.C == p.expected);
}

// Returns the number of passes of the first device.
int check_streamed(
    Problem p, Grid grid, int panel, double memory = kUnlimited, const Make& make = played) {
  const std::string words = in_words(p, grid, panel);
  CAPTURE(words);
  CAPTURE(memory);
  const Streams plan = streams(p.shape, grid, panel, p.beta != 0, memory);
  const std::unique_ptr<Devices> devices = make(grid, memory);
  Streamed streamed(plan, *devices);
  int progressed = 0, steps = 0;
  for (const auto& of_device : plan.steps) steps += static_cast<int>(of_device.size());
  const std::vector<float> before = p.C;
  for (int times = 0; times < 2; ++times) {
    p.C = before;
    devices->reset_counters();
    streamed.multiply(p.matrices(), p.alpha, p.beta, [&](int done) { progressed += done; });
    check_counts(plan, *devices);
    CHECK(p.C == p.expected);
  }
  CHECK(progressed <= 2 * steps);
  return plan.columns == 0 ? 0 : (part_of(p.shape.N, grid.columns, 0).size - 1) / plan.columns + 1;
}

const std::vector<Shape> kShapes = {{1, 1, 1},  {35, 79, 19}, {13, 7, 97}, {64, 64, 64},
                                    {31, 2, 3}, {2, 37, 5},   {20, 20, 0}, {0, 8, 8},
                                    {8, 0, 8},  {0, 0, 0},    {33, 34, 1}};
const std::vector<std::pair<float, float>> kFactors = {{1, 0}, {0, 0}, {2, -0.5}, {0, 2}, {1, 1}};

}  // namespace

TEST_CASE("on every grid of up to 6 devices, C is the product, and the counts are the formula's") {
  std::mt19937 random(22);
  for (const Shape shape : kShapes) {
    for (const auto& [alpha, beta] : kFactors) {
      const Problem p = random_problem(shape, alpha, beta, random);
      for (int rows = 1; rows <= 6; ++rows) {
        for (int columns = 1; rows * columns <= 6; ++columns) {
          for (const int panel : {6, 1000}) {
            check_summa(p, {rows, columns}, panel);
            if (rows * columns <= 4) check_streamed(p, {rows, columns}, panel);
          }
        }
      }
    }
  }
}

TEST_CASE("random products are right, whatever waits for what, and the counts are the formula's") {
  std::mt19937 random(23);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const auto [alpha, beta] = kFactors[upto(4)];
    const Problem p = random_problem({upto(60), upto(60), upto(60)}, alpha, beta, random);
    const Grid grid{1 + upto(4), 1 + upto(4)};
    check_summa(p, grid, 1 + upto(40), lazy(seed));
    check_streamed(p, grid, 1 + upto(40), kUnlimited, lazy(seed));
  }
}

TEST_CASE("256 devices multiply small matrices, also where most have no part of K") {
  std::mt19937 random(24);
  check_summa(random_problem({40, 41, 3}, 1, 1, random), {16, 16}, 64);
  check_summa(random_problem({256, 3, 50}, 1, 0, random), {256, 1}, 64);
  check_summa(random_problem({3, 300, 50}, 1, 0, random), {1, 256}, 64);
  check_streamed(random_problem({40, 41, 3}, 1, 1, random), {16, 16}, 64);
}

TEST_CASE("from the host, the product is right for any number of blocks, panels and passes") {
  std::mt19937 random(26);
  // Rows of 5 blocks and 1; panels of K; and memory for 1, 2 or 3 passes over the columns.
  int most = 0;
  unsigned seed = 0;
  for (const int rows : {1100, 9}) {
    for (const int K : {1, 17}) {
      for (const int columns : {129, 385}) {
        const Problem p = random_problem({rows, columns, K}, 1, rows % 2 == 0 ? 0 : 2, random);
        for (const int panel : {8, 24}) {
          const double places = 4.0 * (2 * 256 * std::min(panel, K) + K * 128 + 2 * 256 * 128);
          for (const double memory : {kUnlimited, 1.6 * places, places}) {
            most = std::max(most, check_streamed(p, {1, 1}, panel, memory, lazy(++seed)));
          }
        }
      }
    }
  }
  CHECK(most == 4);
}

TEST_CASE("loading sends a device its parts, and storing sends C's part back") {
  std::mt19937 random(28);
  Problem p = random_problem({50, 60, 70}, 1, 1, random);
  const Schedule plan = schedule(p.shape, {2, 3}, 16);
  Played devices(6, Processes::all(), serial_gemm);
  Summa summa(plan, devices);
  const auto sum = [&](std::int64_t Load::*bytes) {
    std::int64_t total = 0;
    for (const int device : devices.here()) total += devices.load(device).*bytes;
    return total;
  };
  summa.load(p.matrices());
  CHECK(sum(&Load::bytes_received) == 4 * (50 * 70 + 70 * 60 + 50 * 60));
  const std::vector<float> before = std::exchange(p.C, std::vector<float>(p.C.size()));
  summa.store(p.matrices());
  CHECK(p.C == before);
  CHECK(sum(&Load::bytes_sent) == 4 * 50 * 60);
}

TEST_CASE("a reset clears the counters, but not the bytes that a device holds") {
  Played devices(2, Processes::all(), serial_gemm);
  float values[6] = {1, 2, 3, 4, 5, 6};
  float* const place = devices.allocate(1, 4);
  devices.copy_in(1, Lane::arrive, place, {values, 3, 2, 2});
  CHECK(std::vector<float>(place, place + 4) == std::vector<float>{1, 2, 4, 5});
  CHECK(devices.load(1) == Load{0, 16, 0, 1, 16});
  CHECK(devices.load(0) == Load{});
  devices.reset_counters();
  CHECK(devices.load(1) == Load{0, 0, 0, 0, 16});
  devices.release();
  CHECK(devices.load(1) == Load{});
}

TEST_CASE("a device without the memory for its part is named, before anything is copied") {
  const auto refusal = [](auto plan, auto product, int device) {
    double most = 0;
    for (int i = 0; i < plan.grid.devices(); ++i) {
      most = std::max(most, static_cast<double>(predicted_load(plan, i).bytes_held));
    }
    const auto enough = played(plan.grid, most), too_little = played(plan.grid, most - 1);
    CHECK_NOTHROW(product(plan, *enough));
    CHECK_THROWS_WITH_AS(
        product(plan, *too_little),
        doctest::Contains(("GPU " + std::to_string(device) + " has no memory for ").c_str()),
        model::Refusal);
    CHECK(too_little->load(0).bytes_received == 0);
  };
  refusal(
      schedule({100, 100, 100}, {1, 2}, 50),
      [](const Schedule& plan, Devices& devices) { Summa(plan, devices); }, 1);
  refusal(
      streams({1000, 300, 10}, {1, 1}, 10, true, kUnlimited),
      [](const Streams& plan, Devices& devices) { Streamed(plan, devices); }, 0);
}

TEST_CASE("after a local product that throws, only the exception is left") {
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

namespace {

using Parts = std::vector<std::pair<Part, Part>>;

// A product whose C is right, and its check.
struct Checked {
  explicit Checked(Shape shape, float alpha = 1, float beta = 0, float alpha_of_check = 1)
      : p([&] {
          std::mt19937 random(31);
          return random_problem(shape, alpha, beta, random);
        }()),
        check(shape, p.matrices(), alpha_of_check * alpha, beta, 1) {
    p.C = p.expected;
  }
  model::Error compare(const Parts& parts) const { return check.compare(parts, model::kFp32); }
  model::Error error() const { return compare({{{0, p.shape.M}, {0, p.shape.N}}}); }
  float& at(int row, int column) { return p.C[std::int64_t{row} * p.shape.N + column]; }

  Problem p;
  Check check;
};

}  // namespace

TEST_CASE("the check of a small C takes all rows, and finds any wrong element") {
  Checked c({23, 31, 17});
  REQUIRE(c.check.rows() == 23);
  CHECK(c.error().bound_ok);
  for (int row = 0; row < 23; row += 4) {
    for (int column = row % 5; column < 31; column += 5) {
      const float right = std::exchange(c.at(row, column), c.at(row, column) + 0.01F);
      const model::Error error = c.error();
      CHECK_FALSE(error.bound_ok);
      CHECK(error.max_abs == doctest::Approx(0.01).epsilon(0.01));
      REQUIRE(error.first);
      CHECK(error.first->row == row);
      CHECK(error.first->column == column);
      c.at(row, column) = right;
    }
  }
}

TEST_CASE("the check takes alpha, and C before the product only if beta is not 0") {
  for (const auto& [alpha, beta] : kFactors) {
    Checked c({23, 31, 17}, alpha, beta);
    CHECK(c.error().bound_ok);
    c.at(3, 4) += 0.01F;
    CHECK_FALSE(c.error().bound_ok);
  }
  CHECK_FALSE(Checked({8, 8, 8}, 1, 0, 2).error().bound_ok);
}

TEST_CASE("the bound of an element depends on the old values of its own row of C") {
  std::mt19937 random(31);
  Problem p = random_problem({23, 31, 17}, 1, 1, random);
  std::fill_n(p.C.begin() + 20 * 31, 31, 1e6F);
  const Check check(p.shape, p.matrices(), 1, 1, 1);
  openmp_gemm(23, 31, 17, 1, p.A.data(), p.B.data(), 1, p.C.data());
  CHECK(check.compare({{{0, 23}, {0, 31}}}, model::kFp32).bound_ok);
}

TEST_CASE("only this process's parts are compared, and a wrong element has its position in C") {
  Checked c({20, 30, 10}, 1, 1);
  c.at(12, 20) += 1;
  const Part upper{0, 10}, lower{10, 10}, left{0, 15}, right{15, 15};
  for (const Parts& without : {Parts{{upper, left}}, Parts{{upper, right}, {lower, left}}}) {
    CHECK(c.compare(without).bound_ok);
  }
  for (const Parts& with :
       {Parts{{lower, right}}, Parts{{upper, left}, {lower, right}},
        Parts{{lower, right}, {upper, left}}}) {
    const model::Error error = c.compare(with);
    CHECK_FALSE(error.bound_ok);
    REQUIRE(error.first);
    CHECK(error.first->row == 12);
    CHECK(error.first->column == 20);
    CHECK(error.max_abs == doctest::Approx(1).epsilon(0.001));
  }
}

TEST_CASE("for a large C, random rows are checked for a few seconds, and at least 16") {
  // One of its rows takes 2^28 multiplications.
  constexpr int kRows = 60, kColumns = 1 << 14, kDepth = 1 << 14;
  const auto rows_of = [&](Shape shape) { return Check(shape, {}, 1, 0, 1).rows(); };
  CHECK(rows_of({kRows, kColumns, kDepth}) == 32);
  CHECK(rows_of({kRows, 1 << 30, 1 << 30}) == 16);
  CHECK(rows_of({5, 1 << 30, 1 << 30}) == 5);
  CHECK(rows_of({kRows, 1, 1}) == kRows);
  CHECK(rows_of({0, 5, 5}) == 0);
  CHECK(rows_of({9, 0, 0}) == 9);
}

TEST_CASE("an empty product is right") {
  for (const Shape shape : {Shape{0, 5, 5}, Shape{5, 0, 5}, Shape{0, 0, 0}, Shape{5, 5, 0}}) {
    CHECK(Checked(shape, 1, 2).error().bound_ok);
  }
  Checked unscaled({5, 5, 0}, 1, 2);
  unscaled.at(1, 1) /= 2;
  CHECK_FALSE(unscaled.error().bound_ok);
}

}  // namespace cluster
