// The function of a tried file, as each of its copies is called (try.mk renames them).
#pragma once

// C (M x N) = alpha * A (M x K) * B (K x N) + beta * C, row-major.
using Sgemm =
    void(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C);
Sgemm sgemm_traced, sgemm_plain;
[[gnu::weak]] Sgemm sgemm_gpu;  // null where nvcc did not compile it
