#include "machine/access_errors.h"

#include <signal.h>
#include <ucontext.h>

#include "machine/device_memory.h"
#include "machine/worker.h"

namespace machine {
namespace {

struct sigaction handlers_before[2];

#if defined(__x86_64__)
constexpr std::uint64_t kTrapFlag = 0x100;  // in RFLAGS
constexpr std::uint64_t kWriteFault = 2;    // in a page fault's error code
struct sigaction trap_before;

// Host code has accessed a page that is closed for the sake of other bytes. It goes on for one
// instruction.
bool steps_over(const void* address, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (!open_for_host(address, (registers[REG_ERR] & kWriteFault) != 0)) return false;
  registers[REG_EFL] |= kTrapFlag;
  return true;
}

void on_step(int signal, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if ((registers[REG_EFL] & kTrapFlag) == 0) {
    sigaction(signal, &trap_before, nullptr);
    return;
  }
  close_again();
  registers[REG_EFL] &= ~kTrapFlag;
}

void watch_for_steps() {
  struct sigaction current {};
  sigaction(SIGTRAP, nullptr, &current);
  if (current.sa_sigaction == on_step) return;
  trap_before = current;
  struct sigaction action {};
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGTRAP, &action, nullptr);
}
#else
// The page stays open.
bool steps_over(const void* address, void*) {
  return open_for_host(address, true);
}
void watch_for_steps() {}
#endif

void on_access_error(int signal, siginfo_t* info, void* context) {
  if (running_worker == nullptr) {
    if (signal == SIGSEGV && steps_over(info->si_addr, context)) return;
    sigaction(signal, &handlers_before[signal == SIGBUS], nullptr);
    return;  // so it happens again
  }
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto instruction = static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#else
  const auto instruction = static_cast<std::uintptr_t>(registers.pc);
#endif
  // On x86 a misaligned vector access faults without reporting the address.
  const bool misaligned = (signal == SIGSEGV && info->si_code == SI_KERNEL) ||
                          (signal == SIGBUS && info->si_code == BUS_ADRALN);
  if (misaligned) running_worker->crash({}, instruction);
  running_worker->crash(reinterpret_cast<std::uintptr_t>(info->si_addr), instruction);
}

}  // namespace

void watch_for_access_errors() {
  watch_for_steps();
  for (const int signal : {SIGSEGV, SIGBUS}) {
    struct sigaction current {};
    sigaction(signal, nullptr, &current);
    if (current.sa_sigaction == on_access_error) continue;
    handlers_before[signal == SIGBUS] = current;
    struct sigaction action {};
    action.sa_sigaction = on_access_error;
    // The handler does not return, so nothing else restores the mask.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(signal, &action, nullptr);
  }
}

void HandlerStack::provide() {
  constexpr std::size_t kBytes = 64 * 1024;
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;
  memory_.reset(new char[kBytes]);
  stack.ss_sp = memory_.get();
  stack.ss_size = kBytes;
  stack.ss_flags = 0;
  sigaltstack(&stack, nullptr);
}

HandlerStack::~HandlerStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace machine
