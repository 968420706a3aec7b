// cp.async in groups of a thread, and copies of whole boxes (cp.async.bulk.tensor).
#include "machine/async_copies.h"

#include <algorithm>

#include "machine/bulk_copies.h"
#include "machine/fault.h"
#include "machine/mbarrier_actions.h"
#include "machine/ptx/instruction.h"
#include "machine/ptx/memory_accesses.h"
#include "machine/shared_address.h"

namespace machine::ptx {
namespace {

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

bool decode(Instruction& i, Modifiers& modifiers) {
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
  static constexpr Family kFamilies[] = {{"cp", decode}};
  return kFamilies;
}

}  // namespace machine::ptx
