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

}  // namespace

// clang-format off
extern const std::vector<trace::HazardKernel> trace::hazards_in_shared_memory = {
    // Shared memory, byte by byte.
    {"flags in an array of bool", KERNEL(1, 64) {
       __shared__ bool seen[64];
       seen[T] = 3 < in[T];
       __syncthreads();
       out[T] = seen[63 - T];
     }>, ""},
    {"each thread reads and writes its own char", KERNEL(1, 64) {
       __shared__ char s[64];
       s[T] = T;
       out[T] = s[T];
     }>, ""},
    {"neighbours' shorts without a barrier", KERNEL(1, 64) {
       __shared__ short s[64];
       s[T] = T;
       out[T] = s[T ^ 1];
     }>, "race"},
    {"a char that two threads store", KERNEL(1, 64) {
       __shared__ char s[64];
       s[T / 2] = T;
       __syncthreads();
       out[T] = s[T / 2];
     }>, "race"},
    {"bytes stored one by one, loaded as a word", KERNEL(1, 64) {
       __shared__ __align__(4) unsigned char s[64];
       s[T] = T;
       __syncthreads();
       if (T < 16) out[T] = reinterpret_cast<const unsigned*>(s)[T];
     }>, ""},
    {"a word is loaded while one of its bytes is stored", KERNEL(1, 64) {
       __shared__ __align__(4) unsigned char s[64];
       s[T] = T;
       __syncthreads();
       if (T == 5) s[7] = 1;
       if (T == 40) out[0] = reinterpret_cast<const unsigned*>(s)[1];
     }>, "race"},
    {"structs that functions return and take", KERNEL(1, 64) {
       __shared__ Twelve s[64];
       s[T] = twelve(in[T]);
       __syncthreads();
       out[T] = sum_of(s[63 - T]);
     }>, ""},
    {"a struct that a function returns, without a barrier", KERNEL(1, 64) {
       __shared__ Twelve s[64];
       s[T] = twelve(in[T]);
       out[T] = sum_of(s[63 - T]);
     }>, "race"},
    {"a struct that nobody has stored is passed by value", KERNEL(1, 64) {
       __shared__ Twelve s[64];
       if (T < 32) s[T] = twelve(in[T]);
       __syncthreads();
       out[T] = sum_of(s[T]);
     }>, "uninitialized"},
    {"a struct with padding, stored member by member and copied", KERNEL(1, 64) {
       __shared__ Padded s[64];
       s[T].tag = 1;
       s[T].value = in[T];
       __syncthreads();
       const Padded other = s[63 - T];
       out[T] = other.value + other.tag;
     }>, ""},
    {"structs of 12 bytes without a barrier", KERNEL(1, 64) {
       __shared__ Twelve s[64];
       s[T] = {in[T], 1, 2};
       out[T] = s[63 - T].z;
     }>, "race"},
    {"a bool flag that one thread sets and all read, without a barrier", KERNEL(1, 64) {
       __shared__ bool found;
       if (T == 0) found = false;
       __syncthreads();
       if (in[T] == 40) found = true;
       out[T] = found;
     }>, "race"},
    {"nobody has stored the last element", KERNEL(1, 64) {
       __shared__ float s[65];
       s[T] = in[T];
       __syncthreads();
       out[T] = s[T + 1];
     }>, "uninitialized"},
    {"a sum that is never set to zero", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] += in[T];
       out[T] = s[T];
     }>, "uninitialized"},
    {"an atomic counter that is never set to zero", KERNEL(1, 64) {
       __shared__ int count;
       atomicAdd(&count, 1);
       __syncthreads();
       out[T] = count;
     }>, "uninitialized"},
    {"a counter that all threads set to zero", KERNEL(1, 32) {
       __shared__ int count;
       if (T == 0) count = 0;
       __syncthreads();
       atomicAdd(&count, 1);
       __syncthreads();
       out[T] = count;
     }>, ""},
    // Races between three threads or warps.
    {"two warps read, and one of them writes after a __syncwarp", KERNEL(1, 64) {
       __shared__ float s[32];
       if (T < 32) s[T] = in[T];
       __syncthreads();
       const float mine = s[0];
       __syncwarp();
       if (T == 32) s[0] = 1;
       out[T] = mine;
     }>, "race"},
    {"three warps read, and the last one writes what the first one read", KERNEL(1, 96) {
       __shared__ float s[32];
       if (T < 32) s[T] = in[T];
       __syncthreads();
       out[T] = s[0];
       __syncwarp();
       if (T == 95) s[0] = 1;
     }>, "race"},
    {"two warps add atomically, and one of them reads after a __syncwarp", KERNEL(1, 64) {
       __shared__ int sum;
       if (T == 0) sum = 0;
       __syncthreads();
       atomicAdd(&sum, 1);
       __syncwarp();
       if (T == 32) out[0] = sum;
     }>, "race"},
    {"a histogram", KERNEL(1, 64) {
       __shared__ unsigned bins[8];
       if (T < 8) bins[T] = 0;
       __syncthreads();
       atomicAdd(&bins[T % 8], 1u);
       __syncthreads();
       if (T < 8) out[T] = bins[T];
     }>, ""},
    {"a histogram whose bins are set to zero without a barrier", KERNEL(1, 64) {
       __shared__ unsigned bins[8];
       if (T < 8) bins[T] = 0;
       atomicAdd(&bins[T % 8], 1u);
       __syncthreads();
       if (T < 8) out[T] = bins[T];
     }>, "race"},
    {"a tree reduction with its barrier inside the loop", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] = in[T];
       __syncthreads();
       for (unsigned d = 32; d != 0; d /= 2) {
         if (T < d) s[T] += s[T + d];
         __syncthreads();
       }
       if (T == 0) out[0] = s[0];
     }>, ""},
    {"a tree reduction without its barrier", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] = in[T];
       __syncthreads();
       for (unsigned d = 32; d != 0; d /= 2) {
         if (T < d) s[T] += s[T + d];
       }
       if (T == 0) out[0] = s[0];
     }>, "race"},
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
    {"a Hillis-Steele scan in place, with one barrier missing", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] = in[T];
       __syncthreads();
       for (unsigned d = 1; d < 64; d *= 2) {
         if (T >= d) s[T] += s[T - d];
         __syncthreads();
       }
       out[T] = s[T];
     }>, "race"},
    {"a Hillis-Steele scan", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] = in[T];
       __syncthreads();
       for (unsigned d = 1; d < 64; d *= 2) {
         const float before = T >= d ? s[T - d] : 0;
         __syncthreads();
         s[T] += before;
         __syncthreads();
       }
       out[T] = s[T];
     }>, ""},
    // cp.async.
    {"cp.async in two steps", KERNEL(1, 64) {
       __shared__ float s[64];
       __pipeline_memcpy_async(&s[T], &in[T], 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       __syncthreads();
       out[T] = s[63 - T];
     }>, ""},
    {"cp.async that is not waited for", KERNEL(1, 64) {
       __shared__ float s[64];
       __pipeline_memcpy_async(&s[T], &in[T], 4);
       __pipeline_commit();
       __syncthreads();
       out[T] = s[63 - T];
     }>, "copy_not_waited_for"},
    {"cp.async, waited for, without a barrier", KERNEL(1, 64) {
       __shared__ float s[64];
       __pipeline_memcpy_async(&s[T], &in[T], 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = s[63 - T];
     }>, "race"},
    {"a store over a cp.async in flight", KERNEL(1, 64) {
       __shared__ float s[64];
       __pipeline_memcpy_async(&s[T], &in[T], 4);
       __pipeline_commit();
       s[T] = 0;
       __pipeline_wait_prior(0);
       out[T] = s[T];
     }>, "copy_not_waited_for"},
    {"cp.async of 12 bytes", KERNEL(1, 16) {
       __shared__ Twelve s[16];
       __pipeline_memcpy_async(&s[T], in + 4 * T, 12);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = 1;
     }>, "copy_of_bad_size"},
    {"cp.async that fills more with zeros than it copies", KERNEL(1, 16) {
       __shared__ float s[16];
       __pipeline_memcpy_async(&s[T], in + T, 4, 8);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = s[T];
     }>, "copy_of_bad_zeros"},
    {"cp.async with zeros beyond the edge", KERNEL(1, 16) {
       __shared__ float s[16];
       __pipeline_memcpy_async(&s[T], in + T, 4, T < 10 ? 0 : 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = s[T];
     }>, ""},
    {"cp.async from shared memory", KERNEL(1, 16) {
       __shared__ float from[16], to[16];
       from[T] = in[T];
       __pipeline_memcpy_async(&to[T], &from[T], 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = to[T];
     }>, "copy_from_shared"},
    {"cp.async to global memory", KERNEL(1, 16) {
       __pipeline_memcpy_async(&out[T], &in[T], 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
     }>, "copy_to_global"},
    {"cp.async of 16 bytes at a multiple of 4", KERNEL(1, 16) {
       __shared__ float s[80];
       __pipeline_memcpy_async(&s[4 * T + 1], &in[4 * T], 16);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = 1;
     }>, "misaligned"},
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
    {"all threads add to one element", KERNEL(1, 64) {
       __shared__ float sum;
       if (T == 0) sum = 0;
       __syncthreads();
       sum = sum + in[T];
       __syncthreads();
       out[T] = sum;
     }>, "race", Remedy::atomic_update},
    {"lanes of a warp take the maximum of one element, on two lines", KERNEL(1, 32) {
       __shared__ int most;
       if (T == 0) most = 0;
       __syncwarp();
       most =
           max(most, static_cast<int>(T));
       __syncwarp();
       out[T] = most;
     }>, "race", Remedy::atomic_update},
    {"threads count down, through a reference in a function", KERNEL(1, 64) {
       __shared__ unsigned long long left[4];
       if (T < 4) left[T] = 64;
       __syncthreads();
       take_one(left[T % 4]);
       __syncthreads();
       out[T] = left[0];
     }>, "race", Remedy::atomic_update},
    {"threads add with atomicAdd", KERNEL(1, 64) {
       __shared__ float sum;
       if (T == 0) sum = 0;
       __syncthreads();
       atomicAdd(&sum, in[T]);
       __syncthreads();
       out[T] = sum;
     }>, ""},
    {"each adds its neighbour's element, which is another one", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] = in[T];
       __syncthreads();
       s[T] += s[(T + 33) % 64];
       __syncthreads();
       out[T] = s[T];
     }>, "race", Remedy::block_barrier},
};
