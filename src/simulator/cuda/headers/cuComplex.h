// CUDA's complex numbers as far as headers of libraries need them, for builds without the toolkit.
#pragma once

#include "simulator/cuda/vector_types.h"

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

inline float cuCrealf(cuFloatComplex z) {
  return z.x;
}
inline float cuCimagf(cuFloatComplex z) {
  return z.y;
}
inline double cuCreal(cuDoubleComplex z) {
  return z.x;
}
inline double cuCimag(cuDoubleComplex z) {
  return z.y;
}
inline cuFloatComplex make_cuFloatComplex(float real, float imaginary) {
  return {real, imaginary};
}
inline cuDoubleComplex make_cuDoubleComplex(double real, double imaginary) {
  return {real, imaginary};
}
inline cuComplex make_cuComplex(float real, float imaginary) {
  return {real, imaginary};
}
