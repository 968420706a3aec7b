#include "cluster/devices.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <numeric>
#include <utility>

#include "model/refusal.h"

namespace cluster {

Devices::Devices(int devices, const Processes* processes) : loads_(devices), here_(devices) {
  std::iota(here_.begin(), here_.end(), 0);
  if (processes != nullptr && processes->size() > 1) here_ = {processes->rank()};
}

float* Devices::allocate(int device, std::int64_t rows, std::int64_t columns) {
  float* const memory = new_memory(device, rows * columns);
  loads_[device].bytes_held += rows * columns * std::int64_t{sizeof(float)};
  return memory;
}

void Devices::count(int device, bool arrives, std::int64_t floats) {
  Load& load = loads_[device];
  (arrives ? load.bytes_received : load.bytes_sent) += floats * std::int64_t{sizeof(float)};
  ++(arrives ? load.messages_received : load.messages_sent);
}

void Devices::copy(int device, Lane lane, float* memory, const HostBlock& host) {
  if (host.rows == 0 || host.columns == 0) return;
  start_copy(device, lane, memory, host);
  count(device, lane == Lane::arrive, std::int64_t{host.rows} * host.columns);
}

void Devices::transfer(const std::vector<Transfer>& transfers) {
  if (transfers.empty()) return;
  start_transfers(transfers);
  for (const Transfer& t : transfers) {
    if (t.source != nullptr) count(t.from, false, t.floats);
    if (t.target != nullptr) count(t.to, true, t.floats);
  }
}

void Devices::release() {
  free_memory();
  for (Load& load : loads_) load.bytes_held = 0;
}

void Devices::reset_counters() {
  for (Load& load : loads_) load = {.bytes_held = load.bytes_held};
}

Processes& Processes::all() {
  static Processes processes;
  return processes;
}

bool started_by_mpirun() {
  // The variables of Open MPI, MPICH and Slurm.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const size = std::getenv(name);
    if (size != nullptr && std::atoi(size) > 1) return true;
  }
  return false;
}

Played::Played(int devices, Processes& processes, std::function<model::Kernel> gemm)
    : Devices(devices, &processes), processes_(processes), gemm_(std::move(gemm)) {}

float* Played::new_memory(int, std::int64_t floats) {
  constexpr std::size_t kAlignment = 256;  // as cudaMalloc's
  const std::size_t bytes = static_cast<std::size_t>(floats) * sizeof(float);
  auto* const memory =
      static_cast<float*>(std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment));
  if (memory == nullptr) throw std::bad_alloc();
  memories_.emplace_back(memory, std::free);
  return memory;
}

void Played::start_copy(int, Lane lane, float* memory, const HostBlock& host) {
  for (int row = 0; row < host.rows; ++row, memory += host.columns) {
    float* const of_host = host.first + row * host.pitch;
    const bool arrives = lane == Lane::arrive;
    std::copy_n(arrives ? of_host : memory, host.columns, arrives ? memory : of_host);
  }
}

void Played::start_transfers(const std::vector<Transfer>& transfers) {
  // In the same order in all processes, so that none waits for a message that another sends later.
  for (const Transfer& t : transfers) {
    if (t.source != nullptr && t.target != nullptr) {
      std::copy_n(t.source, t.floats, t.target);
    } else if (t.source != nullptr) {
      processes_.send(t.source, t.floats, t.to);
    } else if (t.target != nullptr) {
      processes_.receive(t.target, t.floats, t.from);
    }
  }
}

void Played::multiply(
    int, ProblemSize size, float alpha, const float* A, const float* B, float beta, float* C) {
  gemm_(size.M, size.N, size.K, alpha, A, B, beta, C);
}

Product::Product(const Schedule& schedule, Devices& devices, HostMatrices matrices)
    : s_(schedule),
      devices_(devices),
      matrices_(matrices),
      places_(schedule.steps.size()),
      starts_(schedule.steps.size()) {
  for (const int device : devices_.here()) {
    const std::vector<PanelStep>& steps = s_.steps[device];
    if (steps.empty()) continue;
    const int m = s_.from_host ? s_.rows : s_.M_of(device).size;
    const int n = s_.from_host ? s_.columns : s_.N_of(device).size;
    // What stays lies in the order in which it is multiplied.
    float* own_A = s_.from_host ? nullptr : devices_.allocate(device, m, s_.K_of_A(device));
    float* const first_B =
        devices_.allocate(device, n, s_.from_host ? s_.size.K : s_.K_of_B(device));
    float *own_B = first_B, *panels_of_A[2] = {}, *panels_of_B[2] = {}, *blocks_of_C[2] = {};
    for (int i = 0; i < 2; ++i) {
      if (s_.from_host || s_.grid.columns > 1)
        panels_of_A[i] = devices_.allocate(device, m, s_.panel);
      if (!s_.from_host && s_.grid.rows > 1)
        panels_of_B[i] = devices_.allocate(device, n, s_.panel);
      if (s_.from_host || i == 0) blocks_of_C[i] = devices_.allocate(device, m, n);
    }
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
      const PanelStep& step = steps[i];
      if (step.first) own_B = first_B;
      Places& place = places_[device].emplace_back(
          Places{panels_of_A[i % 2], panels_of_B[i % 2], blocks_of_C[i / s_.turns() % 2]});
      const std::int64_t k = step.k.size;
      if (!step.A_arrives) place.A = std::exchange(own_A, own_A + step.rows.size * k);
      if (s_.from_host || !step.B_arrives) {
        place.B = std::exchange(own_B, own_B + step.columns.size * k);
      }
    }
  }
}

void Product::copy(int device, int i, Lane lane, float* Places::*what) {
  const PanelStep& step = s_.steps[device][i];
  const bool is_A = what == &Places::A, is_B = what == &Places::B;
  float* const matrix = is_A ? matrices_.A : is_B ? matrices_.B : matrices_.C;
  const Interval rows = is_B ? step.k : step.rows, columns = is_A ? step.k : step.columns;
  const std::int64_t pitch = is_A ? s_.size.K : s_.size.N;
  devices_.copy(
      device, lane, places_[device][i].*what,
      {matrix + rows.begin * pitch + columns.begin, pitch, rows.size, columns.size});
}

void Product::load() {
  for (const int device : devices_.here()) {
    for (int i = 0; !s_.from_host && i < s_.turns(); ++i) {
      const PanelStep& step = s_.steps[device][i];
      if (!step.A_arrives) copy(device, i, Lane::arrive, &Places::A);
      if (!step.B_arrives) copy(device, i, Lane::arrive, &Places::B);
      if (step.first) copy(device, i, Lane::arrive, &Places::C);
    }
  }
  devices_.finish();
}

void Product::store() {
  for (const int device : devices_.here()) {
    if (!s_.from_host) copy(device, 0, Lane::leave, &Places::C);
  }
  devices_.finish();
}

void Product::fetch(int i) {
  for (const int device : devices_.here()) {
    if (!arrives(device, i)) continue;
    const std::vector<PanelStep>& steps = s_.steps[device];
    const PanelStep& step = steps[i];
    std::vector<Places>& places = places_[device];
    const auto wait = [&](Mark mark) { devices_.wait(device, Lane::arrive, mark); };
    // A panel needs the place of the panel before the last, ...
    if (i >= 2 && steps[i - 2].arrives()) wait(places[i - 2].multiplied);
    // ... B's columns of another pass that of those before, ...
    if (i >= 1 && step.first && step.B_arrives) wait(places[i - 1].multiplied);
    // ... and a block of C that of the one before the last.
    if (i > s_.turns() && step.first) wait(places[i - s_.turns() - 1].left);
    places[i].requested = devices_.mark(device, Lane::arrive);
    if (!s_.from_host) continue;
    if (step.A_arrives) copy(device, i, Lane::arrive, &Places::A);
    if (step.B_arrives) copy(device, i, Lane::arrive, &Places::B);
    if (step.C_arrives) copy(device, i, Lane::arrive, &Places::C);
  }
  if (!s_.from_host) devices_.transfer(transfers_of(i));
  for (const int device : devices_.here()) {
    if (arrives(device, i)) places_[device][i].arrived = devices_.mark(device, Lane::arrive);
  }
}

// The panels of that step, to every device that does not own them.
std::vector<Transfer> Product::transfers_of(int i) const {
  std::vector<Transfer> transfers;
  for (int to = 0; i < s_.turns() && to < s_.grid.devices(); ++to) {
    const PanelStep& step = s_.steps[to][i];
    const std::int64_t k = step.k.size;
    const auto add = [&](int from, float* Places::*panel, int extent) {
      const auto panel_in = [&](int device, int of_step) {
        return places_[device].empty() ? nullptr : places_[device][of_step].*panel;
      };
      // It is the owner's in this one of its steps.
      const int owned = (step.panel - s_.steps[from][0].panel + s_.turns()) % s_.turns();
      transfers.push_back({from, to, panel_in(from, owned), panel_in(to, i), k * extent});
    };
    if (k > 0 && step.A_arrives) add(step.owner_of_A, &Places::A, step.rows.size);
    if (k > 0 && step.B_arrives) add(step.owner_of_B, &Places::B, step.columns.size);
  }
  return transfers;
}

void Product::multiply_step(int device, int i, float alpha, float beta) {
  const PanelStep& step = s_.steps[device][i];
  Places& place = places_[device][i];
  if (step.arrives()) devices_.wait(device, Lane::multiply, place.arrived);
  place.begun = devices_.mark(device, Lane::multiply);
  // C is multiplied by beta even if there is no K.
  if (step.k.size > 0 || step.first) {
    devices_.multiply(
        device, {step.rows.size, step.columns.size, step.k.size}, alpha, place.A, place.B,
        step.first ? beta : 1, place.C);
  }
  place.multiplied = devices_.mark(device, Lane::multiply);
  if (!step.C_leaves) return;
  devices_.wait(device, Lane::leave, place.multiplied);
  place.leaves = devices_.mark(device, Lane::leave);
  copy(device, i, Lane::leave, &Places::C);
  place.left = devices_.mark(device, Lane::leave);
}

void Product::multiply(float alpha, float beta) {
  constexpr int kAhead = 8;  // steps from the host that are queued before the first is waited for
  std::size_t most = 0;
  devices_.begin();
  for (const int device : devices_.here()) {
    most = std::max(most, s_.steps[device].size());
    starts_[device] = devices_.mark(device, Lane::multiply);
    devices_.wait(device, Lane::arrive, starts_[device]);
  }
  fetch(0);
  for (int i = 0; i < static_cast<int>(most); ++i) {
    // What sends panels is a kernel, too, and begins before the multiplication. From the host, B's
    // columns of another pass follow it.
    if (!s_.from_host) fetch(i + 1);
    for (const int device : devices_.here()) {
      if (has(device, i)) multiply_step(device, i, alpha, beta);
    }
    if (!s_.from_host) continue;
    fetch(i + 1);
    for (const int device : devices_.here()) {
      if (i < kAhead || !has(device, i)) continue;
      devices_.wait_here(device, places_[device][i - kAhead].multiplied);
    }
  }
  devices_.finish();
}

ProblemSize Product::multiply_one_step() {
  const int device = devices_.here().front();
  if (s_.steps[device].empty()) return {0, 0, 0};
  const PanelStep& step = s_.steps[device][0];
  const Places& place = places_[device][0];
  const ProblemSize size{step.rows.size, step.columns.size, step.k.size};
  devices_.multiply(device, size, 1, place.A, place.B, 0, place.C);
  return size;
}

Timeline Product::timeline() const {
  Timeline timeline;
  for (const int device : devices_.here()) {
    for (int i = 0; has(device, i); ++i) {
      const Places& of = places_[device][i];
      const auto add = [&](Lane lane, Mark begin, Mark end) {
        const auto ms = [&](Mark at) { return devices_.ms_between(device, starts_[device], at); };
        if (begin != end) timeline.times.push_back({device, lane, i, ms(begin), ms(end)});
      };
      add(Lane::arrive, of.requested, of.arrived);
      add(Lane::multiply, of.begun, of.multiplied);
      add(Lane::leave, of.leaves, of.left);
    }
  }
  return timeline;
}

namespace {

// Devices that only take time: a lane's work ends after the latency and rate of the link, or the
// time of a multiplication. Nothing is in their memory.
class Modelled : public Devices {
 public:
  Modelled(const Schedule& s, const Link& link, const Rate& rate)
      : Devices(s.grid.devices()),
        s_(s),
        link_(link),
        rate_(rate),
        lanes_(s.grid.devices()),
        launches_(s.grid.devices()) {}

  double overhead_ms = 0;  // of the first device

  void multiply(int device, ProblemSize size, float, const float*, const float*, float beta, float*)
      override {
    LaneTime& lane = at(device, Lane::multiply);
    const double operations = 2.0 * size.M * size.N * size.K;
    const double step_ms = launches_[device]++ == 0 ? 0 : rate_.step_ms;
    if (size.K > 0) {
      if (device == 0) overhead_ms += rate_.issue_ms + step_ms;
      begin_at(lane, lane.ms + (rate_.issue_ms + step_ms));
    }
    // An empty product takes no time, even if the speed was measured with it and is 0.
    if (operations == 0) return;
    const double ms_of_C = size.N % 4 == 0 ? rate_.aligned_C_ms : rate_.other_C_ms;
    lane.ms += operations / (1e9 * rate_.tflops);
    if (beta != 0) lane.ms += double(size.M) * size.N * ms_of_C;
  }
  Mark mark(int device, Lane lane) override {
    marks_.push_back(at(device, lane).ms);
    return at(device, lane).last = static_cast<Mark>(marks_.size()) - 1;
  }
  void wait(int device, Lane lane, Mark mark) override {
    at(device, lane).ms = std::max(at(device, lane).ms, marks_[mark]);
  }
  double ms_between(int, Mark from, Mark to) override { return marks_[to] - marks_[from]; }

 protected:
  float* new_memory(int, std::int64_t) override { return nullptr; }
  // What is copied after one mark has one latency.
  void start_copy(int device, Lane lane, float*, const HostBlock& host) override {
    LaneTime& of = at(device, lane);
    of.ms += (of.ms == marks_[of.last] ? 1e-3 * link_.latency_us : 0) +
             travel_ms(double(host.rows) * host.columns);
  }
  // Panels travel when all devices of a row and column have a place for one.
  void start_transfers(const std::vector<Transfer>& transfers) override {
    const std::vector<std::array<LaneTime, 3>> before = lanes_;
    std::vector<double> floats(here().size());
    for (const Transfer& t : transfers) floats[t.to] += static_cast<double>(t.floats);
    for (const int device : here()) {
      if (floats[device] == 0) continue;
      LaneTime& lane = at(device, Lane::arrive);
      for (const int other : here()) {
        if (s_.grid.are_in_line(device, other))
          begin_at(lane, std::max(lane.ms, before[other][0].ms));
      }
      lane.ms += 1e-3 * link_.latency_us + travel_ms(floats[device]);
    }
  }

 private:
  struct LaneTime {
    double ms = 0;  // until its work so far ends
    Mark last = 0;
  };
  LaneTime& at(int device, Lane lane) { return lanes_[device][static_cast<int>(lane)]; }
  double travel_ms(double floats) const {
    const double ports = std::min(s_.grid.devices(), 2);
    const double host = std::min(link_.host_gb_per_s, link_.host_pair_gb_per_s / ports);
    return sizeof(float) * floats / (1e6 * (s_.from_host ? host : link_.gb_per_s));
  }
  // What follows the lane's last mark begins later, and so does the mark.
  void begin_at(LaneTime& lane, double ms) { lane.ms = marks_[lane.last] = ms; }

  const Schedule& s_;
  const Link& link_;
  const Rate& rate_;
  std::vector<std::array<LaneTime, 3>> lanes_;
  std::vector<int> launches_;
  std::vector<double> marks_;
};

}  // namespace

Timeline predict(const Schedule& schedule, const Link& link, const Rate& rate) {
  Modelled devices(schedule, link, rate);
  Product product(schedule, devices, {});
  product.multiply(1, 0);
  Timeline timeline = product.timeline();
  timeline.overhead_ms = devices.overhead_ms;
  return timeline;
}

}  // namespace cluster
