// What a run has of this machine: whether kernels run on a GPU and which GPU's limits apply, free
// memory, threads, and the CPU's name.
#pragma once

#include <cstdint>
#include <string>

#include "lab/request.h"
#include "model/gpus.h"

namespace lab {

// Whether the kernels run on the GPU: yes if there is one, unless --device cpu is given.
bool choose_device(const Request& request);

// The GPU whose occupancy and limits the run uses.
model::Gpu choose_model(const Request& request, bool on_gpu);

// How much memory is free, checked before a request uses it.

// The number of bytes that this process can still allocate: what the kernel reports as available
// (MemAvailable), or less if its control groups (cgroup v2: containers, batch jobs) limit
// it. Files are read below `root`. If there are no such files, there is no limit: 2^64 - 1.
std::uint64_t available_memory(const std::string& root = "");

// Throws a Refusal if `needed` is more than `available`, in bytes: "--size 1000000000: 12 EB of
// memory is needed for A, B and C, and 21 GB is free; ...". Here "--size 1000000000" is the request
// and "A, B and C" the purpose. `needed` is a double because three matrices with the largest sides
// exceed 2^64 bytes.
void require_memory(
    double needed, std::uint64_t available, const std::string& request, const std::string& purpose);

// The threads that share the work on a CPU.

// Call this first in main. Gives every thread a stack that is large enough for traced kernels, even
// if ulimit -s is smaller, and limits OMP_NUM_THREADS to what this machine can use. Throws a
// Refusal if OMP_STACKSIZE is too small, because OpenMP reads it before main begins.
void prepare_threads();

// The name of this machine's CPU.

// The CPU's name as Linux reports it; empty if it does not (aarch64).
std::string cpu_name();

}  // namespace lab
