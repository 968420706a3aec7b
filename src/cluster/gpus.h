// The GPUs of this machine, connected by NCCL. Implemented in cluster/gpus.cu if nvcc built the
// program, otherwise in cluster/no_gpus.cpp. All functions but count_gpus() and why_no_nccl()
// need a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cluster/devices.h"
#include "cluster/processes.h"
#include "model/stage.h"

namespace cluster {

int count_gpus();

// Why there can be no broadcasts, and what to do; empty if there can. NCCL is found when the
// program is built (nccl.h) and when it runs (libnccl.so.2).
std::string why_no_nccl();

// Whether all of the first `gpus` GPUs can reach each other's memory without the host.
bool are_peers(int gpus);

// One GPU for each device of the grid: all of this process, or with several processes the one of
// this process's rank on its machine. `gemm` multiplies on the current GPU; if it is empty, cuBLAS
// does in fp32. If `broadcasts`, the rows and columns of the grid become communicators of NCCL,
// which are aborted if an exception destroys the devices.
std::unique_ptr<Devices> gpus(
    Grid grid, Processes& processes, std::function<model::Kernel> gemm, bool broadcasts);

// Memory of the host that copies can reach while a GPU multiplies, as long as this exists.
class Pinned {
 public:
  Pinned(void* memory, std::size_t bytes);
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned();

 private:
  void* memory_;
};

// cublasXtSgemm on the first `gpus` GPUs, in blocks of 4096: row-major matrices in the host's
// memory.
class CublasXt {
 public:
  explicit CublasXt(int gpus);
  CublasXt(const CublasXt&) = delete;
  CublasXt& operator=(const CublasXt&) = delete;
  ~CublasXt();
  void multiply(Shape shape, float alpha, const float* A, const float* B, float beta, float* C);

 private:
  void* handle_ = nullptr;
};

}  // namespace cluster
