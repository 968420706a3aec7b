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

std::uint32_t dynamic_address_of(const void* pointer, const void* place) {
  const KernelArray* dynamic = nullptr;
  for (const KernelArray& array : running_worker->memory().arrays) {
    if (array.shared && array.begin == reinterpret_cast<std::uintptr_t>(dynamic_shared_memory())) {
      dynamic = &array;
    }
  }
  if (dynamic == nullptr || !dynamic->holds(reinterpret_cast<std::uintptr_t>(pointer))) {
    fault(
        "it uses a shared address that is not in dynamic shared memory; on the CPU only "
        "`extern __shared__` arrays have one",
        place);
  }
  return static_cast<std::uint32_t>(static_cast<const char*>(pointer) - dynamic_shared_memory());
}

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

// Faults if the copy engine cannot copy a box from column x on to or from this shared memory.
void require_possible(const TensorMap& map, int x, const void* shared, const void* place) {
  // The PTX ISA does not say so, but an H200 stops with "illegal instruction" (hopper_checks.cu).
  if (const int columns = 16 / map.element_bytes(); x % columns != 0) {
    fault(
        "it copies a box from column " + std::to_string(x) + " on; it must be a multiple of " +
            std::to_string(columns),
        place);
  }
  const std::uint32_t at = dynamic_address_of(shared, place);
  const std::uint32_t alignment = map.swizzle == model::Swizzle::span_128 ? 1024 : 128;
  if (at % alignment != 0) {
    fault(
        "it copies a box to or from the shared address " + std::to_string(at) +
            "; it must be a multiple of " + std::to_string(alignment),
        place);
  }
  const auto* const last = static_cast<const char*>(shared) + map.box_bytes() - 1;
  dynamic_address_of(last, place);
  if (running_worker->async().in(shared, map.box_bytes()) != nullptr) {
    fault("it copies a box to or from shared memory that holds an mbarrier", place);
  }
}

// Reads the stores of all but the last groups.
void read_stores(BulkStores& stores, int groups_in_flight) {
  stores.unread.wait(groups_in_flight, [&](const BulkStore& store) {
    const auto at = static_cast<std::uint32_t>(store.shared - dynamic_shared_memory());
    stores.unwritten.issue({store, read_box(store.map, at, store.shared)});
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
  Worker& worker = *running_worker;
  const TensorMap contents = map_at(map, place);
  const auto [x, y] = corner_of(at, place);
  require_possible(contents, x, shared, place);
  BlockBarrier& counted = barrier_at(barrier, place);
  if (BlockObserver* observer = worker.observer()) {
    const AsyncAction::Copy copy{shared, contents.box_bytes(), inside(contents, x, y)};
    observer->async_action({AsyncAction::Kind::load, counted.number, 0, &copy}, place);
  }
  counted.on_the_way.push_back({contents, x, y, static_cast<char*>(shared)});
  const OwnAccess own;
  std::memset(shared, 0xff, contents.box_bytes());
}

void machine::store_box_async(
    const void* shared, const CUtensorMap* map, std::span<const int> at, const void* place) {
  Worker& worker = *running_worker;
  const TensorMap contents = map_at(map, place);
  const auto [x, y] = corner_of(at, place);
  require_possible(contents, x, shared, place);
  if (BlockObserver* observer = worker.observer()) {
    const AsyncAction::Copy copy{shared, contents.box_bytes(), inside(contents, x, y)};
    observer->async_action({AsyncAction::Kind::store, 0, 0, &copy}, place);
  }
  worker.running().stores.place = place;
  worker.running().stores.unread.issue({contents, x, y, static_cast<const char*>(shared)});
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
  return machine::dynamic_address_of(pointer, HERE);
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
