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
    {"no counter: block 0 adds up what the others store", KERNEL(4, 64) {
       partial[64 * B + T] = in[T];
       __threadfence();
       if (B == 0) out[T] = partial[T] + partial[64 + T];
     }>, "race_between_blocks"},
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
    {"producers and consumers that exchange buffers by flags", KERNEL(1, 64) {
       exchange_buffers<false>(in, out);
     }>, ""},
    {"the consumer reports the buffer empty before it has read it", KERNEL(1, 64) {
       exchange_buffers<true>(in, out);
     }>, "race"},
    {"blocks add to one element", KERNEL(2, 1) {
       partial[0] += in[B];
     }>, "race_between_blocks", model::Remedy::atomic_update},
    {"blocks load the elements of other blocks, and store their own", KERNEL(2, 1) {
       partial[B] += partial[1 - B];
     }>, "race_between_blocks", model::Remedy::fence_and_atomic},
};
