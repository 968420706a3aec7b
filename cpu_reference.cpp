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
// The ideas of the later stages, on a CPU. All threads together walk along K, 256 columns of A and
// rows of B at a time. They copy ("pack") them in the order in which they will be read, wait for
// each other, and multiply. Each thread takes blocks of C, whose parts of A and B fit in its cache,
// and computes them tile by tile, with the sums of a tile in registers. Two buffers take turns: a
// thread that finds no more blocks packs the next 256 columns and rows. An element's sum has a
// fixed order, so the result is the same with any number of threads.

namespace {

// A tile of C is 12 rows of 128 bytes (32 floats or 16 doubles). With AVX-512 its sums fill 24 of
// the 32 vector registers. A step along K then reads 12 elements of A and 2 vectors of B for 24
// multiplications of vectors, so that the multipliers need not wait for what is read.
constexpr int kTileRows = 12;
template <class Element>
constexpr int kTileColumns = 128 / sizeof(Element);

template <class Element>
struct Tile {
  alignas(64) Element rows[kTileRows][kTileColumns<Element>];
};

// What a tile reads at one step along K. Packed, the steps of a tile follow each other in memory.
template <class Element>
struct ColumnOfA {
  Element elements[kTileRows];
};
template <class Element>
struct RowOfB {
  alignas(64) Element elements[kTileColumns<Element>];
};

// What a thread multiplies at a time, sized for the L2 cache: 96 KB of A and 512 KB of B in fp32.
// The part of B for one column of tiles, 32 KB, stays in L1 while it is used for every row of
// tiles.
constexpr int kBlockRowTiles = 8;
constexpr int kBlockColumnTiles = 16;
constexpr int kBlockDepth = 256;

template <class Packed>
void take_absolute(int depth, Packed* packed) {
  for (int k = 0; k < depth; ++k) {
    for (auto& element : packed[k].elements) element = std::abs(element);
  }
}

// Packs `rows` rows of A, at most a tile's, with `stride` elements from one to the next. Missing
// rows are 0.
template <class Element>
void pack_A(int rows, int depth, const float* A, std::int64_t stride, ColumnOfA<Element>* packed) {
  for (int k = 0; k < depth; ++k) {
    for (int i = 0; i < kTileRows; ++i) {
      packed[k].elements[i] = i < rows ? A[i * stride + k] : 0;
    }
  }
}

// Packs `columns` columns of B, in the same way.
template <class Element>
void pack_B(int depth, int columns, const float* B, std::int64_t stride, RowOfB<Element>* packed) {
  constexpr int kColumns = kTileColumns<Element>;
  for (int k = 0; k < depth; ++k) {
    const float* row = B + k * stride;
    Element* to = packed[k].elements;
    if (columns == kColumns) {
      std::copy_n(row, kColumns, to);
    } else {
      std::fill(std::copy_n(row, columns, to), to + kColumns, Element(0));
    }
  }
}

// tile = A (12 x depth) * B (depth x 128 bytes). Every step along K adds the product of a column of
// A and a row of B. AVX-512 computes the whole tile at once; other CPUs, with fewer or smaller
// registers, compute 6 rows of 2 vectors at a time.
template <int kVectorBytes, class Element>
[[gnu::always_inline]] inline void multiply_tile(
    int depth, const ColumnOfA<Element>* A, const RowOfB<Element>* B, Tile<Element>& tile) {
  typedef Element Vector __attribute__((vector_size(kVectorBytes)));
  constexpr int kRows = kVectorBytes == 64 ? kTileRows : kTileRows / 2;
  constexpr int kColumns = 2 * kVectorBytes / sizeof(Element);
  for (int row = 0; row < kTileRows; row += kRows) {
    for (int column = 0; column < kTileColumns<Element>; column += kColumns) {
      Vector sums[kRows][2] = {};
      for (int k = 0; k < depth; ++k) {
        const Element* a = A[k].elements + row;
        const Vector* b = reinterpret_cast<const Vector*>(B[k].elements + column);
#pragma GCC unroll 12
        for (int i = 0; i < kRows; ++i) {
          sums[i][0] += a[i] * b[0];
          sums[i][1] += a[i] * b[1];
        }
      }
#pragma GCC unroll 12
      for (int i = 0; i < kRows; ++i) {
        Vector* result = reinterpret_cast<Vector*>(tile.rows[row + i] + column);
        result[0] = sums[i][0];
        result[1] = sums[i][1];
      }
    }
  }
}

// Asks for a tile of C, which then arrives from memory while its sums are computed.
template <class Element>
[[gnu::always_inline]] inline void prefetch(
    int rows, int columns, const Element* C, std::int64_t stride) {
  constexpr int kCacheLine = 64 / sizeof(Element);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; j += kCacheLine) __builtin_prefetch(C + i * stride + j, 1);
  }
}

// C += the part of the tile that is inside C.
template <class Element>
[[gnu::always_inline]] inline void add_tile(
    int rows, int columns, const Tile<Element>& tile, Element* C, std::int64_t stride) {
  for (int i = 0; i < rows; ++i) {
#pragma omp simd
    for (int j = 0; j < columns; ++j) C[i * stride + j] += tile.rows[i][j];
  }
}

// C += A*B for a block of C, with packed A and B.
template <int kVectorBytes, class Element>
[[gnu::always_inline]] inline void multiply_tiles(
    int rows, int columns, int depth, const ColumnOfA<Element>* A, const RowOfB<Element>* B,
    Element* C, std::int64_t stride) {
  for (int j = 0; j < columns; j += kTileColumns<Element>, B += depth) {
    const ColumnOfA<Element>* a = A;
    for (int i = 0; i < rows; i += kTileRows, a += depth) {
      const int height = std::min(kTileRows, rows - i);
      const int width = std::min(kTileColumns<Element>, columns - j);
      Element* c = C + i * stride + j;
      Tile<Element> tile;
      prefetch(height, width, c, stride);
      multiply_tile<kVectorBytes>(depth, a, B, tile);
      add_tile(height, width, tile, c, stride);
    }
  }
}

// On x86-64 the compiler makes a copy of a FOR_EACH_CPU function for every width of vector
// registers, and at its start the program chooses the best one for the CPU. Everything that such
// a function calls is always_inline, because only inlined code is compiled for each width.
#if defined(__x86_64__) && __GNUC__ >= 12
#define FOR_EACH_CPU __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#elif defined(__x86_64__)
#define FOR_EACH_CPU __attribute__((target_clones("default", "fma", "avx512f")))
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

template <class Element>
FOR_EACH_CPU void multiply_block(
    int rows, int columns, int depth, const ColumnOfA<Element>* A, const RowOfB<Element>* B,
    Element* C, std::int64_t stride, int vector_bytes) {
  if (vector_bytes == 64) multiply_tiles<64>(rows, columns, depth, A, B, C, stride);
  if (vector_bytes == 32) multiply_tiles<32>(rows, columns, depth, A, B, C, stride);
  if (vector_bytes == 16) multiply_tiles<16>(rows, columns, depth, A, B, C, stride);
}

constexpr std::int64_t quotient_rounded_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// C = A*B, or |A||B| if `absolute`; a row of A starts `stride` elements after the one above.
template <class Element>
void multiply(
    int M, int N, int K, const float* A, std::int64_t stride, const float* B, bool absolute,
    Element* C, const Advance& advance = {}) {
  if (M == 0 || N == 0) return;
  constexpr int kRows = kTileRows, kColumns = kTileColumns<Element>;
  const std::int64_t row_tiles = quotient_rounded_up(M, kRows);
  const std::int64_t column_tiles = quotient_rounded_up(N, kColumns);
  const std::int64_t largest_depth = std::min(K, kBlockDepth);
  const std::int64_t size_A = row_tiles * largest_depth, size_B = column_tiles * largest_depth;
  const auto buffers_A = std::make_unique_for_overwrite<ColumnOfA<Element>[]>(2 * size_A);
  const auto buffers_B = std::make_unique_for_overwrite<RowOfB<Element>[]>(2 * size_B);

  // Blocks are lower if the matrix is too small to give every thread two of the full height.
  const int threads = omp_get_max_threads();
  const std::int64_t column_blocks = quotient_rounded_up(column_tiles, kBlockColumnTiles);
  const std::int64_t block_row_tiles = std::clamp<std::int64_t>(
      quotient_rounded_up(row_tiles * column_blocks, 2 * threads), 1, kBlockRowTiles);
  const std::int64_t row_blocks = quotient_rounded_up(row_tiles, block_row_tiles);
  const int bytes = vector_bytes();

#pragma omp parallel num_threads(threads)
  {
#pragma omp for nowait
    for (std::int64_t i = 0; i < M; ++i) std::fill_n(C + i * N, N, Element(0));
    for (std::int64_t k = 0; k < K; k += kBlockDepth) {
      const int depth = std::min<std::int64_t>(kBlockDepth, K - k);
      const int buffer = k / kBlockDepth % 2;
      ColumnOfA<Element>* packed_A = &buffers_A[buffer * size_A];
      RowOfB<Element>* packed_B = &buffers_B[buffer * size_B];
#pragma omp for schedule(dynamic) nowait
      for (std::int64_t tile = 0; tile < row_tiles; ++tile) {
        const std::int64_t i = tile * kRows;
        ColumnOfA<Element>* packed = packed_A + tile * depth;
        pack_A(std::min<std::int64_t>(kRows, M - i), depth, A + i * stride + k, stride, packed);
        if (absolute) take_absolute(depth, packed);
      }
#pragma omp for schedule(dynamic)
      for (std::int64_t tile = 0; tile < column_tiles; ++tile) {
        const std::int64_t j = tile * kColumns;
        RowOfB<Element>* packed = packed_B + tile * depth;
        pack_B(depth, std::min<std::int64_t>(kColumns, N - j), B + k * N + j, N, packed);
        if (absolute) take_absolute(depth, packed);
      }
#pragma omp for schedule(dynamic) nowait
      for (std::int64_t block = 0; block < row_blocks * column_blocks; ++block) {
        const std::int64_t row_tile = block % row_blocks * block_row_tiles;
        const std::int64_t column_tile = block / row_blocks * kBlockColumnTiles;
        const std::int64_t i = row_tile * kRows, j = column_tile * kColumns;
        const int rows = std::min<std::int64_t>(block_row_tiles * kRows, M - i);
        const int columns = std::min<std::int64_t>(kBlockColumnTiles * kColumns, N - j);
        multiply_block(
            rows, columns, depth, packed_A + row_tile * depth, packed_B + column_tile * depth,
            C + i * N + j, N, bytes);
        if (advance) advance(std::int64_t(rows) * columns * depth);
      }
    }
  }
}

}  // namespace

void openmp_gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  if (alpha == 0) K = 0;
  // C itself holds the sums, unless its old values are still needed.
  const std::int64_t size = std::int64_t{M} * N;
  const auto other = std::make_unique_for_overwrite<float[]>(beta == 0 ? 0 : size);
  float* sums = beta == 0 ? C : other.get();
  multiply(M, N, K, A, K, B, false, sums);
  if (alpha == 1 && beta == 0) return;
#pragma omp parallel for simd
  for (std::int64_t at = 0; at < size; ++at) {
    C[at] = beta == 0 ? alpha * sums[at] : alpha * sums[at] + beta * C[at];
  }
}

void reference_gemm(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, const float* C0,
    double* exact, const Advance& advance) {
  multiply(M, N, alpha == 0 ? 0 : K, A, K, B, false, exact, advance);
#pragma omp parallel for
  for (std::int64_t at = 0; at < std::int64_t{M} * N; ++at) {
    exact[at] = double{alpha} * exact[at] + (beta == 0 ? 0 : double{beta} * C0[at]);
  }
}

void reference_magnitude(
    int M, int N, int K, int terms, float alpha, const float* A, const float* B, double* magnitude,
    const Advance& advance) {
  multiply(M, N, alpha == 0 ? 0 : terms, A, K, B, true, magnitude, advance);
#pragma omp parallel for
  for (std::int64_t at = 0; at < std::int64_t{M} * N; ++at) {
    magnitude[at] *= std::abs(double{alpha});
  }
}
