// Reductions over a group of lanes.
#pragma once

#include <cooperative_groups.h>

namespace cooperative_groups {

#define SIMT_OPERATION(name, result)                                   \
  template <class T = void>                                            \
  struct name {                                                        \
    SIMT_ALWAYS_INLINE T operator()(T a, T b) const { return result; } \
  };                                                                   \
  template <>                                                          \
  struct name<void> {                                                  \
    template <class T>                                                 \
    SIMT_ALWAYS_INLINE T operator()(T a, T b) const {                  \
      return result;                                                   \
    }                                                                  \
  };
SIMT_OPERATION(plus, a + b)
SIMT_OPERATION(less, b < a ? b : a)
SIMT_OPERATION(greater, a < b ? b : a)
SIMT_OPERATION(bit_and, a& b)
SIMT_OPERATION(bit_or, a | b)
SIMT_OPERATION(bit_xor, a ^ b)
#undef SIMT_OPERATION

// The same result in every lane. A tile adds in the order of a butterfly, other groups one rank
// after the other.
template <class Group, class T, class Operation>
requires(!requires { Group::template slots<T>(); }) SIMT_INLINE T
    reduce(const Group& group, T value, Operation operation) {
  static_assert(
      std::is_base_of_v<simt::Lanes, Group>,
      "reduce works on tiles and coalesced groups: partition the block first");
  const unsigned size = group.size();
  if ((size & (size - 1)) == 0) {
    for (unsigned distance = size / 2; distance != 0; distance /= 2) {
      value = operation(value, group.shfl_xor(value, distance));
    }
    return value;
  }
  T result = group.shfl(value, 0);
  for (unsigned rank = 1; rank < size; ++rank) result = operation(result, group.shfl(value, rank));
  return result;
}

// Each warp reduces, and then every thread reduces the results of the warps.
template <class Group, class T, class Operation>
requires requires {
  Group::template slots<T>();
}
SIMT_INLINE T reduce(const Group& group, T value, Operation operation) {
  value = reduce(thread_block_tile<32>(), value, operation);
  T* const slots = Group::template slots<T>();
  if (group.thread_rank() % 32 == 0) slots[group.thread_rank() / 32] = value;
  group.sync();
  T result = slots[0];
  for (unsigned warp = 1; warp < group.size() / 32; ++warp) {
    result = operation(result, slots[warp]);
  }
  group.sync();
  return result;
}

}  // namespace cooperative_groups
