// Matrices in NumPy's .npy format.
#pragma once

#include <string>

#include "lab/matrices.h"
#include "lab/npy_header.h"
#include "text/file.h"

namespace lab {

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
