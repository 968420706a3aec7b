#include <cstring>
#include <string>

#include "cuda/async_copy.h"
#include "cuda/hopper_instructions.h"
#include "machine/fault.h"
#include "machine/mbarrier_actions.h"
#include "machine/observer.h"
#include "machine/own_access.h"
#include "machine/worker.h"

namespace machine {
namespace {

// What an initialized barrier holds in shared memory. Its state is elsewhere, so a store that
// overwrites it is noticed.
constexpr std::uint64_t kMark = 0x6d62617272696572;

void tell(AsyncAction::Kind kind, std::uint32_t barrier, std::uint64_t value, const void* place) {
  if (BlockObserver* observer = running_worker->observer()) {
    observer->async_action({kind, barrier, value, nullptr}, place);
  }
}

void require_barrier(const void* pointer, const void* place) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  bool is_shared = false;
  for (const KernelArray& array : running_worker->memory().arrays) {
    is_shared |= array.shared && array.holds(address, sizeof(std::uint64_t));
  }
  if (!is_shared) fault("it uses an mbarrier that is not in shared memory", place);
  if (address % sizeof(std::uint64_t) != 0) {
    fault("it uses an mbarrier whose address is not a multiple of 8", place);
  }
}

[[noreturn]] void fault_of_arrival(const BlockBarrier& barrier, const void* place) {
  fault(
      "it arrives at an mbarrier where all " + std::to_string(barrier.state.arrivals()) +
          " arrivals of phase " + std::to_string(barrier.state.phase()) +
          " have come; wait for the phase first",
      place);
}

void arrive_at(BlockBarrier& barrier, const void* place) {
  barrier.receive_copies();
  tell(AsyncAction::Kind::arrive, barrier.number, barrier.state.phase(), place);
  const bool all_came = barrier.state.missing_arrivals() == barrier.arrivals_on_the_way.size();
  if (all_came || !barrier.state.arrive()) fault_of_arrival(barrier, place);
}

// A thread has waited for the phase before the one in progress.
void passed(const BlockBarrier& barrier, const void* place) {
  // Before the first phase nothing is complete.
  const std::uint64_t phase = barrier.state.phase();
  BlockObserver* const observer = running_worker->observer();
  if (phase == 0 || observer == nullptr) return;
  observer->async_action(
      {AsyncAction::Kind::wait, barrier.number, phase - 1, nullptr, barrier.copies}, place);
}

void wait_for(BlockBarrier& barrier, unsigned parity, const void* place) {
  running_worker->wait_for_phase(barrier, parity, place);
  passed(barrier, place);
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

void machine::init_mbarrier(void* barrier, unsigned count, const void* place) {
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
      machine::AsyncAction::Kind::init, number, reinterpret_cast<std::uintptr_t>(barrier), place);
  const machine::OwnAccess own;
  std::memcpy(barrier, &machine::kMark, sizeof machine::kMark);
}

void machine::invalidate_mbarrier(void* barrier, const void* place) {
  machine::barrier_at(barrier, place).shared = nullptr;
}

void machine::fence_mbarriers(const void* place) {
  tell(AsyncAction::Kind::barrier_fence, 0, 0, place);
}

void machine::fence_async_proxy(const void* place) {
  tell(AsyncAction::Kind::proxy_fence, 0, 0, place);
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

bool machine::wait_for_mbarrier(void* barrier, unsigned parity, const void* place) {
  BlockBarrier& counted = barrier_at(barrier, place);
  const bool complete = running_worker->try_to_wait_for_phase(counted, parity, place);
  if (complete) passed(counted, place);
  return complete;
}

// Copies that nobody waits for do not arrive, so neither does this.
void machine::arrive_when_copied(void* at, bool is_additional, const void* place) {
  BlockBarrier& barrier = barrier_at(at, place);
  barrier.receive_copies();
  tell(AsyncAction::Kind::arrive_copied, barrier.number, barrier.state.phase(), place);
  if (is_additional) barrier.state.expect_arrival();
  if (barrier.state.missing_arrivals() == barrier.arrivals_on_the_way.size()) {
    fault_of_arrival(barrier, place);
  }
  AsyncCopies& copies = running_worker->running().copies;
  barrier.arrivals_on_the_way.push_back({&copies, copies.issued()});
}

namespace machine {
namespace {

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

#define HERE __builtin_return_address(0)
void mbarrier_init(std::uint64_t* barrier, unsigned count) {
  machine::init_mbarrier(barrier, count, HERE);
}
void fence_mbarrier_init() {
  machine::fence_mbarriers(HERE);
}
void fence_proxy_async() {
  machine::fence_async_proxy(HERE);
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
  machine::wait_for(machine::barrier_at(barrier, place), parity, place);
}
void bar_sync(int id, int threads) {
  const void* const place = HERE;
  if (id < 1 || id > 15 || threads < 32 || threads > 1024 || threads % 32 != 0) {
    machine::fault(
        "it calls bar_sync(" + std::to_string(id) + ", " + std::to_string(threads) +
            "); the id is 1 to 15, and the number of threads a multiple of 32",
        place);
  }
  machine::sync_named_barrier(id, threads, place);
}
#undef HERE
