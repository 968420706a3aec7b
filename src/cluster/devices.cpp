#include "cluster/devices.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <utility>

#include "cpu_reference.h"
#include "model/refusal.h"
#include "text/numbers.h"

namespace cluster {

float* Devices::allocate(int device, std::int64_t floats) {
  float* const memory = new_memory(device, floats);
  loads_[device].bytes_held += floats * std::int64_t{sizeof(float)};
  return memory;
}

void Devices::copy_in(int device, Lane lane, float* to, HostBlock from) {
  if (from.rows == 0 || from.columns == 0) return;
  start_copy(
      device, lane, to, from.columns, from.first, from.pitch, from.rows, from.columns,
      /*into_device=*/true);
  loads_[device].bytes_received += std::int64_t{sizeof(float)} * from.rows * from.columns;
  ++loads_[device].messages_received;
}

void Devices::copy_out(int device, Lane lane, HostBlock to, const float* from) {
  if (to.rows == 0 || to.columns == 0) return;
  start_copy(
      device, lane, to.first, to.pitch, from, to.columns, to.rows, to.columns,
      /*into_device=*/false);
  loads_[device].bytes_sent += std::int64_t{sizeof(float)} * to.rows * to.columns;
  ++loads_[device].messages_sent;
}

void Devices::transfer(const std::vector<Transfer>& transfers) {
  if (transfers.empty()) return;
  start_transfers(transfers);
  for (const Transfer& t : transfers) {
    const std::int64_t bytes = t.floats * std::int64_t{sizeof(float)};
    if (t.source != nullptr) {
      loads_[t.from].bytes_sent += bytes;
      ++loads_[t.from].messages_sent;
    }
    if (t.target != nullptr) {
      loads_[t.to].bytes_received += bytes;
      ++loads_[t.to].messages_received;
    }
  }
}

void Devices::release() {
  free_memory();
  for (Load& load : loads_) load.bytes_held = 0;
}

void Devices::reset_counters() {
  for (Load& load : loads_) {
    Load reset;
    reset.bytes_held = load.bytes_held;
    load = reset;
  }
}

namespace {

std::uint64_t fingerprint(std::uint64_t hash, const char* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    hash = text::fingerprint(hash, static_cast<unsigned char>(bytes[i]));
  }
  return hash;
}

std::uint64_t fingerprint_of_this_program() {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  std::uint64_t hash = text::kNoFingerprint;
  std::vector<char> piece(1 << 20);
  while (program.read(piece.data(), static_cast<std::streamsize>(piece.size())),
         program.gcount() > 0) {
    hash = fingerprint(hash, piece.data(), static_cast<std::size_t>(program.gcount()));
  }
  return hash;
}

// The first process whose value is not the first's; 0 if there is none.
int first_that_differs(Processes& processes, std::uint64_t hash) {
  constexpr int kExact = 11;  // a double holds 53 bits
  const std::vector<double> all = processes.collect(static_cast<double>(hash >> kExact));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0]) return static_cast<int>(rank);
  }
  return 0;
}

}  // namespace

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

void require_equal(Processes& processes, const std::string& command) {
  if (processes.size() == 1) return;
  if (const int rank = first_that_differs(processes, fingerprint_of_this_program()); rank != 0) {
    throw model::Refusal(
        "process " + std::to_string(rank) +
        " runs another build of gemm_steps than process 0; give all of them the same program");
  }
  // The program may have another path on another machine.
  const std::size_t begin = std::min(command.find(' '), command.size());
  const std::uint64_t hash =
      fingerprint(text::kNoFingerprint, command.data() + begin, command.size() - begin);
  if (const int rank = first_that_differs(processes, hash); rank != 0) {
    throw model::Refusal(
        "process " + std::to_string(rank) +
        " was started with other flags than process 0; give all of them the same");
  }
}

Played::Played(int devices, Processes& processes, std::function<model::Kernel> gemm, double memory)
    : Devices(devices), processes_(processes), gemm_(std::move(gemm)), memory_(memory) {
  for (int device = 0; device < devices; ++device) {
    if (processes.size() == 1 || processes.rank() == device) here_.push_back(device);
  }
}

double Played::free_bytes(int device) {
  return memory_ - static_cast<double>(load(device).bytes_held);
}

float* Played::new_memory(int device, std::int64_t floats) {
  constexpr std::size_t kAlignment = 256;  // as cudaMalloc's
  const std::size_t bytes = static_cast<std::size_t>(floats) * sizeof(float);
  if (static_cast<double>(bytes) > free_bytes(device)) {
    throw model::Refusal(text::printed(
        "GPU %d has no memory for %.1f MB; choose smaller matrices or more GPUs", device,
        1e-6 * static_cast<double>(bytes)));
  }
  auto* const memory =
      static_cast<float*>(std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment));
  if (memory == nullptr) throw std::bad_alloc();
  memories_.emplace_back(memory, std::free);
  return memory;
}

void Played::start_copy(
    int, Lane, float* to, std::int64_t to_pitch, const float* from, std::int64_t from_pitch,
    int rows, int columns, bool) {
  for (int row = 0; row < rows; ++row) {
    std::copy_n(from + row * from_pitch, columns, to + row * to_pitch);
  }
}

void Played::start_transfers(const std::vector<Transfer>& transfers) {
  // In the same order in all processes, so that none waits for a message that another sends later.
  for (const Transfer& t : transfers) {
    const std::int64_t bytes = t.floats * std::int64_t{sizeof(float)};
    if (t.source != nullptr && t.target != nullptr) {
      std::copy_n(t.source, t.floats, t.target);
    } else if (t.source != nullptr) {
      processes_.send(t.source, bytes, t.to);
    } else if (t.target != nullptr) {
      processes_.receive(t.target, bytes, t.from);
    }
  }
}

void Played::multiply(
    int, Shape shape, float alpha, const float* A, const float* B, float beta, float* C) {
  gemm_(shape.M, shape.N, shape.K, alpha, A, B, beta, C);
}

Product::Product(Steps steps, Devices& devices)
    : steps_(std::move(steps)), devices_(devices), places_(steps_.size()), starts_(steps_.size()) {
  for (const int device : devices_.here()) places_[device].resize(steps_[device].size());
}

float* Product::allocate(int device, std::int64_t rows, std::int64_t columns) {
  return devices_.allocate(device, rows * columns);
}

void Product::begin() {
  devices_.begin();
  for (const int device : devices_.here()) {
    starts_[device] = devices_.mark(device, Lane::multiply);
    devices_.wait(device, Lane::arrive, starts_[device]);
  }
}

void Product::request(int device, int step) {
  // The step before the last used these places.
  if (step >= 2 && steps_[device][step - 2].arrives()) {
    devices_.wait(device, Lane::arrive, places_[device][step - 2].multiplied);
  }
  places_[device][step].requested = devices_.mark(device, Lane::arrive);
}

void Product::multiply_step(int device, int step, float alpha, float beta) {
  const Step& of = steps_[device][step];
  Place& place = places_[device][step];
  if (of.arrives()) devices_.wait(device, Lane::multiply, place.arrived);
  place.begun = devices_.mark(device, Lane::multiply);
  // C is multiplied by beta even if there is no K.
  if (of.k.size > 0 || of.first) {
    devices_.multiply(
        device, {of.rows.size, of.columns.size, of.k.size}, alpha, place.A, place.B,
        of.first ? beta : 1, place.C);
  }
  place.multiplied = devices_.mark(device, Lane::multiply);
}

Shape Product::shape_of_one_step() const {
  const std::vector<Step>& steps = steps_[devices_.here().front()];
  if (steps.empty()) return {0, 0, 0};
  return {steps[0].rows.size, steps[0].columns.size, steps[0].k.size};
}

void Product::multiply_one_step() {
  const int device = devices_.here().front();
  const Place& place = places_[device].at(0);
  devices_.multiply(device, shape_of_one_step(), 1, place.A, place.B, 0, place.C);
}

Timeline Product::timeline() const {
  Timeline timeline;
  for (const int device : devices_.here()) {
    for (int i = 0; i < static_cast<int>(places_[device].size()); ++i) {
      const Place& of = places_[device][i];
      const auto add = [&](Lane lane, Mark begin, Mark end) {
        const auto ms = [&](Mark mark) {
          return devices_.ms_between(device, starts_[device], mark);
        };
        if (begin != end) timeline.spans.push_back({device, lane, i, ms(begin), ms(end)});
      };
      add(Lane::arrive, of.requested, of.arrived);
      add(Lane::multiply, of.begun, of.multiplied);
      add(Lane::leave, of.leaves, of.left);
    }
  }
  return timeline;
}

namespace {

// Of a matrix whose rows are `pitch` floats long.
HostBlock block_of(float* matrix, std::int64_t pitch, Part rows, Part columns) {
  return {matrix + rows.begin * pitch + columns.begin, pitch, rows.size, columns.size};
}

}  // namespace

Summa::Summa(const Schedule& schedule, Devices& devices)
    : Product(steps_of(schedule), devices), s_(schedule) {
  for (const int device : devices_.here()) {
    const std::int64_t m = s_.M_of(device).size, n = s_.N_of(device).size;
    float* own_A = allocate(device, m, s_.K_of_A(device));
    float* own_B = allocate(device, n, s_.K_of_B(device));
    float* const C = allocate(device, m, n);
    float *panels_of_A[2] = {}, *panels_of_B[2] = {};
    for (int i = 0; i < 2; ++i) {
      if (s_.grid.columns > 1) panels_of_A[i] = allocate(device, m, s_.panel);
      if (s_.grid.rows > 1) panels_of_B[i] = allocate(device, n, s_.panel);
    }
    // A device's own panels lie one after the other.
    for (int step = 0; step < s_.steps(); ++step) {
      Place& place = places_[device][step];
      place = {panels_of_A[step % 2], panels_of_B[step % 2], C};
      const std::int64_t k = s_.k_at(device, step).size;
      if (!s_.receives_A(step)) place.A = std::exchange(own_A, own_A + m * k);
      if (!s_.receives_B(step)) place.B = std::exchange(own_B, own_B + n * k);
    }
  }
}

void Summa::load(const HostMatrices& matrices) {
  for (const int device : devices_.here()) {
    const auto copy_in = [&](float* to, HostBlock from) {
      devices_.copy_in(device, Lane::arrive, to, from);
    };
    for (int i = 0; i < s_.steps(); ++i) {
      const Step& step = steps_[device][i];
      const Place& place = places_[device][i];
      if (!step.A_arrives) copy_in(place.A, block_of(matrices.A, s_.shape.K, step.rows, step.k));
      if (!step.B_arrives) copy_in(place.B, block_of(matrices.B, s_.shape.N, step.k, step.columns));
    }
    copy_in(
        places_[device][0].C, block_of(matrices.C, s_.shape.N, s_.M_of(device), s_.N_of(device)));
  }
  devices_.finish();
}

void Summa::store(const HostMatrices& matrices) const {
  for (const int device : devices_.here()) {
    devices_.copy_out(
        device, Lane::leave, block_of(matrices.C, s_.shape.N, s_.M_of(device), s_.N_of(device)),
        places_[device][0].C);
  }
  devices_.finish();
}

// Sends every device the panels of that step which it does not own.
void Summa::fetch(int step) {
  if (!s_.receives(step)) return;
  for (const int device : devices_.here()) request(device, step);
  std::vector<Transfer> transfers;
  for (int to = 0; to < s_.grid.devices(); ++to) {
    const std::int64_t k = s_.k_at(to, step).size, m = s_.M_of(to).size, n = s_.N_of(to).size;
    if (k == 0) continue;
    for (const bool of_A : {true, false}) {
      if (!(of_A ? s_.receives_A(step) : s_.receives_B(step))) continue;
      const int from = of_A ? s_.owner_of_A(to, step) : s_.owner_of_B(to, step);
      const auto panel = [&](int device, int of_step) -> float* {
        if (places_[device].empty()) return nullptr;  // another process's
        return of_A ? places_[device][of_step].A : places_[device][of_step].B;
      };
      // It is the owner's in this one of its steps.
      const int owned = (s_.panel_at(to, step) - s_.panel_at(from, 0) + s_.steps()) % s_.steps();
      transfers.push_back({from, to, panel(from, owned), panel(to, step), k * (of_A ? m : n)});
    }
  }
  devices_.transfer(transfers);
  for (const int device : devices_.here()) {
    places_[device][step].arrived = devices_.mark(device, Lane::arrive);
  }
}

void Summa::multiply(float alpha, float beta) {
  begin();
  for (int step = 0; step < s_.steps(); ++step) {
    if (step + 1 < s_.steps()) fetch(step + 1);
    for (const int device : devices_.here()) multiply_step(device, step, alpha, beta);
  }
}

Streamed::Streamed(const Streams& s, Devices& devices)
    : Product(s.steps, devices), shape_(s.shape), blocks_left_(s.steps.size()) {
  for (const int device : devices_.here()) {
    if (steps_[device].empty()) continue;
    float* const B = allocate(device, shape_.K, s.columns);
    float *panels_of_A[2], *blocks_of_C[2];
    for (int i = 0; i < 2; ++i) {
      panels_of_A[i] = allocate(device, s.rows, s.panel);
      blocks_of_C[i] = allocate(device, s.rows, s.columns);
    }
    for (std::size_t i = 0; i < steps_[device].size(); ++i) {
      const Step& step = steps_[device][i];
      places_[device][i] = {
          panels_of_A[i % 2], B + std::int64_t{step.k.begin} * step.columns.size,
          blocks_of_C[step.block % 2]};
    }
  }
}

void Streamed::fetch(int device, int step, const HostMatrices& matrices) {
  const Step& of = steps_[device][step];
  Place& place = places_[device][step];
  // The rows of B of every pass come to the same place.
  if (of.first && of.B_arrives && step >= 1) {
    devices_.wait(device, Lane::arrive, places_[device][step - 1].multiplied);
  }
  if (of.first && of.block >= 2) {
    devices_.wait(device, Lane::arrive, blocks_left_[device][of.block - 2]);
  }
  request(device, step);
  const auto copy_in = [&](bool arrives, float* to, HostBlock from) {
    if (arrives) devices_.copy_in(device, Lane::arrive, to, from);
  };
  copy_in(of.A_arrives, place.A, block_of(matrices.A, shape_.K, of.rows, of.k));
  copy_in(of.B_arrives, place.B, block_of(matrices.B, shape_.N, of.k, of.columns));
  copy_in(of.C_arrives, place.C, block_of(matrices.C, shape_.N, of.rows, of.columns));
  place.arrived = devices_.mark(device, Lane::arrive);
}

void Streamed::leave(int device, int step, const HostMatrices& matrices) {
  const Step& of = steps_[device][step];
  Place& place = places_[device][step];
  devices_.wait(device, Lane::leave, place.multiplied);
  place.leaves = devices_.mark(device, Lane::leave);
  devices_.copy_out(
      device, Lane::leave, block_of(matrices.C, shape_.N, of.rows, of.columns), place.C);
  place.left = devices_.mark(device, Lane::leave);
  blocks_left_[device].push_back(place.left);
}

void Streamed::multiply(
    const HostMatrices& matrices, float alpha, float beta,
    const std::function<void(int)>& progress) {
  std::size_t most = 0;
  begin();
  for (const int device : devices_.here()) {
    blocks_left_[device].clear();
    most = std::max(most, steps_[device].size());
    if (!steps_[device].empty()) fetch(device, 0, matrices);
  }
  constexpr int kAhead = 8;  // steps that are queued before the caller waits for the first
  for (int step = 0; step < static_cast<int>(most); ++step) {
    for (const int device : devices_.here()) {
      const int steps = static_cast<int>(steps_[device].size());
      if (step >= steps) continue;
      multiply_step(device, step, alpha, beta);
      if (steps_[device][step].C_leaves) leave(device, step, matrices);
      if (step + 1 < steps) fetch(device, step + 1, matrices);
      if (step >= kAhead) {
        devices_.wait_here(device, places_[device][step - kAhead].multiplied);
        progress(1);
      }
    }
  }
  devices_.finish();
}

namespace {

constexpr double kAFewSeconds = 0x1p33;  // multiplications
constexpr int kFewestRows = 16;

std::vector<int> drawn_rows(Shape shape, std::uint64_t seed) {
  const double in_a_row = std::max(1.0, double(shape.N) * shape.K);
  const int count = static_cast<int>(std::min<double>(
      shape.M, std::max<double>(kFewestRows, std::floor(kAFewSeconds / in_a_row))));
  std::vector<int> rows(shape.M);
  for (int i = 0; i < shape.M; ++i) rows[i] = i;
  std::mt19937_64 random(seed);
  std::vector<int> drawn;
  std::sample(rows.begin(), rows.end(), std::back_inserter(drawn), count, random);
  return drawn;
}

}  // namespace

Check::Check(Shape shape, HostMatrices matrices, float alpha, float beta, std::uint64_t seed)
    : shape_(shape),
      matrices_(matrices),
      alpha_(alpha),
      beta_(beta),
      rows_(drawn_rows(shape, seed)) {
  if (beta == 0) return;
  for (const int row : rows_) {
    const float* const from = matrices.C + std::int64_t{row} * shape.N;
    before_.insert(before_.end(), from, from + shape.N);
  }
}

model::Error Check::compare(
    const std::vector<std::pair<Part, Part>>& parts, model::Precision precision) const {
  const auto [M, N, K] = shape_;
  const auto count = static_cast<std::size_t>(rows());
  std::vector<float> A(count * K);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(matrices_.A + std::int64_t{rows_[i]} * K, K, A.begin() + i * K);
  }
  std::vector<double> exact(count * N), magnitude(count * N);
  reference_gemm(
      rows(), N, K, alpha_, A.data(), matrices_.B, beta_, beta_ == 0 ? nullptr : before_.data(),
      exact.data());
  reference_magnitude(rows(), N, K, K, alpha_, A.data(), matrices_.B, magnitude.data());

  model::Error worst{0, 0, true, {}};
  for (const auto& [m, n] : parts) {
    std::vector<float> computed, before;
    std::vector<double> exact_here, magnitude_here;
    std::vector<int> of_rows;
    for (std::size_t i = 0; i < count; ++i) {
      if (rows_[i] < m.begin || rows_[i] >= m.end()) continue;
      of_rows.push_back(rows_[i]);
      const auto append = [&, n = n](auto& to, const auto* from) {
        to.insert(to.end(), from + n.begin, from + n.end());
      };
      append(computed, matrices_.C + std::int64_t{rows_[i]} * N);
      append(exact_here, exact.data() + i * N);
      append(magnitude_here, magnitude.data() + i * N);
      if (beta_ != 0) append(before, before_.data() + i * N);
    }
    model::Error error = model::compare(
        static_cast<int>(of_rows.size()), n.size, K, computed.data(), exact_here.data(),
        magnitude_here.data(), beta_, beta_ == 0 ? nullptr : before.data(), precision, alpha_);
    if (error.first && !worst.first) {
      worst.first = error.first;
      worst.first->row = of_rows[error.first->row];
      worst.first->column += n.begin;
    }
    worst.relative = std::max(worst.relative, error.relative);
    worst.max_abs = std::max(worst.max_abs, error.max_abs);
    worst.bound_ok = worst.bound_ok && error.bound_ok;
  }
  return worst;
}

}  // namespace cluster
