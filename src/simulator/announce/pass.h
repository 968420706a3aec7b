// g++ -fsanitize=thread announces every access by a call, with three exceptions: a class that is
// passed or returned by value, a const variable, and the load within the store of a bit-field.
// These accesses are visible in its assembly, and this pass announces them, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace announce {

// One x86-64 instruction as g++ writes it for the assembler (AT&T syntax: the destination is the
// last operand), and its effect on memory.

struct Operand {
  std::string text;
  bool is_memory = false;
  // A memory operand: %fs:displacement(base, index, scale). Missing parts are empty.
  bool thread_local_segment = false;
  std::string displacement, base, index, scale;
};

struct AsmInstruction {
  std::string prefix;  // "rep", "lock" or nothing
  std::string name;
  std::vector<Operand> operands;
};

// Returns nothing if `line` is a label, a directive or a comment.
std::optional<AsmInstruction> instruction_in(std::string_view line);

// How an instruction accesses the memory that an operand names.
struct Access {
  bool loads, stores;
  int bytes;  // 0: this file does not know the instruction
  const Operand* operand;
};

// Returns nothing if it accesses no memory, or only the stack implicitly (push and call).
std::optional<Access> access_of(const AsmInstruction& instruction);

// String instructions (rep movsq) access what %rsi and %rdi point to, %rcx times this many bytes.
struct StringAccess {
  bool loads;  // from (%rsi); it always stores to (%rdi)
  int unit_bytes;
  bool repeated;
};
std::optional<StringAccess> string_access_of(const AsmInstruction& instruction);

// The 64-bit registers, as "%rax", that the instruction changes, except those that a call changes.
std::vector<std::string> written_by(const AsmInstruction& instruction);

// "%rax" for "%al", "%ax", "%eax" and "%rax"; other registers are returned unchanged.
std::string whole_register(std::string_view name);

// `assembly` of x86-64, made by g++ at -O0, with a call of simt_announce
// (trace/hooks.cpp) added before each access that the compiler does not announce.
// Accesses to the stack (by %rsp or by a frame's %rbp) and to the program's static data are not
// announced.
std::string announced(std::string_view assembly);

// What simt_announce receives about an access besides its address, packed into one number.
struct Announcement {
  bool loads, stores;
  bool times_rcx;  // for a string instruction: the bytes of one of its %rcx rounds
  int widest;      // bytes of the widest access that can move the class: 4, 8 or 16
  int bytes;       // 0: the instruction is unknown, and so is the number of bytes

  constexpr int packed() const {
    return bytes << 8 | widest << 3 | times_rcx << 2 | stores << 1 | int{loads};
  }
  static constexpr Announcement unpacked(long number) {
    return {
        (number & 1) != 0, (number & 2) != 0, (number & 4) != 0, static_cast<int>(number >> 3 & 31),
        static_cast<int>(number >> 8)};
  }
};

}  // namespace announce
