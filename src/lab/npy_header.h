// What the beginning of a .npy file says of the rest,
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lab {

// Of a matrix that we can read: all the values that the shape promises are there.
struct NpyHeader {
  int rows, columns;
  int number_bytes;      // of a value: 4 or 8
  bool swapped;          // the bytes of a value are in big-endian order
  bool by_columns;       // Fortran's order
  std::size_t at_value;  // the first value's place in the file
};

// The largest file's beginning that npy_header() looks at.
inline constexpr std::size_t kMostNpyHeaderBytes = 12 + 65535;

// `beginning` of a file that has `file_bytes` in all: as many as there are, up to
// kMostNpyHeaderBytes. Throws a Refusal that begins with `name` for what is no two-dimensional
// array of float32 or float64, in either byte order, in C or Fortran order, of format
// version 1.0, 2.0 or 3.0.
NpyHeader npy_header(const std::string& name, std::string_view beginning, std::uint64_t file_bytes);

}  // namespace lab
