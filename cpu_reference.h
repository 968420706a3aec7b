// What the CPU computes: stage 0, the row "OpenMP CPU", and the reference for checking every C.
//
// All matrices are row-major: A is MxK, B is KxN, C is MxN, each side at most 2^31 - 1. As in BLAS,
// C is not read if beta is 0, A and B are not read if alpha or K is 0, and nothing happens if M or
// N is 0. Otherwise NaN and infinity propagate.
#pragma once

#include <cstdint>
#include <functional>

// C = alpha*A*B + beta*C by the triple loop, in fp32 on one core. To compute only some rows of C,
// pass their number as M, and A and C starting at the first of them.
void serial_gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C);

// The same in fp32 on all cores, blocked and vectorized. The result does not depend on the number
// of threads.
void openmp_gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C);

// What src/model/error.h compares with, in fp64 on all cores; the result does not depend on the
// number of threads either. Outputs are MxN.
//   exact      alpha*A*B + beta*C0; C0 may be null if beta is 0
//   magnitude  |alpha| |A| |B|
//   advance    called from any of the threads with the number of elements of C just finished,
//              M*N in all; empty for none
void reference_gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, const float* C0,
    double* exact, double* magnitude, const std::function<void(std::int64_t)>& advance = {});
