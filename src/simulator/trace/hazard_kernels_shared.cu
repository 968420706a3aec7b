#include "simulator/trace/hazard_kernel_run.h"

namespace {

struct Padded {
  char tag;
  float value;
};
struct Twelve {
  float x, y, z;
};

__device__ Twelve twelve(float x) {
  return {x, 2 * x, 3 * x};
}
__device__ float sum_of(Twelve v) {
  return v.x + v.y + v.z;
}
template <class Count>
__device__ void take_one(Count& left) {
  left--;
}

using model::Remedy;

// Bytes that the threads store, and what they do with them after a barrier.
#define BYTES(...)                               \
  KERNEL(1, 64) {                                \
    __shared__ __align__(4) unsigned char s[64]; \
    s[T] = T;                                    \
    __syncthreads();                             \
    __VA_ARGS__;                                 \
  }
// Warps that know one word, and what they do with it.
#define AFTER_WARP_BARRIER(threads, ...) \
  KERNEL(1, threads) {                   \
    __shared__ float s[32];              \
    if (T < 32) s[T] = in[T];            \
    __syncthreads();                     \
    __VA_ARGS__;                         \
  }
#define TREE_REDUCTION(barrier)             \
  KERNEL(1, 64) {                           \
    __shared__ float s[64];                 \
    s[T] = in[T];                           \
    __syncthreads();                        \
    for (unsigned d = 32; d != 0; d /= 2) { \
      if (T < d) s[T] += s[T + d];          \
      barrier;                              \
    }                                       \
    out[T] = s[T];                          \
  }
#define UPDATE(Type, update) \
  SHARED(64, Type s[4], if (T < 4) s[T] = 64, __syncthreads(); update; __syncthreads(), s[0])

}  // namespace

// clang-format off
extern const std::vector<trace::HazardKernel> trace::hazards_in_shared_memory = {
    // Shared memory, byte by byte.
    {"flags in an array of bool",
     SHARED(64, bool s[64], s[T] = 3 < in[T], __syncthreads(), s[63 - T])>, ""},
    {"each thread reads and writes its own char", SHARED(64, char s[64], s[T] = T, , s[T])>, ""},
    {"neighbours' shorts without a barrier",
     SHARED(64, short s[64], s[T] = T, , s[T ^ 1])>, "race"},
    {"a char that two threads store",
     SHARED(64, char s[64], s[T / 2] = T, __syncthreads(), s[T / 2])>, "race"},
    {"bytes stored one by one, loaded as a word", BYTES(
       if (T < 16) out[T] = reinterpret_cast<const unsigned*>(s)[T])>, ""},
    {"a word is loaded while one of its bytes is stored", BYTES(
       if (T == 5) s[7] = 1; if (T == 40) out[0] = reinterpret_cast<const unsigned*>(s)[1])>,
     "race"},
    {"structs that functions return and take",
     SHARED(64, Twelve s[64], s[T] = twelve(in[T]), __syncthreads(), sum_of(s[63 - T]))>, ""},
    {"a struct that a function returns, without a barrier",
     SHARED(64, Twelve s[64], s[T] = twelve(in[T]), , sum_of(s[63 - T]))>, "race"},
    {"a struct that nobody has stored is passed by value",
     SHARED(64, Twelve s[64], if (T < 32) s[T] = twelve(in[T]), __syncthreads(), sum_of(s[T]))>,
     "uninitialized"},
    {"a struct with padding, stored member by member and copied", SHARED(64, Padded s[64],
       s[T].tag = 1; s[T].value = in[T], __syncthreads(); const Padded other = s[63 - T],
       other.value + other.tag)>, ""},
    {"a bool flag that one thread sets and all read, without a barrier", SHARED(64, bool s[1],
       if (T == 0) s[0] = false, __syncthreads(); if (in[T] == 40) s[0] = true, s[0])>, "race"},
    {"nobody has stored the last element",
     SHARED(64, float s[64], if (T < 63) s[T] = in[T], __syncthreads(), s[T])>, "uninitialized"},
    {"a sum that is never set to zero", SHARED(64, float s[64], s[T] += in[T], , s[T])>,
     "uninitialized"},
    {"an atomic counter that is never set to zero",
     SHARED(64, int s[1], atomicAdd(s, 1), __syncthreads(), s[0])>, "uninitialized"},
    {"a counter that all threads set to zero", SHARED(64, int s[1],
       if (T == 0) s[0] = 0, __syncthreads(); atomicAdd(s, 1); __syncthreads(), s[0])>, ""},
    {"warps store the same to some elements and different numbers to others", SHARED(64, int s[32],
       s[T % 32] = T % 32 < 16 ? T : 0, __syncthreads(), s[T % 32])>, "race"},
    // Races between three threads or warps.
    {"two warps read, and one of them writes after a __syncwarp", AFTER_WARP_BARRIER(64,
       const float mine = s[0]; __syncwarp(); if (T == 32) s[0] = 1; out[T] = mine)>, "race"},
    {"three warps read, and the last one writes what the first one read", AFTER_WARP_BARRIER(96,
       out[T] = s[0]; __syncwarp(); if (T == 95) s[0] = 1)>, "race"},
    {"two warps add atomically, and one of them reads after a __syncwarp", AFTER_WARP_BARRIER(64,
       atomicAdd(s, 1.0f); __syncwarp(); if (T == 32) out[0] = s[0])>, "race"},
    {"a tree reduction with its barrier inside the loop", TREE_REDUCTION(__syncthreads())>, ""},
    {"a tree reduction without its barrier", TREE_REDUCTION()>, "race"},
    {"a tile that is overwritten before all threads have read it", KERNEL(1, 64) {
       __shared__ float s[64];
       float sum = 0;
       for (int k = 0; k < 4; ++k) {
         s[T] = in[64 * k + T];
         __syncthreads();
         for (int i = 0; i < 64; ++i) sum += s[i];
       }
       out[T] = sum;
     }>, "race"},
    {"two buffers and one barrier per step", KERNEL(1, 64) {
       __shared__ float s[2][64];
       float sum = 0;
       s[0][T] = in[T];
       __syncthreads();
       for (int k = 0; k < 4; ++k) {
         if (k < 3) s[(k + 1) % 2][T] = in[64 * (k + 1) + T];
         for (int i = 0; i < 64; ++i) sum += s[k % 2][i];
         __syncthreads();
       }
       out[T] = sum;
     }>, ""},
    // cp.async.
    {"cp.async in two steps", COPY(in, WAIT_FOR_COPY; __syncthreads(), s[63 - T])>, ""},
    {"cp.async that is not waited for", COPY(in, __syncthreads(), s[63 - T])>,
     "copy_not_waited_for"},
    {"cp.async, waited for, without a barrier", COPY(in, WAIT_FOR_COPY, s[63 - T])>, "race"},
    {"a store over a cp.async in flight", COPY(in, s[T] = 0; WAIT_FOR_COPY, s[T])>,
     "copy_not_waited_for"},
    {"a store over another warp's cp.async in flight",
     COPY(in, __syncthreads(); if (T < 32) s[T + 32] = 0; __syncthreads(); WAIT_FOR_COPY, s[T])>,
     "copy_not_waited_for"},
    {"an atomic over a cp.async in flight", COPY(in, atomicAdd(&s[T], 1); WAIT_FOR_COPY, s[T])>,
     "copy_not_waited_for"},
    {"cp.async of 12 bytes", COPY_TO(16, Twelve s[16], (&s[T], in + 4 * T, 12), WAIT_FOR_COPY, 1)>,
     "copy_of_bad_size"},
    {"cp.async that fills more with zeros than it copies",
     COPY_TO(16, float s[16], (&s[T], in + T, 4, 8), WAIT_FOR_COPY, s[T])>, "copy_of_bad_zeros"},
    {"cp.async with zeros beyond the edge",
     COPY_TO(16, float s[16], (&s[T], in + T, 4, T < 10 ? 0 : 4), WAIT_FOR_COPY, s[T])>, ""},
    {"cp.async from shared memory", EXCHANGE(16,
       __shared__ float to[16]; __pipeline_memcpy_async(&to[T], &s[T], 4); __pipeline_commit();
       WAIT_FOR_COPY, to[T])>, "copy_from_shared"},
    {"cp.async to global memory", KERNEL(1, 16) {
       __pipeline_memcpy_async(&out[T], &in[T], 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
     }>, "copy_to_global"},
    {"cp.async of 16 bytes at a multiple of 4",
     COPY_TO(16, float s[80], (&s[4 * T + 1], &in[4 * T], 16), WAIT_FOR_COPY, 1)>, "misaligned"},
    // The ends of arrays.
    {"a pointer that runs from one array into the next", KERNEL(1, 64) {
       __shared__ float first[32], second[32], third[32];
       if (T < 32) first[T] = second[T] = third[T] = in[T];
       __syncthreads();
       const float* p = second;
       float sum = 0;
       for (int i = 0; i <= 32; ++i) sum += p[i];
       out[T] = sum + first[0] + third[0];
     }>, "out_of_bounds"},
    {"a pointer that goes through one array after the other", KERNEL(1, 64) {
       __shared__ float first[32], second[32];
       if (T < 32) first[T] = second[T] = in[T];
       __syncthreads();
       const float* p = first;
       float sum = 0;
       for (int i = 0; i < 64; ++i, ++p) {
         if (i == 32) p = second;
         sum += *p;
       }
       out[T] = sum;
     }>, ""},
    // Updates of one element.
    {"all threads add to one element", UPDATE(float, s[0] = s[0] + in[T])>, "race",
     Remedy::atomic_update},
    {"lanes of a warp take the maximum of one element, on two lines", KERNEL(1, 32) {
       __shared__ int most;
       if (T == 0) most = 0;
       __syncwarp();
       most =
           max(most, static_cast<int>(T));
       __syncwarp();
       out[T] = most;
     }>, "race", Remedy::atomic_update},
    {"threads count down, through a reference in a function",
     UPDATE(unsigned long long, take_one(s[T % 4]))>, "race", Remedy::atomic_update},
    {"threads add with atomicAdd", UPDATE(float, atomicAdd(s, in[T]))>, ""},
    {"each adds its neighbour's element, which is another one",
     EXCHANGE(64, __syncthreads(); s[T] += s[(T + 33) % 64]; __syncthreads(), s[T])>, "race",
     Remedy::block_barrier},
};
