#include "simulator/trace/hooks.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "simulator/announce/pass.h"
#include "simulator/machine/collectives.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/worker.h"
#include "simulator/trace/audit.h"
#include "simulator/trace/warp_tracer.h"
#include "simulator/trace/watch.h"

namespace trace {

__thread Hooks hooks;

namespace {

// The compiler passes return addresses; the instruction is before it.
Token place(const void* return_address) {
  return machine::place_of_code(return_address) - 1;
}

// What the memory holds; of 16 bytes, a number that other bytes hardly have, or one that says that
// a part of them is undefined.
std::uint64_t content(std::uintptr_t address, int bytes) {
  std::uint64_t words[2] = {};
  const auto read = [&] {
    std::memcpy(words, reinterpret_cast<const void*>(address), std::min(bytes, 16));
  };
  if (hooks.audited) {
    const machine::OwnAccess own;
    read();
  } else {
    read();
  }
  if (bytes == 16) {
    constexpr auto kWord = static_cast<std::uint32_t>(machine::kNothing);
    for (const std::uint64_t word : {words[0], words[1]}) {
      if (static_cast<std::uint32_t>(word) == kWord || word >> 32 == kWord)
        return machine::kNothing;
    }
  }
  return words[0] ^ std::rotl(words[1] * kNoValue, 29);
}

}  // namespace

void settle(LaneLog& log) {
  if (log.value == nullptr) return;
  const std::uint64_t now = content(log.value[-1], bytes_of(log.store));
  const bool unchanged = kind_of(log.store) == Kind::kAtomicStore && now == *log.value;
  *log.value = unchanged ? kUnchanged : now;
  log.value = nullptr;
}

namespace {

inline void append(LaneLog& log, Token token) {
  *log.next_token++ = token;
  if (!log.has_room()) machine::wait_for_room();
}

inline void step(Kind kind, const void* return_address) {
  if (LaneLog* log = hooks.log) append(*log, make_token(place(return_address), kind));
}

void log_action(const machine::Action& action, const void* at) {
  LaneLog* log = hooks.log;
  if (log == nullptr) return;
  for (const std::uint64_t word : packed(action)) *log->next_address++ = word;
  const bool accesses = action.kind == machine::Action::Kind::read_only_load;
  append(
      *log, make_token(place(at), Kind::kAction, accesses ? std::countr_zero(action.number) : 0));
}

// `frame` belongs to the hook, and the kernel called the hook: all of the kernel's stack is above.
inline void measure_stack(const void* const* frame) {
  const std::ptrdiff_t in_use = hooks.stack_top - reinterpret_cast<std::uintptr_t>(frame);
  if (in_use > hooks.deepest) hooks.deepest = in_use;
}

[[gnu::noinline, gnu::cold]] void fault_of_stack(const void* caller) {
  constexpr std::size_t kMostKB = (machine::kStackBytes - kStackReserve) / 1024 - 4;
  machine::fault("it needs more than " + std::to_string(kMostKB) + " KB of local memory", caller);
}

// Every function of a traced kernel starts here, so a stack overflow is detected before it happens.
// `frame` points to the caller's frame pointer, and two words above it begins the part of the stack
// that was in use when the caller was called.
inline void enter(const void* caller, const void* here, const void* const* frame) {
  LaneLog* log = hooks.log;
  if (log == nullptr) return;
  if (reinterpret_cast<std::uintptr_t>(frame) < hooks.stack_floor) {
    fault_of_stack(caller);
  }
  if (hooks.kernel.holds(reinterpret_cast<std::uintptr_t>(here))) {
    hooks.above_kernel =
        hooks.stack_top - reinterpret_cast<std::uintptr_t>(frame[0]) - 2 * sizeof(void*);
  }
  measure_stack(frame);
  append(*log, make_token(place(caller), Kind::kEnter));
}

// All other thread-local variables belong to the tracer, which would not survive a store to them.
inline void require_shared(std::uintptr_t address, Token log2_bytes) {
  const std::size_t first = (address - hooks.locals.begin) / 4;
  const std::size_t last = (address - hooks.locals.begin + (std::size_t{1} << log2_bytes) - 1) / 4;
  if (!hooks.is_shared[first] || !hooks.is_shared[last]) machine::go_astray();
}

// Whether `address` is a variable of the running thread in a function that has not returned.
inline bool is_own_local(std::uintptr_t address, const void* const* frame) {
  return address - reinterpret_cast<std::uintptr_t>(frame) <
         hooks.stack_top - reinterpret_cast<std::uintptr_t>(frame);
}

void __attribute__((noinline, cold))
load_in_flight(const void* pointer, const void* return_address) {
  const void* const adder = machine::adder_of(pointer);
  if (adder == nullptr) return;
  log_action(
      machine::Action::misuse_of(model::HazardKind::sum_in_flight, place(adder)), return_address);
}

// The first word of these bytes that nobody has written, 0 if there is none; and whether all are
// so.
std::pair<std::uintptr_t, bool> first_unwritten(std::uintptr_t address, std::size_t bytes) {
  std::uintptr_t first = 0;
  bool all = true;
  for (std::uintptr_t at = address / 4 * 4; at < address + bytes; at += 4) {
    const bool is = content(at, 4) == machine::kUnwritten;
    if (is && first == 0) first = at;
    all = all && is;
  }
  return {first, all};
}

// `part`: only some words of the vector are unwritten.
void report_unwritten(
    std::uintptr_t address, std::size_t bytes, bool part, const void* return_address) {
  const auto signed_bytes = static_cast<std::int32_t>(bytes);
  log_action(
      machine::Action::misuse_of(
          model::HazardKind::unwritten, static_cast<std::int64_t>(address),
          part ? -signed_bytes : signed_bytes),
      return_address);
}

// Loads of memory from cudaMalloc that nobody has written. A part of an object that is copied may
// be padding, so it is a hazard only if such a word of the copy is loaded by itself. (Of a constant
// copy the compiler announces no load, unless it is a vector of CUDA's.)
void __attribute__((noinline))
look_into_device(std::uintptr_t address, std::size_t bytes, const void* return_address) {
  const auto [first, all] = first_unwritten(address, bytes);
  if (first == 0) return;
  if (all) return report_unwritten(address, bytes, false, return_address);
  *hooks.part_load = {first, bytes, return_address};
}
void __attribute__((noinline)) look_into_copy(std::uintptr_t address, std::size_t bytes) {
  if (bytes < 4 || !first_unwritten(address, bytes).second) return;
  const PartLoad load = std::exchange(*hooks.part_load, {});
  report_unwritten(load.first_word, load.bytes, true, load.at);
}

inline __attribute__((always_inline)) void look_for_unwritten(
    const void* pointer, std::size_t bytes, const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (!hooks.device.holds(address)) return;
  if (hooks.log == nullptr || hooks.outside_kernel) return;
  look_into_device(address, bytes, return_address);
}

// Logs one access. The caller reports it to the audit, or makes the access itself. `made_next`: the
// thread makes it before it does anything else, so the value that it stores can be read then.
inline __attribute__((always_inline)) void log_access(
    Kind kind, const void* pointer, Token log2_bytes, const void* return_address,
    bool made_next = false) {
  LaneLog* log = hooks.log;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto frame = static_cast<const void* const*>(__builtin_frame_address(0));
  const bool is_local = address - reinterpret_cast<std::uintptr_t>(frame) <
                        hooks.sums - reinterpret_cast<std::uintptr_t>(frame);
  if (log == nullptr || is_local || hooks.outside_kernel) return;
  if (address - hooks.sums < hooks.stack_top - hooks.sums) {
    if (kind == Kind::kLoad) load_in_flight(pointer, return_address);
    return;
  }
  // Before other blocks store there, too. An audit has only one block, and stops each access.
  if (log->value != nullptr && !hooks.audited) settle(*log);
  const Token token = make_token(place(return_address), kind, log2_bytes);
  if (has_value(kind) && hooks.looks_for_hazards) {
    if (log->value != nullptr) settle(*log);
    *log->next_address++ = address;
    std::uintptr_t* const value = log->next_address++;
    *value = kNoValue;
    append(*log, token);
    // If the log was folded meanwhile, the word is no longer there.
    if (made_next && log->next_address == value + 1) {
      if (kind == Kind::kAtomicStore) *value = content(address, 1 << log2_bytes);
      log->value = value;
      log->store = token;
    }
  } else {
    *log->next_address++ = address;
    append(*log, token);
  }
  if (hooks.stacks.holds(address)) machine::go_astray();
  if (hooks.locals.holds(address)) require_shared(address, log2_bytes);
  if (is_load(kind) && made_next && hooks.device.holds(address)) {
    look_into_device(address, std::size_t{1} << log2_bytes, return_address);
  }
}

// `frame` belongs to the hook. Above it are the frames of the function that called the hook, which
// says where that was called, and of its caller.
inline __attribute__((always_inline)) void note_if_local(
    Kind kind, const void* pointer, Token log2_bytes, const void* return_address,
    const void* const* frame) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (!is_own_local(address, frame)) return;
  if (kind == Kind::kLoad && hooks.part_load->first_word != 0) {
    look_into_copy(address, std::size_t{1} << log2_bytes);
  }
  if (kind != Kind::kStore) return;
  const auto* const of_caller = static_cast<const void* const*>(frame[0]);
  hooks.local_stores->note(
      address, 1u << log2_bytes,
      {static_cast<machine::CodePlace>(place(of_caller[1])),
       static_cast<machine::CodePlace>(place(return_address))});
}

void tell_audit(Kind kind, const void* pointer, std::size_t bytes, const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (hooks.log == nullptr) return;
  const bool stores = kind == Kind::kStore || kind == Kind::kVolatileStore;
  audit_announced(address, bytes, stores, return_address);
}

inline __attribute__((always_inline)) void access(
    Kind kind, const void* pointer, Token log2_bytes, const void* return_address) {
  if (hooks.log != nullptr) {
    const auto frame = static_cast<const void* const*>(__builtin_frame_address(0));
    measure_stack(frame);
    note_if_local(kind, pointer, log2_bytes, return_address, frame);
  }
  log_access(kind, pointer, log2_bytes, return_address, true);
  if (hooks.audited) tell_audit(kind, pointer, std::size_t{1} << log2_bytes, return_address);
}

// Called before the access is logged, because the log may be folded then.
void will_store(Kind kind, const void* pointer, bool narrow = machine::takes_block_scope()) {
  if (is_load(kind) || hooks.log == nullptr || hooks.outside_kernel) return;
  hooks.watch->will_store(pointer, narrow);
}

// Of the running copy's threads, traced or not, but not of their local variables.
void keep_step_at(const void* pointer) {
  const machine::Worker* const worker = machine::running_worker;
  if (worker == nullptr) return;
  if (worker->memory().stacks.holds(reinterpret_cast<std::uintptr_t>(pointer))) return;
  machine::came_to_volatile.store(true, std::memory_order_relaxed);
  machine::keep_step();
}

void volatile_access(Kind kind, const void* pointer, Token log2_bytes, const void* return_address) {
  const bool narrow = machine::takes_block_scope();  // before others run
  keep_step_at(pointer);
  will_store(kind, pointer, narrow);
  access(kind, pointer, log2_bytes, return_address);
  if (kind == Kind::kVolatileLoad) machine::will_read_atomically(pointer);
}

// A copy of a larger object. Its accesses are as wide as its size, its address and its type's
// widest access allow.
void log_pieces(
    Kind kind, const void* pointer, std::size_t bytes, std::size_t widest,
    const void* return_address) {
  if (bytes == 0) return;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const int log2_bytes = std::countr_zero(bytes | address | widest);
  for (std::size_t done = 0; done < bytes; done += std::size_t{1} << log2_bytes) {
    log_access(kind, static_cast<const char*>(pointer) + done, log2_bytes, return_address);
  }
  if (is_load(kind)) look_for_unwritten(pointer, bytes, return_address);
}

void range(
    Kind kind, const void* pointer, std::size_t bytes, std::size_t widest,
    const void* return_address) {
  log_pieces(kind, pointer, bytes, widest, return_address);
  if (hooks.audited) tell_audit(kind, pointer, bytes, return_address);
}

// gcc announces an object of 2, 4, 8 or 16 bytes as a range if its type's alignment is less than
// its size and less than 8. For other sizes it does not tell the alignment.
std::size_t widest_of_range(std::size_t bytes) {
  return std::has_single_bit(bytes) && bytes <= 16 ? std::clamp<std::size_t>(bytes / 2, 1, 4) : 16;
}

}  // namespace

std::vector<char> shared_words(std::span<const machine::KernelArray> arrays) {
  const machine::MemoryRange locals = machine::thread_locals();
  std::vector<char> words(locals.bytes / 4 + 1, 0);
  const auto mark = [&](std::uintptr_t begin, std::size_t bytes) {
    const std::size_t first = begin - locals.begin;
    std::fill(words.begin() + first / 4, words.begin() + (first + bytes + 3) / 4, 1);
  };
  for (const machine::KernelArray& array : arrays) {
    if (array.shared && array.bytes > 0) mark(array.begin, array.bytes);
  }
  for (const machine::MemoryRange& variable : machine::built_in_variables()) {
    mark(variable.begin, variable.bytes);
  }
  return words;
}

// What the compiler does not announce: the machine tells it for the running lane.

void WarpTracer::act(const machine::Action& action, const void* at) {
  using Act = machine::Action::Kind;
  if (action.kind == Act::fence) watch_.will_fence();
  if (action.kind == Act::multiply || action.kind == Act::multiplied) {
    has_multiplied_ = true;
    watch_sums();
  }
  machine::Action logged = action;
  if (action.copy != nullptr) {
    logged.value = copies_.size();
    copies_.push_back(*action.copy);
  }
  log_action(logged, at);
}

void WarpTracer::async_copy(
    const void* shared, const void* global, std::size_t bytes, bool fills, const void* at) {
  LaneLog* log = hooks.log;
  if (log == nullptr) return;
  const auto from = reinterpret_cast<std::uintptr_t>(global);
  *log->next_address++ = fills && from != 0 ? from | kFills : from;
  *log->next_address++ = reinterpret_cast<std::uintptr_t>(shared);
  append(*log, make_token(place(at), Kind::kAsyncCopy, std::countr_zero(bytes)));
  const auto to = reinterpret_cast<std::uintptr_t>(shared);
  if (hooks.locals.holds(to)) require_shared(to, std::countr_zero(bytes));
}

void WarpTracer::access(
    const void* pointer, std::size_t bytes, machine::Access access, const void* at) {
  using enum machine::Access;
  if (access == read_only_load) {
    act({machine::Action::Kind::read_only_load, static_cast<std::uint32_t>(bytes),
         reinterpret_cast<std::uintptr_t>(pointer)},
        at);
  }
  const Kind kind = access == store            ? Kind::kStore
                    : access == volatile_load  ? Kind::kVolatileLoad
                    : access == volatile_store ? Kind::kVolatileStore
                                               : Kind::kLoad;
  if (kind == Kind::kVolatileLoad || kind == Kind::kVolatileStore) will_store(kind, pointer);
  log_access(kind, pointer, static_cast<Token>(std::countr_zero(bytes)), at);
  if (is_load(kind)) look_for_unwritten(pointer, bytes, at);
  if (kind == Kind::kVolatileLoad) machine::will_read_atomically(pointer);
}

void WarpTracer::matrix_row(const void* row, int matrices, bool stores, const void* at) {
  const Kind kind = stores ? Kind::kStmatrix : Kind::kLdmatrix;
  constexpr Token kLog2RowBytes = 4;
  LaneLog* log = hooks.log;
  if (log == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(row);
  *log->next_address++ = address;
  append(*log, make_token(place(at), kind, std::countr_zero(static_cast<unsigned>(matrices))));
  if (row != nullptr) require_shared(address, kLog2RowBytes);
}

void WarpTracer::atomic(
    const void* pointer, std::size_t bytes, machine::AtomicUse use, const void* at) {
  const bool exchanges = use == machine::AtomicUse::kExchange;
  const bool locks = exchanges || use == machine::AtomicUse::kLock;
  if (use != machine::AtomicUse::kSum) watch_.will_count(pointer);
  if (locks) watch_.will_lock(pointer);
  will_store(Kind::kAtomicStore, pointer);
  log_access(locks ? Kind::kLockLoad : Kind::kAtomicLoad, pointer, std::countr_zero(bytes), at);
  if (!exchanges) look_for_unwritten(pointer, bytes, at);
  log_access(Kind::kAtomicStore, pointer, std::countr_zero(bytes), at, true);
}

}  // namespace trace

// The functions that -fsanitize=thread, bounds-strict and -fsanitize-coverage=trace-pc call. The
// compiler defines their names; the sanitizers' own runtime is not linked.
#define HERE __builtin_return_address(0)
extern "C" {
void __tsan_init() {}

void __tsan_func_entry(void* caller) {
  trace::enter(caller, HERE, static_cast<const void* const*>(__builtin_frame_address(0)));
}
void __tsan_func_exit() {
  if (trace::hooks.log != nullptr) trace::settle(*trace::hooks.log);
  trace::step(trace::Kind::kExit, HERE);
  trace::hooks.exit = reinterpret_cast<std::uintptr_t>(HERE);
}
void __sanitizer_cov_trace_pc() {
  // The instruction after a function's exit may begin a basic block. It belongs to the function,
  // but the log has already left the function. If it counted as a place in the caller, it would
  // mislead the merge.
  constexpr std::uintptr_t kOneCall = 8;
  if (reinterpret_cast<std::uintptr_t>(HERE) - trace::hooks.exit <= kOneCall) return;
  trace::step(trace::Kind::kStep, HERE);
}

// The index has not been used yet.
void __ubsan_handle_out_of_bounds(void* data, void* index) {
  if (trace::hooks.log == nullptr || !trace::hooks.looks_for_hazards) return;
  const auto number = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(index));
  trace::hooks.watch->will_use_bad_index(
      number, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), trace::hooks.stack_top,
      *trace::hooks.local_stores);
  trace::log_action(
      machine::Action::misuse_of(
          model::HazardKind::index_out_of_range, number, machine::place_of_code(data)),
      HERE);
  machine::go_astray();
}

// The compiler has put a value between a function's arrays and what its caller needs, and finds it
// changed when the function returns.
[[noreturn]] void __stack_chk_fail() {
  const auto* const frame = static_cast<const void* const*>(__builtin_frame_address(0));
  const auto begin = reinterpret_cast<std::uintptr_t>(frame);
  const auto end = reinterpret_cast<std::uintptr_t>(frame[0]) + 2 * sizeof(void*);
  if (trace::hooks.log == nullptr) {
    static const char kSaid[] = "*** stack smashing detected ***\n";
    static_cast<void>(!write(STDERR_FILENO, kSaid, sizeof kSaid - 1));
    std::abort();
  }
  const auto store = trace::hooks.local_stores->highest(begin, end);
  machine::fault(
      "it stores beyond the end of a local array; make the array larger or the loop shorter",
      store ? &__executable_start + store->back() + 1 : HERE);
}

#define ACCESS(name, function, kind, log2_bytes)             \
  void __tsan_##name(void* p) {                              \
    trace::function(trace::Kind::kind, p, log2_bytes, HERE); \
  }
#define ACCESSES(bytes, log2_bytes)                                                  \
  ACCESS(read##bytes, access, kLoad, log2_bytes)                                     \
  ACCESS(write##bytes, access, kStore, log2_bytes)                                   \
  ACCESS(unaligned_read##bytes, access, kLoad, log2_bytes)                           \
  ACCESS(unaligned_write##bytes, access, kStore, log2_bytes)                         \
  ACCESS(volatile_read##bytes, volatile_access, kVolatileLoad, log2_bytes)           \
  ACCESS(volatile_write##bytes, volatile_access, kVolatileStore, log2_bytes)         \
  ACCESS(unaligned_volatile_read##bytes, volatile_access, kVolatileLoad, log2_bytes) \
  ACCESS(unaligned_volatile_write##bytes, volatile_access, kVolatileStore, log2_bytes)
ACCESSES(1, 0)
ACCESSES(2, 1)
ACCESSES(4, 2)
ACCESSES(8, 3)
ACCESSES(16, 4)
ACCESS(vptr_update, access, kStore, 3)  // a constructor's store of its virtual table's address
#undef ACCESSES
#undef ACCESS

void __tsan_read_range(void* p, std::size_t bytes) {
  trace::range(trace::Kind::kLoad, p, bytes, trace::widest_of_range(bytes), HERE);
}
void __tsan_write_range(void* p, std::size_t bytes) {
  trace::range(trace::Kind::kStore, p, bytes, trace::widest_of_range(bytes), HERE);
}

// The compiler does not announce memcpy, memmove and memset. Traced code calls these functions
// instead (Makefile). The objects may have a type with a smaller alignment than their address, so
// they are moved word by word.
void* simt_memcpy(void* to, const void* from, std::size_t bytes) {
  trace::log_pieces(trace::Kind::kLoad, from, bytes, 4, HERE);
  trace::log_pieces(trace::Kind::kStore, to, bytes, 4, HERE);
  const machine::OwnAccess own;
  return std::memcpy(to, from, bytes);
}
void* simt_memmove(void* to, const void* from, std::size_t bytes) {
  trace::log_pieces(trace::Kind::kLoad, from, bytes, 4, HERE);
  trace::log_pieces(trace::Kind::kStore, to, bytes, 4, HERE);
  const machine::OwnAccess own;
  return std::memmove(to, from, bytes);
}
void* simt_memset(void* to, int value, std::size_t bytes) {
  trace::log_pieces(trace::Kind::kStore, to, bytes, 4, HERE);
  const machine::OwnAccess own;
  return std::memset(to, value, bytes);
}
}
#undef HERE

namespace trace {

namespace {

// Whether a variable of 4 or 8 bytes that contains this address has the value.
bool holds(std::uintptr_t address, std::uintptr_t end, std::int64_t value) {
  const auto content = [&](auto variable, std::uintptr_t at) {
    if (at + sizeof variable > end) return false;
    std::memcpy(&variable, reinterpret_cast<const void*>(at), sizeof variable);
    return static_cast<std::int64_t>(variable) == value;
  };
  const std::uintptr_t word = address / 4 * 4, words = address / 8 * 8;
  return content(std::int32_t{}, word) || content(std::uint32_t{}, word) ||
         content(std::int64_t{}, words);
}

}  // namespace

const LocalStores::Slot* LocalStores::find(std::uintptr_t address) const {
  const Slot& slot = slots_[slot_of(address)];
  return slot.address == address && slot.bytes > 0 ? &slot : nullptr;
}

std::optional<LocalStores::Places> LocalStores::highest(
    std::uintptr_t begin, std::uintptr_t end) const {
  const Slot* found = nullptr;
  for (const Slot& slot : slots_) {
    if (slot.bytes == 0 || slot.address < begin || slot.address >= end) continue;
    if (found == nullptr || slot.address > found->address) found = &slot;
  }
  return found == nullptr ? std::nullopt : std::optional(found->places);
}

std::optional<LocalStores::Places> LocalStores::that_made(
    std::int64_t index, std::uintptr_t begin, std::uintptr_t end) const {
  for (const Slot& slot : slots_) {
    if (slot.bytes == 0 || slot.address < begin || slot.address >= end) continue;
    if (!holds(slot.address, end, index) &&
        (slot.bytes < 8 || !holds(slot.address + slot.bytes / 2, end, index)))
      continue;
    for (const std::uintptr_t neighbour : {slot.address - slot.bytes, slot.address + slot.bytes}) {
      const Slot* const other = find(neighbour);
      if (other != nullptr && other->places == slot.places) return slot.places;
    }
  }
  return std::nullopt;
}

}  // namespace trace

// The accesses of a kernel that the compiler does not announce. announce/pass.h puts a call of
// simt_announce before each such instruction.

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
	pushq %rax; pushq %rcx; pushq %rdx; pushq %rsi; pushq %rdi; pushq %r8; pushq %r9; pushq %r10; pushq %r11
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
	popq %r11; popq %r10; popq %r9; popq %r8; popq %rdi; popq %rsi; popq %rdx; popq %rcx; popq %rax
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
  trace::range(
      announcement.stores ? trace::Kind::kStore : trace::Kind::kLoad, pointer,
      announcement.bytes * (announcement.times_rcx ? rcx : 1), announcement.widest, place);
}
#endif

// The functions that the compiler calls for std::atomic under -fsanitize=thread. They receive the
// memory order as a number. Host code of the traced copy uses them (guards of static variables,
// std::shared_ptr, counters); they always use the strongest order. CUDA's atomics are elsewhere
// (src/simulator/cuda/collectives.h), and only those are counted.

#define FETCH(BITS, T, operation)                                          \
  T __tsan_atomic##BITS##_fetch_##operation(volatile T* p, T value, int) { \
    return __atomic_fetch_##operation(p, value, __ATOMIC_SEQ_CST);         \
  }
#define ATOMICS(BITS, T)                                                                           \
  T __tsan_atomic##BITS##_load(const volatile T* p, int) {                                         \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##BITS##_store(volatile T* p, T value, int) {                                  \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                \
  T __tsan_atomic##BITS##_exchange(volatile T* p, T value, int) {                                  \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  FETCH(BITS, T, add)                                                                              \
  FETCH(BITS, T, sub)                                                                              \
  FETCH(BITS, T, and)                                                                              \
  FETCH(BITS, T, or)                                                                               \
  FETCH(BITS, T, xor)                                                                              \
  FETCH(BITS, T, nand)                                                                             \
  int __tsan_atomic##BITS##_compare_exchange_strong(                                               \
      volatile T* p, T* expected, T value, int, int) {                                             \
    return __atomic_compare_exchange_n(                                                            \
        p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                            \
  }                                                                                                \
  int __tsan_atomic##BITS##_compare_exchange_weak(                                                 \
      volatile T* p, T* expected, T value, int a, int b) {                                         \
    return __tsan_atomic##BITS##_compare_exchange_strong(p, expected, value, a, b);                \
  }                                                                                                \
  T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T expected, T value, int a, int b) { \
    __tsan_atomic##BITS##_compare_exchange_strong(p, &expected, value, a, b);                      \
    return expected;                                                                               \
  }

namespace trace {

extern "C" {
ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
}

}  // namespace trace
#undef ATOMICS
#undef FETCH
