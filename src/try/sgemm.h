// The function of a user's file, under the names of its copies (try.mk renames them).
#pragma once

#include "try/adapted.h"

// C (M x N) = alpha * A (M x K) * B (K x N) + beta * C, row-major.
using Sgemm =
    void(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C);
[[gnu::weak]] Sgemm sgemm_traced, sgemm_plain;  // null if the file is a whole program
// Only if the file's sgemm has other parameters. The matrices that it gets are of these types.
extern "C" [[gnu::weak]] simt::SgemmParameters simt_sgemm_parameters;
[[gnu::weak]] Sgemm sgemm_gpu;  // null if nvcc did not compile it
