#include "machine/async_copies.h"

#include <cstring>

#include "machine/observer.h"
#include "machine/own_access.h"
#include "machine/worker.h"

void machine::finish(const AsyncCopy& copy) {
  const OwnAccess own;
  std::memcpy(copy.to, copy.from, copy.bytes);
  std::memset(static_cast<char*>(copy.to) + copy.bytes, 0, copy.zeros);
}

// As <cuda_pipeline.h> names them (src/cuda/cpu.h).
void __pipeline_memcpy_async(
    void* shared, const void* global, std::size_t size, std::size_t zfill) {
  machine::Worker& worker = *machine::running_worker;
  if (machine::BlockObserver* observer = worker.observer()) {
    observer->async_copy(
        shared, zfill < size ? global : nullptr, size, __builtin_return_address(0));
  }
  worker.running().copies.issue({shared, global, size - zfill, zfill});
}

void __pipeline_commit() {
  machine::Worker& worker = *machine::running_worker;
  if (machine::BlockObserver* observer = worker.observer()) {
    observer->async_commit(__builtin_return_address(0));
  }
  worker.running().copies.commit();
}

void __pipeline_wait_prior(int groups_in_flight) {
  machine::Worker& worker = *machine::running_worker;
  if (machine::BlockObserver* observer = worker.observer()) {
    observer->async_wait(groups_in_flight, __builtin_return_address(0));
  }
  worker.running().copies.wait(groups_in_flight, machine::finish);
}
