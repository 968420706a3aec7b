// A fiber: code on a stack of its own that runs until it pauses, and later goes on from there.
#pragma once

#include <setjmp.h>

#include <cstddef>
#include <span>

namespace machine {

// From one fiber's stack to the next. Whole pages, so that one can be closed to the others.
inline constexpr std::size_t kStackBytes = 68 * 1024;

// The stacks of a block's fibers, in one mapping: a guard page for each of them would exhaust
// vm.max_map_count.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() { release(); }

  // Makes room for `count` fibers, none of which may be running. Throws Refusal.
  void reserve(std::size_t count);
  // They end at different places in their last page, so that the same variable of neighbouring
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

// Where code paused.
struct Context {
  jmp_buf registers;
};

class Fiber {
 public:
  // Goes on where the fiber paused, or starts `main`, which never returns, on `stack`. Returns when
  // the fiber pauses.
  void resume(Context& resumer, std::span<char> stack, void (*main)());
  // Called on the fiber: back to who resumed it.
  void pause(Context& resumer);
  // The next resume() starts afresh.
  void forget() { started_ = false; }

 private:
  Context paused_;
  bool started_ = false;
};

}  // namespace machine
