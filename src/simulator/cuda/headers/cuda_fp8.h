// Numbers of 8 bits, for builds without the toolkit. A program can mention their types and hold
// their bits; what else it does with them is refused (simulator/cuda/refused.txt).
#pragma once

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;

#define SIMT_FP8(name, storage) \
  struct name {                 \
    name() = default;           \
    storage __x;                \
  };
SIMT_FP8(__nv_fp8_e4m3, __nv_fp8_storage_t)
SIMT_FP8(__nv_fp8_e5m2, __nv_fp8_storage_t)
SIMT_FP8(__nv_fp8x2_e4m3, __nv_fp8x2_storage_t)
SIMT_FP8(__nv_fp8x2_e5m2, __nv_fp8x2_storage_t)
SIMT_FP8(__nv_fp8x4_e4m3, __nv_fp8x4_storage_t)
SIMT_FP8(__nv_fp8x4_e5m2, __nv_fp8x4_storage_t)
#undef SIMT_FP8
