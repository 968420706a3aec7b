// Empty, for builds without the toolkit. Files may include it without using it.
#pragma once

#if __has_cpp_attribute(gnu::unavailable)
#define SIMT_FP8(name)                                                \
  struct [[gnu::unavailable(                                          \
      "make try: numbers of 8 bits (fp8) are not traced; use __half " \
      "or __nv_bfloat16")]] name{};
#else
#define SIMT_FP8(name) struct name;
#endif
SIMT_FP8(__nv_fp8_e4m3)
SIMT_FP8(__nv_fp8_e5m2)
SIMT_FP8(__nv_fp8x2_e4m3)
SIMT_FP8(__nv_fp8x2_e5m2)
SIMT_FP8(__nv_fp8x4_e4m3)
SIMT_FP8(__nv_fp8x4_e5m2)
SIMT_FP8(__nv_fp8_storage_t)
SIMT_FP8(__nv_fp8x2_storage_t)
SIMT_FP8(__nv_fp8x4_storage_t)
#undef SIMT_FP8
