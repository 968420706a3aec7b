// atom, red and nanosleep, with which threads of different blocks may wait for each other. They are
// linked only into programs whose inline PTX uses one of them, because blocks that may wait run in
// another order (machine/waiting.cpp).
#include <algorithm>
#include <cmath>

#include "model/tensor_core.h"
#include "simulator/cuda/collectives.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/ptx/program.h"
#include "simulator/machine/worker.h"

namespace machine::ptx {
namespace {

enum Change : std::uint32_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExchange, kSwap };

// The sum of real numbers, element by element.
std::uint64_t real_sum(Type type, std::uint64_t a, std::uint64_t b) {
  if (type.bits == 64) {
    return std::bit_cast<std::uint64_t>(real_value(type, a) + real_value(type, b));
  }
  if (type.bits == 32) {
    return std::bit_cast<std::uint32_t>(
        static_cast<float>(real_value(type, a)) + static_cast<float>(real_value(type, b)));
  }
  const model::NarrowFormat format = type.base == Base::bf16 ? model::kBfloat16 : model::kFp16;
  std::uint64_t result = 0;
  for (int shift = 0; shift < type.bits * type.packed; shift += 16) {
    const double sum = real_value(type, a >> shift) + real_value(type, b >> shift);
    result |= std::uint64_t{model::rounded_to(format, sum, model::Toward::nearest)} << shift;
  }
  return result;
}

std::uint64_t changed(
    const Instruction& i, std::uint64_t old, std::uint64_t b, std::uint64_t with) {
  const bool is_signed = i.type.base == Base::signed_;
  const auto less = [&](std::uint64_t x, std::uint64_t y) {
    return is_signed ? signed_value(i.type, x) < signed_value(i.type, y)
                     : unsigned_value(i.type, x) < unsigned_value(i.type, y);
  };
  switch (i.mode) {
    case kAdd:
      return i.type.is_real() ? real_sum(i.type, old, b) : old + b;
    case kMin:
      return less(b, old) ? b : old;
    case kMax:
      return less(old, b) ? b : old;
    case kInc:
      return old >= b ? 0 : old + 1;
    case kDec:
      return old == 0 || old > b ? b : old - 1;
    case kAnd:
      return old & b;
    case kOr:
      return old | b;
    case kXor:
      return old ^ b;
    case kExchange:
      return b;
    default:
      return old == unsigned_value(i.type, b) ? with : old;
  }
}

template <class T>
std::uint64_t update(
    Execution& thread, const Instruction& i, void* pointer, std::uint64_t b, std::uint64_t with) {
  const AtomicUse use = i.mode == kExchange ? AtomicUse::kExchange
                        : i.mode == kSwap   ? AtomicUse::kLock
                        : i.type.is_real()  ? AtomicUse::kSum
                                            : AtomicUse::kCounter;
  return atomically(static_cast<T*>(pointer), use, const_cast<void*>(thread.place), [&](T old) {
    return static_cast<T>(changed(i, old, b, with));
  });
}

// i.option: there is a result, the old value.
void run_atomic(Execution& thread, const Instruction& i) {
  const std::size_t first = i.option;
  void* const pointer = pointer_to(thread, i, i.operand(first));
  const std::uint64_t b = thread.read(i.operand(first + 1), i.type);
  const std::uint64_t with = i.mode == kSwap ? thread.read(i.operand(first + 2), i.type) : 0;
  require_space(thread, i, pointer);
  begin_access(thread, i);
  std::uint64_t old = 0;
  switch (i.type.bytes()) {
    case 2:
      old = update<std::uint16_t>(thread, i, pointer, b, with);
      break;
    case 4:
      old = update<std::uint32_t>(thread, i, pointer, b, with);
      break;
    default:
      old = update<std::uint64_t>(thread, i, pointer, b, with);
  }
  if (i.mode == kSwap && old == b) tell_swapped(pointer, i.type.bytes());
  if (i.option != 0) thread.write(i.operand(0), old);
}

bool decode_atomic(Instruction& i, Modifiers& modifiers) {
  if (modifiers.take("async")) return false;
  take_order(i, modifiers);
  i.option = i.line.opcode == "atom";
  take_space(i, modifiers);
  const bool policy = take_cache_hints(modifiers);
  const int mode =
      modifiers.take_one_of({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  modifiers.take("noftz");
  if (mode < 0 || !modifiers.take_type(i.type)) return false;
  i.mode = static_cast<std::uint32_t>(mode);
  const int bytes = i.type.bytes();
  if (bytes != 4 && bytes != 8 && !(bytes == 2 && (mode == kAdd || mode == kSwap))) return false;
  if (i.type.is_real() && mode != kAdd) return false;
  const std::size_t first = i.option, inputs = mode == kSwap ? 2 : 1;
  const std::vector<Operand>& operands = i.line.operands;
  if (operands.size() != first + 1 + inputs + (policy ? 1 : 0)) return false;
  if (first != 0 && !is_output(operands[0])) return false;
  i.run = run_atomic;
  return is_address(operands[first]) && is_input(operands[first + 1]) &&
         is_input(operands[first + inputs]);
}

void run_nanosleep(Execution&, const Instruction&) {
  simt::let_others_run();
}
bool decode_nanosleep(Instruction& i, Modifiers& modifiers) {
  i.run = run_nanosleep;
  return modifiers.take("u32") && has_operands(i, 0, 1);
}

std::span<const Family> families() {
  static constexpr Family kFamilies[] = {
      {"atom", decode_atomic}, {"red", decode_atomic}, {"nanosleep", decode_nanosleep}};
  return kFamilies;
}

const bool is_linked = (between_blocks = families) != nullptr;

}  // namespace
}  // namespace machine::ptx

void simt::ptx_between_blocks(const char* text, std::initializer_list<PtxOperand> operands) {
  static_cast<void>(machine::ptx::is_linked);
  machine::ptx::run_statement(
      text, {operands.begin(), operands.size()}, __builtin_return_address(0));
}
