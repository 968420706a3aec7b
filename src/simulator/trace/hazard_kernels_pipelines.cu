#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "simulator/trace/hazard_kernel_run.h"

namespace {

// Adds up the stage that was committed so many rounds ago.
template <int rounds_ago>
__device__ void add_own_elements(const float* in, float* out) {
  __shared__ float s[2][32];
  auto pipe = cuda::make_pipeline();
  float sum = 0;
  for (int i = 0; i < 5; ++i) {
    if (i < 4) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[i % 2][T], &in[32 * i + T], sizeof(float), pipe);
      pipe.producer_commit();
    }
    if (i == 0) continue;
    pipe.consumer_wait();
    sum += s[(i - rounds_ago) % 2][T];
    pipe.consumer_release();
  }
  out[T] = sum;
}

// A pipeline of one block with one stage.
#define STAGE(rounds, copies, waits)                                           \
  KERNEL(1, 64) {                                                              \
    __shared__ float s[64];                                                    \
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state; \
    const auto block = cg::this_thread_block();                                \
    auto pipe = cuda::make_pipeline(block, &state);                            \
    float sum = 0;                                                             \
    for (int i = 0; i < rounds; ++i) {                                         \
      pipe.producer_acquire();                                                 \
      copies;                                                                  \
      pipe.producer_commit();                                                  \
      waits;                                                                   \
    }                                                                          \
    out[T] = sum;                                                              \
  }

// A barrier that the block knows, and what its threads do with it.
#define WITH_BARRIER(...)                                       \
  KERNEL(1, 64) {                                               \
    __shared__ float s[64];                                     \
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier; \
    if (T == 0) init(&barrier, 64);                             \
    __syncthreads();                                            \
    __VA_ARGS__;                                                \
  }
#define COPY_BLOCK cuda::memcpy_async(cg::this_thread_block(), s, in, sizeof s, barrier)

// Two copies of a group.
#define TWO_COPIES(...)                                           \
  KERNEL(1, 64) {                                                 \
    __shared__ float s[128];                                      \
    const auto block = cg::this_thread_block();                   \
    cg::memcpy_async(block, s, in, sizeof(float) * 64);           \
    cg::memcpy_async(block, s + 64, in + 64, sizeof(float) * 64); \
    cg::wait_prior<1>(block);                                     \
    __VA_ARGS__;                                                  \
  }

// A group's copy of what a kernel may store to.
#define COPY_PARTIAL(...)                          \
  KERNEL(1, 64) {                                  \
    __shared__ float s[64];                        \
    const auto block = cg::this_thread_block();    \
    cg::memcpy_async(block, s, partial, sizeof s); \
    __VA_ARGS__;                                   \
  }

// Block 0 copies what block 1 stores to after a flag, before or after which block 0 waits.
#define SIGNAL_AT_COPY(before, after)                        \
  KERNEL(2, 32) {                                            \
    __shared__ float s[32];                                  \
    if (B == 0) {                                            \
      __pipeline_memcpy_async(&s[T], &partial[T], 4);        \
      __pipeline_commit();                                   \
      before;                                                \
      __threadfence();                                       \
      atomicExch(flags + T, 1u);                             \
      after;                                                 \
      out[T] = s[T];                                         \
    } else {                                                 \
      while (atomicAdd(flags + T, 0u) == 0) __nanosleep(10); \
      partial[T] = 7;                                        \
    }                                                        \
  }

}  // namespace

// clang-format off
extern const std::vector<trace::HazardKernel> trace::hazards_of_pipelines = {
    {"a pipeline of one thread: two stages of its own elements", KERNEL(1, 32) {
       add_own_elements<1>(in, out);
     }>, ""},
    {"the same, reading the stage that was committed last", KERNEL(1, 32) {
       add_own_elements<0>(in, out);
     }>, "copy_not_waited_for"},
    {"a pipeline of a block in two stages", KERNEL(2, 64) {
       __shared__ float s[2][64];
       __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
       const auto block = cg::this_thread_block();
       auto pipe = cuda::make_pipeline(block, &state);
       float sum = 0;
       for (int i = 0; i <= 8; ++i) {
         if (i < 8) {
           pipe.producer_acquire();
           cuda::memcpy_async(block, s[i % 2], in + 64 * i, cuda::aligned_size_t<16>(256), pipe);
           pipe.producer_commit();
         }
         if (i == 0) continue;
         pipe.consumer_wait();
         sum += s[(i - 1) % 2][63 - T];
         pipe.consumer_release();
       }
       out[64 * B + T] = sum;
     }>, ""},
    {"a pipeline of a block that nobody waits for", STAGE(1,
       cuda::memcpy_async(block, s, in, sizeof s, pipe), block.sync(); sum += s[T])>,
     "copy_not_waited_for"},
    {"a stage that is released before it is read", STAGE(3,
       cuda::memcpy_async(block, s, in + 64 * i, sizeof s, pipe),
       pipe.consumer_wait(); pipe.consumer_release(); sum += s[63 - T])>, "race"},
    {"one warp produces, the others consume", KERNEL(1, 96) {
       __shared__ float s[2][64];
       __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
       const auto block = cg::this_thread_block();
       auto pipe = cuda::make_pipeline(block, &state, 32);
       if (T < 32) {
         for (int i = 0; i < 6; ++i) {
           pipe.producer_acquire();
           for (int j = T; j < 64; j += 32) {
             cuda::memcpy_async(&s[i % 2][j], &in[64 * i + j], sizeof(float), pipe);
           }
           pipe.producer_commit();
         }
       } else {
         float sum = 0;
         for (int i = 0; i < 6; ++i) {
           pipe.consumer_wait();
           sum += s[i % 2][95 - T];
           pipe.consumer_release();
         }
         out[T - 32] = sum;
       }
     }>, ""},
    {"a barrier waits for copies",
     WITH_BARRIER(COPY_BLOCK; barrier.arrive_and_wait(); out[T] = s[63 - T])>, ""},
    {"a barrier that was passed before the copies",
     WITH_BARRIER(barrier.arrive_and_wait(); COPY_BLOCK; out[T] = s[T])>, "copy_not_waited_for"},
    {"a barrier that no __syncthreads makes known", KERNEL(1, 64) {
       __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
       if (T == 0) init(&barrier, 64);
       if (T < 32) __syncwarp();
       barrier.arrive_and_wait();
       out[T] = 1;
     }>, "race"},
    {"arrive, other work, wait", WITH_BARRIER(
       for (int i = 0; i < 3; ++i) {
         s[T] = in[T + i];
         auto token = barrier.arrive();
         const float other = in[T];
         barrier.wait(std::move(token));
         out[T] = other + s[63 - T];
         barrier.arrive_and_wait();
       })>, ""},
    {"arrive without a wait", WITH_BARRIER(
       s[T] = in[T]; auto token [[maybe_unused]] = barrier.arrive(); out[T] = s[63 - T])>, "race"},
    {"a group copies by cp.async and waits", TWO_COPIES(
       const float sum = s[63 - T]; cg::wait(block); out[T] = sum + s[127 - T])>, ""},
    {"a group waits for too few copies", TWO_COPIES(out[T] = s[127 - T])>, "copy_not_waited_for"},
    // The source of a copy.
    {"a thread stores to the source of its cp.async before its wait",
     COPY(partial, partial[T] = 7; WAIT_FOR_COPY, s[T])>, "source_changed"},
    {"another thread does, after a barrier", COPY(partial,
       __syncthreads(); partial[63 - T] = 7; __syncthreads(); WAIT_FOR_COPY, s[T])>,
     "source_changed"},
    {"another thread does, after its own wait only", COPY(partial,
       __syncthreads(); WAIT_FOR_COPY; partial[(T + 32) % 64] = 7, s[T])>, "source_changed"},
    {"another thread does, after waits and a barrier", COPY(partial,
       WAIT_FOR_COPY; __syncthreads(); partial[63 - T] = 7, s[T])>, ""},
    {"an atomic changes the source of cg::memcpy_async", COPY_PARTIAL(
       block.sync(); atomicAdd(&partial[T], 1.0f); cg::wait(block); out[T] = s[T])>,
     "source_changed"},
    {"the next element changes, and the source after the wait", COPY_PARTIAL(
       partial[64 + T] = 7; cg::wait(block); partial[T] = s[63 - T])>, ""},
    {"another block changes the source after a flag that came before the wait",
     SIGNAL_AT_COPY(, WAIT_FOR_COPY)>, "race_between_blocks"},
    {"the same after the wait", SIGNAL_AT_COPY(WAIT_FOR_COPY, )>, ""},
};
