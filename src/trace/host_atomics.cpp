// The functions that the compiler calls for std::atomic under -fsanitize=thread. They receive the
// memory order as a number. Host code of the traced copy uses them (guards of static variables,
// std::shared_ptr, counters); they always use the strongest order. CUDA's atomics are elsewhere
// (src/cuda/collectives.h), and only those are counted.
#include <cstdint>

#define ATOMICS(BITS, T)                                                                           \
  T __tsan_atomic##BITS##_load(const volatile T* p, int) {                                         \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##BITS##_store(volatile T* p, T value, int) {                                  \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                \
  T __tsan_atomic##BITS##_exchange(volatile T* p, T value, int) {                                  \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_add(volatile T* p, T value, int) {                                 \
    return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);                                         \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_sub(volatile T* p, T value, int) {                                 \
    return __atomic_fetch_sub(p, value, __ATOMIC_SEQ_CST);                                         \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_and(volatile T* p, T value, int) {                                 \
    return __atomic_fetch_and(p, value, __ATOMIC_SEQ_CST);                                         \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_or(volatile T* p, T value, int) {                                  \
    return __atomic_fetch_or(p, value, __ATOMIC_SEQ_CST);                                          \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_xor(volatile T* p, T value, int) {                                 \
    return __atomic_fetch_xor(p, value, __ATOMIC_SEQ_CST);                                         \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_nand(volatile T* p, T value, int) {                                \
    return __atomic_fetch_nand(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  int __tsan_atomic##BITS##_compare_exchange_strong(                                               \
      volatile T* p, T* expected, T value, int, int) {                                             \
    return __atomic_compare_exchange_n(                                                            \
        p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                            \
  }                                                                                                \
  int __tsan_atomic##BITS##_compare_exchange_weak(                                                 \
      volatile T* p, T* expected, T value, int a, int b) {                                         \
    return __tsan_atomic##BITS##_compare_exchange_strong(p, expected, value, a, b);                \
  }                                                                                                \
  T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T expected, T value, int a, int b) { \
    __tsan_atomic##BITS##_compare_exchange_strong(p, &expected, value, a, b);                      \
    return expected;                                                                               \
  }

namespace trace {

extern "C" {
ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
}

}  // namespace trace
#undef ATOMICS
