#include "cluster/played.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "model/refusal.h"
#include "text/numbers.h"

namespace cluster {

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

}  // namespace cluster
