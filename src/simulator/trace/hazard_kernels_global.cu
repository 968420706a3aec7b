#include "simulator/trace/hazard_kernel_run.h"

namespace {

// Warp 1 fills a buffer, and warp 0 adds it up and reports it empty, perhaps too early.
template <bool too_early>
__device__ void exchange_buffers(const float* in, float* out) {
  __shared__ float s[32];
  __shared__ volatile int full, empty;
  if (T == 0) {
    full = 0;
    empty = 1;
  }
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    if (T < 32) {
      while (full != k + 1) {
      }
      if (!too_early) sum += s[T];
      __threadfence_block();
      __syncwarp();
      if (T == 0) empty = k + 2;
      if (too_early) sum += s[T];
    } else {
      while (empty != k + 1) {
      }
      s[T - 32] = in[32 * k + T];
      __threadfence_block();
      __syncwarp();
      if (T == 32) full = k + 1;
    }
  }
  if (T < 32) out[T] = sum;
}

// A thread stores its result and then loads one.
#define OWN_RESULT(between, loads) \
  KERNEL(1, 64) {                  \
    out[T] = in[T];                \
    between;                       \
    partial[T] = loads;            \
  }

// The last of 4 blocks to store a sum adds up all of them.
#define LAST_BLOCK(fence)                                                              \
  KERNEL(4, 64) {                                                                      \
    __shared__ bool is_last;                                                           \
    const float sum = sum_of_warp(in[64 * B + T]);                                     \
    if (T == 0) {                                                                      \
      partial[B] = sum;                                                                \
      fence;                                                                           \
      is_last = atomicInc(&flags[0], 3) == 3;                                          \
    }                                                                                  \
    __syncthreads();                                                                   \
    if (is_last && T == 0) out[0] = partial[0] + partial[1] + partial[2] + partial[3]; \
  }

}  // namespace

// clang-format off
extern const std::vector<trace::HazardKernel> trace::hazards_in_global_memory = {
    // Global memory.
    {"beta * C, read and written by the same thread", KERNEL(2, 64) {
       out[64 * B + T] = 2 * out[64 * B + T] + in[T];
     }>, ""},
    {"a block loads what another one stores", KERNEL(2, 64) {
       out[64 * B + T] = in[T];
       if (B == 1) partial[T] = out[T];
     }>, "race_between_blocks"},
    {"a block loads what another one stores later", KERNEL(2, 64) {
       if (B == 0) partial[T] = out[64 + T];
       if (B == 1) out[64 + T] = in[T];
     }>, "race_between_blocks"},
    {"a thread loads the result of its neighbour without a barrier", OWN_RESULT(, out[63 - T])>,
     "race"},
    {"a thread loads the result of its neighbour after a barrier",
     OWN_RESULT(__syncthreads(), out[63 - T])>, ""},
    {"__ldg of what the launch stores", OWN_RESULT(__syncthreads(), __ldg(&out[63 - T]))>,
     "read_only_is_stored"},
    {"the result is shifted in place", KERNEL(4, 64) {
       const unsigned i = 64 * B + T;
       const float next = i + 1 < 256 ? out[i + 1] : 0;
       out[i] = next;
     }>, "race race_between_blocks"},
    {"two blocks store the same element", KERNEL(2, 64) {
       out[T] = B;
     }>, "race_on_result"},
    {"two threads store the same element", KERNEL(1, 64) {
       out[T / 2] = T;
     }>, "race_on_result"},
    {"two threads store the same element, one after a barrier", KERNEL(1, 64) {
       if (T < 32) out[T] = in[T];
       __syncthreads();
       if (T >= 32) out[T - 32] += in[T];
     }>, ""},
    {"bytes of one word of the result by two blocks", KERNEL(2, 2) {
       reinterpret_cast<char*>(out)[2 * B + T] = 1;
     }>, ""},
    {"split K adds atomically", KERNEL(4, 64) {
       atomicAdd(&out[T], in[64 * B + T]);
     }>, ""},
    {"split K adds without atomics", KERNEL(4, 64) {
       out[T] += in[64 * B + T];
     }>, "race_between_blocks race_on_result"},
    {"__ldg of what nobody stores", KERNEL(2, 64) {
       out[64 * B + T] = __ldg(&in[T]) + __ldg(&partial[T]);
     }>, ""},
    {"the last block adds up the partial sums", LAST_BLOCK(__threadfence())>, ""},
    {"the last block without a __threadfence", LAST_BLOCK()>, "race_between_blocks"},
    {"no counter: block 0 adds up what the others store", KERNEL(4, 64) {
       partial[64 * B + T] = in[T];
       __threadfence();
       if (B == 0) out[T] = partial[T] + partial[64 + T];
     }>, "race_between_blocks"},
    {"stream-K with a chain of volatile flags", KERNEL(4, 32) {
       volatile unsigned* const ready = flags;
       float sum = in[T];
       if (B < 3) {
         while (ready[B + 1] == 0) {
         }
         __syncwarp();
         sum += partial[32 * (B + 1) + T];
       }
       partial[32 * B + T] = sum;
       __threadfence();
       __syncwarp();
       if (T == 0) ready[B] = 1;
       if (B == 0) out[T] = sum;
     }>, ""},
    {"a barrier of all blocks, built from a counter", KERNEL(4, 64) {
       partial[64 * B + T] = in[T];
       __syncthreads();
       if (T == 0) {
         __threadfence();
         atomicAdd(&flags[0], 1u);
         while (*reinterpret_cast<volatile unsigned*>(&flags[0]) < 4) __nanosleep(100);
         __threadfence();
       }
       __syncthreads();
       out[64 * B + T] = partial[64 * (3 - B) + T];
     }>, ""},
    {"a ticket from atomicInc that gives every block a different part", KERNEL(4, 64) {
       __shared__ unsigned ticket;
       if (T == 0) ticket = atomicInc(&flags[1], 100);
       __syncthreads();
       out[64 * ticket + T] = in[T];
     }>, ""},
    {"a buffer that two blocks hand back and forth", KERNEL(2, 32) {
       volatile unsigned* const turn = flags;
       for (unsigned i = 0; i < 3; ++i) {
         while (*turn != 2 * i + B) {
         }
         __threadfence();
         __syncwarp();
         partial[T] = partial[T] + in[T];
         __threadfence();
         __syncwarp();
         if (T == 0) *turn = 2 * i + B + 1;
       }
     }>, ""},
    {"every thread of the consumer waits for its own element", KERNEL(1, 64) {
       __shared__ float s[32];
       __shared__ int ready[32];
       if (T < 32) ready[T] = 0;
       __syncthreads();
       if (T < 32) {
         while (atomicAdd(&ready[T], 0) == 0) {
         }
         out[T] = s[T];
       } else {
         s[T - 32] = in[T];
         __threadfence_block();
         atomicExch(&ready[T - 32], 1);
       }
     }>, ""},
    {"producers and consumers that exchange buffers by flags", KERNEL(1, 64) {
       exchange_buffers<false>(in, out);
     }>, ""},
    {"the consumer reports the buffer empty before it has read it", KERNEL(1, 64) {
       exchange_buffers<true>(in, out);
     }>, "race"},
    {"a lock around a sum in shared memory", KERNEL(1, 64) {
       __shared__ int lock;
       __shared__ float sum;
       if (T == 0) {
         lock = 0;
         sum = 0;
       }
       __syncthreads();
       for (bool done = false; !done;) {
         if (atomicCAS(&lock, 0, 1) == 0) {
           sum += in[T];
           __threadfence_block();
           atomicExch(&lock, 0);
           done = true;
         }
       }
       __syncthreads();
       out[T] = sum;
     }>, ""},
    {"blocks add to one element", KERNEL(2, 1) {
       partial[0] += in[B];
     }>, "race_between_blocks", model::Remedy::atomic_update},
    {"blocks load the elements of other blocks, and store their own", KERNEL(2, 1) {
       partial[B] += partial[1 - B];
     }>, "race_between_blocks", model::Remedy::fence_and_atomic},
};
