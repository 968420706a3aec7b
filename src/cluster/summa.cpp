#include "cluster/summa.h"

#include <algorithm>
#include <utility>

namespace cluster {

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
    // The step before the last had these places.
    if (step >= 2) {
      devices_.wait(device, Lane::arrive, places_[device].steps[step - 2].multiplied);
    }
    places_[device].steps[step].asked = devices_.mark(device, Lane::arrive);
  }
  // Along a row of the grid travels A's panel, along a column B's.
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
      const auto& [asked, arrived, begun, multiplied] = place.steps[i];
      if (s_.grid.devices() > 1) {
        timeline.spans.push_back({device, Lane::arrive, i, ms(asked), ms(arrived)});
      }
      timeline.spans.push_back({device, Lane::multiply, i, ms(begun), ms(multiplied)});
    }
  }
  return timeline;
}

}  // namespace cluster
