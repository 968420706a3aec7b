#include "cpu_reference.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>

// Stage 0: serial
//
// The product as everyone writes it first: an element of C is a row of A times a column of B. It
// reads 2K floats per element and uses one core, one multiplication at a time. Every later stage
// computes the same product and is measured against this one.
void serial_gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  if (alpha == 0) K = 0;                  // BLAS: alpha = 0 does not read A and B
  for (std::int64_t i = 0; i < M; ++i) {  // 64 bits, because i * K may pass 2^31
    for (std::int64_t j = 0; j < N; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < K; ++k) {
        sum += A[i * K + k] * B[k * N + j];
      }
      float& c = C[i * N + j];
      c = beta == 0 ? alpha * sum : alpha * sum + beta * c;  // BLAS: beta = 0 does not read C
    }
  }
}

// OpenMP
//
// The ideas of the later stages, on a CPU. A thread takes a block of C and walks along K. It copies
// ("packs") the parts of A and B that it needs into its own cache, in the order in which it will
// read them, and keeps a small tile of C in registers meanwhile. Blocks are independent and each
// sums along K in a fixed order, so the result is the same with any number of threads.

namespace {

// A tile is 12 rows of 64 bytes (16 floats or 8 doubles). The number of rows computed together is
// chosen so that their sums fill 12 vector registers: 3 with SSE or NEON, 6 with AVX2, 12 with
// AVX-512. That keeps the multipliers busy and leaves 4 of AVX2's 16 registers for a row of B and
// an element of A.
constexpr int kTileRows = 12;
constexpr int kRowBytes = 64;
template <class Element>
constexpr int kTileColumns = kRowBytes / sizeof(Element);

// What a thread holds at a time, sized for the L2 cache: 192 KB of A and 512 KB of B in fp32. The
// part of B for one column of tiles, 16 KB, stays in L1 while it is used for every row of tiles.
constexpr int kBlockRows = 16 * kTileRows;
template <class Element>
constexpr int kBlockColumns = 32 * kTileColumns<Element>;
constexpr int kBlockDepth = 256;

template <class Element>
struct alignas(64) Scratch {
  Element A[kBlockRows * kBlockDepth];                      // [row / 12][depth][row % 12]
  Element B[kBlockDepth * kBlockColumns<Element>];          // [column / 16][depth][column % 16]
  Element sums[kBlockRows * kBlockColumns<Element>];        // row-major
  Element magnitudes[kBlockRows * kBlockColumns<Element>];  // row-major
};

// A rows x depth part of A, `stride` elements from row to row; missing rows of the last tile are 0.
template <class Element>
void pack_A(int rows, int depth, const float* A, std::int64_t stride, Element* packed) {
  for (int tile = 0; tile < rows; tile += kTileRows) {
    for (int i = 0; i < kTileRows; ++i) {
      const float* row = A + (tile + i) * stride;
      for (int k = 0; k < depth; ++k) packed[k * kTileRows + i] = tile + i < rows ? row[k] : 0;
    }
    packed += depth * kTileRows;
  }
}

// A depth x columns part of B, in the same way.
template <class Element>
void pack_B(int depth, int columns, const float* B, std::int64_t stride, Element* packed) {
  constexpr int kColumns = kTileColumns<Element>;
  for (int tile = 0; tile < columns; tile += kColumns) {
    const int width = std::min(kColumns, columns - tile);
    for (int k = 0; k < depth; ++k) {
      const float* row = B + k * stride + tile;
      if (width == kColumns) {
        std::copy_n(row, kColumns, packed);
      } else {
        std::fill(std::copy_n(row, width, packed), packed + kColumns, Element(0));
      }
      packed += kColumns;
    }
  }
}

// A tile of sums += A (12 x depth) * B (depth x 64 bytes), with as many rows at a time as fit in
// the registers.
template <int kVectorBytes, class Element>
[[gnu::always_inline]] inline void multiply_tile(
    int depth, const Element* A, const Element* B, Element* sums) {
  typedef Element Vector __attribute__((vector_size(kVectorBytes)));
  constexpr int kVectors = kRowBytes / kVectorBytes;
  constexpr int kRows = 12 / kVectors;
  constexpr int kStride = kBlockColumns<Element> * sizeof(Element) / kVectorBytes;
  for (int first = 0; first < kTileRows; first += kRows) {
    Vector* C = reinterpret_cast<Vector*>(sums) + first * kStride;
    const Vector* b = reinterpret_cast<const Vector*>(B);
    const Element* a = A + first;
    Vector tile[kRows][kVectors];
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) tile[i][v] = C[i * kStride + v];
    }
    for (int k = 0; k < depth; ++k, a += kTileRows, b += kVectors) {
#pragma GCC unroll 12
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) tile[i][v] += a[i] * b[v];
      }
    }
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) C[i * kStride + v] = tile[i][v];
    }
  }
}

template <int kVectorBytes, class Element>
[[gnu::always_inline]] inline void multiply_block(
    int rows, int columns, int depth, const Element* A, const Element* B, Element* sums) {
  for (int j = 0; j < columns; j += kTileColumns<Element>) {
    for (int i = 0; i < rows; i += kTileRows) {
      multiply_tile<kVectorBytes>(
          depth, A + i * depth, B + j * depth, sums + i * kBlockColumns<Element> + j);
    }
  }
}

// On x86-64 the compiler makes a copy of a FOR_EACH_CPU function for every generation of vector
// instructions, and at its start the program chooses the best one for the CPU. Everything that such
// a function calls is always_inline, because only inlined code is compiled for each generation.
#if defined(__x86_64__) && __GNUC__ >= 12
#define FOR_EACH_CPU \
  __attribute__((target_clones("default", "arch=x86-64-v2", "arch=x86-64-v3", "arch=x86-64-v4")))
#elif defined(__x86_64__)
#define FOR_EACH_CPU __attribute__((target_clones("default", "sse4.2", "fma", "avx512f")))
#else
#define FOR_EACH_CPU
#endif

// The width of this CPU's vector registers. Wider vectors would be right, but slow.
int vector_bytes() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("fma")) return 32;
#endif
  return 16;
}

FOR_EACH_CPU void multiply(
    int rows, int columns, int depth, const float* A, const float* B, float* sums,
    int vector_bytes) {
  if (vector_bytes == 64) multiply_block<64>(rows, columns, depth, A, B, sums);
  if (vector_bytes == 32) multiply_block<32>(rows, columns, depth, A, B, sums);
  if (vector_bytes == 16) multiply_block<16>(rows, columns, depth, A, B, sums);
}

FOR_EACH_CPU void multiply(
    int rows, int columns, int depth, const double* A, const double* B, double* sums,
    int vector_bytes) {
  if (vector_bytes == 64) multiply_block<64>(rows, columns, depth, A, B, sums);
  if (vector_bytes == 32) multiply_block<32>(rows, columns, depth, A, B, sums);
  if (vector_bytes == 16) multiply_block<16>(rows, columns, depth, A, B, sums);
}

template <class Element>
void take_absolute(Element* values, int count) {
#pragma omp simd
  for (int i = 0; i < count; ++i) values[i] = std::abs(values[i]);
}

constexpr std::int64_t round_up(std::int64_t value, int step) {
  return (value + step - 1) / step * step;
}

// Sums A*B block by block, and |A||B| too if requested, and passes each finished block of C to
// finish(row, column, rows, columns, scratch), on any of the threads.
template <class Element, class Finish>
void for_each_block(
    int M, int N, int K, const float* A, const float* B, bool with_magnitudes, Finish finish) {
  constexpr int kColumns = kBlockColumns<Element>;
  const int threads = omp_get_max_threads();
  const std::int64_t column_blocks = round_up(N, kColumns) / kColumns;
  // Uses lower blocks if the matrix is too small to give every thread two of the full height.
  const std::int64_t block_rows = std::clamp<std::int64_t>(
      round_up(M * column_blocks / (2 * threads), kTileRows), kTileRows, kBlockRows);
  const std::int64_t row_blocks = (M + block_rows - 1) / block_rows;
  const auto scratch = std::make_unique_for_overwrite<Scratch<Element>[]>(threads);
  const int bytes = vector_bytes();
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (std::int64_t block = 0; block < row_blocks * column_blocks; ++block) {
    Scratch<Element>& s = scratch[omp_get_thread_num()];
    const std::int64_t i = block % row_blocks * block_rows;
    const std::int64_t j = block / row_blocks * kColumns;
    const int rows = std::min(block_rows, M - i);
    const int columns = std::min<std::int64_t>(kColumns, N - j);
    const int packed_rows = round_up(rows, kTileRows);
    const int packed_columns = round_up(columns, kTileColumns<Element>);
    std::fill_n(s.sums, packed_rows * kColumns, Element(0));
    std::fill_n(s.magnitudes, with_magnitudes ? packed_rows * kColumns : 0, Element(0));
    for (std::int64_t k = 0; k < K; k += kBlockDepth) {
      const int depth = std::min<std::int64_t>(kBlockDepth, K - k);
      pack_A(rows, depth, A + i * K + k, K, s.A);
      pack_B(depth, columns, B + k * N + j, N, s.B);
      multiply(rows, columns, depth, s.A, s.B, s.sums, bytes);
      if (with_magnitudes) {
        take_absolute(s.A, packed_rows * depth);
        take_absolute(s.B, packed_columns * depth);
        multiply(rows, columns, depth, s.A, s.B, s.magnitudes, bytes);
      }
    }
    finish(i, j, rows, columns, s);
  }
}

}  // namespace

void openmp_gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const auto finish = [=](std::int64_t i, std::int64_t j, int rows, int columns,
                          const Scratch<float>& s) {
    for (int row = 0; row < rows; ++row) {
      const float* sums = s.sums + row * kBlockColumns<float>;
      float* c = C + (i + row) * N + j;
      for (int x = 0; x < columns; ++x) {
        c[x] = beta == 0 ? alpha * sums[x] : alpha * sums[x] + beta * c[x];
      }
    }
  };
  for_each_block<float>(M, N, alpha == 0 ? 0 : K, A, B, false, finish);
}

void reference_gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, const float* C0,
    double* exact, double* magnitude, const std::function<void(std::int64_t)>& advance) {
  const auto finish = [&](std::int64_t i, std::int64_t j, int rows, int columns,
                          const Scratch<double>& s) {
    for (int row = 0; row < rows; ++row) {
      const std::int64_t first = (i + row) * N + j;
      for (int x = 0; x < columns; ++x) {
        const int from = row * kBlockColumns<double> + x;
        const std::int64_t to = first + x;
        exact[to] = double(alpha) * s.sums[from] + (beta == 0 ? 0 : double(beta) * C0[to]);
        magnitude[to] = std::abs(double(alpha)) * s.magnitudes[from];
      }
    }
    if (advance) advance(std::int64_t(rows) * columns);
  };
  for_each_block<double>(M, N, alpha == 0 ? 0 : K, A, B, true, finish);
}
