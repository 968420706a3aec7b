// wgmma: the tensor cores of sm_90a. A warpgroup, four neighbouring warps of which the first has a
// number divisible by four, multiplies together: d += a * b. The tensor cores work asynchronously:
// d and a belong to them until a wait. They start when all four warps have issued a wgmma, so what
// the warps did before is over when a wait for it returns in one of them.
//
//   wgmma_fence();                // d and a are written; now the tensor cores may read them
//   wgmma_m64nNk8_tf32(d, a, b);  // any number of times
//   wgmma_commit_group();         // these are one group
//   wgmma_wait_group<0>();        // until no group is in flight; now d may be read
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/tensor_core.h"

// d (64 x N), a (64 x 8) and b (8 x N) are spread like this. Thread t of the warpgroup has in d[i]
//   row     t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8
//   column  i / 4 * 8 + t % 4 * 2 + i % 2
// and in a[i]
//   row     t / 32 * 16 + t % 32 / 4 + i % 2 * 8
//   column  t % 4 + i / 2 * 4
// as in mma.m16n8k8. b is in shared memory, where a descriptor says: column n of b is row n of the
// descriptor's tile, with k as the position in the row ("K-major"). a and b are tf32: floats of
// which the hardware ignores the last 13 bits. PTX ISA 9.0, "Register fragments for wgmma.m64nNk8".
//
// With bf16, k is 16 deep, and both operands are in shared memory here. d is spread as above. a is
// K-major, 64 rows. b is "N-major": its rows are those of the descriptor's tile, with n as the
// position in the row. So a row-major matrix is read as it lies in memory. Only elements of 16 bits
// can be read so. PTX ISA 9.0, "Shared memory matrix layout" of wgmma.
//
// With f16, a and b are K-major here.

#if !defined(__NVCC__) || defined(SIMT_REWRITTEN)
#include "simulator/cuda/vector_types.h"

// An address in shared memory as a number.
std::size_t __cvta_generic_to_shared(const void* pointer);

void wgmma_fence();
void wgmma_commit_group();

namespace simt {
unsigned shared_address(const void* pointer);
void wgmma_tf32(float* d, int registers, const unsigned* a, std::uint64_t b, bool adds);
void wgmma_bf16(float* d, int registers, std::uint64_t a, std::uint64_t b, bool adds);
void wgmma_f16(float* d, int registers, std::uint64_t a, std::uint64_t b, bool adds);
void wait_for_wgmma_groups(int groups_in_flight);
}  // namespace simt

// N is twice the number of d's registers: 64, 128 or 256, and for tf32 also 16, 32 or 192. If it
// does not add, d = a * b.
template <int registers>
SIMT_ALWAYS_INLINE inline void wgmma_m64nNk8_tf32(
    float (&d)[registers], const unsigned (&a)[4], std::uint64_t b, bool adds = true) {
  static_assert(
      registers == 8 || registers == 16 || (registers % 32 == 0 && registers <= 128),
      "N is 16, 32, 64, 128, 192 or 256");
  simt::wgmma_tf32(d, registers, a, b, adds);
}

template <int registers>
SIMT_ALWAYS_INLINE inline void wgmma_m64nNk16_bf16(
    float (&d)[registers], std::uint64_t a, std::uint64_t b, bool adds = true) {
  static_assert(registers == 32 || registers == 64 || registers == 128, "N is 64, 128 or 256");
  simt::wgmma_bf16(d, registers, a, b, adds);
}

template <int registers>
SIMT_ALWAYS_INLINE inline void wgmma_m64nNk16_f16(
    float (&d)[registers], std::uint64_t a, std::uint64_t b, bool adds = true) {
  static_assert(registers == 64, "N is 128");
  simt::wgmma_f16(d, registers, a, b, adds);
}

template <int groups_in_flight>
SIMT_ALWAYS_INLINE inline void wgmma_wait_group() {
  simt::wait_for_wgmma_groups(groups_in_flight);
}

// The compiler must not move uses of d across the wait. So this statement claims to change d.
template <int registers>
SIMT_ALWAYS_INLINE inline void wgmma_fence_operand(float (&)[registers]) {}

#else

// An architecture that lacks an instruction gets a trap in its place, so that one source compiles
// for all of them. The stage's `needs` keeps a kernel that has one from being launched there. Those
// of sm_90 are in all later ones, those of sm_90a in no other.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define SIMT_SM_90(...) __trap()
#else
#define SIMT_SM_90(...) asm volatile(__VA_ARGS__)
#endif
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SIMT_SM_90A(...) __trap()
#else
#define SIMT_SM_90A(...) asm volatile(__VA_ARGS__)
#endif

namespace simt {
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
}  // namespace simt

__device__ __forceinline__ void wgmma_fence() {
  SIMT_SM_90A("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit_group() {
  SIMT_SM_90A("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int groups_in_flight>
__device__ __forceinline__ void wgmma_wait_group() {
  SIMT_SM_90A("wgmma.wait_group.sync.aligned %0;" ::"n"(groups_in_flight) : "memory");
}
template <int registers>
__device__ __forceinline__ void wgmma_fence_operand(float (&d)[registers]) {
#pragma unroll
  for (int i = 0; i < registers; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// An instruction names every register of d, and then those of its other operands: a and b or their
// descriptors, and whether it adds.
#define TEN(tens)                                                                         \
  "%" #tens "0, %" #tens "1, %" #tens "2, %" #tens "3, %" #tens "4, %" #tens "5, %" #tens \
  "6, "                                                                                   \
  "%" #tens "7, %" #tens "8, %" #tens "9, "
#define THIRTY TEN() TEN(1) TEN(2)
#define SIXTY THIRTY TEN(3) TEN(4) TEN(5)
#define NINETY SIXTY TEN(6) TEN(7) TEN(8)
#define EIGHT(i)                                                                              \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define THIRTY_TWO(i) EIGHT(i), EIGHT(i + 8), EIGHT(i + 16), EIGHT(i + 24)
#define IN_REGISTERS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(adds))
#define IN_MEMORY "l"(a), "l"(b), "r"(int(adds))
// Whether it adds is a predicate. The two numbers after it: a and b have their own sign. The last
// two, of 16-bit elements: whether a and b are transposed, which is not K-major.
#define WGMMA(name, A, inputs, types, as_they_are, count, shape, d_and_inputs, if_adds, ...)       \
  __device__ __forceinline__ void name(float(&d)[count], A, std::uint64_t b, bool adds = true) {   \
    SIMT_SM_90A(                                                                                   \
        "{\n"                                                                                      \
        ".reg .pred adds;\n"                                                                       \
        "setp.ne.s32 adds, " if_adds                                                               \
        ", 0;\n"                                                                                   \
        "wgmma.mma_async.sync.aligned." shape types " " d_and_inputs ", adds, " as_they_are ";\n}" \
        : __VA_ARGS__                                                                              \
        : inputs);                                                                                 \
  }
#define TF32(...)                                                                        \
  WGMMA(                                                                                 \
      wgmma_m64nNk8_tf32, const unsigned(&a)[4], IN_REGISTERS, ".f32.tf32.tf32", "1, 1", \
      __VA_ARGS__)
#define BF16(...)                                                                      \
  WGMMA(                                                                               \
      wgmma_m64nNk16_bf16, std::uint64_t a, IN_MEMORY, ".f32.bf16.bf16", "1, 1, 0, 1", \
      __VA_ARGS__)
#define F16(...) \
  WGMMA(wgmma_m64nNk16_f16, std::uint64_t a, IN_MEMORY, ".f32.f16.f16", "1, 1, 0, 0", __VA_ARGS__)

TF32(8, "m64n16k8", "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12", "%13", EIGHT(0))
TF32(
    16, "m64n32k8", "{" TEN() "%10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20", "%21",
    EIGHT(0), EIGHT(8))
TF32(32, "m64n64k8", "{" THIRTY "%30, %31}, {%32, %33, %34, %35}, %36", "%37", THIRTY_TWO(0))
TF32(
    64, "m64n128k8", "{" SIXTY "%60, %61, %62, %63}, {%64, %65, %66, %67}, %68", "%69",
    THIRTY_TWO(0), THIRTY_TWO(32))
TF32(
    96, "m64n192k8", "{" NINETY "%90, %91, %92, %93, %94, %95}, {%96, %97, %98, %99}, %100", "%101",
    THIRTY_TWO(0), THIRTY_TWO(32), THIRTY_TWO(64))
TF32(
    128, "m64n256k8",
    "{" NINETY TEN(9) TEN(10)
        TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127}, {%128, %129, %130, %131}, %132",
    "%133", THIRTY_TWO(0), THIRTY_TWO(32), THIRTY_TWO(64), THIRTY_TWO(96))
BF16(32, "m64n64k16", "{" THIRTY "%30, %31}, %32, %33", "%34", THIRTY_TWO(0))
BF16(
    64, "m64n128k16", "{" SIXTY "%60, %61, %62, %63}, %64, %65", "%66", THIRTY_TWO(0),
    THIRTY_TWO(32))
BF16(
    128, "m64n256k16",
    "{" NINETY TEN(9) TEN(10) TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129",
    "%130", THIRTY_TWO(0), THIRTY_TWO(32), THIRTY_TWO(64), THIRTY_TWO(96))
F16(64, "m64n128k16", "{" SIXTY "%60, %61, %62, %63}, %64, %65", "%66", THIRTY_TWO(0),
    THIRTY_TWO(32))

#undef TEN
#undef THIRTY
#undef SIXTY
#undef NINETY
#undef EIGHT
#undef THIRTY_TWO
#undef IN_REGISTERS
#undef IN_MEMORY
#undef WGMMA
#undef TF32
#undef BF16
#undef F16

#endif

#if defined(__NVCC__) && !defined(SIMT_REWRITTEN)
#define SIMT_DEVICE __device__ __forceinline__
#else
#define SIMT_DEVICE inline
#endif

namespace simt {
// Eight rows of 128 bytes follow each other. (The leading bytes are not used with a swizzle.)
inline constexpr std::uint64_t kSwizzledTile =
    model::encoded({0, 16, 8 * 128, 0, model::Swizzle::span_128});
// The same for a tile in boxes, each of which has that many bytes.
template <unsigned bytes>
inline constexpr std::uint64_t kSwizzledBoxes =
    model::encoded({0, bytes, 8 * 128, 0, model::Swizzle::span_128});
}  // namespace simt

// The descriptor of a K-major tile of 128 bytes per row that the copy engine wrote with a 128-byte
// swizzle from `tile` on, a multiple of 1024. The part of the tile from byte b of each row on, a
// multiple of 32, has the descriptor plus b / 16: the start is in units of 16 bytes.
SIMT_DEVICE std::uint64_t wgmma_descriptor_of_swizzled_tile(const void* tile) {
  return simt::kSwizzledTile | simt::shared_address(tile) >> 4;
}

// The descriptor of an N-major operand in boxes that lie one after the other, each written likewise
// and with 64 elements of 16 bits per row. The part from row k on, a multiple of 8, has the
// descriptor plus k * 128 / 16.
template <class Box, std::size_t count>
SIMT_DEVICE std::uint64_t wgmma_descriptor_of_transposed_boxes(const Box (&boxes)[count]) {
  return simt::kSwizzledBoxes<sizeof(Box)> | simt::shared_address(boxes) >> 4;
}

#undef SIMT_DEVICE
