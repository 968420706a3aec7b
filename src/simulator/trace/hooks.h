// What the compiler's hooks know about the lane that runs on this thread of the operating system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"

namespace trace {

// The log of a lane: a sequence of tokens.

// A token is one action of a lane, in 32 bits: its place in the code, its kind, and log2 of its
// bytes or, of an ldmatrix or stmatrix, of its matrices.
using Token = std::uint32_t;
enum class Kind : Token {
  kStep,   // a basic block
  kEnter,  // a function, called from that place
  kExit,
  kLoad,
  kStore,
  kAsyncCopy,
  kAtomicLoad,  // an atomic is both of these, and races with non-atomics
  kAtomicStore,
  kLockLoad,  // of an atomic that implements locks and flags: its store is a kAtomicStore
  kVolatileLoad,
  kVolatileStore,
  kAction,  // a machine::Action
  kLdmatrix,
  kStmatrix
};

// A place has 24 bits: traced code stands in the first 16 MB of the program.
inline constexpr int kKindShift = 3, kPlaceShift = 8;
constexpr Token make_token(Token place, Kind kind, Token log2_bytes = 0) {
  return place << kPlaceShift | static_cast<Token>(kind) << kKindShift | log2_bytes;
}
constexpr Token place_of(Token token) {
  return token >> kPlaceShift;
}
constexpr Kind kind_of(Token token) {
  return static_cast<Kind>(token >> kKindShift & 31u);
}
constexpr bool is_matrix(Kind kind) {
  return kind >= Kind::kLdmatrix;
}
constexpr int matrices_of(Token token) {
  return 1 << (token & 7u);
}
constexpr int bytes_of(Token token) {
  return is_matrix(kind_of(token)) ? 16 : 1 << (token & 7u);
}

// The site of a box or of an operand of wgmma has pieces of 16 bytes.
inline constexpr Token kBoxSite = 4;

constexpr bool is_load(Kind kind) {
  return kind == Kind::kLoad || kind == Kind::kAtomicLoad || kind == Kind::kLockLoad ||
         kind == Kind::kVolatileLoad || kind == Kind::kLdmatrix;
}
constexpr bool is_store(Kind kind) {
  return kind == Kind::kStore || kind == Kind::kAtomicStore || kind == Kind::kVolatileStore ||
         kind == Kind::kStmatrix;
}

// Whether what is stored is logged, too, if hazards are looked for.
constexpr bool has_value(Kind kind) {
  return kind == Kind::kStore || kind == Kind::kVolatileStore || kind == Kind::kAtomicStore;
}
// A value that is not known, which equals no other; and that of an atomic that changed nothing.
inline constexpr std::uint64_t kNoValue = 0x9e3779b97f4a7c15u, kUnchanged = 0xd1b54a32d192ed03u;

constexpr bool is_atomic(Kind kind) {
  return kind == Kind::kAtomicLoad || kind == Kind::kLockLoad || kind == Kind::kAtomicStore;
}

// An action without its `copy` in two words, and back. Of a wait there are fewer than 2^32 phases.
constexpr std::array<std::uint64_t, 2> packed(const machine::Action& action) {
  return {
      static_cast<std::uint64_t>(action.kind) | static_cast<std::uint64_t>(action.id + 1) << 8 |
          static_cast<std::uint64_t>(action.depth) << 16 |
          static_cast<std::uint64_t>(action.major) << 24 | std::uint64_t{action.number} << 32,
      action.value | std::uint64_t{action.copies} << 32};
}
constexpr machine::Action unpacked(std::uint64_t first, std::uint64_t second) {
  machine::Action action{static_cast<machine::Action::Kind>(first & 0xff)};
  action.id = static_cast<int>(first >> 8 & 0xff) - 1;
  action.depth = static_cast<int>(first >> 16 & 0xff);
  action.major = static_cast<model::Major>(first >> 24 & 1);
  action.number = static_cast<std::uint32_t>(first >> 32);
  const bool counts = action.kind == machine::Action::Kind::wait;
  action.value = counts ? second & 0xffffffff : second;
  action.copies = counts ? static_cast<std::uint32_t>(second >> 32) : 0;
  return action;
}

// What a lane did since its warp's logs were last folded. The hooks write through these pointers.
struct LaneLog {
  Token* next_token = nullptr;
  Token* tokens_end = nullptr;
  // The number of words per token: a load, store, ldmatrix or stmatrix has one, and one more if
  // has_value(); an async copy two, its destination and source; an action two.
  std::uintptr_t* next_address = nullptr;
  // The word for the value of the last store, which follows that of its address. It can be read
  // only after the store: before the next one, or when another thread runs.
  std::uintptr_t* value = nullptr;
  Token store = 0;
  bool has_room() const { return next_token < tokens_end; }
};

// The latest stores through pointers to a thread's own local variables. They are not counted, but
// one beyond the end of an array may change another variable, which is noticed only when that is
// used as an index, or when its function returns. (The compiler announces no store to a variable
// whose address nothing takes.)

class LocalStores {
 public:
  // The store's place in the code, and that of the call of the function that makes it.
  using Places = std::array<machine::CodePlace, 2>;  // outermost first

  void note(std::uintptr_t address, std::uint32_t bytes, const Places& places) {
    slots_[slot_of(address)] = {address, bytes, places};
  }

  // The store to the highest addresses of [begin, end), if there is one.
  std::optional<Places> highest(std::uintptr_t begin, std::uintptr_t end) const;

  // The store that gave a variable in [begin, end) of the stack the value `index`, if the same
  // place has also stored to the memory before or after it: so it went through an array.
  std::optional<Places> that_made(
      std::int64_t index, std::uintptr_t begin, std::uintptr_t end) const;

 private:
  struct Slot {
    std::uintptr_t address = 0;
    std::uint32_t bytes = 0;
    Places places{};
  };
  static constexpr std::size_t kSlots = 1 << 12;
  static std::size_t slot_of(std::uintptr_t address) {
    return (address / 4 * 0x9e3779b97f4a7c15u >> 32) % kSlots;
  }
  const Slot* find(std::uintptr_t address) const;

  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
};

// A thread's latest load of a vector of which nobody has written some words. It is no hazard unless
// the thread then uses one of them.
struct PartLoad {
  std::uintptr_t first_word = 0;  // of those; 0: no such load
  std::size_t bytes = 0;          // of the vector
  const void* at = nullptr;       // the return address of its hook
};

class Watch;

struct Hooks {
  LaneLog* log;  // null while no traced thread runs
  // The stacks of all fibers: registers and local memory, which are not counted.
  machine::MemoryRange stacks;
  // The stack of the running fiber. Below the floor, too little is left for the hooks.
  std::uintptr_t stack_floor, stack_top;
  // From here on up, a load from the running thread's own stack may be of a sum to which wgmma
  // adds; the stack's top if wgmma adds to none.
  std::uintptr_t sums;
  // The kernel's code, and how much of the stack was in use when the kernel was called.
  machine::MemoryRange kernel;
  std::ptrdiff_t above_kernel;
  std::ptrdiff_t deepest;  // the deepest use of any stack
  std::uintptr_t exit;     // where the last function returned
  // The program's thread-local variables, including shared memory, and for each of their words
  // whether it is shared memory of the kernel.
  machine::MemoryRange locals;
  const char* is_shared;
  // The GPU's own memory; none if hazards are not looked for.
  machine::MemoryRange device;
  bool outside_kernel;  // the running thread has not yet entered it: nothing is counted
  bool looks_for_hazards;
  bool audited;  // every access is also reported to audit_announced()
  Watch* watch;  // receives volatile accesses before they are made
  LocalStores* local_stores;
  PartLoad* part_load;  // of the running thread
};
extern __thread Hooks hooks;

// For the hooks and the functions that they call.
inline constexpr std::size_t kStackReserve = 8 * 1024;

// For each word of the program's thread-local variables, whether a kernel may access it.
std::vector<char> shared_words(std::span<const machine::KernelArray> arrays);

// Logs the value of the lane's last store, if it is not logged yet.
void settle(LaneLog& log);

// If a cp.async fills this lane with zeros and may copy for others, this is added to the address of
// the source.
inline constexpr std::uint64_t kFills = std::uint64_t{1} << 63;

}  // namespace trace
