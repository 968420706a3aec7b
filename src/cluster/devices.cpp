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

void Devices::broadcast(const std::vector<Broadcast>& broadcasts) {
  if (broadcasts.empty()) return;
  start_broadcasts(broadcasts);
  for (const Broadcast& b : broadcasts) {
    const std::int64_t bytes = b.floats * std::int64_t{sizeof(float)};
    for (const int sender : senders(b)) {
      const int receiver = (sender + 1) % static_cast<int>(b.devices.size());
      if (b.places[sender] != nullptr) {
        loads_[b.devices[sender]].bytes_sent += bytes;
        ++loads_[b.devices[sender]].messages_sent;
      }
      if (b.places[receiver] != nullptr) {
        loads_[b.devices[receiver]].bytes_received += bytes;
        ++loads_[b.devices[receiver]].messages_received;
      }
    }
  }
}

void Devices::reset_counters() {
  for (Load& load : loads_) {
    Load reset;
    reset.bytes_held = load.bytes_held;
    load = reset;
  }
}

std::vector<int> senders(const Broadcast& broadcast) {
  const int size = static_cast<int>(broadcast.devices.size());
  std::vector<int> positions;
  for (int hop = 0; hop + 1 < size; ++hop) positions.push_back((broadcast.owner + hop) % size);
  return positions;
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

void Played::start_broadcasts(const std::vector<Broadcast>& broadcasts) {
  for (const Broadcast& b : broadcasts) {
    const auto bytes = static_cast<std::size_t>(b.floats) * sizeof(float);
    for (const int sender : senders(b)) {
      const int receiver = (sender + 1) % static_cast<int>(b.devices.size());
      const float* const from = b.places[sender];
      float* const to = b.places[receiver];
      const auto size = static_cast<std::int64_t>(bytes);
      if (from != nullptr && to != nullptr) {
        std::memcpy(to, from, bytes);
      } else if (from != nullptr) {
        processes_.send(from, size, b.devices[receiver]);
      } else if (to != nullptr) {
        processes_.receive(to, size, b.devices[sender]);
      }
    }
  }
}

void Played::multiply(
    int, Shape shape, float alpha, const float* A, const float* B, float beta, float* C) {
  gemm_(shape.M, shape.N, shape.K, alpha, A, B, beta, C);
}

Summa::Summa(const Schedule& schedule, Devices& devices)
    : s_(schedule), devices_(devices), places_(schedule.grid.devices()) {
  for (const int device : devices_.here()) {
    Place& place = places_[device];
    const std::int64_t m = s_.M_of(device).size, n = s_.N_of(device).size;
    const std::int64_t panel = std::min(s_.panel, s_.shape.K);
    const auto allocate = [&](std::int64_t floats) { return devices_.allocate(device, floats); };
    place.A = allocate(m * s_.K_of_A(device).size);
    place.B = allocate(n * s_.K_of_B(device).size);
    place.C = allocate(m * n);
    for (int i = 0; i < 2; ++i) {
      if (s_.grid.columns > 1) place.panels_of_A[i] = allocate(m * panel);
      if (s_.grid.rows > 1) place.panels_of_B[i] = allocate(n * panel);
    }
    place.steps.resize(s_.steps.size());
  }
}

void Summa::load(const HostMatrices& matrices) {
  const std::int64_t N = s_.shape.N, K = s_.shape.K;
  for (const int device : devices_.here()) {
    const Part m = s_.M_of(device), n = s_.N_of(device), k = s_.K_of_B(device);
    for (int i = 0; i < static_cast<int>(s_.steps.size()); ++i) {
      const Step& step = s_.steps[i];
      if (s_.receives_A(device, step)) continue;
      devices_.copy_in(
          device, Lane::arrive, panel_of_A(device, i),
          {matrices.A + m.begin * K + step.k.begin, K, m.size, step.k.size});
    }
    devices_.copy_in(
        device, Lane::arrive, places_[device].B,
        {matrices.B + k.begin * N + n.begin, N, k.size, n.size});
    devices_.copy_in(
        device, Lane::arrive, places_[device].C,
        {matrices.C + m.begin * N + n.begin, N, m.size, n.size});
  }
  devices_.finish();
}

void Summa::store(const HostMatrices& matrices) const {
  const std::int64_t N = s_.shape.N;
  for (const int device : devices_.here()) {
    const Part m = s_.M_of(device), n = s_.N_of(device);
    devices_.copy_out(
        device, Lane::leave, {matrices.C + m.begin * N + n.begin, N, m.size, n.size},
        places_[device].C);
  }
  devices_.finish();
}

float* Summa::panel_of_A(int device, int step) const {
  const Place& place = places_[device];
  const Step& of = s_.steps[step];
  if (s_.receives_A(device, of)) return place.panels_of_A[step % 2];
  const std::int64_t before = of.k.begin - s_.K_of_A(device).begin;
  return place.A + s_.M_of(device).size * before;
}

float* Summa::panel_of_B(int device, int step) const {
  const Place& place = places_[device];
  const Step& of = s_.steps[step];
  if (s_.receives_B(device, of)) return place.panels_of_B[step % 2];
  const std::int64_t before = of.k.begin - s_.K_of_B(device).begin;
  return place.B + s_.N_of(device).size * before;
}

// Sends that step's panels along the rows and columns of the grid.
void Summa::fetch(int step) {
  const auto [P, Q] = s_.grid;
  const Step& of = s_.steps[step];
  const auto is_here = [&](int device) { return !places_[device].steps.empty(); };
  for (const int device : devices_.here()) {
    // The step before the last used these places.
    if (step >= 2) {
      devices_.wait(device, Lane::arrive, places_[device].steps[step - 2].multiplied);
    }
    places_[device].steps[step].requested = devices_.mark(device, Lane::arrive);
  }
  // A's panel travels along a row of the grid, B's along a column.
  const auto broadcast_to = [&](std::vector<int> devices, bool along_row) {
    Broadcast b{{}, {}, along_row ? of.from_column : of.from_row, along_row, 0};
    for (const int device : devices) {
      float* const panel = !is_here(device) ? nullptr
                           : along_row      ? panel_of_A(device, step)
                                            : panel_of_B(device, step);
      b.places.push_back(panel);
    }
    const Part edge = along_row ? s_.M_of(devices[0]) : s_.N_of(devices[0]);
    b.floats = std::int64_t{edge.size} * of.k.size;
    b.devices = std::move(devices);
    return b;
  };
  std::vector<Broadcast> broadcasts;
  for (int row = 0; row < P && Q > 1 && of.k.size > 0; ++row) {
    std::vector<int> devices;
    for (int column = 0; column < Q; ++column) devices.push_back(s_.device_at(row, column));
    broadcasts.push_back(broadcast_to(std::move(devices), /*along_row=*/true));
  }
  for (int column = 0; column < Q && P > 1 && of.k.size > 0; ++column) {
    std::vector<int> devices;
    for (int row = 0; row < P; ++row) devices.push_back(s_.device_at(row, column));
    broadcasts.push_back(broadcast_to(std::move(devices), /*along_row=*/false));
  }
  devices_.broadcast(broadcasts);
  for (const int device : devices_.here()) {
    places_[device].steps[step].arrived = devices_.mark(device, Lane::arrive);
  }
}

void Summa::multiply(float alpha, float beta) {
  const int steps = static_cast<int>(s_.steps.size());
  devices_.begin();
  for (const int device : devices_.here()) {
    places_[device].start = devices_.mark(device, Lane::multiply);
    devices_.wait(device, Lane::arrive, places_[device].start);
  }
  fetch(0);
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) fetch(step + 1);
    for (const int device : devices_.here()) {
      Place& place = places_[device];
      devices_.wait(device, Lane::multiply, place.steps[step].arrived);
      place.steps[step].begun = devices_.mark(device, Lane::multiply);
      devices_.multiply(
          device, {s_.M_of(device).size, s_.N_of(device).size, s_.steps[step].k.size}, alpha,
          panel_of_A(device, step), panel_of_B(device, step), step == 0 ? beta : 1, place.C);
      place.steps[step].multiplied = devices_.mark(device, Lane::multiply);
    }
  }
}

int Summa::widest_step() const {
  const auto narrower = [](const Step& a, const Step& b) { return a.k.size < b.k.size; };
  const auto widest = std::max_element(s_.steps.begin(), s_.steps.end(), narrower);
  return static_cast<int>(widest - s_.steps.begin());
}

Shape Summa::shape_of_one_step() const {
  const int device = devices_.here().front();
  return {s_.M_of(device).size, s_.N_of(device).size, s_.steps[widest_step()].k.size};
}

void Summa::multiply_one_step() {
  const int device = devices_.here().front(), step = widest_step();
  devices_.multiply(
      device, shape_of_one_step(), 1, panel_of_A(device, step), panel_of_B(device, step), 1,
      places_[device].C);
}

Timeline Summa::timeline() const {
  Timeline timeline;
  for (const int device : devices_.here()) {
    const Place& place = places_[device];
    const auto ms = [&](Mark mark) { return devices_.ms_between(device, place.start, mark); };
    for (int i = 0; i < static_cast<int>(s_.steps.size()); ++i) {
      const auto& [requested, arrived, begun, multiplied] = place.steps[i];
      if (s_.grid.devices() > 1) {
        timeline.spans.push_back({device, Lane::arrive, i, ms(requested), ms(arrived)});
      }
      timeline.spans.push_back({device, Lane::multiply, i, ms(begun), ms(multiplied)});
    }
  }
  return timeline;
}

Streamed::Streamed(const Streams& streams, Devices& devices)
    : s_(streams), devices_(devices), places_(streams.grid.devices()) {
  for (const int device : devices_.here()) {
    if (s_.steps[device].empty()) continue;
    Place& place = places_[device];
    const std::int64_t rows = s_.rows, columns = s_.columns, panel = s_.panel;
    place.B = devices_.allocate(device, s_.shape.K * columns);
    for (int i = 0; i < 2; ++i) {
      place.panels_of_A[i] = devices_.allocate(device, rows * panel);
      place.blocks_of_C[i] = devices_.allocate(device, rows * columns);
    }
    place.steps.resize(s_.steps[device].size());
    place.blocks_left.resize(s_.steps[device].back().block + 1);
  }
}

void Streamed::fetch(int device, int step, const HostMatrices& matrices) {
  const StreamStep& of = s_.steps[device][step];
  const std::int64_t N = s_.shape.N, K = s_.shape.K;
  Place& place = places_[device];
  if (step >= 2) {
    devices_.wait(device, Lane::arrive, place.steps[step - 2].multiplied);
  }
  // The rows of B of every pass come to the same place.
  if (of.first && of.B_arrives && step >= 1) {
    devices_.wait(device, Lane::arrive, place.steps[step - 1].multiplied);
  }
  if (of.first && of.block >= 2) {
    devices_.wait(device, Lane::arrive, place.blocks_left[of.block - 2]);
  }
  place.steps[step].requested = devices_.mark(device, Lane::arrive);
  devices_.copy_in(
      device, Lane::arrive, place.panels_of_A[step % 2],
      {matrices.A + of.rows.begin * K + of.k.begin, K, of.rows.size, of.k.size});
  if (of.B_arrives) {
    devices_.copy_in(
        device, Lane::arrive, place.B + std::int64_t{of.k.begin} * of.columns.size,
        {matrices.B + of.k.begin * N + of.columns.begin, N, of.k.size, of.columns.size});
  }
  if (of.first && s_.reads_C) {
    devices_.copy_in(
        device, Lane::arrive, place.blocks_of_C[of.block % 2],
        {matrices.C + of.rows.begin * N + of.columns.begin, N, of.rows.size, of.columns.size});
  }
  place.steps[step].arrived = devices_.mark(device, Lane::arrive);
}

void Streamed::multiply_step(int device, int step, float alpha, float beta) {
  const StreamStep& of = s_.steps[device][step];
  Place& place = places_[device];
  devices_.wait(device, Lane::multiply, place.steps[step].arrived);
  place.steps[step].begun = devices_.mark(device, Lane::multiply);
  devices_.multiply(
      device, {of.rows.size, of.columns.size, of.k.size}, alpha, place.panels_of_A[step % 2],
      place.B + std::int64_t{of.k.begin} * of.columns.size, of.first ? beta : 1,
      place.blocks_of_C[of.block % 2]);
  place.steps[step].multiplied = devices_.mark(device, Lane::multiply);
}

void Streamed::leave(int device, int step, const HostMatrices& matrices) {
  const StreamStep& of = s_.steps[device][step];
  const std::int64_t N = s_.shape.N;
  Place& place = places_[device];
  devices_.wait(device, Lane::leave, place.steps[step].multiplied);
  place.steps[step].leaves = devices_.mark(device, Lane::leave);
  devices_.copy_out(
      device, Lane::leave,
      {matrices.C + of.rows.begin * N + of.columns.begin, N, of.rows.size, of.columns.size},
      place.blocks_of_C[of.block % 2]);
  place.blocks_left[of.block] = place.steps[step].left = devices_.mark(device, Lane::leave);
}

void Streamed::multiply(
    const HostMatrices& matrices, float alpha, float beta,
    const std::function<void(int)>& progress) {
  std::size_t most = 0;
  devices_.begin();
  for (const int device : devices_.here()) {
    const std::size_t steps = s_.steps[device].size();
    most = std::max(most, steps);
    if (steps == 0) continue;
    Place& place = places_[device];
    place.start = devices_.mark(device, Lane::multiply);
    devices_.wait(device, Lane::arrive, place.start);
    fetch(device, 0, matrices);
  }
  constexpr int kAhead = 8;  // steps that are queued before the caller waits for the first
  for (int step = 0; step < static_cast<int>(most); ++step) {
    for (const int device : devices_.here()) {
      const int steps = static_cast<int>(s_.steps[device].size());
      if (step >= steps) continue;
      multiply_step(device, step, alpha, beta);
      if (s_.steps[device][step].last) leave(device, step, matrices);
      if (step + 1 < steps) fetch(device, step + 1, matrices);
      if (step >= kAhead) {
        devices_.wait_here(device, places_[device].steps[step - kAhead].multiplied);
        progress(1);
      }
    }
  }
  devices_.finish();
}

Shape Streamed::shape_of_one_step() const {
  const std::vector<StreamStep>& steps = s_.steps[devices_.here().front()];
  if (steps.empty()) return {0, 0, 0};
  const StreamStep& step = steps.front();
  return {step.rows.size, step.columns.size, step.k.size};
}

void Streamed::multiply_one_step() {
  const int device = devices_.here().front();
  const Place& place = places_[device];
  devices_.multiply(
      device, shape_of_one_step(), 1, place.panels_of_A[0], place.B, 1, place.blocks_of_C[0]);
}

Timeline Streamed::timeline() const {
  Timeline timeline;
  for (const int device : devices_.here()) {
    const Place& place = places_[device];
    const auto ms = [&](Mark mark) { return devices_.ms_between(device, place.start, mark); };
    for (int i = 0; i < static_cast<int>(place.steps.size()); ++i) {
      const auto& marks = place.steps[i];
      timeline.spans.push_back({device, Lane::arrive, i, ms(marks.requested), ms(marks.arrived)});
      timeline.spans.push_back({device, Lane::multiply, i, ms(marks.begun), ms(marks.multiplied)});
      if (!s_.steps[device][i].last) continue;
      timeline.spans.push_back({device, Lane::leave, i, ms(marks.leaves), ms(marks.left)});
    }
  }
  return timeline;
}

namespace {

constexpr double kAFewSeconds = 0x1p33;  // multiplications
constexpr int kLeastRows = 16;

std::vector<int> drawn_rows(Shape shape, std::uint64_t seed) {
  const double in_a_row = std::max(1.0, double(shape.N) * shape.K);
  const int count = static_cast<int>(
      std::min<double>(shape.M, std::max<double>(kLeastRows, std::floor(kAFewSeconds / in_a_row))));
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
