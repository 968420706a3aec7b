#include "machine/bulk_copies.h"

#include <cstring>
#include <string>
#include <utility>

#include "cuda/hopper_instructions.h"
#include "machine/fault.h"
#include "machine/observer.h"
#include "machine/own_access.h"
#include "machine/shared_address.h"
#include "machine/worker.h"

namespace machine {
namespace {

TensorMap map_at(const CUtensorMap* map, const void* place) {
  const auto contents = contents_of(*map);
  if (!contents) fault("it uses a tensor map that tensor_map_2d did not make", place);
  return *contents;
}

// The first column and row of a box. Beyond a matrix, dimensions have one element.
std::pair<int, int> corner_of(std::span<const int> at, const void* place) {
  for (std::size_t i = 2; i < at.size(); ++i) {
    if (at[i] != 0) fault("it copies a box of a tensor with more than two dimensions", place);
  }
  return {at[0], at.size() > 1 ? at[1] : 0};
}

// A copy without a tensor map is a box of one row. These are bytes of global memory.
TensorMap row_of(const void* global, std::uint32_t bytes, const void* place) {
  if (bytes == 0 || bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(global) % 16 != 0) {
    fault(
        "its cp.async.bulk copies " + std::to_string(bytes) +
            " bytes; their number and both addresses must be multiples of 16",
        place);
  }
  const int columns = static_cast<int>(bytes / 4);
  return {0, static_cast<char*>(const_cast<void*>(global)), 1, bytes / 4, bytes, {1, columns}, {},
          {}};
}

// Faults if the copy engine cannot copy these bytes to or from this shared memory.
void require_shared(
    const void* shared, std::size_t bytes, std::uint32_t alignment, const void* place) {
  const std::uint32_t at = shared_address_of(shared, place);
  if (at % alignment != 0) {
    fault(
        "it copies a box to or from the shared address " + std::to_string(at) +
            "; it must be a multiple of " + std::to_string(alignment),
        place);
  }
  if (shared_array_at(shared, bytes) == nullptr) {
    fault(
        "it copies " + std::to_string(bytes) + " bytes to or from the shared address " +
            std::to_string(at) + ", where no array has so many",
        place);
  }
  if (running_worker->async().in(shared, bytes) != nullptr) {
    fault("it copies a box to or from shared memory that holds an mbarrier", place);
  }
}

// The same for a box from column x on.
void require_possible(const TensorMap& map, int x, const void* shared, const void* place) {
  // The PTX ISA does not say so, but an H200 stops with "illegal instruction" (hopper_checks.cu).
  if (const int columns = 16 / map.element_bytes(); x % columns != 0) {
    fault(
        "it copies a box from column " + std::to_string(x) + " on; it must be a multiple of " +
            std::to_string(columns),
        place);
  }
  require_shared(
      shared, map.box_bytes(), map.swizzle == model::Swizzle::span_128 ? 1024 : 128, place);
}

// Which swizzle a box has follows from its place.
std::uint32_t low_bits(const char* shared) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(shared) & 0xffff);
}

void start_load(const BulkLoad& load, void* barrier, const void* place) {
  BlockBarrier& counted = barrier_at(barrier, place);
  const std::size_t bytes = load.map.box_bytes();
  if (BlockObserver* observer = running_worker->observer()) {
    const AsyncAction::Copy copy{load.shared, bytes, inside(load.map, load.x, load.y)};
    observer->async_action({AsyncAction::Kind::load, counted.number, 0, &copy}, place);
  }
  counted.on_the_way.push_back(load);
  const OwnAccess own;
  std::memset(load.shared, 0xff, bytes);
}

void start_store(const BulkStore& store, const void* place) {
  Worker& worker = *running_worker;
  if (BlockObserver* observer = worker.observer()) {
    const AsyncAction::Copy copy{
        store.shared, store.map.box_bytes(), inside(store.map, store.x, store.y)};
    observer->async_action({AsyncAction::Kind::store, 0, 0, &copy}, place);
  }
  worker.running().stores.place = place;
  worker.running().stores.unread.issue(store);
}

// Reads the stores of all but the last groups.
void read_stores(BulkStores& stores, int groups_in_flight) {
  stores.unread.wait(groups_in_flight, [&](const BulkStore& store) {
    stores.unwritten.issue({store, read_box(store.map, low_bits(store.shared), store.shared)});
    ++stores.read;
  });
}

void write_stores(BulkStores& stores) {
  stores.unwritten.commit();
  stores.unwritten.wait(0, [](const BulkStores::Read& read) {
    store_box(read.store.map, read.store.x, read.store.y, read.rows);
  });
}

}  // namespace

void end_bulk_stores(Thread& thread, BlockObserver* observer) {
  const std::uint64_t read = thread.stores.read;
  thread.stores.unread.commit();
  read_stores(thread.stores, 0);
  if (thread.stores.read != read && observer != nullptr) {
    observer->misuse(
        model::HazardKind::store_not_waited_for,
        static_cast<std::int64_t>(thread.stores.read - read), 0, thread.stores.place);
  }
  write_stores(thread.stores);
}

}  // namespace machine

void machine::load_box_async(
    void* shared, const CUtensorMap* map, std::span<const int> at, void* barrier,
    const void* place) {
  const TensorMap contents = map_at(map, place);
  const auto [x, y] = corner_of(at, place);
  require_possible(contents, x, shared, place);
  start_load({contents, x, y, static_cast<char*>(shared)}, barrier, place);
}

void machine::store_box_async(
    const void* shared, const CUtensorMap* map, std::span<const int> at, const void* place) {
  const TensorMap contents = map_at(map, place);
  const auto [x, y] = corner_of(at, place);
  require_possible(contents, x, shared, place);
  start_store({contents, x, y, static_cast<const char*>(shared)}, place);
}

void machine::load_bytes_async(
    void* shared, const void* global, std::uint32_t bytes, void* barrier, const void* place) {
  const TensorMap row = row_of(global, bytes, place);
  require_shared(shared, bytes, 16, place);
  start_load({row, 0, 0, static_cast<char*>(shared)}, barrier, place);
}

void machine::store_bytes_async(
    void* global, const void* shared, std::uint32_t bytes, const void* place) {
  const TensorMap row = row_of(global, bytes, place);
  require_shared(shared, bytes, 16, place);
  start_store({row, 0, 0, static_cast<const char*>(shared)}, place);
}

void machine::commit_bulk_stores() {
  running_worker->running().stores.unread.commit();
}

void machine::wait_for_bulk_stores(int groups_in_flight, bool only_read, const void* place) {
  Worker& worker = *running_worker;
  BulkStores& stores = worker.running().stores;
  read_stores(stores, groups_in_flight);
  if (BlockObserver* observer = worker.observer()) {
    observer->async_action({AsyncAction::Kind::stores_read, 0, stores.read, nullptr}, place);
  }
  if (!only_read) write_stores(stores);
}

#define HERE __builtin_return_address(0)
unsigned simt::shared_address(const void* pointer) {
  return machine::shared_address_of(pointer, HERE);
}

void cp_async_bulk_tensor_2d(
    void* shared, const CUtensorMap* map, int x, int y, std::uint64_t* barrier) {
  const int at[] = {x, y};
  machine::load_box_async(shared, map, at, barrier, HERE);
}
void cp_async_bulk_tensor_2d_store(const CUtensorMap* map, int x, int y, const void* shared) {
  const int at[] = {x, y};
  machine::store_box_async(shared, map, at, HERE);
}
void cp_async_bulk_commit_group() {
  machine::commit_bulk_stores();
}
void simt::wait_for_bulk_groups(int groups_in_flight, bool only_read) {
  machine::wait_for_bulk_stores(groups_in_flight, only_read, HERE);
}
#undef HERE
