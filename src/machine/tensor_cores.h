// Matrices that the 32 lanes of a warp hold together. PTX ISA 9.0, "Warp-level matrix
// instructions". All lanes call each of these functions together. `place` is a return address in
// the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace machine {

// One, two or four matrices of 8 rows of 16 bytes in shared memory. Lane l gives the address of row
// l % 8 of matrix l / 8, and has one word of each matrix: word l % 4 of row l / 4 or, if they are
// `transposed`, the 16-bit elements in rows 2 * (l % 4) and the next, column l / 4.
void load_matrices(
    std::span<std::uint32_t> words, bool transposed, const void* row, const void* place);
void store_matrices(
    std::span<const std::uint32_t> words, bool transposed, void* row, const void* place);
// The word of a transposed matrix that lane has instead of that word of the matrix.
std::uint32_t transpose_matrix(std::uint32_t word);

// The elements of two matrices that are multiplied, and those of the matrix to which the product is
// added.
enum class Factor : std::uint8_t { tf32, f16, bf16, s8, u8, f64 };
enum class Accumulator : std::uint8_t { f32, f16, s32, f64 };

// rows x 8 += rows x depth * depth x 8
struct MmaShape {
  int rows, depth;
  Factor a, b;
  Accumulator d;
  bool saturates = false;

  int bits() const;     // of a factor
  int a_words() const;  // per lane, of 32 bits, or of 64 for f64
  int b_words() const;
  int d_words() const;
  bool operator==(const MmaShape&) const = default;
};

// With g = l / 4, t = l % 4 and e elements to a word, element j of word i of lane l is
//   of a  in row g + i % 2 * 8 (g if there are 8 rows), column i / 2 * 4 * e + t * e + j
//   of b  in row i * 4 * e + t * e + j, column g
//   of d  in row g + i / (2 / e) * 8, column 2 * t + i % (2 / e) + j
struct MmaOperands {
  const MmaShape* shape;
  std::array<std::uint64_t, 4> a, b, d;
};
void multiply_matrices(MmaOperands& operands);

}  // namespace machine
