// The tensor map of a matrix in global memory, which the copy engine (TMA) needs to copy a box of
// it. The host makes it; a kernel takes it as `const __grid_constant__ CUtensorMap`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/tensor_core.h"

#if defined(__NVCC__) && !defined(SIMT_REWRITTEN)
#include <cuda.h>
#include <cuda_runtime.h>

#include "model/refusal.h"
#else
struct CUtensorMap {
  unsigned long long opaque[16];
};
#endif

// The elements of a matrix, and what the copy engine makes of those that it loads: tfloat32 are
// floats that it rounds to tf32.
enum class TensorElement { float32, tfloat32, bfloat16, float16 };

struct TensorBox {
  int rows, columns;  // at most 256 each
};

// A row-major matrix of such elements whose rows start `pitch_bytes` apart, a multiple of 16, and
// the box of it that one instruction copies. A row of the box is no longer than the span of the
// swizzle. `matrix` is a multiple of 16. Outside of the matrix a load gives zeros and a store does
// nothing. Throws a Refusal.
#if !defined(__NVCC__) || defined(SIMT_REWRITTEN)

CUtensorMap tensor_map_2d(
    const void* matrix, std::uint64_t rows, std::uint64_t columns, std::uint64_t pitch_bytes,
    TensorBox box, model::Swizzle swizzle = model::Swizzle::span_128,
    TensorElement element = TensorElement::float32);

#else

// Static, because one program has both machines: the linker would keep one of the two functions.
static inline CUtensorMap tensor_map_2d(
    const void* matrix, std::uint64_t rows, std::uint64_t columns, std::uint64_t pitch_bytes,
    TensorBox box, model::Swizzle swizzle = model::Swizzle::span_128,
    TensorElement element = TensorElement::float32) {
  // The driver's function, found at run time: the program starts without a driver, too.
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
    cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
#else
    cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
    if (found != cudaDriverEntryPointSuccess || function == nullptr) {
      throw model::Refusal("the CUDA driver has no tensor maps; it must be 12.0 or later");
    }
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  }();
  const cuuint64_t sizes[] = {columns, rows}, pitch[] = {pitch_bytes};
  const cuuint32_t box_sizes[] = {
      static_cast<cuuint32_t>(box.columns), static_cast<cuuint32_t>(box.rows)};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  const CUresult result = encode(
      &map,
      element == TensorElement::bfloat16   ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
      : element == TensorElement::float16  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
      : element == TensorElement::tfloat32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                           : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
      2, const_cast<void*>(matrix), sizes, pitch, box_sizes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      static_cast<CUtensorMapSwizzle>(swizzle), CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw model::Refusal("the CUDA driver refused a tensor map: error " + std::to_string(result));
  }
  return map;
}

#endif
