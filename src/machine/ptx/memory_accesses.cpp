// ld and st.
#include "machine/ptx/memory_accesses.h"

#include <cstring>

#include "machine/fault.h"
#include "machine/observer.h"
#include "machine/own_access.h"
#include "machine/ptx/instruction.h"
#include "machine/shared_address.h"
#include "machine/worker.h"

namespace machine::ptx {
namespace {

enum Option : std::uint32_t { kReadOnly = 1, kStrong = 2 };

int bytes_of(const Instruction& i) {
  return i.count * i.type.bytes();
}

void run_ld(Execution& thread, const Instruction& i) {
  const int bytes = bytes_of(i);
  const void* const from = accessed(
      thread, i, i.operand(1), bytes,
      (i.option & kStrong) != 0     ? Access::volatile_load
      : (i.option & kReadOnly) != 0 ? Access::read_only_load
                                    : Access::load);
  char memory[kMostBytes];
  {
    const OwnAccess own;
    std::memcpy(memory, from, static_cast<std::size_t>(bytes));
  }
  const int size = i.type.bytes();
  for (int n = 0; n < i.count; ++n) {
    const Operand& to =
        i.count == 1 ? i.operand(0) : i.operand(0).parts[static_cast<std::size_t>(n)];
    if (to.kind != Operand::Kind::reg) continue;
    Value value;
    std::memcpy(&value, memory + n * size, static_cast<std::size_t>(size));
    if (i.type.base == Base::signed_) {
      value.low = static_cast<std::uint64_t>(signed_value(i.type, value.low));
    }
    thread.registers[to.reg] = value;
  }
}

void run_st(Execution& thread, const Instruction& i) {
  const int size = i.type.bytes(), bytes = bytes_of(i);
  char memory[kMostBytes];
  for (int n = 0; n < i.count; ++n) {
    const Operand& from =
        i.count == 1 ? i.operand(1) : i.operand(1).parts[static_cast<std::size_t>(n)];
    const Value value = from.kind == Operand::Kind::reg && size == 16
                            ? thread.registers[from.reg]
                            : Value{thread.read(from, i.type)};
    std::memcpy(memory + n * size, &value, static_cast<std::size_t>(size));
  }
  void* const to = accessed(
      thread, i, i.operand(0), bytes,
      (i.option & kStrong) != 0 ? Access::volatile_store : Access::store);
  const OwnAccess own;
  std::memcpy(to, memory, static_cast<std::size_t>(bytes));
}

bool is_vector(const Operand& operand, int count, bool (*fits)(const Operand&)) {
  if (count == 1) return fits(operand);
  if (operand.kind != Operand::Kind::vector) return false;
  if (operand.parts.size() != static_cast<std::size_t>(count)) return false;
  for (const Operand& part : operand.parts) {
    if (!fits(part)) return false;
  }
  return true;
}

bool decode(Instruction& i, Modifiers& modifiers) {
  const bool loads = i.line.opcode != "st";
  take_order(i, modifiers);
  take_space(i, modifiers);
  const bool policy = take_cache_hints(modifiers);
  if (modifiers.take("nc")) i.option |= kReadOnly;
  i.count = modifiers.take("v2") ? 2 : modifiers.take("v4") ? 4 : modifiers.take("v8") ? 8 : 1;
  if (!modifiers.take_type(i.type) || i.type.packed != 1 || i.type.bits < 8) return false;
  if (bytes_of(i) > kMostBytes) return false;
  if (i.line.operands.size() != (policy ? 3u : 2u)) return false;
  const Operand &memory = i.operand(loads ? 1 : 0), &value = i.operand(loads ? 0 : 1);
  if (!is_address(memory) || !is_vector(value, i.count, loads ? is_output : is_input)) return false;
  i.run = loads ? run_ld : run_st;
  return true;
}

}  // namespace

bool is_address(const Operand& operand) {
  return operand.kind == Operand::Kind::address && operand.name.empty() && operand.parts.empty();
}

void take_space(Instruction& i, Modifiers& modifiers) {
  const bool shared = modifiers.take_any({"shared", "shared::cta", "shared::cluster"});
  if (!shared) modifiers.take_any({"global", "local"});
  i.space = shared ? kShared : kGeneric;
}

void take_order(Instruction& i, Modifiers& modifiers) {
  const int strong =
      modifiers.take_one_of({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"});
  take_scope(i, modifiers, {"cta", "cluster", "gpu", "sys"});
  modifiers.take("weak");
  if (strong >= 0) i.option |= kStrong;
  i.releases = strong == 3 || strong == 4;
}

bool take_scope(
    Instruction& i, Modifiers& modifiers, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (!modifiers.take(name)) continue;
    i.wide = name != "cta" && name != "cluster";
    return true;
  }
  return false;
}

void fence(const Execution& thread, bool wide) {
  if (BlockObserver* observer = thread.worker.observer()) observer->fence(wide, thread.place);
}

void begin_access(const Execution& thread, const Instruction& i) {
  if (i.releases) fence(thread, i.wide);
  if (!i.wide) simt::in_block();
}

bool take_cache_hints(Modifiers& modifiers) {
  modifiers.take_any({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  const bool policy = modifiers.take("L2::cache_hint");
  while (modifiers.take_prefix("L1::") || modifiers.take_prefix("L2::")) {
  }
  return policy;
}

void* pointer_to(const Execution& thread, const Instruction& i, const Operand& address) {
  const std::uint64_t at = thread.address(address);
  return i.space == kShared ? pointer_to_shared(static_cast<std::uint32_t>(at))
                            : reinterpret_cast<void*>(at);
}

void* accessed(
    Execution& thread, const Instruction& i, const Operand& address, int bytes, Access access) {
  void* const pointer = pointer_to(thread, i, address);
  begin_access(thread, i);
  BlockObserver* const observer = thread.worker.observer();
  if (observer != nullptr) {
    observer->access(pointer, static_cast<std::size_t>(bytes), access, thread.place);
  } else if (access == Access::volatile_load) {
    thread.worker.read_atomically(pointer);
  }
  require_space(thread, i, pointer);
  return pointer;
}

void require_space(Execution& thread, const Instruction& i, const void* pointer) {
  if (i.space != kShared || is_shared_memory(pointer)) return;
  if (thread.worker.observer() != nullptr) go_astray();
  fault("its inline PTX accesses an address that is not in shared memory", thread.place);
}

std::span<const Family> memory_accesses() {
  static constexpr Family kFamilies[] = {{"ld", decode}, {"ldu", decode}, {"st", decode}};
  return kFamilies;
}

}  // namespace machine::ptx
