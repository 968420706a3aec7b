#include "simulator/machine/async_copies.h"

#include <algorithm>
#include <cstring>

#include "simulator/cuda/instructions.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/worker.h"

namespace machine {
namespace {

bool is_copy(std::size_t size) {
  return size == 4 || size == 8 || size == 16;
}

// What <cuda_pipeline.h> asserts and PTX requires of cp.async. A copy that breaks these rules is
// reported but still made.
void look_for_misuse(
    const KernelMemory& memory, const AsyncCopy& copy, std::size_t zeros, const void* place) {
  using model::HazardKind;
  const auto misuse = [&](HazardKind kind, std::size_t index = 0, std::int64_t extent = 0) {
    tell(Action::misuse_of(kind, static_cast<std::int64_t>(index), extent), place);
  };
  const std::size_t size = copy.bytes + copy.zeros;
  if (!is_copy(size)) misuse(HazardKind::copy_of_bad_size, size);
  if (zeros > size) {
    misuse(HazardKind::copy_of_bad_zeros, zeros, static_cast<std::int64_t>(size));
  }
  const auto is_local = [&](const void* pointer) {
    return memory.stacks.holds(reinterpret_cast<std::uintptr_t>(pointer));
  };
  if (!is_shared_memory(copy.to) || is_local(copy.to)) misuse(HazardKind::copy_to_global);
  if (copy.bytes > 0 && (is_shared_memory(copy.from) || is_local(copy.from))) {
    misuse(HazardKind::copy_from_shared);
  }
}

}  // namespace
}  // namespace machine

void machine::finish(const AsyncCopy& copy) {
  const OwnAccess own;
  std::memcpy(copy.to, copy.from, copy.bytes);
  std::memset(static_cast<char*>(copy.to) + copy.bytes, 0, copy.zeros);
}

void machine::start_async_copy(
    void* shared, const void* global, std::size_t size, std::size_t zfill, const void* place,
    Filling filling) {
  Worker& worker = *running_worker;
  const std::size_t zeros = std::min(zfill, size);
  const AsyncCopy copy{shared, global, size - zeros, zeros};
  if (BlockObserver* observer = worker.observer()) {
    look_for_misuse(worker.memory(), copy, zfill, place);
    const bool fills = zeros == size;
    if (fills && filling == Filling::apart) global = nullptr;
    if (is_copy(size)) observer->async_copy(shared, global, size, fills, place);
  }
  worker.running().copies.issue(copy);
}

// The functions of <cuda_pipeline.h> (src/simulator/cuda/cpu.h).
#define HERE machine::place_of_call(__builtin_return_address(0))
void __pipeline_memcpy_async(
    void* shared, const void* global, std::size_t size, std::size_t zfill) {
  machine::start_async_copy(shared, global, size, zfill, HERE, machine::Filling::apart);
}
void simt::cp_async(void* shared, const void* global, std::size_t bytes, bool zeros) {
  machine::start_async_copy(shared, global, bytes, zeros ? bytes : 0, HERE);
}
void __pipeline_commit() {
  machine::tell({machine::Action::Kind::commit}, HERE);
  machine::running_worker->running().copies.commit();
}
void __pipeline_wait_prior(int groups_in_flight) {
  const auto in_flight = static_cast<std::uint64_t>(groups_in_flight);
  machine::tell({.kind = machine::Action::Kind::wait_for_groups, .value = in_flight}, HERE);
  machine::running_worker->running().copies.wait(in_flight, machine::finish);
}
#undef HERE
