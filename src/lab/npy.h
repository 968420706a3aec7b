// Matrices in NumPy's .npy format.
#pragma once

#include <string>

#include "lab/matrices.h"
#include "lab/npy_header.h"
#include "text/file.h"

namespace lab {

// A matrix of which the header alone has been read: its shape is known before anything is
// allocated.
struct NpyFile {
  std::string path;
  NpyHeader header;
  text::File file;
};

// Throws a Refusal for what is no regular file, and as npy_header() does.
NpyFile open_npy(const std::string& path);

// The values, row-major. Throws a Refusal where the file is cut off, or one of its float64 is more
// than fp32 can hold.
Floats read_values(const NpyFile& npy);

// Throws a Refusal if write_npy could not write there now. Leaves nothing behind.
void check_writable(const std::string& path);

// Writes rows x columns values, row-major, as little-endian float32 of format version 1.0. They
// appear under `path` all at once or not at all; throws a Refusal in that case.
void write_npy(const std::string& path, int rows, int columns, const float* values);

}  // namespace lab
