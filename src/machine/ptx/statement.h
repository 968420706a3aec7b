// An asm statement as the thread that comes to it runs it.
#pragma once

#include <span>

#include "cuda/ptx.h"

namespace machine::ptx {

// `place` is the statement's return address in the kernel. It is a fault if the text cannot be read
// or an instruction that the thread comes to is not known.
void run_statement(const char* text, std::span<const simt::PtxOperand> operands, const void* place);

}  // namespace machine::ptx
