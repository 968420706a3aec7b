// glibc's checked longjmp refuses to switch between stacks, which fibers must do.
#undef _FORTIFY_SOURCE

#include "machine/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>

#include "model/refusal.h"

namespace machine {

void Stacks::reserve(std::size_t count) {
  if (count <= count_) return;
  release();
  void* memory = mmap(
      nullptr, count * kStackBytes, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw model::Refusal("not enough memory for the stacks of one block's threads");
  }
  memory_ = static_cast<char*>(memory);
  count_ = count;
}

void Stacks::release() {
  if (memory_ != nullptr) munmap(memory_, bytes());
  memory_ = nullptr;
  count_ = 0;
}

void Fiber::resume(Context& resumer, std::span<char> stack, void (*main)()) {
  if (_setjmp(resumer.registers) != 0) return;
  if (started_) _longjmp(paused_.registers, 1);
  started_ = true;
  ucontext_t start;
  getcontext(&start);
  start.uc_stack.ss_sp = stack.data();
  start.uc_stack.ss_size = stack.size();
  start.uc_link = nullptr;
  makecontext(&start, main, 0);
  setcontext(&start);
}

void Fiber::pause(Context& resumer) {
  if (_setjmp(paused_.registers) == 0) _longjmp(resumer.registers, 1);
}

}  // namespace machine
