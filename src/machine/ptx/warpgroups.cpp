// wgmma: matrices that the 128 threads of a warpgroup multiply together. Known are the forms for
// tf32, f16 and bf16 that add to floats.
#include <algorithm>
#include <string>

#include "cuda/wgmma.h"
#include "machine/fault.h"
#include "machine/ptx/instruction.h"
#include "machine/warpgroup_actions.h"

namespace machine::ptx {
namespace {

void run_fence(Execution&, const Instruction&) {
  wgmma_fence();
}
void run_commit(Execution&, const Instruction&) {
  wgmma_commit_group();
}
void run_wait(Execution& thread, const Instruction& i) {
  wait_for_wgmma(static_cast<int>(thread.read(i.operand(0))), thread.place);
}

// The tensor cores write the variables themselves, when the wgmma is waited for.
float* variables_of(const Execution& thread, const Operand& d) {
  float* first = nullptr;
  for (std::size_t n = 0; n < d.parts.size(); ++n) {
    const Operand& part = d.parts[n];
    const bool is_operand = part.kind == Operand::Kind::reg &&
                            static_cast<std::size_t>(part.reg) < thread.operands.size();
    const simt::PtxOperand* const operand = is_operand ? &thread.operands[part.reg] : nullptr;
    auto* const variable = is_operand ? static_cast<float*>(operand->variable) : nullptr;
    if (n == 0) first = variable;
    if (variable == nullptr || operand->bytes != sizeof(float) || variable != first + n) {
      fault(
          "its wgmma adds to variables that are not neighbours in one array of floats",
          thread.place);
    }
  }
  return first;
}

// {d...}, a, descriptor of b, whether it adds, sign of a, sign of b {, whether a and b are
// transposed}
void run_multiply(Execution& thread, const Instruction& i) {
  const Operand& from = i.operand(1);
  Multiply multiply{
      variables_of(thread, i.operand(0)),
      static_cast<int>(i.operand(0).parts.size()),
      nullptr,
      {},
      {thread.read(i.operand(2))},
      thread.is_true(i.operand(3)),
      thread.place,
      static_cast<WgmmaElement>(i.mode)};
  if (from.kind == Operand::Kind::vector) {
    for (std::size_t n = 0; n < multiply.a_when_issued.size(); ++n) {
      multiply.a_when_issued[n] = static_cast<unsigned>(thread.read(from.parts[n]));
    }
  } else {
    multiply.a_tile = OperandTile{thread.read(from)};
  }
  for (std::size_t n : {4, 5}) {
    if (thread.read(i.operand(n)) == 1) continue;
    fault("its wgmma changes the sign of an operand, which is not known on the CPU", thread.place);
  }
  const std::size_t operands = i.line.operands.size();
  const auto major = [&](std::size_t n) {
    return thread.read(i.operand(n)) == 0 ? model::Major::k : model::Major::mn;
  };
  if (operands > 6) multiply.b.major = major(operands - 1);
  if (operands > 7) multiply.a_tile->major = major(6);
  thread.keeps_variables = true;
  start_wgmma(multiply);
}

bool decode_multiply(Instruction& i, Modifiers& modifiers) {
  std::string_view shape = modifiers.take_with_prefix("m64n");
  std::size_t columns = 0;
  for (; !shape.empty() && shape[0] >= '0' && shape[0] <= '9'; shape.remove_prefix(1)) {
    columns = columns * 10 + static_cast<std::size_t>(shape[0] - '0');
  }
  if (columns % 8 != 0 || columns < 8 || columns > 256) return false;
  Type d, a, b;
  for (Type* type : {&d, &a, &b}) {
    if (!modifiers.take_type(*type)) return false;
  }
  if (d != Type{Base::real, 32} || a != b) return false;
  const bool is_tf32 = a == Type{Base::tf32, 32};
  const WgmmaElement element = is_tf32                     ? WgmmaElement::tf32
                               : a == Type{Base::real, 16} ? WgmmaElement::f16
                                                           : WgmmaElement::bf16;
  if (element == WgmmaElement::bf16 && a != Type{Base::bf16, 16}) return false;
  if (shape != (is_tf32 ? "k8" : "k16")) return false;
  i.mode = static_cast<std::uint32_t>(element);
  i.run = run_multiply;
  const std::vector<Operand>& operands = i.line.operands;
  if (operands.size() < 6 || operands[0].parts.size() != columns / 2) return false;
  const bool in_registers = operands[1].kind == Operand::Kind::vector;
  const std::size_t transposed = is_tf32 ? 0 : in_registers ? 1 : 2;
  const bool fits =
      in_registers ? operands[1].parts.size() == 4 &&
                         std::all_of(operands[1].parts.begin(), operands[1].parts.end(), is_input)
                   : is_input(operands[1]);
  return fits && operands.size() == 6 + transposed &&
         std::all_of(operands.begin() + 2, operands.end(), is_input);
}

bool decode_wgmma(Instruction& i, Modifiers& modifiers) {
  const int action = modifiers.take_one_of({"fence", "commit_group", "wait_group", "mma_async"});
  if (action < 0 || !modifiers.take("sync") || !modifiers.take("aligned")) return false;
  if (action == 3) return decode_multiply(i, modifiers);
  constexpr Run* kRuns[] = {run_fence, run_commit, run_wait};
  i.run = kRuns[action];
  return has_operands(i, 0, action == 2 ? 1 : 0);
}

}  // namespace

std::span<const Family> warpgroups() {
  static constexpr Family kFamilies[] = {{"wgmma", decode_wgmma}};
  return kFamilies;
}

}  // namespace machine::ptx
