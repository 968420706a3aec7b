// Matrices in NumPy's .npy format,
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string>
#include <vector>

namespace lab {

struct Matrix {
  int rows, columns;
  std::vector<float> values;  // row-major
};

// Reads a two-dimensional array of float32 or float64, in either byte order, in C or Fortran order,
// of format version 1, 2 or 3. Throws a Refusal for everything else, a float64 that fp32 cannot
// hold among it; nothing is allocated for values that the file does not have.
Matrix read_npy(const std::string& path);

// Throws a Refusal if write_npy could not write there now. Leaves nothing behind.
void check_writable(const std::string& path);

// Writes rows x columns values, row-major, as little-endian float32 of format version 1. They
// appear under `path` all at once or not at all; throws a Refusal in that case.
void write_npy(const std::string& path, int rows, int columns, const float* values);

}  // namespace lab
