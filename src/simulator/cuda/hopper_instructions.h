// Instructions of sm_90 that CUDA C++ has no word for, each as a function with its name in the PTX
// ISA: barriers in shared memory (mbarrier), the copy engine (TMA), register allocation, barriers
// for some of a block's warps. Those of the tensor cores are in cuda/wgmma.h.
//
// On the GPU a function is that instruction. On the CPU, src/simulator/machine/ has the same
// movement of data. What happens asynchronously happens there as late as it may, and its
// destination is poisoned before, so that a missing wait is seen.
#pragma once

#include <cstdint>

#include "simulator/cuda/launch.h"
#include "simulator/cuda/tensor_map.h"
#include "simulator/cuda/wgmma.h"

// A barrier of `count` arrivals in shared memory. Its phases are numbered from 0: a phase is
// complete when all arrivals have come and all bytes that they announced have been copied, and then
// the next begins.
#if !defined(__NVCC__) || defined(SIMT_REWRITTEN)

void mbarrier_init(std::uint64_t* barrier, unsigned count);
// Let the threads and the copy engine use barriers that this thread has initialized, after the next
// barrier of the block.
void fence_mbarrier_init();

void mbarrier_arrive(std::uint64_t* barrier);
// The same; and the phase also waits for that many bytes of copies.
void mbarrier_arrive_expect_tx(std::uint64_t* barrier, unsigned bytes);
// Waits until the phase with that parity (0 for the first phase) is complete. So a wait for parity
// 1 passes a barrier that was just initialized.
void mbarrier_wait(std::uint64_t* barrier, unsigned parity);

// The copy engine and wgmma access shared memory through the "async proxy". They see what a thread
// stored before this fence, once they are ordered after the fence (by a barrier).
void fence_proxy_async();

// One thread starts these. Both copy a box whose first element is in column x, a multiple of 16
// bytes, and row y of the matrix; the box may lie partly or wholly outside.
// `shared` is a multiple of 128, and of 1024 with a 128-byte swizzle. The barrier gets the box's
// bytes, also where zeros fill them.
void cp_async_bulk_tensor_2d(
    void* shared, const CUtensorMap* map, int x, int y, std::uint64_t* barrier);
void cp_async_bulk_tensor_2d_store(const CUtensorMap* map, int x, int y, const void* shared);
// Stores complete in groups of the thread that started them. After wait_group_read their shared
// memory may be overwritten.
void cp_async_bulk_commit_group();
namespace simt {
void wait_for_bulk_groups(int groups_in_flight, bool only_read);
}
template <int groups_in_flight>
SIMT_ALWAYS_INLINE inline void cp_async_bulk_wait_group() {
  simt::wait_for_bulk_groups(groups_in_flight, false);
}
template <int groups_in_flight>
SIMT_ALWAYS_INLINE inline void cp_async_bulk_wait_group_read() {
  simt::wait_for_bulk_groups(groups_in_flight, true);
}
// Fetches the map before it is needed.
inline void prefetch_tensormap(const CUtensorMap*) {}

// All threads of a warpgroup change the registers per thread that they own: a multiple of 8 from 24
// to 256. Has no effect on the CPU.
namespace simt {
void set_registers(int count, bool more);
}
template <int count>
SIMT_ALWAYS_INLINE inline void setmaxnreg_inc() {
  simt::set_registers(count, true);
}
template <int count>
SIMT_ALWAYS_INLINE inline void setmaxnreg_dec() {
  simt::set_registers(count, false);
}

// The barrier `id` (1 to 15; 0 is __syncthreads) for `threads` threads, a multiple of 32.
void bar_sync(int id, int threads);
// Arrives there, and does not wait for the others.
void bar_arrive(int id, int threads);

// Waits until the kernel before has ended and its results are visible. Only a kernel that is
// launched early (cuda/launch.h) needs it.
inline void griddepcontrol_wait() {}
// Allows the next kernel to start early. It starts when each block has allowed it or has ended.
inline void griddepcontrol_launch_dependents() {}

#else

__device__ __forceinline__ void griddepcontrol_wait() {
  SIMT_SM_90("griddepcontrol.wait;" ::: "memory");
}
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
  SIMT_SM_90("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ __forceinline__ void mbarrier_init(std::uint64_t* barrier, unsigned count) {
  SIMT_SM_90("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(simt::shared_address(barrier)),
             "r"(count)
             : "memory");
}
__device__ __forceinline__ void fence_mbarrier_init() {
  SIMT_SM_90("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void mbarrier_arrive(std::uint64_t* barrier) {
  SIMT_SM_90("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(simt::shared_address(barrier))
             : "memory");
}
__device__ __forceinline__ void mbarrier_arrive_expect_tx(std::uint64_t* barrier, unsigned bytes) {
  SIMT_SM_90(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(simt::shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
__device__ __forceinline__ void mbarrier_wait(std::uint64_t* barrier, unsigned parity) {
  // try_wait lets other warps run for a while, and may return before the phase is complete.
  unsigned complete = 0;
  while (complete == 0) {
    SIMT_SM_90(
        "{\n"
        ".reg .pred complete;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
        "selp.u32 %0, 1, 0, complete;\n"
        "}"
        : "=r"(complete)
        : "r"(simt::shared_address(barrier)), "r"(parity)
        : "memory");
  }
}
__device__ __forceinline__ void fence_proxy_async() {
  SIMT_SM_90("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void cp_async_bulk_tensor_2d(
    void* shared, const CUtensorMap* map, int x, int y, std::uint64_t* barrier) {
  SIMT_SM_90(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(simt::shared_address(shared)),
      "l"(map), "r"(x), "r"(y), "r"(simt::shared_address(barrier))
      : "memory");
}
__device__ __forceinline__ void cp_async_bulk_tensor_2d_store(
    const CUtensorMap* map, int x, int y, const void* shared) {
  SIMT_SM_90(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(x), "r"(y), "r"(simt::shared_address(shared))
      : "memory");
}
__device__ __forceinline__ void cp_async_bulk_commit_group() {
  SIMT_SM_90("cp.async.bulk.commit_group;" ::: "memory");
}
template <int groups_in_flight>
__device__ __forceinline__ void cp_async_bulk_wait_group() {
  SIMT_SM_90("cp.async.bulk.wait_group %0;" ::"n"(groups_in_flight) : "memory");
}
template <int groups_in_flight>
__device__ __forceinline__ void cp_async_bulk_wait_group_read() {
  SIMT_SM_90("cp.async.bulk.wait_group.read %0;" ::"n"(groups_in_flight) : "memory");
}
__device__ __forceinline__ void prefetch_tensormap(const CUtensorMap* map) {
  SIMT_SM_90("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
template <int count>
__device__ __forceinline__ void setmaxnreg_inc() {
  SIMT_SM_90A("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ __forceinline__ void setmaxnreg_dec() {
  SIMT_SM_90A("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
__device__ __forceinline__ void bar_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void bar_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#endif

// Initializes barriers, each with that many arrivals. All threads of the block call it, and must
// meet at a barrier of the block before they use these.
template <int barriers>
__device__ inline void initialize(std::uint64_t (&array)[barriers], unsigned arrivals) {
  if (threadIdx.x > 0) return;
  for (std::uint64_t& barrier : array) mbarrier_init(&barrier, arrivals);
  fence_mbarrier_init();
}
