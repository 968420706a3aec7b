#include "grade/hazard_words.h"

namespace grade {

const char* symptom_of(model::HazardKind kind) {
  switch (kind) {
    case model::HazardKind::race:
      return "a race in shared memory";
    case model::HazardKind::uninitialized:
      return "shared memory is read before any thread has stored to it";
    case model::HazardKind::copy_not_waited_for:
      return "an asynchronous copy is read before a wait for it";
    case model::HazardKind::misaligned:
      return "a vector access is not aligned";
    case model::HazardKind::race_on_result:
      return "two threads write the same element of the result";
    case model::HazardKind::race_between_blocks:
      return "two blocks use the same element, one of them stores it, and nothing orders the two";
    case model::HazardKind::read_only_is_stored:
      return "__ldg loads an element that the same launch stores";
    case model::HazardKind::copy_of_bad_size:
    case model::HazardKind::copy_of_bad_zeros:
    case model::HazardKind::copy_to_global:
    case model::HazardKind::copy_from_shared:
      return "an asynchronous copy that no GPU can make";
    case model::HazardKind::tile_not_waited_for:
      return "a tile is used before a wait for the copy that brings it";
    case model::HazardKind::tile_in_use:
      return "a tile is overwritten while it is still being read";
    case model::HazardKind::not_fenced:
      return "a fence between a thread's accesses and asynchronous ones is missing";
    case model::HazardKind::store_not_waited_for:
      return "a thread ends before its asynchronous stores have read shared memory";
    case model::HazardKind::nothing_shuffled:
    case model::HazardKind::bad_width:
      return "a shuffle whose value is undefined";
    case model::HazardKind::threads_left:
      return "barriers that not every GPU accepts";  // a note: no complaint
    case model::HazardKind::sum_in_flight:
      return "a sum is read while the tensor cores add to it";
    case model::HazardKind::out_of_bounds:
      return "an access is out of bounds";
    case model::HazardKind::host_memory:
      return "an access to memory of the host";
    case model::HazardKind::freed_memory:
      return "an access to memory that was freed";
    case model::HazardKind::foreign_local:
      return "a thread accesses another thread's local variable";
    case model::HazardKind::index_out_of_range:
      return "an index is outside of its array";
    case model::HazardKind::barrier_divergence:
    case model::HazardKind::several_barriers:
      return "not all threads of a block reach the same barrier";
    case model::HazardKind::never_written:
      return "some elements of the result are never written";
  }
  return "";
}

std::string phase_of(const model::Hazard& hazard) {
  const std::string& array = hazard.array;
  if (hazard.kind == model::HazardKind::race) {
    return "around " + array + ": one thread " + (hazard.first.stores ? "stores" : "loads") +
           ", another " + (hazard.second.stores ? "stores" : "loads") +
           ", and no barrier orders the two";
  }
  if (hazard.kind == model::HazardKind::race_on_result)
    return "at the store of the result: which thread owns which element?";
  if (hazard.kind == model::HazardKind::barrier_divergence ||
      hazard.kind == model::HazardKind::several_barriers)
    return "at the barriers: which threads do not reach them?";
  if (hazard.kind == model::HazardKind::index_out_of_range) {
    return "at " + array +
           ": compare each index with the array's declaration, dimension by dimension";
  }
  if (hazard.array.empty()) return "where a pointer is computed";
  return "in the part that reads or writes " + array;
}

}  // namespace grade
