#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/cluster_command.h"
#include "cluster/devices.h"
#include "cluster/schedule.h"
#include "cpu_reference.h"
#include "lab/problem.h"
#include "model/refusal.h"
#include "testing/pattern.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace cluster {

namespace {

using testing::contains, testing::line_with;

// These settings let Open MPI start more processes than there are cores, even as root. A test that
// hangs fails.
const std::string kMpirun =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
    "OMP_WAIT_POLICY=passive\n"
    "timeout 300 mpirun ";

// For a test of several processes: says so if they cannot be started.
bool is_alone() {
  const bool has_mpirun = testing::run("command -v mpirun").exit_code == 0;
  const bool is_alone = !has_mpirun || !Processes::can_be_several();
  if (is_alone) MESSAGE("skipped: install openmpi-bin and libopenmpi-dev, and build again");
  return is_alone;
}

void check_ended(const testing::Output& run) {
  CAPTURE(run.out);
  CAPTURE(run.err);
  CHECK(run.exit_code != 0);
  CHECK(run.exit_code != 124);  // timeout's
  CHECK_FALSE(contains(run.out, "More than one GPU"));
}

}  // namespace

TEST_CASE("a process was started by mpirun if its variables say that there are several") {
  for (const auto& [open_mpi, mpich, are_several] :
       std::vector<std::tuple<const char*, const char*, bool>>{
           {nullptr, nullptr, false},
           {nullptr, "4", true},
           {"16", nullptr, true},
           {"1", "", false},
           {"many", nullptr, false}}) {
    const testing::Variable one("OMPI_COMM_WORLD_SIZE", open_mpi), other("PMI_SIZE", mpich);
    CHECK(started_by_mpirun() == are_several);
  }
}

TEST_CASE("without MPI, processes of mpirun end with a sentence") {
  if (Processes::can_be_several()) return;
  const testing::Output output =
      testing::run("OMPI_COMM_WORLD_SIZE=2 " + testing::program() + " --size 64 --device cpu");
  CHECK(output.exit_code == 2);
  CHECK(output.err.starts_with("gemm_steps: mpirun started several processes"));
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
    const testing::Output four = testing::run(kMpirun + "-n 4 " + testing::program() + arguments);
    CAPTURE(four.err);
    CHECK(four.exit_code == 0);
    std::string output = four.out;
    std::erase(output, '\r');
    CHECK(testing::all_matches(output, "More than one GPU").size() == 1);
    CHECK(testing::all_matches(output, "problem ").size() == 1);
    for (const char* line : {"schedule:", "check:", "GPU 0 ", "GPU 3 "}) {
      CHECK(line_with(output, line) == line_with(one.out, line));
    }
    // The predicted time differs.
    const std::string way = contains(arguments, "host") ? "from the host " : "distributed";
    const auto words = testing::words_of(line_with(output, way)),
               of_one = testing::words_of(line_with(one.out, way));
    CHECK(std::equal(words.end() - 2, words.end(), of_one.end() - 2));
    CHECK(words.back() == "ok");
  }
}

TEST_CASE(
    "mpirun's processes are a GPU each, or end with a sentence that says why they cannot be") {
  if (is_alone()) return;
  const std::string program = testing::program() + " --device cpu --size 64 --stage 0 --no-color";
  CHECK(contains(line_with(testing::run(kMpirun + "-n 3 " + program).out, "distributed"), "1 x 3"));
  for (const auto& [arguments, sentence] : std::vector<std::pair<std::string, const char*>>{
           {"-n 2 " + program + " : -n 1 " + program + " --seed 2",
            "process 2 has other flags than process 0"},
           {"-n 1 " + program + " : -n 1 " + program + " --frobnicate",
            "gemm_steps: --frobnicate: no such flag"},
           {"-n 2 " + program + " --gpus 3", "--gpus 3: mpirun started 2 processes"}}) {
    const testing::Output run = testing::run(kMpirun + arguments);
    check_ended(run);
    CHECK(contains(run.err, sentence));
  }
}

// The ladder of such a product takes a minute.
TEST_CASE("if a process is killed, the others end soon, say why, and leave no file half-written") {
  if (is_alone()) return;
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    const testing::Folder folder;
    const std::string program = std::filesystem::absolute(testing::program());
    const testing::Output run = testing::run(
        "folder='" + folder.path().string() + "'; rank=" + std::to_string(rank) + "\n" + kMpirun +
        "-n 2 bash -c 'echo $$ >$0.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec \"$@\"' "
        "$folder/process '" +
        program +
        "' --device cpu --size 1016 --gpus 2 >$folder/out &\n"
        "until cat $folder/process.[01] | [ $(wc -l) = 2 ]; do sleep 0.05; done 2> /dev/null\n"
        "sleep 0.8; kill -9 $(cat $folder/process.$rank); wait $!; code=$?\n"
        "ps -o stat= -p $(cat $folder/process.[01] | paste -sd,) | grep -vc Z; exit $code");
    check_ended(run);
    CHECK(run.out == "0\n");  // processes that are left
    const std::string says =
        "gemm_steps: process " + std::to_string(1 - rank) + " ends, since another has ended";
    CHECK(testing::all_matches(run.err, says).size() == 1);
    CHECK(testing::run("ls " + folder.path().string()).out == "out\nprocess.0\nprocess.1\n");
  }
}

namespace {

// A product, and the right C. The numbers are small and whole, so that sums are exact in fp32,
// whatever their order.
struct Exact {
  lab::Problem p;
  lab::Floats C;
};

Exact exact_product(ProblemSize size, float alpha, float beta, unsigned seed) {
  lab::Problem p = lab::random_problem(size, alpha, beta, seed);
  for (lab::Floats* matrix : {&p.A, &p.B, &p.C}) {
    for (float& x : *matrix) x = std::round(7 * x);
  }
  lab::Floats C = p.C;
  p.product_by(openmp_gemm, C)();
  // A matrix that BLAS does not read may contain anything.
  for (lab::Floats* matrix : {&p.A, &p.B}) {
    if (alpha == 0) std::fill(matrix->begin(), matrix->end(), lab::kCanary);
  }
  return {std::move(p), C};
}

// Devices that do nothing until a caller waits, and then do the work of random lanes, as lanes of
// GPUs may do it: they show whether a product waits for everything that it needs.
class Lazy : public Played {
 public:
  Lazy(int devices, unsigned seed)
      : Played(devices, Processes::all(), serial_gemm), lanes_(devices * kLanes), random_(seed) {}

  void multiply(
      int device, ProblemSize size, float alpha, const float* A, const float* B, float beta,
      float* C) override {
    add(device, Lane::multiply,
        [=, this] { Played::multiply(device, size, alpha, A, B, beta, C); });
  }
  void begin() override { marks_.clear(); }
  Mark mark(int device, Lane lane) override {
    const Mark mark = static_cast<Mark>(marks_.size());
    marks_.push_back(false);
    add(device, lane, [this, mark] { marks_[mark] = true; });
    return mark;
  }
  void wait(int device, Lane lane, Mark mark) override {
    add(
        device, lane, [] {}, [this, mark] { return bool(marks_.at(mark)); });
  }
  void wait_here(int, Mark mark) override {
    while (!marks_.at(mark)) do_one();
  }
  void finish() override {
    const auto is_empty = [](const Queue& lane) { return lane.empty(); };
    while (!std::all_of(lanes_.begin(), lanes_.end(), is_empty)) do_one();
  }

 protected:
  float* new_memory(int device, std::int64_t floats) override {
    float* const memory = Played::new_memory(device, floats);
    std::fill_n(memory, floats, std::numeric_limits<float>::quiet_NaN());
    return memory;
  }
  void start_copy(int device, Lane lane, float* memory, const HostBlock& host) override {
    add(device, lane, [=, this] { Played::start_copy(device, lane, memory, host); });
  }
  // Begins when the lanes of both devices have reached it, which are then done with it.
  void start_transfers(const std::vector<Transfer>& transfers) override {
    for (const Transfer& t : transfers) {
      const auto come = std::make_shared<std::set<int>>();
      const auto have_come = [=](int device) {
        come->insert(device);
        return come->size() >= 2;
      };
      const auto travel = [=, this] {
        if (come->insert(-1).second) Played::start_transfers({t});
      };
      for (const int device : {t.from, t.to}) {
        add(device, Lane::arrive, travel, [=] { return have_come(device); });
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

  void add(
      int device, Lane lane, std::function<void()> run,
      std::function<bool()> may_run = [] { return true; }) {
    lanes_[device * kLanes + static_cast<int>(lane)].push_back(
        {std::move(run), std::move(may_run)});
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
};

// Twice: what the devices remember of the first product must not matter. The counts are those of
// the multiplication alone, without the loads before it.
void check_product(Exact exact, const Schedule& plan, Devices& devices) {
  lab::Problem& p = exact.p;
  const std::string what = text::printed(
      "%d x %d x %d, alpha %g, beta %g, on a grid of ", p.M, p.N, p.K, p.alpha, p.beta);
  INFO(what, in_words(plan.grid), ", panels of ", plan.panel, ", from the host: ", plan.from_host);
  Product product(plan, devices, {p.A.data(), p.B.data(), p.C.data()});
  for (const PanelStep& step : plan.steps[0]) {
    if (plan.from_host) CHECK((step.rows.size <= plan.rows && step.columns.size <= plan.columns));
    CHECK(step.k.size <= plan.panel);
  }
  const lab::Floats before = p.C;
  for (int times = 0; times < 2; ++times) {
    std::copy(before.begin(), before.end(), p.C.begin());
    product.load();
    devices.reset_counters();
    product.multiply(p.alpha, p.beta);
    for (const int device : devices.here()) {
      CHECK(devices.load(device) == predicted_load(plan, device));
    }
    product.store();
    CHECK(p.C == exact.C);
  }
}

const std::vector<std::pair<float, float>> kFactors = {{1, 0}, {0, 0}, {2, -0.5}, {0, 2}, {1, 1}};

}  // namespace

TEST_CASE(
    "on every grid, C is the product, whatever waits for what; the counts are the formula's") {
  std::mt19937 random(22);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  unsigned seed = 0;
  int passes = 0;
  const auto check = [&](ProblemSize size, DeviceGrid grid, int panel) {
    ++seed;
    CAPTURE(seed);
    const auto [alpha, beta] = kFactors[seed % kFactors.size()];
    const Exact exact = exact_product(size, alpha, beta, seed);
    // For the narrowest pass from the host, or more, or all.
    const double narrow = 4.0 * (size.K * 128 + 2 * 256 * std::min(panel, size.K) + 2 * 256 * 128);
    const double memory = seed % 3 == 0 ? kUnlimited : (1 + 0.6 * (seed % 3 - 1)) * narrow;
    for (const Schedule& plan :
         {schedule(size, grid, panel), from_host(size, grid, panel, beta != 0, memory)}) {
      Lazy devices(grid.devices(), seed);
      check_product(exact, plan, devices);
      passes = std::max(
          passes,
          plan.from_host ? part_of(size.N, grid.columns, 0).size / std::max(plan.columns, 1) : 0);
    }
  };
  // Blocks of rows and passes over columns from the host.
  for (const int rows : {1100, 9}) {
    for (const int K : {1, 17}) {
      for (const int panel : {8, 24, 8}) check({rows, 385, K}, {1, 1}, panel);
    }
  }
  CHECK(passes == 3);  // of 100 columns, and a fourth of 85
  for (const ProblemSize size : std::vector<ProblemSize>{
           {1, 1, 1},
           {35, 79, 19},
           {13, 7, 97},
           {64, 64, 64},
           {31, 2, 3},
           {20, 20, 0},
           {0, 8, 8},
           {8, 0, 8},
           {0, 0, 0},
           {33, 34, 1}}) {
    for (int rows = 1; rows <= 6; ++rows) {
      for (int columns = 1; rows * columns <= 6; ++columns) {
        for (const int panel : {6, 1000}) check(size, {rows, columns}, panel);
      }
    }
  }
  for (int i = 0; i < 150; ++i) {
    check({upto(60), upto(60), upto(60)}, {1 + upto(4), 1 + upto(4)}, 1 + upto(40));
  }
  // Most of these have no part of K.
  check({40, 41, 3}, {6, 6}, 64);
  check({40, 3, 50}, {40, 1}, 64);
}

TEST_CASE("the check of some rows finds any fault in them, and says where it is in C") {
  for (const auto& [alpha, beta] : kFactors) {
    lab::Problem p = lab::random_problem({23, 31, 17}, alpha, beta, 1);
    // The bound of an element depends on the old values of its own row of C.
    if (beta != 0) std::fill_n(p.C.begin() + 12 * 31, 31, 1e6F);
    const std::vector<int> rows{3, 12, 20};
    const lab::Floats before = beta == 0 ? lab::Floats() : rows_of(p.C, rows, 31);
    const float* const B = p.B.data();
    openmp_gemm(23, 31, 17, alpha, p.A.data(), B, beta, p.C.data());
    for (int row = 0; row < 23; ++row) {
      const int column = 7 * row % 31;
      float& c = p.C[row * 31 + column];
      const float right = std::exchange(c, c + std::max(0.01F, std::abs(c) / 1000));
      const model::Error error = check_rows(p, rows, before, model::kFp32);
      CHECK(error.bound_ok == (row != 3 && row != 12 && row != 20));
      if (!error.bound_ok) CHECK((error.first->row == row && error.first->column == column));
      c = right;
    }
    CHECK(check_rows(p, rows, before, model::kFp32).bound_ok);
    CHECK(p.B.data() == B);
  }
}

TEST_CASE("for a large C, random rows are checked for a few seconds, and at least 16") {
  const auto rows_of = [](ProblemSize size) { return rows_to_check(size, 1).size(); };
  CHECK(rows_of({60, 1 << 14, 1 << 14}) == 32);  // 2^28 multiplications in a row
  CHECK(rows_of({60, 1 << 30, 1 << 30}) == 16);
  CHECK(rows_of({5, 1 << 30, 1 << 30}) == 5);
  CHECK(rows_of({60, 1, 1}) == 60);
  CHECK(rows_of({9, 0, 0}) == 9);
}

}  // namespace cluster
