// One x86-64 instruction as g++ writes it for the assembler (AT&T syntax: the destination is the
// last operand), and its effect on memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace announce {

struct Operand {
  std::string text;
  bool is_memory = false;
  // A memory operand: %fs:displacement(base, index, scale). Missing parts are empty.
  bool thread_local_segment = false;
  std::string displacement, base, index, scale;
};

struct Instruction {
  std::string prefix;  // "rep", "lock" or nothing
  std::string name;
  std::vector<Operand> operands;
};

// Returns nothing if `line` is a label, a directive or a comment.
std::optional<Instruction> instruction_in(std::string_view line);

// How an instruction accesses the memory that an operand names.
struct Access {
  bool loads, stores;
  int bytes;  // 0: this file does not know the instruction
  const Operand* operand;
};

// Returns nothing if it accesses no memory, or only the stack implicitly (push and call).
std::optional<Access> access_of(const Instruction& instruction);

// String instructions (rep movsq) access what %rsi and %rdi point to, %rcx times this many bytes.
struct StringAccess {
  bool loads;  // from (%rsi); it always stores to (%rdi)
  int unit_bytes;
  bool repeated;
};
std::optional<StringAccess> string_access_of(const Instruction& instruction);

// The 64-bit registers, as "%rax", that the instruction changes, except those that a call changes.
std::vector<std::string> written_by(const Instruction& instruction);

// "%rax" for "%al", "%ax", "%eax" and "%rax"; other registers are returned unchanged.
std::string whole_register(std::string_view name);

}  // namespace announce
