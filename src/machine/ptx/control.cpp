// Jumps, and instructions that have no effect here.
#include "machine/fault.h"
#include "machine/ptx/instruction.h"
#include "machine/warpgroup_actions.h"

namespace machine::ptx {
namespace {

void run_nothing(Execution&, const Instruction&) {}

void run_bra(Execution& thread, const Instruction& i) {
  thread.next = i.operand(0).number;
}
bool decode_bra(Instruction& i, Modifiers& modifiers) {
  modifiers.take("uni");
  const bool has_label = i.line.operands.size() == 1 &&
                         i.operand(0).kind == Operand::Kind::symbol &&
                         i.operand(0).number != ~std::uint64_t{0};
  if (!has_label) return false;
  i.run = run_bra;
  return true;
}

void run_trap(Execution& thread, const Instruction& i) {
  fault("its inline PTX comes to \"" + i.line.name() + "\"", thread.place);
}
bool decode_trap(Instruction& i, Modifiers&) {
  i.run = run_trap;
  return i.line.operands.empty();
}

// Hints, and waits for what is complete here already.
bool decode_hint(Instruction& i, Modifiers& modifiers) {
  modifiers = Modifiers({});
  i.run = run_nothing;
  return true;
}

// A cache policy is a number that nobody reads.
void run_policy(Execution& thread, const Instruction& i) {
  thread.write(i.operand(0), 0);
}
bool decode_policy(Instruction& i, Modifiers& modifiers) {
  modifiers = Modifiers({});
  i.run = run_policy;
  return !i.line.operands.empty() && is_output(i.operand(0));
}

void run_setmaxnreg(Execution& thread, const Instruction& i) {
  set_registers(static_cast<int>(thread.read(i.operand(0))), i.option != 0, thread.place);
}
bool decode_setmaxnreg(Instruction& i, Modifiers& modifiers) {
  const int direction = modifiers.take_one_of({"dec", "inc"});
  modifiers.take("sync");
  modifiers.take("aligned");
  if (direction < 0 || !modifiers.take("u32") || !has_operands(i, 0, 1)) return false;
  i.option = static_cast<std::uint32_t>(direction);
  i.run = run_setmaxnreg;
  return true;
}

}  // namespace

std::span<const Family> control() {
  static constexpr Family kFamilies[] = {
      {"bra", decode_bra},
      {"trap", decode_trap},
      {"brkpt", decode_trap},
      {"prefetch", decode_hint},
      {"prefetchu", decode_hint},
      {"applypriority", decode_hint},
      {"discard", decode_hint},
      {"griddepcontrol", decode_hint},
      {"pmevent", decode_hint},
      {"createpolicy", decode_policy},
      {"setmaxnreg", decode_setmaxnreg}};
  return kFamilies;
}

}  // namespace machine::ptx
