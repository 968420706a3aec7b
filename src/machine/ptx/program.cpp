#include "machine/ptx/program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "machine/fault.h"

namespace machine::ptx {
namespace {

void run_unknown(Execution& thread, const Instruction& instruction) {
  fault(
      "it comes to the PTX instruction \"" + instruction.line.name() +
          "\", which is not known on the CPU in this form",
      thread.place);
}

Decode* decoder_of(std::string_view opcode) {
  static const std::map<std::string_view, Decode*> known = [] {
    std::map<std::string_view, Decode*> all;
    for (const auto families :
         {arithmetic, bit_operations, conversions, comparisons, control, memory_accesses,
          async_copies, barriers, lane_exchanges, matrices, warpgroups}) {
      for (const Family& family : families()) all[family.opcode] = family.decode;
    }
    if (between_blocks != nullptr) {
      for (const Family& family : between_blocks()) all[family.opcode] = family.decode;
    }
    return all;
  }();
  const auto found = known.find(opcode);
  return found == known.end() ? nullptr : found->second;
}

}  // namespace

Program compile(std::string_view text, std::span<const std::string_view> names) {
  Syntax syntax = parse(text, names);
  Program program;
  program.registers = static_cast<std::size_t>(syntax.registers);
  program.names.assign(names.begin(), names.end());
  for (Line& line : syntax.lines) {
    Instruction instruction;
    instruction.line = std::move(line);
    Modifiers modifiers(instruction.line);
    Decode* const decode = decoder_of(instruction.line.opcode);
    if (decode == nullptr || !decode(instruction, modifiers) || !modifiers.empty()) {
      instruction.run = run_unknown;
    }
    instruction.access = program.accesses;
    const std::vector<Operand>& operands = instruction.line.operands;
    program.accesses += std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
      return operand.kind == Operand::Kind::address;
    });
    program.instructions.push_back(std::move(instruction));
  }
  return program;
}

}  // namespace machine::ptx
