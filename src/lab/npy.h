// Matrices in NumPy's .npy format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lab/problem.h"
#include "text/file.h"

namespace lab {

// The header of a matrix that we can read. All values that its shape promises are in the file.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
struct NpyHeader {
  int rows, columns;
  int number_bytes;      // per value: 4 or 8
  bool by_columns;       // column by column, as in Fortran
  std::size_t at_value;  // the position of the first value in the file
};

// The largest part of a file that npy_header() needs.
inline constexpr std::size_t kMostNpyHeaderBytes = 10 + 65535;

// `beginning` is the start of a file of `file_bytes` bytes: all of it, or the first
// kMostNpyHeaderBytes. Throws a Refusal that begins with `name` unless the file is a
// two-dimensional array of little-endian float32 or float64, in C or Fortran order, as numpy.save
// writes it.
NpyHeader npy_header(const std::string& name, std::string_view beginning, std::uint64_t file_bytes);

// A matrix of which only the header has been read: its shape is known before anything is allocated.
struct NpyFile {
  std::string path;
  NpyHeader header;
  text::File file;
};

// Throws a Refusal for a file that is not regular, and as npy_header() does.
NpyFile open_npy(const std::string& path);

// The values, row-major. Throws a Refusal if the file is too short, or if one of its float64 values
// does not fit in fp32.
Floats read_values(const NpyFile& npy);

// Throws a Refusal if write_npy could not write there now. Leaves no file.
void check_writable(const std::string& path);

// Writes rows x columns values, row-major, as little-endian float32 of format version 1.0. The file
// appears under `path` all at once. If it cannot be written, this throws a Refusal and leaves no
// file.
void write_npy(const std::string& path, int rows, int columns, const float* values);

}  // namespace lab
