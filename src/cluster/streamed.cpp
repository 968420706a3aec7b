#include "cluster/streamed.h"

#include <algorithm>

namespace cluster {

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
  // Another pass's rows of B come to the same place.
  if (of.first && of.B_arrives && step >= 1) {
    devices_.wait(device, Lane::arrive, place.steps[step - 1].multiplied);
  }
  if (of.first && of.block >= 2) {
    devices_.wait(device, Lane::arrive, place.blocks_left[of.block - 2]);
  }
  place.steps[step].asked = devices_.mark(device, Lane::arrive);
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
  constexpr int kAhead = 8;  // steps that are asked for before the caller waits for the first
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
      timeline.spans.push_back({device, Lane::arrive, i, ms(marks.asked), ms(marks.arrived)});
      timeline.spans.push_back({device, Lane::multiply, i, ms(marks.begun), ms(marks.multiplied)});
      if (!s_.steps[device][i].last) continue;
      timeline.spans.push_back({device, Lane::leave, i, ms(marks.leaves), ms(marks.left)});
    }
  }
  return timeline;
}

}  // namespace cluster
