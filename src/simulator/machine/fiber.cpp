// glibc's checked longjmp refuses to switch between stacks, which fibers must do.
#undef _FORTIFY_SOURCE

#include "simulator/machine/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

#include "model/refusal.h"

#if defined(__x86_64__)
// Pushes the registers that a function must keep, leaves the stack in *from, and continues where
// the stack `to` was left.
extern "C" void simt_switch_stack(void** from, void* to);
__asm__(R"(
	.text
	.globl	simt_switch_stack
	.hidden	simt_switch_stack
	.type	simt_switch_stack, @function
simt_switch_stack:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	popq	%r15
	.cfi_adjust_cfa_offset -8
	popq	%r14
	.cfi_adjust_cfa_offset -8
	popq	%r13
	.cfi_adjust_cfa_offset -8
	popq	%r12
	.cfi_adjust_cfa_offset -8
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rcx
	jmp	*%rcx
	.cfi_endproc
	.size	simt_switch_stack, .-simt_switch_stack
)");
#endif

namespace machine {

namespace {

void* map_pages(void* at, std::size_t bytes, int protection, int more_flags) {
  void* const memory =
      mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// The reserved addresses.
class StackRange {
 public:
  void reserve(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (begin_ != nullptr) return;
    begin_ = static_cast<char*>(map_pages(nullptr, bytes, PROT_NONE, 0));
    bytes_ = begin_ != nullptr ? bytes : 0;
  }
  // Null if there is no room.
  char* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    char* place = begin_;
    for (const auto& [taken, size] : taken_) {
      if (static_cast<std::size_t>(taken - place) >= bytes) break;
      place = taken + size;
    }
    if (bytes > bytes_ - (place - begin_)) return nullptr;
    if (mprotect(place, bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
    taken_[place] = bytes;
    return place;
  }
  // Returns whether the stack came from here. Its memory is released.
  bool give_back(char* place) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(place);
    if (found == taken_.end()) return false;
    map_pages(place, found->second, PROT_NONE, MAP_FIXED);
    taken_.erase(found);
    return true;
  }

 private:
  std::mutex mutex_;
  char* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::map<char*, std::size_t> taken_;  // bytes
};

// Never destroyed, because threads may still give back stacks when the program ends.
StackRange& stack_range() {
  static StackRange& range = *new StackRange;
  return range;
}

}  // namespace

void reserve_stack_addresses(std::size_t bytes) {
  stack_range().reserve(bytes);
}

void Stacks::reserve(std::size_t count) {
  if (count <= count_) return;
  release();
  const std::size_t bytes = count * kStackBytes;
  memory_ = stack_range().take(bytes);
  if (memory_ == nullptr) {
    memory_ = static_cast<char*>(map_pages(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_STACK));
  }
  if (memory_ == nullptr) {
    throw model::Refusal("not enough memory for the stacks of one block's threads");
  }
  count_ = count;
}

void Stacks::release() {
  if (memory_ != nullptr && !stack_range().give_back(memory_)) munmap(memory_, bytes());
  memory_ = nullptr;
  count_ = 0;
}

#if defined(__x86_64__)

void Fiber::resume(Context& resumer, std::span<char> stack, void (*main)()) {
  if (!started_) {
    started_ = true;
    // The stack that simt_switch_stack reads: six registers, 0 for the frame pointer, and the
    // address to continue at. `main` starts as if called, without a caller.
    const auto top = reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) / 16 * 16;
    auto** const words = reinterpret_cast<void**>(top) - 8;
    std::fill_n(words, 8, nullptr);
    words[6] = reinterpret_cast<void*>(main);
    paused_.stack = words;
  }
  simt_switch_stack(&resumer.stack, paused_.stack);
}

void Fiber::pause(Context& resumer) {
  simt_switch_stack(&paused_.stack, resumer.stack);
}

#else

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

#endif

}  // namespace machine
