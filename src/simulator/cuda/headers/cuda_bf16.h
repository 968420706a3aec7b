// bfloat16, the upper half of a float: __nv_bfloat16, and pairs of it.
#pragma once

#include "simulator/cuda/cpu.h"
#include "simulator/cuda/narrow_float.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
};

struct __nv_bfloat16 : simt::NarrowFloat<__nv_bfloat16, model::kBfloat16> {
  SIMT_COPIED_BY_BASE(__nv_bfloat16, NarrowFloat)
  SIMT_ALWAYS_INLINE __nv_bfloat16(const __nv_bfloat16_raw& raw) { bits = raw.x; }
  SIMT_ALWAYS_INLINE operator __nv_bfloat16_raw() const { return {bits}; }
};

struct __nv_bfloat162 : simt::NarrowPair<__nv_bfloat162, __nv_bfloat16> {
  SIMT_COPIED_BY_BASE(__nv_bfloat162, NarrowPair)
  SIMT_ALWAYS_INLINE __nv_bfloat162(const __nv_bfloat162_raw& raw)
      : NarrowPair(__nv_bfloat16::of_bits(raw.x), __nv_bfloat16::of_bits(raw.y)) {}
  SIMT_ALWAYS_INLINE operator __nv_bfloat162_raw() const { return {x.bits, y.bits}; }
};

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

SIMT_NARROW_NAMES(__nv_bfloat16, __nv_bfloat162, bfloat16)

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
