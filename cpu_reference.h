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

// Called from any of the threads with the number of products just added up; empty for none.
using Advance = std::function<void(std::int64_t)>;

// What src/model/error.h compares with, in fp64 on all cores; the results do not depend on the
// number of threads either. Outputs are MxN.
//
// exact = alpha*A*B + beta*C0; C0 may be null if beta is 0. Advances by M*N*K in all.
void reference_gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, const float* C0,
    double* exact, const Advance& advance = {});

// magnitude = |alpha| |A| |B|, of which the first `terms` of the K products of every element are
// added up: all if `terms` is K, else a lower bound. Advances by M*N*terms in all.
void reference_magnitude(
    int M, int N, int K, int terms, float alpha, const float* A, const float* B, double* magnitude,
    const Advance& advance = {});
