// The accesses of a kernel that the compiler does not announce. announce/pass.h puts a call of
// simt_announce before each such instruction.
#include <cstddef>

#include "announce/pass.h"
#include "machine/fault.h"
#include "trace/hooks.h"

#if defined(__x86_64__)
// The caller expects every register to be unchanged. It has pushed the announcement.
asm(R"(
	.text
	.globl	simt_announce
	.hidden	simt_announce
	.type	simt_announce, @function
simt_announce:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	subq	$512, %rsp
	andq	$-64, %rsp
	fxsave64	(%rsp)
	cld
	movq	16(%rbp), %rsi
	movq	%rcx, %rdx
	movq	8(%rbp), %rcx
	call	simt_announced
	fxrstor64	(%rsp)
	leaq	-72(%rbp), %rsp
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size	simt_announce, .-simt_announce
)");

// `packed` is an Announcement, `place` the return address in the kernel.
extern "C" __attribute__((used, visibility("hidden"))) void simt_announced(
    const void* pointer, long packed, std::size_t rcx, const void* place) {
  const auto announcement = announce::Announcement::unpacked(packed);
  if (announcement.bytes == 0 && trace::hooks.log != nullptr) {
    machine::fault("its access is made by an instruction that the tracer does not know", place);
  }
  const std::size_t bytes = announcement.bytes * (announcement.times_rcx ? rcx : 1);
  const std::size_t widest = announcement.widest;
  if (announcement.loads) trace::log_range(trace::Kind::kLoad, pointer, bytes, widest, place);
  if (announcement.stores) trace::log_range(trace::Kind::kStore, pointer, bytes, widest, place);
}
#endif
