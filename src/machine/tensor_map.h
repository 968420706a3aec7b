// Tensor maps on the CPU: what tensor_map_2d (cuda/tensor_map.h) writes into one, and the boxes
// that the copy engine moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cuda/tensor_map.h"

namespace machine {

struct TensorMap {
  std::uint64_t mark;  // tells a tensor map from other bytes
  char* matrix;
  std::uint64_t rows, columns, pitch_bytes;
  TensorBox box;
  model::Swizzle swizzle;
  TensorElement element;

  int element_bytes() const { return element == TensorElement::bfloat16 ? 2 : 4; }
  int row_bytes() const { return box.columns * element_bytes(); }
  std::size_t box_bytes() const { return static_cast<std::size_t>(box.rows) * row_bytes(); }
};

// Nothing if these bytes are not from tensor_map_2d.
std::optional<TensorMap> contents_of(const CUtensorMap& map);

// The part of a box that is inside of the matrix.
struct PartOfMatrix {
  char* first;  // its first element
  int rows, row_bytes;
  std::uint64_t pitch_bytes;
  int bytes_before, bytes_after;  // of each of these rows: outside, to the left and to the right
};
PartOfMatrix inside(const TensorMap& map, int x, int y);

// The box whose first element is in column x, row y, as it lies in shared memory from the shared
// address `at` on, which decides the swizzle.
void load_box(const TensorMap& map, int x, int y, std::uint32_t at, char* shared);
// The rows of a box in shared memory, one after the other; and those rows, into the matrix.
std::vector<char> read_box(const TensorMap& map, std::uint32_t at, const char* shared);
void store_box(const TensorMap& map, int x, int y, std::span<const char> rows);

}  // namespace machine
