// IEEE 754 binary16: __half, and pairs of it.
#pragma once

#include "simulator/cuda/cpu.h"
#include "simulator/cuda/narrow_float.h"

SIMT_NARROW_TYPES(__half, __half2, half, model::kFp16)

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)

// Programs also write ::hexp(x).
namespace simt {
inline __half hexp(__half x);
inline __half2 h2exp(__half2 x);
}  // namespace simt
using simt::h2exp;
using simt::hexp;
