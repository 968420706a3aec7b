// CUDA's vocabulary for g++: with `-include src/simulator/cuda/cpu.h` a kernel written for nvcc
// compiles as C++.
//
// Every thread of a block is a fiber on one thread of the operating system
// (src/simulator/machine/worker.h). So a thread_local variable is what __shared__ promises: one
// copy for all threads of a block.
#pragma once

// g++ would compile the special functions of <cmath> with each of our files. None calls one.
#ifndef SIMT_REWRITTEN
#define _GLIBCXX_BITS_SPECFUN_H 1
#endif

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "simulator/cuda/collectives.h"
#include "simulator/cuda/intrinsics.h"
#include "simulator/cuda/runtime.h"
#include "simulator/cuda/vector_types.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__  // nothing, because <memory> uses an attribute of that name
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __align__(bytes)
#define __builtin_assume(condition) static_cast<void>(0)
// Inside a function, thread_local implies static. constinit avoids a guard variable that would be
// read at each use (and as on the GPU, nothing constructs the variable). 128 bytes are one row of
// the 32 banks.
#define __shared__ __attribute__((aligned(128))) constinit thread_local

// In a user's file inline PTX becomes calls (src/simulator/rewrite/rewritten.h). In other files it
// would go to the CPU's assembler.
#ifdef SIMT_REWRITTEN
#include "simulator/cuda/ptx.h"
#else
#define asm _Pragma("GCC error \"inline PTX cannot be traced: write it in CUDA C++\"") __asm__
#endif

using uint = unsigned int;
using ushort = unsigned short;
using uchar = unsigned char;

// Set before a thread runs (src/simulator/machine/worker.cpp). They are const because gcc does not
// announce reads of const variables, so the tracer never sees them.
extern const __thread uint3 threadIdx;
extern const __thread uint3 blockIdx;
extern const __thread uint3 blockDim;
extern const __thread uint3 gridDim;
extern const __thread int warpSize;

// cp.async under its names in <cuda_pipeline.h>. Defined in src/simulator/machine/async_copies.cpp.
void __pipeline_memcpy_async(
    void* shared, const void* global, std::size_t size, std::size_t zfill = 0);
void __pipeline_commit();
void __pipeline_wait_prior(int groups_in_flight);

namespace simt {
// In the traced copy of a whole program, the traced kernel in place of the plain one, whose address
// the host took.
template <class Kernel>
Kernel* copy_to_run(Kernel* kernel) {
  const void* found = traced_kernel(reinterpret_cast<const void*>(kernel));
  return reinterpret_cast<Kernel*>(const_cast<void*>(found));
}
}  // namespace simt

// Replaces kernel<<<grid, block, shared_bytes>>>(arguments...), because <<< >>> is not C++.
template <class... Parameters, class... Arguments>
void launch(
    void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
    Arguments... arguments) {
  auto thread = [=] { simt::copy_to_run(kernel)(arguments...); };
  (simt::know_argument<Parameters>(arguments), ...);
  using Thread = decltype(thread);
  simt::run_grid(
      reinterpret_cast<const void*>(kernel), {grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
      shared_bytes, [](void* context) { (*static_cast<Thread*>(context))(); }, &thread,
      sizeof thread);
}

// The same for kernels beside the one that is studied (src/simulator/cuda/launch.h).
template <class... Parameters, class... Arguments>
void launch_aside(
    void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
    Arguments... arguments) {
  const simt::Aside aside;
  launch(kernel, grid, block, shared_bytes, arguments...);
}

template <class Condition, class... Parameters, class... Arguments>
void launch_if(
    const Condition& condition, void (*kernel)(Parameters...), dim3 grid, dim3 block,
    int shared_bytes, Arguments... arguments) {
  const bool is = (simt::word_at(condition.word) & condition.mask) == condition.is;
  if (is != condition.otherwise) launch(kernel, grid, block, shared_bytes, arguments...);
}
