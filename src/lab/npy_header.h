// The header of a .npy file, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lab {

// The header of a matrix that we can read. All values that its shape promises are in the file.
struct NpyHeader {
  int rows, columns;
  int number_bytes;      // per value: 4 or 8
  bool swapped;          // the bytes of a value are in big-endian order
  bool by_columns;       // column by column, as in Fortran
  std::size_t at_value;  // the position of the first value in the file
};

// The largest part of a file that npy_header() needs.
inline constexpr std::size_t kMostNpyHeaderBytes = 12 + 65535;

// `beginning` is the start of a file of `file_bytes` bytes: all of it, or the first
// kMostNpyHeaderBytes. Throws a Refusal that begins with `name` unless the file is a
// two-dimensional array of float32 or float64, in either byte order, in C or Fortran order, of
// format version 1.0, 2.0 or 3.0.
NpyHeader npy_header(const std::string& name, std::string_view beginning, std::uint64_t file_bytes);

}  // namespace lab
