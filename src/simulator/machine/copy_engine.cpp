#include "simulator/machine/copy_engine.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "model/refusal.h"
#include "model/tensor_core.h"
#include "simulator/cuda/async_copy.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/worker.h"

namespace machine {

void BlockBarrier::receive_copies() {
  const std::uint64_t phase = state.phase();
  if (state.missing_arrivals() == arrivals_on_the_way.size()) {
    for (const ArrivalOfCopies& arrival : std::exchange(arrivals_on_the_way, {})) {
      arrival.copies->wait_for_first(arrival.issued, finish);
      state.arrive();
    }
  }
  while (state.phase() == phase && state.missing_arrivals() == 0 && !on_the_way.empty()) {
    const BulkLoad load = on_the_way.front();
    on_the_way.pop_front();
    const auto at =
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(load.shared) & 0xffff);
    ++copies;
    load_box(load.map, load.x, load.y, at, load.shared);
    state.receive(static_cast<std::int64_t>(load.map.box_bytes()));
  }
}

bool BlockBarrier::may_pass(unsigned parity) {
  if (!state.is_complete(parity)) receive_copies();
  return state.is_complete(parity);
}

BlockBarrier* AsyncProxy::find(const void* shared) {
  const auto found = std::find_if(barriers_.begin(), barriers_.end(), [&](const BlockBarrier& b) {
    return b.shared == shared;
  });
  return found == barriers_.end() ? nullptr : &*found;
}

BlockBarrier& AsyncProxy::add(void* shared, unsigned arrivals) {
  const auto number = static_cast<std::uint32_t>(barriers_.size());
  return barriers_.emplace_back(
      BlockBarrier{Mbarrier(arrivals), number, static_cast<char*>(shared)});
}

BlockBarrier& AsyncProxy::named(int id, unsigned arrivals) {
  for (BlockBarrier& barrier : barriers_) {
    if (barrier.id == id) return barrier;
  }
  BlockBarrier& barrier = add(nullptr, arrivals);
  barrier.id = id;
  return barrier;
}

const BlockBarrier* AsyncProxy::in(const void* shared, std::size_t bytes) const {
  const char* const begin = static_cast<const char*>(shared);
  const auto found = std::find_if(barriers_.begin(), barriers_.end(), [&](const BlockBarrier& b) {
    return b.shared != nullptr && b.shared + sizeof(std::uint64_t) > begin &&
           b.shared < begin + bytes;
  });
  return found == barriers_.end() ? nullptr : &*found;
}

std::string missing_in(const Mbarrier& barrier) {
  const auto missing = barrier.missing_arrivals();
  const std::int64_t bytes = barrier.missing_bytes();
  std::string text;
  if (missing > 0) {
    text = std::to_string(missing) + " of " + std::to_string(barrier.arrivals()) +
           (missing == 1 ? " arrivals is missing" : " arrivals are missing");
  }
  if (bytes == 0) return text;
  if (!text.empty()) text += ", and ";
  if (bytes > 0) return text + std::to_string(bytes) + " bytes of copies are missing";
  return text + std::to_string(-bytes) + " bytes were copied that no thread announced";
}

namespace {

// What an initialized barrier holds in shared memory. Its state is elsewhere, so a store that
// overwrites it is noticed.
constexpr std::uint64_t kMark = 0x6d62617272696572;

void require_barrier(const void* pointer, const void* place) {
  if (shared_array_at(pointer, sizeof(std::uint64_t)) == nullptr) {
    fault("it uses an mbarrier that is not in shared memory", place);
  }
  if (reinterpret_cast<std::uintptr_t>(pointer) % sizeof(std::uint64_t) != 0) {
    fault("it uses an mbarrier whose address is not a multiple of 8", place);
  }
}

void require_missing_arrival(const BlockBarrier& barrier, const void* place) {
  if (barrier.state.missing_arrivals() > barrier.arrivals_on_the_way.size()) return;
  fault(
      "it arrives at an mbarrier where all " + std::to_string(barrier.state.arrivals()) +
          " arrivals of phase " + std::to_string(barrier.state.phase()) +
          " have come; wait for the phase first",
      place);
}

void arrive_at(BlockBarrier& barrier, const void* place) {
  barrier.receive_copies();
  tell({Action::Kind::arrive, barrier.number, barrier.state.phase(), barrier.id}, place);
  require_missing_arrival(barrier, place);
  barrier.state.arrive();
}

// A thread has waited for the phase before the one in progress.
void passed(const BlockBarrier& barrier, const void* place) {
  // Before the first phase nothing is complete.
  const std::uint64_t phase = barrier.state.phase();
  if (phase == 0) return;
  tell({Action::Kind::wait, barrier.number, phase - 1, barrier.id, barrier.copies}, place);
}

bool wait_for(BlockBarrier& barrier, unsigned parity, const void* place, bool may_give_up = false) {
  const bool complete = running_worker->wait_for_phase(barrier, parity, place, may_give_up);
  if (complete) passed(barrier, place);
  return complete;
}

}  // namespace

BlockBarrier& barrier_at(const void* pointer, const void* place) {
  require_barrier(pointer, place);
  BlockBarrier* const barrier = running_worker->async().find(pointer);
  if (barrier == nullptr) {
    fault("it uses an mbarrier that no thread of the block has initialized", place);
  }
  const OwnAccess own;
  if (std::memcmp(pointer, &kMark, sizeof kMark) != 0) {
    fault("it uses an mbarrier that a store to shared memory has overwritten", place);
  }
  return *barrier;
}

}  // namespace machine

void machine::invalidate_mbarrier(void* barrier, const void* place) {
  machine::barrier_at(barrier, place).shared = nullptr;
}

std::uint64_t machine::arrive_at_mbarrier(void* barrier, unsigned count, const void* place) {
  BlockBarrier& counted = barrier_at(barrier, place);
  counted.receive_copies();
  const std::uint64_t phase = counted.state.phase();
  for (unsigned i = 0; i < count; ++i) arrive_at(counted, place);
  return phase;
}

void machine::expect_at_mbarrier(void* barrier, unsigned bytes, const void* place) {
  machine::BlockBarrier& counted = machine::barrier_at(barrier, place);
  counted.receive_copies();
  if (!counted.state.expect(bytes)) {
    machine::fault(
        "it announces more bytes at an mbarrier than one phase can count, 1048575", place);
  }
}

// PTX, mbarrier.test_wait: the parity is 0 or 1. Another one is reported, and its last bit counts.
unsigned machine::checked_parity(unsigned parity, const void* place) {
  if (parity > 1) tell(Action::misuse_of(model::HazardKind::bad_parity, parity), place);
  return parity % 2;
}

bool machine::wait_for_mbarrier(void* barrier, unsigned parity, const void* place) {
  return wait_for(barrier_at(barrier, place), parity, place, true);
}

// Copies for which no thread waits do not arrive, so neither does this.
void machine::arrive_when_copied(void* at, bool is_additional, const void* place) {
  BlockBarrier& barrier = barrier_at(at, place);
  barrier.receive_copies();
  tell({Action::Kind::arrive_copied, barrier.number, barrier.state.phase()}, place);
  if (is_additional) barrier.state.expect_arrival();
  require_missing_arrival(barrier, place);
  AsyncCopies& copies = running_worker->running().copies;
  barrier.arrivals_on_the_way.push_back({&copies, copies.issued()});
}

namespace machine {
namespace {

// The barrier with id 0 is __syncthreads.
void require_named(const char* function, int id, int threads, const void* place) {
  if (id >= 1 && id <= 15 && threads >= 32 && threads <= 1024 && threads % 32 == 0) return;
  fault(
      std::string("it calls ") + function + "(" + std::to_string(id) + ", " +
          std::to_string(threads) +
          "); the id is 1 to 15, and the number of threads a multiple of 32",
      place);
}

BlockBarrier& named_barrier(int id, int threads, const void* place) {
  constexpr int kMostId = 15, kMostThreads = 1024;
  if (id < 0 || id > kMostId || threads < 32 || threads > kMostThreads || threads % 32 != 0) {
    machine::fault(
        "it comes to barrier " + std::to_string(id) + " for " + std::to_string(threads) +
            " threads; the id is 0 to 15, and the number of threads a multiple of 32",
        place);
  }
  machine::BlockBarrier& barrier = machine::running_worker->async().named(id, threads);
  if (barrier.state.arrivals() != static_cast<unsigned>(threads)) {
    machine::fault(
        "it comes to barrier " + std::to_string(id) + " for " + std::to_string(threads) +
            " threads, and others came to it for " + std::to_string(barrier.state.arrivals()),
        place);
  }
  return barrier;
}

}  // namespace

void sync_named_barrier(int id, int threads, const void* place) {
  BlockBarrier& barrier = named_barrier(id, threads, place);
  const auto parity = static_cast<unsigned>(barrier.state.phase() % 2);
  arrive_at(barrier, place);
  wait_for(barrier, parity, place);
}

void arrive_at_named_barrier(int id, int threads, const void* place) {
  arrive_at(named_barrier(id, threads, place), place);
}

}  // namespace machine

#define HERE machine::place_of_call(__builtin_return_address(0))
void mbarrier_init(std::uint64_t* barrier, unsigned count) {
  const void* const place = HERE;
  machine::require_barrier(barrier, place);
  if (count == 0 || count > machine::Mbarrier::kMostArrivals) {
    machine::fault(
        "it initializes an mbarrier for " + std::to_string(count) +
            " arrivals; 1 to 1048575 are possible",
        place);
  }
  machine::AsyncProxy& async = machine::running_worker->async();
  if (async.in(barrier, sizeof(std::uint64_t)) != nullptr) {
    machine::fault("it initializes an mbarrier that is initialized already", place);
  }
  const std::uint32_t number = async.add(barrier, count).number;
  machine::tell(
      {machine::Action::Kind::init, number, reinterpret_cast<std::uintptr_t>(barrier)}, place);
  const machine::OwnAccess own;
  std::memcpy(barrier, &machine::kMark, sizeof machine::kMark);
}
void fence_mbarrier_init() {
  machine::tell({machine::Action::Kind::barrier_fence}, HERE);
}
void fence_proxy_async() {
  machine::tell({machine::Action::Kind::proxy_fence}, HERE);
}
void mbarrier_arrive(std::uint64_t* barrier) {
  machine::arrive_at_mbarrier(barrier, 1, HERE);
}
void mbarrier_arrive_expect_tx(std::uint64_t* barrier, unsigned bytes) {
  const void* const place = HERE;
  machine::expect_at_mbarrier(barrier, bytes, place);
  machine::arrive_at_mbarrier(barrier, 1, place);
}
void cp_async_mbarrier_arrive_noinc(std::uint64_t* barrier) {
  machine::arrive_when_copied(barrier, false, HERE);
}
void cp_async_mbarrier_arrive(std::uint64_t* barrier) {
  machine::arrive_when_copied(barrier, true, HERE);
}
std::uint64_t simt::mbarrier_phase(std::uint64_t* barrier) {
  machine::BlockBarrier& known = machine::barrier_at(barrier, HERE);
  known.receive_copies();
  return known.state.phase();
}
void mbarrier_wait(std::uint64_t* barrier, unsigned parity) {
  const void* const place = HERE;
  const unsigned checked = machine::checked_parity(parity, place);
  machine::wait_for(machine::barrier_at(barrier, place), checked, place);
}
void bar_sync(int id, int threads) {
  const void* const place = HERE;
  machine::require_named("bar_sync", id, threads, place);
  machine::sync_named_barrier(id, threads, place);
}
void bar_arrive(int id, int threads) {
  const void* const place = HERE;
  machine::require_named("bar_arrive", id, threads, place);
  machine::arrive_at_named_barrier(id, threads, place);
}
namespace machine {
namespace {

constexpr std::uint64_t kMarkOfTensorMap = 0x70616d726f736e65;

static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

constexpr int kPieceBytes = 16;

// Calls visit(row, byte, place) for each 16 bytes of the box, from that byte of a row on; `place`
// is theirs, in bytes from the box's start in shared memory.
template <class Visit>
void for_each_piece(const TensorMap& map, std::uint32_t at, Visit visit) {
  for (int row = 0; row < map.box.rows; ++row) {
    for (int byte = 0; byte < map.row_bytes(); byte += kPieceBytes) {
      const std::uint32_t address = at + row * map.row_bytes() + byte;
      visit(row, byte, model::swizzled(address, map.swizzle) - at);
    }
  }
}

char* element(const TensorMap& map, std::int64_t row, std::int64_t column) {
  return map.matrix + row * static_cast<std::int64_t>(map.pitch_bytes) +
         column * map.element_bytes();
}

void require(bool holds, const std::string& rule) {
  if (!holds) throw model::Refusal("a tensor map cannot be made: " + rule);
}

}  // namespace

std::optional<TensorMap> contents_of(const CUtensorMap& map) {
  TensorMap contents;
  std::memcpy(&contents, &map, sizeof contents);
  if (contents.mark != kMarkOfTensorMap) return std::nullopt;
  return contents;
}

PartOfMatrix inside(const TensorMap& map, int x, int y) {
  const auto clamp = [](std::int64_t value, std::uint64_t most) {
    return std::clamp<std::int64_t>(value, 0, static_cast<std::int64_t>(most));
  };
  const std::int64_t top = clamp(y, map.rows), left = clamp(x, map.columns);
  const std::int64_t bottom = clamp(std::int64_t{y} + map.box.rows, map.rows);
  const std::int64_t right = clamp(std::int64_t{x} + map.box.columns, map.columns);
  const bool empty = top >= bottom || left >= right;
  if (empty) return {element(map, top, left), 0, 0, map.pitch_bytes, 0, 0};
  const auto bytes = [&](std::int64_t columns) {
    return static_cast<int>(columns) * map.element_bytes();
  };
  return {element(map, top, left), static_cast<int>(bottom - top),
          bytes(right - left),     map.pitch_bytes,
          bytes(left - x),         bytes(std::int64_t{x} + map.box.columns - right)};
}

void load_box(const TensorMap& map, int x, int y, std::uint32_t at, char* shared) {
  const OwnAccess own;
  const int bytes = map.element_bytes();
  for_each_piece(map, at, [&](int row, int byte, std::uint32_t place) {
    char piece[kPieceBytes] = {};
    const std::int64_t r = std::int64_t{y} + row;
    for (int i = 0; i < kPieceBytes; i += bytes) {
      const std::int64_t c = std::int64_t{x} + (byte + i) / bytes;
      const bool is_inside = r >= 0 && r < static_cast<std::int64_t>(map.rows) && c >= 0 &&
                             c < static_cast<std::int64_t>(map.columns);
      if (!is_inside) continue;
      std::memcpy(piece + i, element(map, r, c), bytes);
      if (map.element != TensorElement::tfloat32) continue;
      float value;
      std::memcpy(&value, piece + i, sizeof value);
      value = model::tf32_copied(value);
      std::memcpy(piece + i, &value, sizeof value);
    }
    std::memcpy(shared + place, piece, sizeof piece);
  });
}

std::vector<char> read_box(const TensorMap& map, std::uint32_t at, const char* shared) {
  const OwnAccess own;
  std::vector<char> rows(map.box_bytes());
  for_each_piece(map, at, [&](int row, int byte, std::uint32_t place) {
    std::memcpy(&rows[row * map.row_bytes() + byte], shared + place, kPieceBytes);
  });
  return rows;
}

void store_box(const TensorMap& map, int x, int y, std::span<const char> rows) {
  const OwnAccess own;
  const PartOfMatrix part = inside(map, x, y);
  const int top = std::max(0, -y), left = std::max(0, -x);
  for (int row = 0; row < part.rows; ++row) {
    std::memcpy(
        part.first + row * static_cast<std::int64_t>(part.pitch_bytes),
        &rows[(top + row) * map.row_bytes() + left * map.element_bytes()], part.row_bytes);
  }
}

}  // namespace machine

// The rules are those of cuTensorMapEncodeTiled in the CUDA driver's reference.
CUtensorMap tensor_map_2d(
    const void* matrix, std::uint64_t rows, std::uint64_t columns, std::uint64_t pitch_bytes,
    TensorBox box, model::Swizzle swizzle, TensorElement element) {
  using machine::require;
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32,
                          kMostPitch = std::uint64_t{1} << 40;
  constexpr int kMostOfBox = 256;
  const auto number = [](auto value) { return std::to_string(value); };
  const machine::TensorMap contents{
      machine::kMarkOfTensorMap,
      static_cast<char*>(const_cast<void*>(matrix)),
      rows,
      columns,
      pitch_bytes,
      box,
      swizzle,
      element};
  const int row_bytes = contents.row_bytes();
  require(
      reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0,
      "the matrix must start at a multiple of 16 bytes");
  require(
      rows > 0 && columns > 0 && rows <= kMostElements && columns <= kMostElements,
      "a matrix of " + number(rows) + " x " + number(columns) +
          " elements; 1 to 2^32 are possible");
  require(
      pitch_bytes % 16 == 0 && pitch_bytes < kMostPitch,
      "rows " + number(pitch_bytes) + " bytes apart; it must be a multiple of 16 below 2^40");
  require(
      pitch_bytes >= columns * contents.element_bytes(),
      "rows " + number(pitch_bytes) + " bytes apart are shorter than " + number(columns) +
          (contents.element_bytes() == 4 ? " floats" : " numbers of 16 bits"));
  require(
      box.rows > 0 && box.columns > 0 && box.rows <= kMostOfBox && box.columns <= kMostOfBox,
      "a box of " + number(box.rows) + " x " + number(box.columns) + "; 1 to 256 are possible");
  require(
      row_bytes % 16 == 0,
      "a box whose rows have " + number(row_bytes) + " bytes; they must be a multiple of 16");
  require(
      swizzle == model::Swizzle::none || row_bytes == model::span_of(swizzle),
      "a box whose rows have " + number(row_bytes) + " bytes, with a swizzle of " +
          number(model::span_of(swizzle)) + "; on the CPU they must be equal");
  CUtensorMap map{};
  std::memcpy(&map, &contents, sizeof contents);
  return map;
}

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

void start_load(const BulkLoad& load, void* barrier, const void* place) {
  BlockBarrier& counted = barrier_at(barrier, place);
  const std::size_t bytes = load.map.box_bytes();
  const Action::BoxCopy copy{
      load.shared, bytes, inside(load.map, load.x, load.y), load.map.swizzle,
      counted.state.phase()};
  tell({.kind = Action::Kind::load, .number = counted.number, .copy = &copy}, place);
  counted.on_the_way.push_back(load);
  const OwnAccess own;
  std::memset(load.shared, 0xff, bytes);
}

void start_store(const BulkStore& store, const void* place) {
  const Action::BoxCopy copy{
      store.shared, store.map.box_bytes(), inside(store.map, store.x, store.y), store.map.swizzle};
  tell({.kind = Action::Kind::store, .copy = &copy}, place);
  BulkStores& stores = running_worker->running().stores;
  stores.place = place;
  stores.unread.issue(store);
}

// Reads the stores of all but the last groups.
void read_stores(BulkStores& stores, int groups_in_flight) {
  stores.unread.wait(groups_in_flight, [&](const BulkStore& store) {
    // A box's swizzle follows from the low bits of its place.
    const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(store.shared) & 0xffff;
    stores.unwritten.issue(
        {store, read_box(store.map, static_cast<std::uint32_t>(place), store.shared)});
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

void end_bulk_stores(Thread& thread) {
  const std::uint64_t read = thread.stores.read;
  thread.stores.unread.commit();
  read_stores(thread.stores, 0);
  if (const std::uint64_t late = thread.stores.read - read; late > 0) {
    tell(
        Action::misuse_of(model::HazardKind::store_not_waited_for, static_cast<std::int64_t>(late)),
        thread.stores.place);
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
  machine::running_worker->running().stores.unread.commit();
}
void simt::wait_for_bulk_groups(int groups_in_flight, bool only_read) {
  machine::BulkStores& stores = machine::running_worker->running().stores;
  machine::read_stores(stores, groups_in_flight);
  machine::tell({.kind = machine::Action::Kind::stores_read, .value = stores.read}, HERE);
  if (!only_read) machine::write_stores(stores);
}
#undef HERE
