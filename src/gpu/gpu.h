// The GPU: device 0, its memory, event timing and cuBLAS. src/gpu/gpu.cu where nvcc built the
// program, src/gpu/absent.cpp where not. Every function but find() needs a GPU; each throws Refusal
// with the driver's own words where the GPU refuses.
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
  std::string why_not;  // a sentence, where none is found
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
Resources resources(model::Kernel* kernel);

// Lets launches of `kernel` ask for that much dynamic shared memory, beyond 48 KB with what the
// kernel declares itself.
void allow_shared_bytes(model::Kernel* kernel, int bytes);

// Milliseconds between events around each of `repetitions` calls, after two unmeasured ones.
// With 0 repetitions: as many as fit into about half a second, at least 5 and at most 100.
std::vector<double> time_ms(int repetitions, const std::function<void()>& launch);

// Waits for the GPU and reports what went wrong on it.
void synchronize();

// C = alpha * A * B + beta * C by cuBLAS, row-major, in fp32 or with inputs rounded to tf32.
void cublas_sgemm(
    bool tf32, int M, int N, int K, float alpha, const float* A, const float* B, float beta,
    float* C);

}  // namespace gpu
