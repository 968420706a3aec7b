// A fiber: code with its own stack that runs until it pauses and can be resumed.
#pragma once

#include <setjmp.h>

#include <cstddef>
#include <span>

namespace machine {

// The distance between the stacks of neighbouring fibers: 512 KB, the most local memory that a
// thread of a GPU has (CUDA C++ Programming Guide, technical specifications per compute
// capability), and what the tracer needs. It is a whole number of pages, so that one stack can be
// protected from the others, and an odd one, so that they do not fall into the same cache sets.
inline constexpr std::size_t kStackBytes = 524 * 1024;

// Reserves addresses for the stacks of later blocks. Called before a child's limits, which count
// addresses; only what a thread's functions touch becomes memory. Further stacks are mapped as they
// are needed.
void reserve_stack_addresses(std::size_t bytes);

// The stacks of a block's fibers, in one mapping, because a guard page for each would exhaust
// vm.max_map_count.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() { release(); }

  // Makes room for `count` fibers, none of which may be running. Throws a Refusal.
  void reserve(std::size_t count);
  // The tops have different offsets in their last page, so that the same variable of neighbouring
  // fibers does not fall into the same cache set.
  std::span<char> of(std::size_t fiber) const {
    return {memory_ + fiber * kStackBytes, kStackBytes - fiber * 17 % 64 * 64};
  }
  std::size_t bytes() const { return count_ * kStackBytes; }

 private:
  void release();
  char* memory_ = nullptr;
  std::size_t count_ = 0;
};

// Where code paused. On x86-64 the registers are on its stack, and a switch takes a few
// instructions; the C library's _longjmp takes five times as long.
struct Context {
#if defined(__x86_64__)
  void* stack = nullptr;
#else
  jmp_buf registers;
#endif
};

class Fiber {
 public:
  // Resumes the fiber, or starts `main`, which never returns, on `stack`. Returns when the fiber
  // pauses.
  void resume(Context& resumer, std::span<char> stack, void (*main)());
  // Call this on the fiber: returns to the caller of resume().
  void pause(Context& resumer);
  // The next resume() starts from the beginning.
  void forget() { started_ = false; }

 private:
  Context paused_;
  bool started_ = false;
};

}  // namespace machine
