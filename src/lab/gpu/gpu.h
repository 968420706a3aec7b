// The GPU: device 0, its memory, event timing and cuBLAS. Implemented in src/lab/gpu/gpu.cu if nvcc
// built the program, otherwise in src/lab/gpu/absent.cpp. Every function except find() needs a GPU.
// If the GPU refuses, the function throws a Refusal with the driver's own message.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/gpus.h"
#include "model/stage.h"

namespace gpu {

struct Search {
  std::optional<model::Gpu> found;
  std::string why_not;  // a sentence, if no GPU was found
};
const Search& find();

std::string driver_and_runtime();  // "580.159.04 (CUDA 13.0), runtime 13.0, cuBLAS 13.1.0"
std::size_t free_bytes();

// A matrix in the GPU's memory, 256-byte aligned as cudaMalloc gives it.
class Matrix {
 public:
  explicit Matrix(std::size_t floats);
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix();
  float* data() { return data_; }
  void upload(const float* from);
  void download(float* to) const;

 private:
  float* data_ = nullptr;
  std::size_t bytes_;
};

struct Resources {
  int registers_per_thread;
  int static_smem_bytes;
};
Resources resources(const void* kernel);

// Allows launches of `kernel` to use this much dynamic shared memory, even if it exceeds 48 KB
// together with the kernel's static shared memory.
void allow_shared_bytes(const void* kernel, int bytes);

struct Times {
  std::vector<double> ms;
  double busy_before_ms;                    // see gpu/sensors.h; the unmeasured calls count
  std::optional<model::DeviceState> state;  // during the measured calls; empty: no NVML
};

// Milliseconds between events around each of `repetitions` calls, after two unmeasured calls. With
// 0 repetitions: as many as fit into about half a second, at least 5 and at most 100.
Times time_ms(int repetitions, const std::function<void()>& launch);

// Waits for the GPU and reports its errors.
void synchronize();

// C = alpha * A * B + beta * C by cuBLAS, row-major, in fp32 or with inputs rounded to tf32.
void cublas_sgemm(
    bool tf32, int M, int N, int K, float alpha, const float* A, const float* B, float beta,
    float* C);
// The same for copies of A and B that are rounded to bf16. `again`: the elements of A and B are
// those of the last call, and the copies need not be made again.
void cublas_bf16(
    bool again, int M, int N, int K, float alpha, const float* A, const float* B, float beta,
    float* C);

}  // namespace gpu
