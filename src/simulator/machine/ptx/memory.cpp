// ld and st.

#include <algorithm>
#include <cstring>

#include "model/tensor_core.h"
#include "simulator/cuda/collectives.h"
#include "simulator/machine/async_copies.h"
#include "simulator/machine/copy_engine.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/ptx/program.h"
#include "simulator/machine/worker.h"

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
    std::uint64_t value = 0;
    std::memcpy(&value, memory + n * size, static_cast<std::size_t>(size));
    if (i.type.base == Base::signed_) {
      value = static_cast<std::uint64_t>(signed_value(i.type, value));
    }
    thread.write(to, value);
  }
}

void run_st(Execution& thread, const Instruction& i) {
  const int size = i.type.bytes(), bytes = bytes_of(i);
  char memory[kMostBytes];
  for (int n = 0; n < i.count; ++n) {
    const Operand& from =
        i.count == 1 ? i.operand(1) : i.operand(1).parts[static_cast<std::size_t>(n)];
    const std::uint64_t value = thread.read(from, i.type);
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
  i.count = modifiers.take("v2") ? 2 : modifiers.take("v4") ? 4 : 1;
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

namespace {

// cp.async in groups of a thread, and copies of whole boxes (cp.async.bulk.tensor).

char* shared_at(const Execution& thread, const Operand& address) {
  return pointer_to_shared(static_cast<std::uint32_t>(thread.address(address)));
}

enum Fill : std::uint32_t { kWhole, kSourceSize, kIgnoreSource };

// [shared], [global], size {, the size of the source, or whether it is ignored} {, policy}
void run_copy(Execution& thread, const Instruction& i) {
  const auto* const from = reinterpret_cast<const void*>(thread.address(i.operand(1)));
  const std::uint64_t size = static_cast<std::uint32_t>(thread.read(i.operand(2)));
  std::uint64_t zeros = 0;
  if (i.mode == kSourceSize) {
    const std::uint64_t bytes = static_cast<std::uint32_t>(thread.read(i.operand(3)));
    if (bytes > size) {
      fault(
          "its cp.async copies " + std::to_string(bytes) + " bytes of " + std::to_string(size),
          thread.place);
    }
    zeros = size - bytes;
  } else if (i.mode == kIgnoreSource && thread.is_true(i.operand(3))) {
    zeros = size;
  }
  if (i.option != 0 && size != 16) {
    fault("its cp.async.cg copies " + std::to_string(size) + " bytes; it must be 16", thread.place);
  }
  start_async_copy(shared_at(thread, i.operand(0)), from, size, zeros, thread.place);
}

void run_commit(Execution& thread, const Instruction&) {
  commit_async_copies(thread.place);
}
void run_wait(Execution& thread, const Instruction& i) {
  wait_for_async_copies(static_cast<int>(thread.read(i.operand(0))), thread.place);
}
// The copies of the last group, too, which was not committed.
void run_wait_all(Execution& thread, const Instruction&) {
  commit_async_copies(thread.place);
  wait_for_async_copies(0, thread.place);
}

// The option: noinc, without which the barrier expects one arrival more.
void run_arrive(Execution& thread, const Instruction& i) {
  arrive_when_copied(shared_at(thread, i.operand(0)), i.option == 0, thread.place);
}

bool decode_bulk(Instruction& i, Modifiers& modifiers);

bool decode_cp(Instruction& i, Modifiers& modifiers) {
  if (!modifiers.take_first("async")) return false;
  if (modifiers.take_first("bulk")) return decode_bulk(i, modifiers);
  const std::vector<Operand>& operands = i.line.operands;
  if (modifiers.take_first("commit_group")) {
    i.run = run_commit;
    return operands.empty();
  }
  if (modifiers.take_first("wait_group")) {
    i.run = run_wait;
    return has_operands(i, 0, 1);
  }
  if (modifiers.take_first("wait_all")) {
    i.run = run_wait_all;
    return operands.empty();
  }
  if (modifiers.take_first("mbarrier")) {
    i.option = modifiers.take("arrive") && modifiers.take("noinc");
    modifiers.take_any({"shared", "shared::cta"});
    i.run = run_arrive;
    return modifiers.take("b64") && operands.size() == 1 && is_address(operands[0]);
  }
  const int cache = modifiers.take_one_of({"ca", "cg"});
  if (cache < 0 || !modifiers.take_any({"shared", "shared::cta"}) || !modifiers.take("global")) {
    return false;
  }
  i.option = static_cast<std::uint32_t>(cache);
  const bool policy = take_cache_hints(modifiers);
  const std::size_t count = operands.size() - (policy ? 1 : 0);
  if (operands.size() < 3 || (count != 3 && count != 4)) return false;
  if (!is_address(operands[0]) || !is_address(operands[1]) || !is_input(operands[2])) return false;
  i.mode = kWhole;
  if (count == 4) {
    if (!is_input(operands[3])) return false;
    i.mode = operands[3].predicate ? kIgnoreSource : kSourceSize;
  }
  i.run = run_copy;
  return true;
}

// Boxes. [shared], [map, {x, y}], [barrier]
struct Place {
  std::array<int, kMostDimensions> at{};
};
Place place_of(const Execution& thread, const Operand& coordinates) {
  Place place;
  std::size_t n = 0;
  for (const Operand& part : coordinates.parts[0].parts) {
    place.at[n++] = static_cast<int>(thread.read(part));
  }
  return place;
}

const CUtensorMap* map_of(const Execution& thread, const Operand& operand) {
  return reinterpret_cast<const CUtensorMap*>(thread.address(operand));
}

void run_load_box(Execution& thread, const Instruction& i) {
  const Place place = place_of(thread, i.operand(1));
  load_box_async(
      shared_at(thread, i.operand(0)), map_of(thread, i.operand(1)),
      std::span(place.at).first(static_cast<std::size_t>(i.count)), shared_at(thread, i.operand(2)),
      thread.place);
}
void run_store_box(Execution& thread, const Instruction& i) {
  const Place place = place_of(thread, i.operand(0));
  store_box_async(
      shared_at(thread, i.operand(1)), map_of(thread, i.operand(0)),
      std::span(place.at).first(static_cast<std::size_t>(i.count)), thread.place);
}
// [shared], [global], size, [barrier]
void run_load_bytes(Execution& thread, const Instruction& i) {
  load_bytes_async(
      shared_at(thread, i.operand(0)), reinterpret_cast<void*>(thread.address(i.operand(1))),
      static_cast<std::uint32_t>(thread.read(i.operand(2))), shared_at(thread, i.operand(3)),
      thread.place);
}
// [global], [shared], size
void run_store_bytes(Execution& thread, const Instruction& i) {
  store_bytes_async(
      reinterpret_cast<void*>(thread.address(i.operand(0))), shared_at(thread, i.operand(1)),
      static_cast<std::uint32_t>(thread.read(i.operand(2))), thread.place);
}
void run_commit_bulk(Execution&, const Instruction&) {
  commit_bulk_stores();
}
void run_wait_bulk(Execution& thread, const Instruction& i) {
  wait_for_bulk_stores(static_cast<int>(thread.read(i.operand(0))), i.option != 0, thread.place);
}
void run_nothing(Execution&, const Instruction&) {}

bool is_box(const Operand& operand, int dimensions) {
  return operand.kind == Operand::Kind::address && operand.name.empty() &&
         operand.parts.size() == 1 && operand.parts[0].kind == Operand::Kind::vector &&
         operand.parts[0].parts.size() == static_cast<std::size_t>(dimensions) &&
         std::all_of(operand.parts[0].parts.begin(), operand.parts[0].parts.end(), is_input);
}

bool decode_bytes(Instruction& i, Modifiers& modifiers) {
  const std::vector<Operand>& operands = i.line.operands;
  const std::size_t count = operands.size() - (take_cache_hints(modifiers) ? 1 : 0);
  if (operands.size() < 3 || !is_address(operands[0]) || !is_address(operands[1])) return false;
  if (modifiers.take_first("global")) {
    i.run = run_store_bytes;
    return modifiers.take("shared::cta") && modifiers.take("bulk_group") && count == 3 &&
           is_input(operands[2]);
  }
  i.run = run_load_bytes;
  return modifiers.take_any({"shared::cluster", "shared::cta"}) && modifiers.take("global") &&
         modifiers.take("mbarrier::complete_tx::bytes") && count == 4 && is_input(operands[2]) &&
         is_address(operands[3]);
}

bool decode_bulk(Instruction& i, Modifiers& modifiers) {
  const std::vector<Operand>& operands = i.line.operands;
  if (modifiers.take_first("commit_group")) {
    i.run = run_commit_bulk;
    return operands.empty();
  }
  if (modifiers.take_first("wait_group")) {
    i.option = modifiers.take("read");
    i.run = run_wait_bulk;
    return has_operands(i, 0, 1);
  }
  if (modifiers.take_first("prefetch")) {
    modifiers = Modifiers({});
    i.run = run_nothing;
    return true;
  }
  if (!modifiers.take_first("tensor")) return decode_bytes(i, modifiers);
  i.count = modifiers.take_one_of({"1d", "2d", "3d", "4d", "5d"}) + 1;
  modifiers.take("tile");
  const bool policy = take_cache_hints(modifiers);
  const std::size_t count = operands.size() - (policy ? 1 : 0);
  if (i.count == 0 || operands.empty()) return false;
  if (modifiers.take_first("global")) {
    if (!modifiers.take("shared::cta") || !modifiers.take("bulk_group") || count != 2) return false;
    i.run = run_store_box;
    return is_box(operands[0], i.count) && is_address(operands[1]);
  }
  if (!modifiers.take_any({"shared::cluster", "shared::cta"}) || !modifiers.take("global"))
    return false;
  if (!modifiers.take("mbarrier::complete_tx::bytes") || count != 3) return false;
  i.run = run_load_box;
  return is_address(operands[0]) && is_box(operands[1], i.count) && is_address(operands[2]);
}

}  // namespace

std::span<const Family> async_copies() {
  static constexpr Family kFamilies[] = {{"cp", decode_cp}};
  return kFamilies;
}

}  // namespace machine::ptx
