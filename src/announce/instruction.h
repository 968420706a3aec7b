// One instruction of x86-64 as g++ writes it for the assembler (AT&T syntax: the destination is the
// last operand), and what it does to memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace announce {

struct Operand {
  std::string text;
  bool is_memory = false;
  // Of memory: %fs:displacement(base, index, scale). Parts that are not there are empty.
  bool thread_local_segment = false;
  std::string displacement, base, index, scale;
};

struct Instruction {
  std::string prefix;  // "rep", "lock" or nothing
  std::string name;
  std::vector<Operand> operands;
};

// None where `line` is a label, a directive or a comment.
std::optional<Instruction> instruction_in(std::string_view line);

// What an instruction does to the memory that an operand names.
struct Access {
  bool loads, stores;
  int bytes;  // 0: an instruction that this file does not know
  const Operand* operand;
};

// None where it touches none, or only the stack by its own means (push and call).
std::optional<Access> access_of(const Instruction& instruction);

// String instructions (rep movsq) touch what %rsi and %rdi point to, %rcx times so many bytes.
struct StringAccess {
  bool loads;  // from (%rsi); it always stores to (%rdi)
  int unit_bytes;
  bool repeated;
};
std::optional<StringAccess> string_access_of(const Instruction& instruction);

// The 64-bit registers, as "%rax", whose contents change; but for those that a call changes.
std::vector<std::string> written_by(const Instruction& instruction);

// "%rax" of "%al", "%ax", "%eax" and "%rax"; other registers are returned as they are.
std::string whole_register(std::string_view name);

}  // namespace announce
