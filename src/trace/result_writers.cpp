#include "trace/result_writers.h"

#include <new>

namespace trace {

// calloc provides zero pages without writing them.
ResultWriters::ResultWriters(std::span<const machine::GlobalArray> matrices) {
  for (const machine::GlobalArray& matrix : matrices) {
    if (matrix.result) count_ += matrix.bytes / 4;
  }
  words_.reset(static_cast<std::uint64_t*>(std::calloc(count_ + 1, sizeof(std::uint64_t))));
  if (words_ == nullptr) throw std::bad_alloc();
}

}  // namespace trace
