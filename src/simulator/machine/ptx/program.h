// The text of an asm statement with the meaning of its instructions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "simulator/cuda/ptx.h"
#include "simulator/machine/ptx/instruction.h"

namespace machine::ptx {

struct Program {
  std::vector<Instruction> instructions;
  std::size_t accesses = 0;   // the number of those that access memory
  std::size_t registers = 0;  // the operands of the statement come first
};

// An instruction that is not known becomes one that is a fault. Throws a Refusal if the text cannot
// be read.
Program compile(std::string_view text, std::span<const std::string_view> names);

// An asm statement as the thread that comes to it runs it.

// `place` is the statement's return address in the kernel. It is a fault if the text cannot be read
// or an instruction that the thread comes to is not known.
void run_statement(const char* text, std::span<const simt::PtxOperand> operands, const void* place);

}  // namespace machine::ptx
