// Inline PTX by which blocks may wait for each other: the program needs machine/waiting.cpp, too.
#include "simulator/cuda/collectives.h"
#include "simulator/machine/ptx/instruction.h"

namespace machine::ptx {
namespace {

[[gnu::used]] void (*const linked)(bool wide) = simt::fence;

}  // namespace
}  // namespace machine::ptx

void simt::ptx_between_blocks(const char* text, std::initializer_list<PtxOperand> operands) {
  machine::ptx::run_statement(
      text, {operands.begin(), operands.size()}, __builtin_return_address(0));
}
