// ld and st.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "model/tensor_core.h"
#include "simulator/cuda/collectives.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/machine/async_copies.h"
#include "simulator/machine/copy_engine.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/worker.h"

namespace machine::ptx {
namespace {

enum Option : std::uint32_t { kReadOnly = 1, kStrong = 2 };

int bytes_of(const Instruction& i) {
  return i.count * i.type.bytes();
}

void run_ld(Execution& thread) {
  const Instruction& i = *thread.now;
  const auto bytes = static_cast<std::size_t>(i.type.bytes());
  const Access access = (i.option & kStrong) != 0     ? Access::volatile_load
                        : (i.option & kReadOnly) != 0 ? Access::read_only_load
                                                      : Access::load;
  const auto* from = static_cast<const char*>(accessed(thread, 1, bytes_of(i), access));
  std::uint64_t values[kMostBytes] = {};
  {
    const OwnAccess own;
    for (int n = 0; n < i.count; ++n, from += bytes) std::memcpy(&values[n], from, bytes);
  }
  const std::uint64_t* value = values;
  for (const Operand& to : listed(i.operand(0))) {
    const bool is_signed = i.type.base == Base::signed_;
    thread.write(to, is_signed ? static_cast<std::uint64_t>(signed_value(i.type, *value)) : *value);
    ++value;
  }
}

void run_st(Execution& thread) {
  const Instruction& i = *thread.now;
  const auto bytes = static_cast<std::size_t>(i.type.bytes());
  const Access access = (i.option & kStrong) != 0 ? Access::volatile_store : Access::store;
  auto* to = static_cast<char*>(accessed(thread, 0, bytes_of(i), access));
  for (const Operand& from : listed(i.operand(1))) {
    const std::uint64_t value = thread.read(from, i.type);
    const OwnAccess own;
    std::memcpy(to, &value, bytes);
    to += bytes;
  }
}

int count_of(Modifiers& modifiers) {
  return modifiers.take("v2") ? 2 : modifiers.take("v4") ? 4 : 1;
}

bool decode(Instruction& i, Modifiers& modifiers) {
  const bool loads = i.line.opcode != "st";
  take_order(i, modifiers);
  take_space(i, modifiers);
  const bool policy = take_cache_hints(modifiers);
  if (modifiers.take("nc")) i.option |= kReadOnly;
  i.count = count_of(modifiers);
  if (!modifiers.take_type(i.type) || i.type.packed != 1 || i.type.bits < 8) return false;
  if (bytes_of(i) > kMostBytes) return false;
  if (i.line.operands.size() != (policy ? 3u : 2u)) return false;
  const Operand &memory = i.operand(loads ? 1 : 0), &value = i.operand(loads ? 0 : 1);
  if (!is_address(memory)) return false;
  if (!is_list(value, static_cast<std::size_t>(i.count), loads ? is_output : is_input))
    return false;
  i.run = loads ? run_ld : run_st;
  return true;
}

}  // namespace

bool is_address(const Operand& operand) {
  return operand.kind == Operand::Kind::address && operand.name.empty() && operand.parts.empty();
}

void take_space(Instruction& i, Modifiers& modifiers) {
  const bool shared = modifiers.take("shared|shared::cta|shared::cluster");
  if (!shared) modifiers.take("global|local|const");
  i.space = shared ? kShared : kGeneric;
}

void take_order(Instruction& i, Modifiers& modifiers) {
  const int strong = modifiers.take_one_of("volatile|relaxed|acquire|release|acq_rel|mmio");
  const int scope = modifiers.take_one_of("cta|cluster|gpu|sys");
  i.wide = scope < 0 || scope >= 2;
  modifiers.take("weak");
  if (strong >= 0) i.option |= kStrong;
  i.releases = strong == 3 || strong == 4;
}

void begin_access(const Execution& thread) {
  if (thread.now->releases) simt::fence(thread.now->wide);
  if (!thread.now->wide) simt::in_block();
}

bool take_cache_hints(Modifiers& modifiers) {
  modifiers.take("ca|cg|cs|lu|cv|wb|wt");
  const bool policy = modifiers.take("L2::cache_hint");
  while (modifiers.take_prefix("L1::") || modifiers.take_prefix("L2::")) {
  }
  return policy;
}

namespace {

void* generic_pointer(const Execution& thread, std::uint64_t at) {
  constexpr std::uint64_t kMostShared = 1 << 18;
  if (at >= kMostShared) return reinterpret_cast<void*>(at);
  std::array<char, 32> number{};
  std::snprintf(number.data(), number.size(), "0x%x", static_cast<unsigned>(at));
  fault(
      "its " + thread.now->line.opcode + " has no .shared, so " + number.data() +
          " is a generic address, where there is no memory; write .shared if it is an offset in "
          "shared memory, or give the pointer itself",
      thread.place);
}

}  // namespace

void* pointer_to(const Execution& thread, std::size_t i) {
  const std::uint64_t at = thread.address(i);
  return thread.now->space == kShared ? pointer_to_shared(static_cast<std::uint32_t>(at))
                                      : generic_pointer(thread, at);
}

void* pointer_in_shared(const Execution& thread, std::size_t i) {
  const std::uint64_t at = thread.address(i);
  const bool is_offset = std::ranges::any_of(
      thread.now->line.modifiers, [](const auto& name) { return name.starts_with("shared"); });
  return is_offset ? pointer_to_shared(static_cast<std::uint32_t>(at))
                   : generic_pointer(thread, at);
}

void* accessed(Execution& thread, std::size_t i, int bytes, Access access) {
  void* const pointer = pointer_to(thread, i);
  begin_access(thread);
  BlockObserver* const observer = thread.worker.observer();
  if (observer != nullptr) {
    observer->access(pointer, static_cast<std::size_t>(bytes), access, thread.place);
  } else if (access == Access::volatile_load) {
    thread.worker.read_atomically(pointer);
  }
  require_space(thread, pointer);
  return pointer;
}

void require_space(Execution& thread, const void* pointer) {
  if (thread.now->space != kShared || is_shared_memory(pointer)) return;
  if (thread.worker.observer() != nullptr) go_astray();
  fault("its inline PTX accesses an address that is not in shared memory", thread.place);
}

namespace {

// atom and red.

enum Operation : std::uint32_t { kComputed, kExchange, kCompareAndSwap, kIncrement, kDecrement };

AtomicUse use_of(const Instruction& i) {
  if (i.option == kExchange) return AtomicUse::kExchange;
  if (i.option == kCompareAndSwap) return AtomicUse::kLock;
  return i.type.is_real() ? AtomicUse::kSum : AtomicUse::kCounter;
}

template <class Bits>
void run_atomic(Execution& thread) {
  const Instruction& i = *thread.now;
  const std::size_t first = i.line.opcode == "atom" ? 1 : 0;
  begin_access(thread);
  auto* at = static_cast<Bits*>(pointer_to(thread, first));
  require_space(thread, at);
  for (std::size_t n = 0; n < static_cast<std::size_t>(i.count); ++n, ++at) {
    const auto value = static_cast<Bits>(thread.read(listed(i.operand(first + 1))[n], i.type));
    const bool swaps = i.option == kCompareAndSwap;
    const auto wanted =
        swaps ? static_cast<Bits>(thread.read(i.operand(first + 2), i.type)) : value;
    const Bits old = atomically(at, use_of(i), const_cast<void*>(thread.place), [&](Bits now) {
      switch (i.option) {
        case kComputed:
          return static_cast<Bits>(i.evaluate(i, std::array<std::uint64_t, 2>{now, value}));
        case kIncrement:
          return static_cast<Bits>(now >= value ? 0 : now + 1);
        case kDecrement:
          return static_cast<Bits>(now == 0 || now > value ? value : now - 1);
        default:
          return swaps && now != value ? now : wanted;
      }
    });
    if (swaps && old == value) tell_swapped(at, sizeof(Bits));
    if (first == 1) thread.write(listed(i.operand(0))[n], old);
  }
}

// The new value is that of the instruction with the operation's name.
bool decode_atomic(Instruction& i, Modifiers& modifiers) {
  take_order(i, modifiers);
  take_space(i, modifiers);
  const bool policy = take_cache_hints(modifiers);
  modifiers.take("noftz");
  i.count = count_of(modifiers);
  std::string_view operation, type;
  const int special = modifiers.take_one_of("exch|cas|inc|dec", &operation) + 1;
  const bool known =
      special > 0 || modifiers.take_one_of("add|min|max|and|or|xor", &operation) >= 0;
  if (!known ||
      modifiers.take_one_of("u32|s32|u64|s64|b16|b32|b64|f16|f16x2|bf16|bf16x2|f32|f64", &type) < 0)
    return false;
  i.type = *type_named(type);
  i.option = static_cast<std::uint32_t>(special);
  if (i.option == kComputed) {
    const Operand any{.kind = Operand::Kind::reg, .reg = 0};
    Instruction computes{.line = {std::string(operation), {std::string(type)}, {any, any, any}}};
    if (!find_meaning(computes)) return false;
    compute(i, computes.evaluate);
  }
  i.run = i.type.bytes() == 2   ? run_atomic<std::uint16_t>
          : i.type.bytes() == 4 ? run_atomic<std::uint32_t>
                                : run_atomic<std::uint64_t>;
  const std::size_t first = i.line.opcode == "atom" ? 1 : 0, swapped = i.option == kCompareAndSwap;
  const auto count = static_cast<std::size_t>(i.count);
  return i.line.operands.size() == first + 2 + swapped + policy &&
         (first == 0 || is_list(i.operand(0), count, is_output)) && is_address(i.operand(first)) &&
         is_list(i.operand(first + 1), count, is_input) &&
         (swapped == 0 || is_input(i.operand(first + 2)));
}

// cp.async in groups of a thread, and copies of whole boxes (cp.async.bulk.tensor).

char* shared_at(const Execution& thread, std::size_t i) {
  return pointer_to_shared(static_cast<std::uint32_t>(thread.address(i)));
}
void* global_at(const Execution& thread, std::size_t i) {
  return reinterpret_cast<void*>(thread.address(i));
}

// [shared], [global], size {, the size of the source, or whether it is ignored} {, policy}. The
// mode: .cg; the option: it has a policy.
void run_copy(Execution& thread) {
  const Instruction& i = *thread.now;
  const std::uint64_t size = thread.word(2);
  std::uint64_t zeros = 0;
  if (thread.count() - i.option > 3) {
    if (i.operand(3).predicate) {
      zeros = thread.value(3) != 0 ? size : 0;
    } else if (const std::uint64_t bytes = thread.word(3); bytes <= size) {
      zeros = size - bytes;
    } else {
      fault(
          "its cp.async copies " + std::to_string(bytes) + " bytes of " + std::to_string(size),
          thread.place);
    }
  }
  if (i.mode != 0 && size != 16) {
    fault("its cp.async.cg copies " + std::to_string(size) + " bytes; it must be 16", thread.place);
  }
  start_async_copy(shared_at(thread, 0), global_at(thread, 1), size, zeros, thread.place);
}

// Boxes. [shared], [map, {x, y}], [barrier]; [map, {x, y}], [shared]
void run_box(Execution& thread) {
  const bool loads = thread.operand(0).parts.empty();
  const std::size_t map = loads ? 1 : 0;
  std::array<int, kMostDimensions> place{};
  const std::span used = std::span(place).first(thread.now->mode + 1);
  for (std::size_t n = 0; n < used.size(); ++n) {
    place[n] = static_cast<int>(thread.read(thread.operand(map).parts[0].parts[n]));
  }
  const auto* const of_map = static_cast<const CUtensorMap*>(global_at(thread, map));
  char* const shared = shared_at(thread, 1 - map);
  if (loads) {
    load_box_async(shared, of_map, used, shared_at(thread, 2), thread.place);
  } else {
    store_box_async(shared, of_map, used, thread.place);
  }
}
#define BULK "cp async bulk L2::cache_hint? "
#define BOX BULK "tensor =1d|2d|3d|4d|5d tile? "
#define TO_GLOBAL "global shared::cta bulk_group"
#define TO_SHARED "shared::cluster|shared::cta global mbarrier::complete_tx::bytes"
constexpr PtxRow kOfMemory[] = {
    decoded("ld|ldu|st", decode),
    decoded("atom|red", decode_atomic),
    {"cp async commit_group", "", RUNS(__pipeline_commit())},
    {"cp async wait_group", "s", RUNS(__pipeline_wait_prior(thread.number(0)))},
    // The copies of the last group, too, which was not committed.
    {"cp async wait_all", "", RUNS(__pipeline_commit(); __pipeline_wait_prior(0))},
    // Without noinc the barrier expects one arrival more.
    {"cp async mbarrier arrive =noinc? shared|shared::cta? b64", "a",
     RUNS(arrive_when_copied(pointer_in_shared(thread, 0), thread.now->mode == 0, thread.place))},
    {"cp async =ca|cg shared|shared::cta global #L2::cache_hint? L2::64B|L2::128B|L2::256B?",
     "aas?ss", run_copy},
    {"cp async bulk commit_group", "", RUNS(cp_async_bulk_commit_group())},
    {"cp async bulk wait_group =read?", "s",
     RUNS(simt::wait_for_bulk_groups(thread.number(0), thread.now->mode == 1))},
    decoded("cp async bulk prefetch", decode_hint),
    {BOX TO_GLOBAL, "ba?s", run_box},
    {BOX TO_SHARED, "aba?s", run_box},
    {BULK TO_GLOBAL, "aas?s",
     RUNS(store_bytes_async(
         global_at(thread, 0), shared_at(thread, 1), thread.word(2), thread.place))},
    {BULK TO_SHARED, "aasa?s",
     RUNS(load_bytes_async(
         shared_at(thread, 0), global_at(thread, 1), thread.word(2), shared_at(thread, 3),
         thread.place))}};

}  // namespace

std::span<const PtxRow> of_memory() {
  return kOfMemory;
}

}  // namespace machine::ptx
