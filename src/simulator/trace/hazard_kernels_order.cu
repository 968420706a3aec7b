#include <cuda/atomic>

#include "simulator/trace/hazard_kernel_run.h"

namespace {

// A flag of another block, read until it is set.
__device__ inline void wait_for(unsigned* flag, unsigned value = 1) {
  while (*reinterpret_cast<volatile unsigned*>(flag) < value) {
  }
}

__device__ inline void lock(unsigned* word) {
  while (atomicCAS(word, 0u, 1u) != 0) {
  }
  __threadfence();
}

__device__ inline void unlock(unsigned* word) {
  __threadfence();
  atomicExch(word, 0u);
}

// Block 1 stores 64 parts and signals; block 0 waits and adds them.
#define HAND_OVER(signal, waiting) \
  KERNEL(2, 64) {                  \
    if (B == 1) {                  \
      partial[T] = in[T];          \
      signal;                      \
    } else {                       \
      waiting;                     \
      out[T] = partial[T];         \
    }                              \
  }

// Each of 4 blocks stores 64 parts; the last to arrive adds them.
#define TICKET(take)                                                                              \
  KERNEL(4, 64) {                                                                                 \
    __shared__ unsigned ticket;                                                                   \
    partial[64 * B + T] = in[64 * B + T];                                                         \
    take;                                                                                         \
    __syncthreads();                                                                              \
    if (ticket == 3) out[T] = partial[T] + partial[64 + T] + partial[128 + T] + partial[192 + T]; \
  }

// Each block waits for the one before it, and the last loads what the first has stored.
#define CHAIN(fence)                       \
  KERNEL(3, 32) {                          \
    if (B != 0) wait_for(flags + B - 1);   \
    if (B == 0) partial[T] = in[T];        \
    if (B == 2) out[T] = partial[T];       \
    fence;                                 \
    __syncwarp();                          \
    if (T == 0) atomicExch(flags + B, 1u); \
  }

// One thread of each of 4 blocks takes a lock and adds.
#define LOCKED(take, release) \
  KERNEL(4, 32) {             \
    if (T == 0) {             \
      take;                   \
      partial[0] += in[B];    \
      release;                \
    }                         \
  }

// Blocks load what others have stored, and then, perhaps too early, store again.
#define IN_ROUNDS(before_next)                           \
  KERNEL(4, 64) {                                        \
    for (int i = 0; i < 3; ++i) {                        \
      partial[64 * B + T] = in[T];                       \
      cg::this_grid().sync();                            \
      out[64 * B + T] = partial[64 * ((B + 1) % 4) + T]; \
      before_next;                                       \
    }                                                    \
  }

// Thread 0 signals by a flag in shared memory, and another one resets it.
#define RESET(stores, reset)  \
  KERNEL(1, 64) {             \
    __shared__ unsigned flag; \
    if (T == 0) flag = 0;     \
    __syncthreads();          \
    if (T == 0) {             \
      stores;                 \
      __threadfence_block();  \
      atomicExch(&flag, 1u);  \
    } else if (T == 32) {     \
      reset;                  \
    }                         \
  }

__global__ void wait(void (*until_late)(), bool then_barrier) {
  until_late();
  if (then_barrier) __syncthreads();
}

}  // namespace

#define RACE "race_between_blocks"
#define WAIT                   \
  if (T == 0) wait_for(flags); \
  __syncthreads()
#define AWAIT                                          \
  if (T == 0) {                                        \
    while (atomicAdd(flags, 0u) == 0) __nanosleep(10); \
  }                                                    \
  __syncthreads()
using Gpu = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
using Block = cuda::atomic_ref<unsigned, cuda::thread_scope_block>;
using model::Remedy;

// clang-format off
extern const std::vector<trace::HazardKernel> trace::hazards_of_order = {
    // A flag for another block.
    {"a flag after a fence and a barrier", HAND_OVER(
       __threadfence(); __syncthreads(); if (T == 0) atomicExch(flags, 1u), WAIT)>, ""},
    {"a flag after a barrier and a fence", HAND_OVER(
       __syncthreads(); if (T == 0) { __threadfence(); atomicExch(flags, 1u); }, WAIT)>, ""},
    {"a volatile flag", HAND_OVER(
       __syncthreads(); if (T == 0) { __threadfence(); *(volatile unsigned*)flags = 1; },
       WAIT)>, ""},
    {"a flag that is released", HAND_OVER(
       __syncthreads(); if (T == 0) Gpu(*flags).store(1, cuda::memory_order_release), WAIT)>, ""},
    {"a flag of each thread", HAND_OVER(
       __threadfence(); atomicAdd(flags + T, 1u), wait_for(flags + T))>, ""},
    {"a counter to which each thread adds", HAND_OVER(
       __threadfence(); atomicAdd(flags, 1u), wait_for(flags, 64))>, ""},
    {"each warp signals after its own barrier", HAND_OVER(
       __syncwarp(); if (T % 32 == 0) { __threadfence(); atomicAdd(flags, 1u); },
       if (T == 0) wait_for(flags, 2); __syncthreads())>, ""},
    {"each warp waits for its own flag", HAND_OVER(
       __threadfence(); __syncwarp(); if (T % 32 == 0) atomicExch(flags + T / 32, 1u),
       if (T % 32 == 0) wait_for(flags + T / 32); __syncwarp())>, ""},
    {"a fence of the block before a flag", HAND_OVER(
       __threadfence_block(); __syncthreads(); if (T == 0) atomicExch(flags, 1u), WAIT)>,
     RACE, Remedy::fence_of_the_gpu},
    {"a fence of the block after the barrier", HAND_OVER(
       __syncthreads(); if (T == 0) { __threadfence_block(); *(volatile unsigned*)flags = 1; },
       WAIT)>, RACE, Remedy::fence_of_the_gpu},
    {"a flag that is released to its block", HAND_OVER(
       __syncthreads(); if (T == 0) Block(*flags).store(1, cuda::memory_order_release), WAIT)>,
     RACE, Remedy::atomic_of_the_gpu},
    {"an atomic of the GPU beside a store to the block", KERNEL(3, 64) {
       __shared__ unsigned own; atomicAdd(flags, 1u); Block(own).store(3); }>, ""},
    {"a flag whose order is relaxed", HAND_OVER(
       __syncthreads(); if (T == 0) Gpu(*flags).store(1, cuda::memory_order_relaxed), WAIT)>,
     RACE, Remedy::fence_and_atomic},
    {"a flag whose order is acquire", HAND_OVER(
       __syncthreads(); if (T == 0) Gpu(*flags).fetch_add(1, cuda::memory_order_acquire), WAIT)>,
     RACE, Remedy::fence_of_the_gpu},
    {"an exchange without a fence", HAND_OVER(
       __syncthreads(); if (T == 0) atomicExch(flags, 1u), WAIT)>, RACE, Remedy::fence_and_atomic},
    {"thread 0 fences before the barrier", HAND_OVER(
       if (T == 0) __threadfence(); __syncthreads(); if (T == 0) atomicExch(flags, 1u), WAIT)>,
     RACE, Remedy::barrier_at_fence},
    {"thread 0 fences without a barrier", HAND_OVER(
       if (T == 0) { __threadfence(); atomicExch(flags, 1u); }, WAIT)>, RACE,
     Remedy::barrier_at_fence},
    {"each warp signals without a barrier of its lanes", HAND_OVER(
       if (T % 32 == 0) { __threadfence(); atomicAdd(flags, 1u); },
       if (T == 0) wait_for(flags, 2); __syncthreads())>, RACE, Remedy::barrier_at_fence},
    {"only thread 0 waits, and no barrier follows", HAND_OVER(
       __threadfence(); __syncthreads(); if (T == 0) atomicExch(flags, 1u),
       if (T == 0) wait_for(flags))>, RACE, Remedy::barrier_at_fence},
    {"the flag before the data", HAND_OVER(
       if (T == 0) { __threadfence(); atomicExch(flags, 1u); } partial[T] += 1, WAIT)>, RACE,
     Remedy::fence_and_atomic},
    {"a flag that atomics wait for", HAND_OVER(
       __threadfence(); __syncthreads(); if (T == 0) atomicExch(flags, 1u), AWAIT)>, ""},
    {"a plain flag", HAND_OVER(
       __threadfence(); __syncthreads(); if (T == 0) *flags = 1,
       AWAIT)>, RACE},
    // A ticket.
    {"the last block, as in NVIDIA's threadFenceReduction", KERNEL(4, 64) {
       __shared__ bool is_last;
       volatile float* const parts = partial;
       const float sum = sum_of_warp(in[64 * B + T]);
       if (T == 0) {
         parts[B] = sum;
         __threadfence();
         is_last = atomicInc(flags, 4) == 3;
       }
       __syncthreads();
       if (is_last && T < 4) out[T] = parts[T];
     }>, ""},
    {"a ticket after all threads' fences", TICKET(
       __threadfence(); __syncthreads(); if (T == 0) ticket = atomicInc(flags, 3))>, ""},
    {"a ticket after a barrier and one fence", TICKET(
       __syncthreads(); if (T == 0) { __threadfence(); ticket = atomicInc(flags, 3); })>, ""},
    {"a ticket of acquire and release", TICKET(
       __syncthreads(); if (T == 0) ticket = Gpu(*flags).fetch_add(1, cuda::memory_order_acq_rel))>,
     ""},
    {"a ticket after one thread's fence", TICKET(
       if (T == 0) { __threadfence(); ticket = atomicInc(flags, 3); })>, RACE,
     Remedy::barrier_at_fence},
    {"a ticket after fences of the block", TICKET(
       __threadfence_block(); __syncthreads(); if (T == 0) ticket = atomicInc(flags, 3))>, RACE,
     Remedy::fence_of_the_gpu},
    {"a ticket whose scope is the block", TICKET(
       __threadfence(); __syncthreads(); if (T == 0) ticket = atomicAdd_block(flags, 1u))>, RACE,
     Remedy::atomic_of_the_gpu},
    // Through a third block.
    {"a chain of flags with a fence in each link", CHAIN(__threadfence())>, ""},
    {"a chain of flags without a fence in the second link", CHAIN(if (B == 0) __threadfence())>,
     RACE},
    {"a scan with decoupled look-back", KERNEL(4, 32) {
       float before = 0;
       if (T == 0) {
         if (B != 0) {
           wait_for(flags + B - 1);
           before = partial[64 + B - 1];
         }
         partial[64 + B] = before + in[B];
         __threadfence();
         *(volatile unsigned*)(flags + B) = 1;
       }
       out[32 * B + T] = __shfl_sync(kAll, before, 0);
     }>, ""},
    {"a scan whose state and sum are one word", KERNEL(4, 32) {
       volatile unsigned* const state = flags;
       if (T == 0) {
         unsigned before = 1;
         if (B != 0) {
           while ((before = state[B - 1]) == 0) {
           }
         }
         state[B] = before + 1;
       }
       out[32 * B + T] = in[T];
     }>, ""},
    // Locks.
    {"a lock with fences", LOCKED(lock(flags), unlock(flags))>, ""},
    {"a lock that a volatile store releases",
     LOCKED(lock(flags), __threadfence(); *(volatile unsigned*)flags = 0)>, ""},
    {"a lock that a plain store releases", LOCKED(lock(flags), __threadfence(); *flags = 0)>, RACE,
     Remedy::both_atomic},
    {"a lock without a fence", LOCKED(
       while (atomicCAS(flags, 0u, 1u) != 0) {}, atomicExch(flags, 0u))>, RACE,
     Remedy::fence_and_atomic},
    {"a lock around the result", LOCKED(lock(flags); out[0] += in[B], unlock(flags))>, ""},
    {"a lock that a block takes for all its threads", KERNEL(4, 64) {
       if (T == 0) lock(flags);
       __syncthreads();
       partial[T] += in[T];
       __syncthreads();
       if (T == 0) unlock(flags);
     }>, ""},
    {"a lock that each lane takes", KERNEL(2, 32) {
       for (bool done = false; !done;) {
         if (atomicCAS(flags, 0u, 1u) != 0) continue;
         partial[0] += in[T];
         __threadfence();
         atomicExch(flags, 0u);
         done = true;
       }
     }>, ""},
    {"a plain load that a compare-and-swap checks, after a fence", KERNEL(4, 32) {
       __threadfence();
       for (unsigned found = *flags, expected = ~found; found != expected;) {
         found = atomicCAS(flags, expected = found, found + 1);
       }
     }>, ""},
    {"a lock of a block that a plain store releases", KERNEL(1, 64) {
       __shared__ int word;
       if (T == 0) word = 0;
       __syncthreads();
       if (T % 32 == 0) {
         while (atomicCAS(&word, 0, 1) != 0) {
         }
         partial[0] += in[T];
         __threadfence_block();
         word = 0;
       }
     }>, "race", Remedy::only_atomics},
    {"a barrier without a fence between two locks", KERNEL(2, 64) {
       if (T == 0) lock(flags);
       partial[T] += in[T];
       if (T == 0) unlock(flags);
     }>, RACE, Remedy::barrier_at_fence},
    // The whole grid.
    {"a barrier of the grid", IN_ROUNDS(cg::this_grid().sync())>, ""},
    {"a barrier of the block where one of the grid is needed",
     IN_ROUNDS(cg::sync(cg::this_thread_block()))>, RACE},
    {"the second barrier of the grid is missing", IN_ROUNDS()>, RACE, Remedy::grid_barrier},
    {"a queue of work for persistent blocks", KERNEL(3, 32) {
       for (;;) {
         unsigned task = 0;
         if (T == 0) task = atomicAdd(flags, 1u);
         task = __shfl_sync(kAll, task, 0);
         if (task >= 8) break;
         out[32 * task + T] = 2 * in[32 * task + T];
       }
     }>, ""},
    {"a histogram in global memory", KERNEL(4, 64) {
       atomicAdd(flags + static_cast<unsigned>(in[64 * B + T]) % 16, 1u);
     }>, ""},
    {"a histogram in shared memory, then one in global memory", KERNEL(4, 64) {
       __shared__ unsigned bins[16];
       if (T < 16) bins[T] = 0;
       __syncthreads();
       atomicAdd_block(bins + static_cast<unsigned>(in[64 * B + T]) % 16, 1u);
       __syncthreads();
       if (T < 16) atomicAdd(flags + T, bins[T]);
     }>, ""},
    {"an atomic of the block for a word of each block", KERNEL(4, 64) {
       atomicAdd_block(flags + B, 1u);
     }>, ""},
    {"atomics of the block for a word of all blocks", KERNEL(4, 64) {
       atomicAdd_block(flags, 1u);
     }>, RACE, Remedy::atomic_of_the_gpu},
    // Within a block.
    {"lanes that exchange without a barrier", EXCHANGE(64, , s[T ^ 1])>, "race",
     Remedy::warp_barrier},
    {"warps that exchange without a barrier", EXCHANGE(64, , s[63 - T])>, "race",
     Remedy::block_barrier},
    {"lanes, and with the same line also warps", EXCHANGE(64, , s[T ^ 1] + s[0])>, "race",
     Remedy::block_barrier},
    {"bins are counted before all are zero",
     SHARED(64, unsigned bins[64], bins[T] = 0, , atomicAdd(&bins[63 - T], 1u))>, "race",
     Remedy::barrier_or_atomics},
    {"warps that signal each other by named barriers", SHARED(64, float s[32],
       if (T < 32) s[T] = in[T]; bar_sync(1, 64), if (T < 32) return, s[T - 32])>, ""},
    {"a barrier under a condition that all threads share", KERNEL(1, 64) {
       __shared__ float s[64];
       const auto exchange = [&](auto of) {
         s[T] = in[T];
         __syncthreads();
         return s[of(T)];
       };
       out[T] = B == 0 ? exchange([](unsigned t) { return 63 - t; })
                       : exchange([](unsigned t) { return t ^ 32; });
       if (blockDim.x == 64) cg::this_thread_block().sync();
     }>, ""},
    {"warps in two instances of one function with a barrier", KERNEL(1, 64) {
       const auto pause = [](auto) { __syncthreads(); };
       if (T < 32) pause(1); else pause(1.f);
       out[T] = 1;
     }>, "several_barriers"},
    // Data that the launch stores is not read-only.
    {"__ldg of what another block stores", KERNEL(2, 64) {
       if (B == 0) partial[T] = in[T];
       if (B == 1) out[T] = __ldg(partial + T);
     }>, "race_between_blocks read_only_is_stored"},
    {"__ldg of a vector that the same thread stored", KERNEL(1, 64) {
       reinterpret_cast<float4*>(partial)[T] = make_float4(1, 2, 3, 4);
       out[T] = __ldg(reinterpret_cast<const float4*>(partial) + T).x;
     }>, "read_only_is_stored"},
    {"__ldg of what an atomic changes", KERNEL(1, 64) {
       atomicAdd(flags, 1u);
       __syncthreads();
       out[T] = __ldg(flags);
     }>, "read_only_is_stored"},
    {"__ldg of the part of an array that nobody stores", KERNEL(2, 64) {
       partial[T + 64 * B] = __ldg(partial + 512 + T);
     }>, ""},
    // A flag that is reset by a plain store.
    {"a flag is reset by the thread that has seen it", HAND_OVER(
       __threadfence(); __syncthreads(); if (T == 0) atomicExch(flags, 1u),
       if (T == 0) { while (atomicAdd(flags, 0u) == 0) __nanosleep(10); __threadfence(); *flags = 0; }
       __syncthreads())>, ""},
    {"a flag is reset by another thread, after a barrier", HAND_OVER(
       __threadfence(); __syncthreads(); if (T == 0) atomicExch(flags, 1u),
       WAIT; if (T == 40) *flags = 0)>, ""},
    {"a flag is reset by a block that has not seen it", KERNEL(2, 32) {
       if (T != 0) return;
       if (B == 0) {
         *flags = 0;
       } else {
         __threadfence();
         atomicExch(flags, 1u);
       }
     }>, RACE, Remedy::both_atomic},
    {"a flag is reset by a block that has seen another one", KERNEL(3, 32) {
       if (T != 0) return;
       if (B == 0) {
         wait_for(flags + 2);
         *flags = 0;
       } else {
         __threadfence();
         atomicExch(flags + B, 1u);
         if (B == 1) atomicExch(flags, 1u);
       }
     }>, RACE, Remedy::both_atomic},
    {"the last block resets the ticket", KERNEL(4, 32) {
       __shared__ bool is_last;
       partial[32 * B + T] = in[T];
       __threadfence();
       __syncthreads();
       if (T == 0) is_last = atomicInc(flags, 4) == 3;
       __syncthreads();
       if (!is_last) return;
       out[T] = partial[T] + partial[96 + T];
       if (T == 0) *flags = 0;
     }>, ""},
    {"every block resets the ticket", KERNEL(4, 32) {
       partial[32 * B + T] = in[T];
       __threadfence();
       __syncthreads();
       if (T == 0) atomicInc(flags, 4);
       __syncthreads();
       if (T == 0) *flags = 0;
     }>, RACE},
    {"a flag in shared memory is reset by the thread that has seen it", RESET(partial[0] = in[0],
       while (atomicAdd(&flag, 0u) == 0) __nanosleep(10); __threadfence_block(); flag = 0;
       out[0] = partial[0])>, ""},
    {"a flag in shared memory is reset by a thread that has not seen it", RESET(, flag = 0)>,
     "race"},
};

extern void (*const trace::run_until)(void (*)(), bool) = [](void (*late)(), bool then_barrier) {
  launch(wait, dim3(1), dim3(32), 0, late, then_barrier);
};
