// Inline PTX on the CPU. `asm volatile("text" : "=r"(a) : "r"(b), "n"(c));` of a user's file
// becomes (src/simulator/rewrite/)
//
//   ::simt::ptx("text", {::simt::ptx_output("=r", a), ::simt::ptx_input("r", b), ...});
//
// which runs the text's instructions for the calling thread (src/simulator/machine/ptx/). An
// operand with a name has it before its constraint: "[name]=r".
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "simulator/cuda/vector_types.h"

// An address in shared memory as a number, and back. Global memory has the same addresses in both
// forms here.
std::size_t __cvta_generic_to_shared(const void* pointer);
void* __cvta_shared_to_generic(std::size_t address);
inline std::size_t __cvta_generic_to_global(const void* pointer) {
  return reinterpret_cast<std::size_t>(pointer);
}
inline void* __cvta_global_to_generic(std::size_t address) {
  return reinterpret_cast<void*>(address);
}

namespace simt {

struct PtxOperand {
  const char* constraint;
  void* variable;       // of an output; null: an input
  std::uint64_t value;  // of an input
  int bytes;            // the size of the variable, or of the input before it was widened
};

template <class T>
SIMT_ALWAYS_INLINE inline PtxOperand ptx_output(const char* constraint, T& variable) {
  return {
      constraint, const_cast<std::remove_cv_t<T>*>(__builtin_addressof(variable)), 0, sizeof(T)};
}

// Integers are widened to 64 bits, other values are taken bit by bit.
template <class T>
SIMT_ALWAYS_INLINE inline PtxOperand ptx_input(const char* constraint, T value) {
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    return {constraint, nullptr, static_cast<std::uint64_t>(value), sizeof(T)};
  } else {
    static_assert(sizeof(T) <= 8, "an operand of inline PTX has at most 8 bytes");
    PtxOperand operand{constraint, nullptr, 0, sizeof(T)};
    __builtin_memcpy(&operand.value, &value, sizeof(T));
    return operand;
  }
}

void ptx(const char* text, std::initializer_list<PtxOperand> operands);
// The same for a text with volatile, gpu or another word by which blocks may wait for each other.
void ptx_between_blocks(const char* text, std::initializer_list<PtxOperand> operands);

}  // namespace simt
