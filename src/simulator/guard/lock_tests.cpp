// What a locked child may do, and what the lock stops. Each attack calls the system directly, as
// code does that jumps to a computed address.
#include "simulator/guard/child.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "simulator/guard/guard.h"
#include "testing/program.h"

namespace guard {
namespace {

using testing::contains;

const Guard kGuard{2, "test", {.name = "the kernel"}};

// The end of `code` when it is watched in a locked child.
Ended locked(const std::function<void()>& code, const Guard& guard = kGuard) {
  return run_in_child(guard, [&](std::FILE*) {
    lock(1);
    on_fresh_thread([&] { watched(code); });
    return Outcome{0, ""};
  });
}

// A filter under which a system call fails with EINVAL, as on a system that does not know the call.
void take_away(std::initializer_list<unsigned> calls) {
  std::vector<sock_filter> code = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned call : calls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// The exit code of a process that runs `code`.
int in_process(const std::function<int()>& code) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(code());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool system_locks() {
  static const bool locks = locked([] {}).unlocked.empty();
  if (!locks) MESSAGE("skipped: this system grants no filter of system calls");
  return locks;
}

thread_local int kept = 0;

}  // namespace

TEST_CASE("a locked child can use threads, memory, exceptions, questions and time") {
  Guard guard = kGuard;
  guard.watched.answer = [](const std::string& question) { return question + "!"; };
  const Ended ended = run_in_child(guard, [](std::FILE* report) {
    lock(2);
    int sum = 0;
    for (int run = 0; run < 2; ++run) {
      on_fresh_thread([&] {
        watched([&] {
          if (kept++ != 0) throw std::logic_error("this thread is not fresh");
            // Teams of many sizes after the first: they may shrink but not grow.
#pragma omp parallel reduction(+ : sum)
          sum += 1;
          std::vector<std::vector<char>> memory;
          for (std::size_t bytes = 1; bytes < (64u << 20); bytes *= 2) memory.emplace_back(bytes);
          for (auto& block : memory) block.resize(2 * block.size());
          try {
            throw std::runtime_error("caught");
          } catch (const std::exception&) {
            sum += 1000;
          }
          usleep(1000);
        });
      });
    }
    const int team = omp_get_max_threads();
    if (sum != 2 * (team + 1000)) throw std::logic_error("the sum is wrong");
    std::fputs(ask("heard").c_str(), report);
    return Outcome{0, ""};
  });
  CHECK(ended.sentence == "");
  CHECK(ended.how == Ended::done);
  CHECK(ended.report == "heard!");
}

TEST_CASE("a child can use threads after its parent has used some") {
  int before = 0, in_child = 0;
#pragma omp parallel num_threads(3) reduction(+ : before)
  before += 1;
  const Ended ended = run_in_child(kGuard, [&](std::FILE*) {
#pragma omp parallel num_threads(3) reduction(+ : in_child)
    in_child += 1;
    return Outcome{in_child == before ? 0 : 1, ""};
  });
  CHECK(ended.exit_code == 0);
}

// While a thread ends, signals are blocked, and the C library frees what it kept for the thread. A
// system call that the lock refuses would then end the child silently.
TEST_CASE("a locked child may free much memory while signals are blocked") {
  const Ended ended = run_in_child(kGuard, [](std::FILE*) {
    mallopt(M_TRIM_THRESHOLD, 1 << 17);  // as at the start of a program
    lock(1);
    on_fresh_thread([] {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      std::vector<std::vector<char>> blocks(400);
      for (auto& block : blocks) block.resize(100'000);
    });
    return Outcome{0, ""};
  });
  CHECK(ended.sentence == "");
  CHECK(ended.how == Ended::done);
}

TEST_CASE(
    "a locked child still ends at its time limit, at a crash, at exit and when memory runs out") {
  CHECK(contains(
      locked(
          [] {
            for (volatile bool on = true; on;)
              ;
          },
          {0.2, "test", {}})
          .sentence,
      "still running after 0.2 s"));
  CHECK(contains(
      locked([] { *reinterpret_cast<volatile int*>(8) = 1; }).sentence,
      "memory that is not there"));
  CHECK(contains(locked([] { std::exit(0); }).sentence, "ends the program by exit()"));
  CHECK(contains(locked([] { std::abort(); }).sentence, "calls abort()"));
  CHECK(contains(locked([] { _exit(0); }).sentence, "ends the program before it is done"));
  CHECK(contains(
      locked([] { std::vector<char>(std::size_t{1} << 45); }).sentence, "more memory than it may"));
}

TEST_CASE("a locked child reaches no file, process, socket or signal by any system call") {
  if (!system_locks()) return;
  const testing::Folder folder;
  const std::string made = folder / "made", touch = "touch " + made;
  const pid_t us = getpid();
  static char byte = 0;
  static iovec here{&byte, 1};
  const auto call = [](long number, auto... arguments) {
    return [=] { syscall(number, arguments...); };
  };
  const auto jump = [](auto* function, auto... arguments) {
    return [=] {
      auto* volatile to = function;
      static_cast<void>(to(arguments...));
    };
  };
  struct Attack {
    std::string words;
    std::function<void()> code;
  };
  const std::vector<Attack> attacks = {
      {"pipe2", jump(&popen, touch.c_str(), "r")},
      {"tries to reach the system", jump(&std::system, touch.c_str())},
      {"tries to reach the system", jump(&fork)},
      {"tries to reach the system", [] { std::thread([] {}).join(); }},
      {"clone", call(SYS_clone, SIGCHLD, nullptr)},
      {"clone3", call(SYS_clone3, nullptr, 0)},
      {"execve", [&] { execl("/bin/touch", "touch", made.c_str(), nullptr); }},
      {"execveat", call(SYS_execveat, AT_FDCWD, "/bin/true", nullptr, nullptr, 0)},
      {"socket", jump(&socket, AF_INET, SOCK_STREAM, 0)},
      {"socketpair", call(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, nullptr)},
      {"openat", jump(&open, made.c_str(), O_WRONLY | O_CREAT, 0600)},
      {"openat", [] { std::fopen("/etc/passwd", "r"); }},
      {"memfd_create", call(SYS_memfd_create, "m", 0)},
      {"unlinkat", call(SYS_unlinkat, AT_FDCWD, made.c_str(), 0)},
      {"kill", jump(&kill, us, SIGUSR2)},
      {"kill", [] { kill(-1, SIGKILL); }},
      {"tgkill", call(SYS_tgkill, us, us, SIGUSR2)},
      {"tkill", call(SYS_tkill, us, SIGUSR2)},
      {"rt_sigqueueinfo", call(SYS_rt_sigqueueinfo, us, SIGUSR2, nullptr)},
      {"ptrace", jump(&ptrace, PTRACE_ATTACH, us, nullptr, nullptr)},
      {"process_vm_readv", [=] { process_vm_readv(us, &here, 1, &here, 1, 0); }},
      {"process_vm_writev", [=] { process_vm_writev(us, &here, 1, &here, 1, 0); }},
      {"prints", [] { std::fputs("taken over\n", stderr); }},
      {"prints", [] { (void)!write(STDOUT_FILENO, "taken over\n", 11); }},
      {"write", call(SYS_write, 77, &byte, 1)},
      {"read", call(SYS_read, STDIN_FILENO, &byte, 1)},
      {"sendto", call(SYS_sendto, 77, &byte, 1, 0, nullptr, 0)},
      {"sendmsg", call(SYS_sendmsg, 3, nullptr, 0)},
      {"ioctl", call(SYS_ioctl, STDIN_FILENO, 0x5412, "x")},
      {"mmap",
       [] { mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }},
      {"mmap", [] { mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0); }},
      {"mprotect", [] { mprotect(&byte, 1, PROT_READ | PROT_EXEC); }},
      {"madvise", call(SYS_madvise, nullptr, 4096, 100)},
      {"prctl", [] { prctl(PR_SET_DUMPABLE, 1); }},
      {"system call", call(SYS_seccomp, 0, 0, nullptr)},
      {"prlimit64",
       [=] {
         const rlimit none{};
         prlimit(0, RLIMIT_CORE, &none, nullptr);
       }},
      {"prlimit64",
       [=] {
         rlimit now{};
         prlimit(us, RLIMIT_CORE, nullptr, &now);
       }},
      {"io_uring_setup", call(SYS_io_uring_setup, 1, nullptr)},
      {"bpf", call(SYS_bpf, 0, nullptr, 0)},
      {"system call 1000", call(1000)},
  };
  for (const Attack& attack : attacks) {
    CAPTURE(attack.words);
    const Ended ended = locked(attack.code);
    CAPTURE(ended.sentence);
    CHECK(ended.how == Ended::died);
    CHECK(ended.watched);
    CHECK(contains(ended.sentence, "the kernel "));
    CHECK(contains(ended.sentence, attack.words));
  }
  CHECK(!std::filesystem::exists(made));
  CHECK(
      locked(call(SYS_io_uring_setup, 1, nullptr)).sentence ==
      "the kernel tries to reach the system (system call 425, io_uring_setup), which no kernel "
      "does");
}

#if defined(__x86_64__)
TEST_CASE("a locked child makes no system call of another architecture") {
  if (!system_locks()) return;
  // As an i386 program: there, call 20 is getpid; here it is writev. Both are requested in the same
  // way.
  const Ended i386 = locked([] {
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result)::"memory");
  });
  CHECK(i386.how == Ended::died);
  CHECK(contains(i386.sentence, "system call 20 of another architecture"));
  // And i386's number of mmap, which is the number of an allowed call here.
  const Ended munmap = locked([] {
    long result = SYS_munmap;
    __asm__ volatile("int $0x80" : "+a"(result)::"memory");
  });
  CHECK(contains(munmap.sentence, "of another architecture"));
  const Ended x32 = locked([] { syscall(0x40000000 | SYS_getpid); });
  CHECK(x32.how == Ended::died);
  CHECK(contains(x32.sentence, "system call"));
}
#endif

TEST_CASE("the lock covers every thread of the child, even one that blocks the signal") {
  if (!system_locks()) return;
  const Ended other_thread = locked([] {
#pragma omp parallel num_threads(omp_get_max_threads())
    if (omp_get_thread_num() + 1 == omp_get_num_threads()) syscall(SYS_socket, AF_INET, 1, 0);
  });
  CHECK(contains(other_thread.sentence, "socket"));
  const Ended silenced = locked([] {
    std::signal(SIGSYS, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
  });
  CHECK(silenced.how == Ended::died);
  CHECK(contains(silenced.sentence, "tries to reach the system, which"));
}

TEST_CASE("if the system supports no lock, the child says so and runs under limits alone") {
  const testing::Folder folder;
  const std::string made = folder / "made";
  const int exit_code = in_process([&] {
    take_away({SYS_seccomp});
    const Ended fine = locked([] {});
    if (fine.how != Ended::done || fine.unlocked != "Invalid argument") return 1;
    if (!contains(sentence_about_lock(kGuard, fine), "test: this system grants no filter"))
      return 2;
    // No file can be opened, so there is also no process to talk to.
    const Ended opened = locked([&] {
      if (open(made.c_str(), O_WRONLY | O_CREAT, 0600) < 0 && errno == EMFILE) std::abort();
    });
    if (!contains(opened.sentence, "abort()")) return 3;
    return 0;
  });
  CHECK(exit_code == 0);
  CHECK(!std::filesystem::exists(made));
}

TEST_CASE("a locked child ends when its parent is gone") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t parent = fork();
  if (parent == 0) {
    locked(
        [] {
          for (volatile bool on = true; on;)
            ;
        },
        {60, "test", {}});
    _exit(0);
  }
  close(ends[1]);
  usleep(300'000);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  // The pipe closes when the last process that holds it ends.
  char byte;
  CHECK(read(ends[0], &byte, 1) == 0);
  close(ends[0]);
}

}  // namespace guard
