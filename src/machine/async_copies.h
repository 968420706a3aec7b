// The effect of cp.async on memory: none until its thread waits for it.
#pragma once

#include <cstddef>

#include "machine/async_groups.h"

namespace machine {

struct AsyncCopy {
  void* to;
  const void* from;
  std::size_t bytes;  // copied
  std::size_t zeros;  // bytes after them that are filled with zeros
};

void finish(const AsyncCopy& copy);

using AsyncCopies = AsyncGroups<AsyncCopy>;

}  // namespace machine
