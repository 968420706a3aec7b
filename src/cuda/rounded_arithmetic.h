// Arithmetic and conversions that say in their name how they round: to nearest (rn), toward zero
// (rz), up (ru) or down (rd). src/machine/rounded_arithmetic.cpp has them.
#pragma once

#define SIMT_ROUNDED(T, prefix) \
  T prefix##add_rn(T a, T b);   \
  T prefix##add_rz(T a, T b);   \
  T prefix##add_ru(T a, T b);   \
  T prefix##add_rd(T a, T b);   \
  T prefix##sub_rn(T a, T b);   \
  T prefix##sub_rz(T a, T b);   \
  T prefix##sub_ru(T a, T b);   \
  T prefix##sub_rd(T a, T b);   \
  T prefix##mul_rn(T a, T b);   \
  T prefix##mul_rz(T a, T b);   \
  T prefix##mul_ru(T a, T b);   \
  T prefix##mul_rd(T a, T b);   \
  T prefix##div_rn(T a, T b);   \
  T prefix##div_rz(T a, T b);   \
  T prefix##div_ru(T a, T b);   \
  T prefix##div_rd(T a, T b);   \
  T prefix##rcp_rn(T a);        \
  T prefix##rcp_rz(T a);        \
  T prefix##rcp_ru(T a);        \
  T prefix##rcp_rd(T a);        \
  T prefix##sqrt_rn(T a);       \
  T prefix##sqrt_rz(T a);       \
  T prefix##sqrt_ru(T a);       \
  T prefix##sqrt_rd(T a);
SIMT_ROUNDED(float, __f)
SIMT_ROUNDED(double, __d)
#undef SIMT_ROUNDED

#define SIMT_CONVERSIONS(rounding)                       \
  float __fmaf_##rounding(float a, float b, float c);    \
  double __fma_##rounding(double a, double b, double c); \
  int __float2int_##rounding(float a);                   \
  unsigned __float2uint_##rounding(float a);             \
  long long __float2ll_##rounding(float a);              \
  unsigned long long __float2ull_##rounding(float a);    \
  int __double2int_##rounding(double a);                 \
  unsigned __double2uint_##rounding(double a);           \
  long long __double2ll_##rounding(double a);            \
  unsigned long long __double2ull_##rounding(double a);  \
  float __int2float_##rounding(int a);                   \
  float __uint2float_##rounding(unsigned a);             \
  float __ll2float_##rounding(long long a);              \
  float __ull2float_##rounding(unsigned long long a);    \
  double __ll2double_##rounding(long long a);            \
  double __ull2double_##rounding(unsigned long long a);  \
  float __double2float_##rounding(double a);
SIMT_CONVERSIONS(rn)
SIMT_CONVERSIONS(rz)
SIMT_CONVERSIONS(ru)
SIMT_CONVERSIONS(rd)
#undef SIMT_CONVERSIONS

// Exact for every int.
double __int2double_rn(int a);
double __uint2double_rn(unsigned a);
float __frsqrt_rn(float a);
