#include "simulator/machine/collectives.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>

#include "model/warp_access.h"
#include "simulator/cuda/collectives.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/position.h"
#include "simulator/machine/worker.h"

namespace machine {
namespace {

std::string text_of_mask(std::uint32_t mask) {
  char text[sizeof "0xffffffff"];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

bool waits_as(const Thread& thread, const Collective& wanted) {
  return thread.state == State::kInCollective && thread.collective.kind == wanted.kind &&
         thread.collective.mask == wanted.mask &&
         thread.collective.instruction == wanted.instruction;
}

// The lanes that must come: those of the mask that have not left the kernel. An instruction of the
// tensor cores takes operands from every lane.
std::uint32_t group_of(const Collective& wanted, std::uint32_t alive) {
  return wanted.kind == Exchange::kInstruction ? wanted.mask : wanted.mask & alive;
}

void execute(std::span<Thread> lanes, const WarpInstruction& instruction) {
  std::array<void*, model::kWarpSize> operands{};
  for (std::size_t l = 0; l < lanes.size(); ++l) operands[l] = lanes[l].collective.operands;
  instruction.execute(operands);
  for (Thread& thread : lanes) thread.state = State::kReady;
}

// Completes the exchange between the lanes of `group`, which have all arrived.
void exchange_among(std::span<Thread> lanes, std::uint32_t group) {
  std::uint32_t votes = 0;
  for_each_lane(group, [&](int l) {
    votes |= static_cast<std::uint32_t>(lanes[l].collective.value != 0) << l;
  });
  for_each_lane(group, [&](int l) {
    Thread& thread = lanes[l];
    if (thread.collective.kind == Exchange::kGather) {
      thread.gathered.lanes = group;
      for_each_lane(
          group, [&](int of) { thread.gathered.values[of] = lanes[of].collective.value; });
    }
    const int source = thread.collective.source;
    const bool gives = source >= 0 && source < model::kWarpSize && (group >> source & 1u) != 0;
    thread.received = thread.collective.kind == Exchange::kBallot ? votes
                      : gives                                     ? lanes[source].collective.value
                                                                  : kNothing;
    thread.received_nothing = thread.collective.kind == Exchange::kShuffle && !gives;
    thread.state = State::kReady;
  });
}

// No other lane can continue, so the lanes that ask which lanes are active get their answer. Of
// several groups the one at the lowest address goes first, as for diverged lanes.
bool release_active(std::span<Thread> lanes, std::uint32_t waiting) {
  const void* place = nullptr;
  for_each_lane(waiting, [&](int l) {
    const Collective& collective = lanes[l].collective;
    if (collective.kind != Exchange::kActive) return;
    if (place == nullptr || collective.place < place) place = collective.place;
  });
  if (place == nullptr) return false;
  std::uint32_t active = 0;
  for_each_lane(waiting, [&](int l) {
    const Collective& collective = lanes[l].collective;
    if (collective.kind == Exchange::kActive && collective.place == place) active |= 1u << l;
  });
  for_each_lane(active, [&](int l) {
    lanes[l].received = active;
    lanes[l].state = State::kReady;
  });
  return true;
}

}  // namespace

bool release_collectives(
    std::span<Thread> lanes, std::uint32_t waiting, std::uint32_t alive, bool may_be_all) {
  bool released = false;
  for (const Thread& thread : lanes) {
    const Collective& wanted = thread.collective;
    if (thread.state != State::kInCollective || wanted.kind == Exchange::kActive) continue;
    const std::uint32_t group = group_of(wanted, alive);
    std::uint32_t here = 0;
    for_each_lane(
        group & waiting, [&](int l) { here |= std::uint32_t{waits_as(lanes[l], wanted)} << l; });
    if (here != group) continue;
    if (wanted.kind == Exchange::kInstruction) {
      execute(lanes, *wanted.instruction);
    } else {
      exchange_among(lanes, group);
    }
    released = true;
  }
  return released || (may_be_all && release_active(lanes, waiting));
}

MissingLane missing_lane(std::span<const Thread> lanes, std::uint32_t alive) {
  const Thread& first = *std::find_if(lanes.begin(), lanes.end(), [](const Thread& thread) {
    return thread.state == State::kInCollective;
  });
  const Collective& wanted = first.collective;
  constexpr const char* kCalls[] = {
      "__syncwarp", "a vote (__ballot_sync, __any_sync, __all_sync)",
      "__shfl_sync or a variant of it", "__match_any_sync, __reduce_add_sync or a variant of them"};
  const std::uint32_t group = group_of(wanted, alive);
  std::size_t missing = 0;
  while (missing < lanes.size() &&
         ((group >> missing & 1u) == 0 || waits_as(lanes[missing], wanted))) {
    ++missing;
  }
  const bool of_warp = wanted.kind == Exchange::kInstruction;
  const std::string waits =
      "it waits at " + (of_warp ? std::string(wanted.instruction->name)
                                : kCalls[static_cast<int>(wanted.kind)] +
                                      (" with mask " + text_of_mask(wanted.mask)));
  if (missing == lanes.size()) {
    return {
        &first, waits + ", which takes " + std::to_string(model::kWarpSize) +
                    " lanes, but its warp has only " + std::to_string(lanes.size())};
  }
  return {
      &first, waits + " for thread " + text_of(lanes[missing].index) + ", which " +
                  (lanes[missing].state == State::kAtBarrier ? "waits at __syncthreads()"
                   : lanes[missing].state == State::kDone    ? "has left the kernel"
                   : of_warp                                 ? "waits at another call"
                             : "waits at another call or with another mask")};
}

namespace {

// Whether an integer, or minus it, is up to 32 times the word that nobody gave and something small.
template <class T>
bool has_sum_of(T nothing, T number) {
  constexpr T kSmall = 1 << 16;
  T sum = 0;
  for (int times = 0; times < 32; ++times) {
    sum += nothing;
    for (const T rest : {static_cast<T>(number - sum), static_cast<T>(number + sum)}) {
      if (static_cast<T>(rest + kSmall) <= 2 * kSmall) return true;
    }
  }
  return false;
}

// The bits of a NaN without its sign.
template <class Bits, class T>
Bits of_nan(T number) {
  return static_cast<Bits>(std::bit_cast<Bits>(number) << 1) >> 1;
}

}  // namespace

bool depends_on_nothing(std::uint64_t value, int bytes) {
  const auto word = static_cast<std::uint32_t>(value);
  constexpr auto kWord = static_cast<std::uint32_t>(kNothing);
  constexpr std::uint32_t kHalf = kWord & 0xffffu, kOtherHalf = 0x7fffu;  // as halves are rounded
  const std::uint32_t low = word & 0x7fffu, high = word >> 16 & 0x7fffu;
  if (bytes == 2) return low == kHalf || low == kOtherHalf;
  if (bytes == 4) {
    const std::uint32_t bits = of_nan<std::uint32_t>(std::bit_cast<float>(word));
    return (low == high && depends_on_nothing(low, 2)) || has_sum_of(kWord, word) ||
           bits == of_nan<std::uint32_t>(static_cast<float>(std::bit_cast<double>(kNothing)));
  }
  if (bytes != 8) return value == kNothing;
  const std::uint64_t bits = of_nan<std::uint64_t>(std::bit_cast<double>(value));
  return has_sum_of(kNothing, value) || has_sum_of(std::uint64_t{kWord}, value) ||
         bits == of_nan<std::uint64_t>(static_cast<double>(std::bit_cast<float>(kWord))) ||
         depends_on_nothing(word, 4) || depends_on_nothing(value >> 32, 4);
}

namespace {

std::uint64_t exchange(const Collective& collective) {
  const int lane = running_worker->lane();
  if ((collective.mask >> lane & 1u) == 0) {
    fault(
        "it calls a function of the warp with mask " + text_of_mask(collective.mask) +
            ", which leaves its own lane " + std::to_string(lane) + " out",
        nullptr);
  }
  return running_worker->exchange(collective);
}

const simt::Gathered& gather(std::uint32_t mask, std::uint64_t value) {
  exchange({Exchange::kGather, mask, value, 0, nullptr});
  return running_worker->running().gathered;
}

template <class T, class Operation>
T reduced(unsigned mask, T value, Operation operation) {
  const simt::Gathered& all = gather(mask, static_cast<std::uint64_t>(value));
  for_each_lane(all.lanes & ~(1u << running_worker->lane()), [&](int l) {
    value = operation(value, static_cast<T>(all.values[l]));
  });
  return value;
}

}  // namespace

void execute_together(const WarpInstruction& instruction, void* operands) {
  running_worker->exchange(
      {Exchange::kInstruction, 0xffffffffu, 0, 0, nullptr, &instruction, operands});
}

}  // namespace machine

int simt::lane() {
  return machine::running_worker->lane();
}

int simt::warp_lanes() {
  return machine::warpSize;
}

#define HERE machine::place_of_call(__builtin_return_address(0))
void simt::warp_barrier(std::uint32_t mask) {
  machine::tell({.kind = machine::Action::Kind::warp_barrier, .value = mask}, HERE);
  machine::exchange({machine::Exchange::kBarrier, mask, 0, 0, nullptr});
}

std::uint32_t simt::warp_ballot(std::uint32_t mask, bool vote) {
  return static_cast<std::uint32_t>(
      machine::exchange({machine::Exchange::kBallot, mask, vote, 0, nullptr}));
}

std::uint64_t simt::warp_shuffle(std::uint32_t mask, std::uint64_t value, int source, int width) {
  using machine::Action, machine::Exchange, machine::warpSize, model::HazardKind;
  const void* const place = HERE;
  const bool is_width =
      width > 0 && width <= warpSize && std::has_single_bit(static_cast<unsigned>(width));
  if (!is_width) machine::tell(Action::misuse_of(HazardKind::bad_width, width, warpSize), place);
  const std::uint64_t received =
      machine::exchange({Exchange::kShuffle, mask, value, source, nullptr});
  if (machine::running_worker->running().received_nothing && is_width) {
    machine::tell(Action::misuse_of(HazardKind::nothing_shuffled, source, mask), place);
  }
  return received;
}

#undef HERE

std::uint32_t simt::lanes_with_value(std::uint32_t mask, std::uint64_t value, bool& all) {
  const Gathered& gathered = machine::gather(mask, value);
  std::uint32_t same = 0;
  machine::for_each_lane(
      gathered.lanes, [&](int l) { same |= std::uint32_t{gathered.values[l] == value} << l; });
  all = same == gathered.lanes;
  return same;
}

#define SIMT_REDUCE(name, T, result)                                            \
  T simt::reduce_##name(unsigned mask, T value) {                               \
    return machine::reduced(mask, value, [](T a, T b) -> T { return result; }); \
  }
SIMT_REDUCTIONS(SIMT_REDUCE)
#undef SIMT_REDUCE

std::uint32_t simt::warp_active(const void* place) {
  return static_cast<std::uint32_t>(
      machine::running_worker->exchange({machine::Exchange::kActive, 0xffffffffu, 0, 0, place}));
}

namespace machine {
namespace {

// A kernel's queries: the kind of memory of a pointer, the ranks of lanes in a group, and the time.

bool is_local(const void* pointer) {
  return running_worker != nullptr &&
         running_worker->memory().stacks.holds(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace
}  // namespace machine

unsigned __isShared(const void* pointer) {
  return machine::is_shared_memory(pointer);
}
unsigned __isLocal(const void* pointer) {
  return machine::is_local(pointer);
}
unsigned __isGlobal(const void* pointer) {
  return !machine::is_shared_memory(pointer) && !machine::is_local(pointer);
}

// Declared in cuda/headers/cooperative_groups.h.
namespace simt {
int lane_of_rank(unsigned mask, unsigned rank) {
  for (; rank > 0; --rank) mask &= mask - 1;
  return std::countr_zero(mask);
}
unsigned ranks_of_lanes(unsigned mask, unsigned lanes) {
  unsigned ranks = 0, rank = 0;
  machine::for_each_lane(mask, [&](int l) { ranks |= (lanes >> l & 1u) << rank++; });
  return ranks;
}
}  // namespace simt

long long clock64() {
  constexpr long long kCyclesPerRead = 32;
  static thread_local long long cycles = 0;
  return cycles += kCyclesPerRead;
}

namespace machine {

GridBarrier grid_barrier;

namespace {
__thread bool in_block_next = false;
}

bool takes_block_scope() {
  return std::exchange(in_block_next, false);
}

}  // namespace machine

void simt::in_block() {
  if (machine::running_worker == nullptr) return;
  machine::in_block_next = machine::running_worker->observer() != nullptr;
}

#define HERE __builtin_return_address(0)
unsigned __activemask() {
  return simt::warp_active(HERE);
}
void __trap() {
  machine::fault("the kernel calls __trap()", HERE);
}

void simt::read_only_load(const void* pointer, std::size_t bytes) {
  if (machine::running_worker == nullptr) return;
  machine::tell(
      {machine::Action::Kind::read_only_load, static_cast<std::uint32_t>(bytes),
       reinterpret_cast<std::uintptr_t>(pointer)},
      HERE);
}

float atomicAdd(float* address, float value) {
  return machine::atomically(
      address, machine::AtomicUse::kSum, HERE, [value](float old) { return old + value; });
}
double atomicAdd(double* address, double value) {
  return machine::atomically(
      address, machine::AtomicUse::kSum, HERE, [value](double old) { return old + value; });
}
std::uint16_t simt::atomic_add(
    std::uint16_t* address, std::uint16_t value, const model::NarrowFormat& format) {
  return machine::atomically(address, machine::AtomicUse::kSum, HERE, [&](std::uint16_t old) {
    return model::narrowed_add(old, value, format);
  });
}
std::uint32_t simt::atomic_add(
    std::uint32_t* address, std::uint32_t values, const model::NarrowFormat& format) {
  return machine::atomically(address, machine::AtomicUse::kSum, HERE, [&](std::uint32_t old) {
    const auto part = [](std::uint32_t both, int i) {
      return static_cast<std::uint16_t>(both >> 16 * i);
    };
    const std::uint32_t low = model::narrowed_add(part(old, 0), part(values, 0), format);
    return low | std::uint32_t{model::narrowed_add(part(old, 1), part(values, 1), format)} << 16;
  });
}
#undef HERE
