// Elements of the types that cuBLAS accepts, read as double and stored rounded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/headers/library_types.h"

namespace host {

std::size_t bytes_of(cudaDataType type);  // 0 if the type is not known

// The element with this index.
double element(const void* data, cudaDataType type, std::int64_t index);
void set_element(void* data, cudaDataType type, std::int64_t index, double value);

// The nearest number of 11 significant bits, as tensor cores get it from a float.
float as_tf32(float value);

}  // namespace host
