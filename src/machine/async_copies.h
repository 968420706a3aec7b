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

// What a thread does; `place` is a return address in the kernel. Of `size` bytes the last `zeros`
// are filled with zeros.
void start_async_copy(
    void* shared, const void* global, std::size_t size, std::size_t zeros, const void* place);
void commit_async_copies(const void* place);
void wait_for_async_copies(int groups_in_flight, const void* place);

using AsyncCopies = AsyncGroups<AsyncCopy>;

}  // namespace machine
