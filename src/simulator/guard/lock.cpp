#include "simulator/guard/child.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <vector>

namespace guard {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the lock supports only x86-64 and aarch64"
#endif

// In a locked process, and only there, this call fails with this error. So it proves that the lock
// works, even if something in between, such as an emulator, accepts the filter and ignores it.
constexpr int kProbe = SYS_getppid;
constexpr int kProbeError = EKEYREJECTED;

// The program of the filter. Its register holds the number of the system call, except while a rule
// examines an argument.
class Filter {
 public:
  // A condition on one half of an argument. For most arguments the system uses only the lower half.
  struct Condition {
    int half;             // twice the argument's number, plus one for its upper half
    unsigned short test;  // BPF_JEQ, BPF_JSET or BPF_JGT
    unsigned value;
    bool wanted;  // the required result of the test
  };

  Filter() {
    // Call numbers have another meaning on other architectures, and also for x32, which reports
    // itself as x86-64.
    load(offsetof(seccomp_data, arch));
    jump(BPF_JEQ, kArchitecture, 1, 0);
    end(SECCOMP_RET_TRAP);
    load(offsetof(seccomp_data, nr));
    jump(BPF_JGE, 0x40000000, 0, 1);
    end(SECCOMP_RET_TRAP);
  }
  void allow(unsigned call, std::initializer_list<Condition> conditions = {}) {
    const auto rest = static_cast<unsigned char>(3 * conditions.size() + 1);
    jump(BPF_JEQ, call, 0, rest);
    for (const Condition& condition : conditions) {
      load(offsetof(seccomp_data, args) + 4 * condition.half);
      jump(condition.test, condition.value, condition.wanted, !condition.wanted);
      end(SECCOMP_RET_TRAP);
    }
    end(SECCOMP_RET_ALLOW);
  }
  void fail(unsigned call, unsigned error) {
    jump(BPF_JEQ, call, 0, 1);
    end(SECCOMP_RET_ERRNO | error);
  }
  sock_fprog finished() {
    end(SECCOMP_RET_TRAP);
    return {static_cast<unsigned short>(code_.size()), code_.data()};
  }

 private:
  void load(std::size_t offset) {
    code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
  }
  void jump(int test, unsigned value, unsigned char if_true, unsigned char if_false) {
    code_.push_back(
        BPF_JUMP(static_cast<unsigned short>(BPF_JMP | test | BPF_K), value, if_true, if_false));
  }
  void end(unsigned verdict) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, verdict)); }

  std::vector<sock_filter> code_;
};

Filter filter_for(int to_parent) {
  using Condition = Filter::Condition;
  const auto is = [](int argument, unsigned value) {
    return Condition{2 * argument, BPF_JEQ, value, true};
  };
  const Condition not_executable{4, BPF_JSET, PROT_EXEC, false};
  const Condition of_no_file{6, BPF_JSET, MAP_ANONYMOUS, true};
  const Condition no_test_of_hardware{4, BPF_JGT, MADV_DODUMP, false};
  const Condition nothing_new[] = {{4, BPF_JEQ, 0, true}, {5, BPF_JEQ, 0, true}};
  const auto parent = static_cast<unsigned>(to_parent);

  Filter filter;
  // Time, and waiting between threads.
  for (unsigned call :
       {SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_gettimeofday, SYS_clock_nanosleep,
        SYS_restart_syscall, SYS_sched_getaffinity, SYS_getpid, SYS_gettid}) {
    filter.allow(call);
  }
  // Memory.
  for (unsigned call : {SYS_brk, SYS_munmap, SYS_mremap}) filter.allow(call);
  filter.allow(SYS_mmap, {not_executable, of_no_file});
  filter.allow(SYS_mprotect, {not_executable});
  filter.allow(SYS_madvise, {no_test_of_hardware});
  filter.allow(SYS_prlimit64, {is(0, 0), nothing_new[0], nothing_new[1]});
  // Signals, but none to other processes.
  for (unsigned call :
       {SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_sigaltstack,
        SYS_setitimer}) {
    filter.allow(call);
  }
  filter.allow(SYS_tgkill, {is(0, static_cast<unsigned>(getpid()))});
  // Talking to the parent, and ending.
  filter.allow(SYS_read, {is(0, parent)});
  filter.allow(SYS_sendto, {is(0, parent)});
  for (unsigned call : {SYS_exit, SYS_exit_group}) filter.allow(call);
  filter.fail(kProbe, kProbeError);
  return filter;
}

}  // namespace

std::optional<std::string> lock_system_calls(int to_parent) {
  // Before glibc makes the heap of a thread smaller, it opens a file of /proc. So none becomes
  // smaller.
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  Filter filter = filter_for(to_parent);
  const sock_fprog program = filter.finished();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return std::strerror(errno);
  const long set =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (set < 0) return std::strerror(errno);
  if (set > 0) return "it cannot be applied to all threads";
  if (syscall(kProbe) != -1 || errno != kProbeError) return "it is accepted but has no effect";
  return std::nullopt;
}

bool is_foreign(unsigned architecture) {
  return architecture != kArchitecture;
}

std::string name_of(const SystemCall& call) {
  static const std::map<int, const char*> kNames = {
    {SYS_accept4, "accept4"},
    {SYS_bind, "bind"},
    {SYS_bpf, "bpf"},
    {SYS_clone, "clone"},
    {SYS_clone3, "clone3"},
    {SYS_close, "close"},
    {SYS_connect, "connect"},
    {SYS_dup3, "dup3"},
    {SYS_execve, "execve"},
    {SYS_execveat, "execveat"},
    {SYS_getdents64, "getdents64"},
    {SYS_io_uring_setup, "io_uring_setup"},
    {SYS_ioctl, "ioctl"},
    {SYS_kill, "kill"},
    {SYS_madvise, "madvise"},
    {SYS_memfd_create, "memfd_create"},
    {SYS_mmap, "mmap"},
    {SYS_mprotect, "mprotect"},
    {SYS_openat, "openat"},
    {SYS_pidfd_open, "pidfd_open"},
    {SYS_pipe2, "pipe2"},
    {SYS_prctl, "prctl"},
    {SYS_prlimit64, "prlimit64"},
    {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_process_vm_writev, "process_vm_writev"},
    {SYS_ptrace, "ptrace"},
    {SYS_read, "read"},
    {SYS_renameat2, "renameat2"},
    {SYS_rt_sigqueueinfo, "rt_sigqueueinfo"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_sendto, "sendto"},
    {SYS_shmat, "shmat"},
    {SYS_shmget, "shmget"},
    {SYS_socket, "socket"},
    {SYS_socketpair, "socketpair"},
    {SYS_tgkill, "tgkill"},
    {SYS_tkill, "tkill"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_wait4, "wait4"},
    {SYS_write, "write"},
    {SYS_writev, "writev"},
#if defined(__x86_64__)
    {SYS_fork, "fork"},
    {SYS_open, "open"},
    {SYS_pipe, "pipe"},
    {SYS_unlink, "unlink"},
    {SYS_vfork, "vfork"},
#endif
  };
  std::string name = "system call " + std::to_string(call.number);
  if (call.foreign) return name + " of another architecture";
  const auto known = kNames.find(call.number);
  return known != kNames.end() ? name + ", " + known->second : name;
}

}  // namespace guard
