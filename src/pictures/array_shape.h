// How a kernel's shared arrays are laid out, as far as its source tells.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pictures {

// The 4-byte words in a row of the __shared__ array `name` of `bytes` bytes: its last dimension, as
// declared between the lines `first` and `last` (from 1) of `source`. Names in it are looked up
// among the arguments of `kernel` ("tiled<16, 8>") for the template parameters above it, and among
// constants and macros that are whole numbers. `banks`, all of them once, where the array has one
// dimension or its declaration cannot be understood.
int declared_row_words(
    const std::vector<std::string>& source, int first, int last, const std::string& kernel,
    const std::string& name, std::size_t bytes, int banks = 32);

}  // namespace pictures
