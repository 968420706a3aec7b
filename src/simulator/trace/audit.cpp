#include "simulator/trace/audit.h"

#include <algorithm>
#include <utility>

#include "simulator/machine/fault.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/worker.h"
#include "simulator/trace/hooks.h"

#if defined(__linux__) && defined(__x86_64__)

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <limits>
#include <optional>

extern "C" char etext;  // from the linker

namespace trace {
namespace {

constexpr std::uintptr_t kPage = 4096;
constexpr std::uint64_t kTrapFlag = 0x100;  // in RFLAGS
constexpr std::uint64_t kWriteFault = 2;    // in a page fault's error code

struct Pages {
  std::uintptr_t begin, end;
  bool hold(std::uintptr_t address) const { return begin <= address && address < end; }
};

Pages pages_of(machine::MemoryRange range) {
  return {range.begin / kPage * kPage, (range.begin + range.bytes + kPage - 1) / kPage * kPage};
}

void protect(const Pages& pages, int how) {
  mprotect(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, how);
}
void open(const Pages& pages) {
  protect(pages, PROT_READ | PROT_WRITE);
}
void close(const Pages& pages) {
  protect(pages, PROT_NONE);
}

// An announced access of the next statement.
struct Announced {
  std::uintptr_t address;
  std::size_t bytes;
  bool stores, touched;
  std::uint32_t place;
};

// What one thread of the block has announced since its last statement.
struct Statement {
  static constexpr int kMost = 16;
  Announced announced[kMost];
  int count = 0;
  bool begun = false;  // the first access was made
  // A pointer whose load was announced in an earlier statement, and not made.
  std::optional<Announced> postponed{};
};

// State of the signal handlers, so it has no members that own memory.
struct AuditState {
  model::Audit* into = nullptr;
  double most_used_s = std::numeric_limits<double>::infinity();
  bool audits_now = false;                   // an audited thread runs
  std::vector<machine::MemoryRange> arrays;  // matrices and shared memory
  Pages stacks{};
  Pages own_stack{};                  // of the audited thread that runs or ran last, which is open
  std::vector<Pages> opened;          // arrays and stacks, until an audited thread runs
  std::vector<Statement> statements;  // by thread
  Pages stepped[4];                   // opened for one instruction
  int steps = 0;
  struct sigaction before[2];
};
AuditState state;

std::int64_t running_thread() {
  return static_cast<std::int64_t>(
      (state.own_stack.begin - state.stacks.begin) / machine::kStackBytes);
}

// Their memory is reserved in advance, because a handler must not allocate.
void add_surprise(const model::Audit::Surprise& surprise) {
  std::vector<model::Audit::Surprise>& all = state.into->surprises;
  const bool known = std::any_of(all.begin(), all.end(), [&](const model::Audit::Surprise& one) {
    return one.places == surprise.places && one.stores == surprise.stores &&
           one.announced == surprise.announced;
  });
  if (!known && all.size() < all.capacity()) all.push_back(surprise);
}

void surprise_by(const std::optional<Announced>& one, std::int64_t thread) {
  if (one) add_surprise({{one->place}, thread, one->address, one->stores, true});
}

// A statement is complete: it must have touched what it announced. (But g++ announces the pointer
// objects[i] of objects[i]->virtual_function() once more, before those that it loads.)
void settle(Statement& statement, std::int64_t thread) {
  for (int i = 0; i < statement.count; ++i) {
    const Announced& one = statement.announced[i];
    const bool may_come_later = !one.stores && one.bytes == sizeof(void*);
    if (!one.touched)
      surprise_by(may_come_later ? std::exchange(statement.postponed, one) : one, thread);
  }
  statement.count = 0;
  statement.begun = false;
}

bool is_watched(std::uintptr_t address) {
  const auto holds = [&](const machine::MemoryRange& array) { return array.holds(address); };
  return state.stacks.hold(address) || std::ranges::any_of(state.arrays, holds);
}

// The kernel's call path, from the frames of its functions. Code outside of the program is skipped.
std::array<std::uint32_t, 8> places_of(const gregset_t& registers) {
  std::array<std::uint32_t, 8> places{};
  std::size_t count = 0;
  const auto add = [&](std::uintptr_t code) {
    const auto begin = reinterpret_cast<std::uintptr_t>(&__executable_start);
    const auto end = reinterpret_cast<std::uintptr_t>(&etext);
    if (begin <= code && code < end && count < places.size()) {
      places[count++] = static_cast<std::uint32_t>(code - begin);
    }
    return count > 0;
  };
  // A library has no frames: the call into it is the first address on the stack that is in the
  // program.
  auto top = static_cast<std::uintptr_t>(registers[REG_RSP]);
  bool found = add(registers[REG_RIP]);
  for (; !found && state.own_stack.hold(top + 7); top += 8) {
    found = add(*reinterpret_cast<const std::uintptr_t*>(top) - 1);
  }
  auto frame = static_cast<std::uintptr_t>(registers[REG_RBP]);
  while (frame % 8 == 0 && state.own_stack.hold(frame) && state.own_stack.hold(frame + 15)) {
    const auto* const words = reinterpret_cast<const std::uintptr_t*>(frame);
    add(words[1] - 1);  // the call, which is before the return address
    if (words[0] <= frame) break;
    frame = words[0];
  }
  std::reverse(places.begin(), places.begin() + count);
  return places;
}

// The kernel is about to make an access.
void hold_against_announcements(std::uintptr_t address, bool stores, const gregset_t& registers) {
  ++state.into->accesses;
  const std::int64_t thread = running_thread();
  Statement& statement = state.statements[thread];
  statement.begun = true;
  for (int i = 0; i < statement.count; ++i) {
    Announced& one = statement.announced[i];
    if (one.stores != stores || address - one.address >= one.bytes) continue;
    one.touched = true;
    return;
  }

  add_surprise({places_of(registers), thread, address, stores, false});
}

// The array or the stack, of those that are closed, that holds the address.
std::optional<Pages> closed_at(std::uintptr_t address) {
  if (state.own_stack.hold(address)) return {};
  if (state.stacks.hold(address)) {
    const std::uintptr_t within = (address - state.stacks.begin) % machine::kStackBytes;
    return pages_of({address - within, machine::kStackBytes});
  }
  for (const machine::MemoryRange& array : state.arrays) {
    if (pages_of(array).hold(address)) return pages_of(array);
  }
  return {};
}

// What the machine does for the kernel, and what a thread does that is not audited, proves nothing.
// An array or a stack that they use stays open until an audited thread runs or announces an access.
void close_opened() {
  for (const Pages& pages : state.opened) close(pages);
  state.opened.clear();
}

void finish() {
  for (const machine::MemoryRange& array : state.arrays) open(pages_of(array));
  open(state.stacks);
  an_audit_runs = state.audits_now = hooks.audited = false;
}

void pass_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& before = state.before[number == SIGTRAP];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else {
    // A fault that is not ours is left to the system: without a handler it happens again.
    sigaction(number, &before, nullptr);
  }
}

void on_fault(int number, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool has_room = state.steps < static_cast<int>(std::size(state.stepped));
  const std::optional<Pages> closed = closed_at(address);
  if (!an_audit_runs || info->si_code != SEGV_ACCERR || !closed || !has_room) {
    return pass_on(number, info, context);
  }
  if (!state.audits_now || hooks.log == nullptr || machine::makes_own_access) {
    open(*closed);
    state.opened.push_back(*closed);
    return;
  }
  if (is_watched(address)) {
    const bool stores = (registers[REG_ERR] & kWriteFault) != 0;
    hold_against_announcements(address, stores, registers);
    if (state.into->accesses >= state.into->most_accesses ||
        machine::used_s() > state.most_used_s) {
      state.into->whole = false;
      return finish();
    }
  }
  const Pages page = pages_of({address, 1});
  open(page);
  state.stepped[state.steps++] = page;
  registers[REG_EFL] |= kTrapFlag;
}

void on_trap(int number, siginfo_t* info, void* context) {
  if (state.steps == 0) return pass_on(number, info, context);
  if (an_audit_runs) {
    for (int i = 0; i < state.steps; ++i) close(state.stepped[i]);
  }
  state.steps = 0;
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
}

void install_handlers() {
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = on_fault;
  sigaction(SIGSEGV, &action, &state.before[0]);
  action.sa_sigaction = on_trap;
  sigaction(SIGTRAP, &action, &state.before[1]);
}

void restore_handlers() {
  sigaction(SIGSEGV, &state.before[0], nullptr);
  sigaction(SIGTRAP, &state.before[1], nullptr);
}

// Protects a page, accesses it twice, and checks whether both accesses were reported with the right
// direction.
std::string tried() {
  if (char line[64]; FILE* status = std::fopen("/proc/self/status", "r")) {
    int tracer = 0;
    while (std::fgets(line, sizeof line, status) != nullptr) {
      if (std::sscanf(line, "TracerPid: %d", &tracer) == 1) break;
    }
    std::fclose(status);
    if (tracer != 0) return "a debugger takes its traps";
  }
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(kPage)) return "pages are not of 4096 bytes";
  void* const memory = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return "there is not enough memory";
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  model::Audit audit;
  audit.surprises.reserve(4);
  state = {};
  state.into = &audit;
  state.arrays = {{at, kPage}};
  state.statements.resize(1);
  state.statements[0].announced[0] = {at + 8, 4, true, false, 0};
  state.statements[0].count = 1;
  an_audit_runs = state.audits_now = true;
  LaneLog log{};
  hooks.log = &log;
  install_handlers();
  auto* const word = reinterpret_cast<volatile int*>(at + 8);
  *word = 1;                // announced
  const int value = *word;  // not announced
  restore_handlers();
  hooks.log = nullptr;
  an_audit_runs = false;
  state = {};
  munmap(memory, kPage);
  const bool stops = value == 1 && audit.accesses == 2 && audit.surprises.size() == 1 &&
                     !audit.surprises[0].stores && audit.surprises[0].address == at + 8;
  return stops ? "" : "this system does not stop a program at each access";
}

}  // namespace

const std::string& why_no_audit() {
  static const std::string why = tried();
  return why;
}

AuditedBlock::AuditedBlock(const machine::KernelMemory& memory, int threads, model::Audit& into) {
  constexpr std::size_t kMostSurprises = 64;
  ++into.blocks;
  into.surprises.reserve(kMostSurprises);
  state = {};
  state.into = &into;
  state.stacks = pages_of(memory.stacks);
  state.statements.resize(threads);
  for (const machine::KernelArray& array : memory.arrays) {
    if (array.bytes > 0 && array.own_pages) state.arrays.push_back({array.begin, array.bytes});
  }
  state.opened.reserve(state.arrays.size() + threads);
  install_handlers();
  state.most_used_s = machine::used_s() + state.into->most_s;
  an_audit_runs = true;
  for (const machine::MemoryRange& array : state.arrays) close(pages_of(array));
  close(state.stacks);
}

AuditedBlock::~AuditedBlock() {
  finish();
  restore_handlers();
  state = {};
}

void AuditedBlock::resume(std::span<const char> stack) {
  if (!an_audit_runs) return;
  const Pages pages = pages_of({reinterpret_cast<std::uintptr_t>(stack.data()), stack.size()});
  const auto thread = (pages.begin - state.stacks.begin) / machine::kStackBytes;
  state.audits_now = hooks.audited = thread % state.into->every == 0;
  if (!state.audits_now) return;
  close_opened();
  if (pages.begin == state.own_stack.begin) return;
  if (state.own_stack.end != 0) close(state.own_stack);
  open(pages);
  state.own_stack = pages;
}

void AuditedBlock::pause() {
  state.audits_now = hooks.audited = false;
}

void AuditedBlock::end() {
  if (!an_audit_runs) return;
  for (std::size_t thread = 0; thread < state.statements.size(); ++thread) {
    settle(state.statements[thread], static_cast<std::int64_t>(thread));
    surprise_by(state.statements[thread].postponed, static_cast<std::int64_t>(thread));
  }
}

void AuditedBlock::leave_unfinished() {
  state.into->whole = false;
  finish();
}

void audit_announced(
    std::uintptr_t address, std::size_t bytes, bool stores, const void* return_address) {
  if (!state.audits_now || state.own_stack.hold(address) || !is_watched(address)) return;
  close_opened();
  const std::int64_t thread = running_thread();
  Statement& statement = state.statements[thread];
  if (statement.begun || statement.count == Statement::kMost) settle(statement, thread);
  if (statement.postponed && statement.postponed->address == address && bytes == sizeof(void*))
    statement.postponed.reset();
  statement.announced[statement.count++] = {
      address, bytes, stores, false, machine::place_of_code(return_address) - 1};
}

}  // namespace trace

#else

namespace trace {

const std::string& why_no_audit() {
  static const std::string why = "an audit needs Linux on x86-64";
  return why;
}

AuditedBlock::AuditedBlock(const machine::KernelMemory&, int, model::Audit&) {}
AuditedBlock::~AuditedBlock() = default;
void AuditedBlock::resume(std::span<const char>) {}
void AuditedBlock::pause() {}
void AuditedBlock::end() {}
void AuditedBlock::leave_unfinished() {}
void audit_announced(std::uintptr_t, std::size_t, bool, const void*) {}

}  // namespace trace

#endif
