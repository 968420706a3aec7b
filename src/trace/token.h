// The log of a lane: a sequence of tokens.
#pragma once

#include <cstdint>

namespace trace {

// A token is one action of a lane, in 32 bits: its place in the code, its kind, and log2 of its
// bytes.
using Token = std::uint32_t;
enum class Kind : Token {
  kStep,   // a basic block
  kEnter,  // a function, called from that place
  kExit,
  kWarpBarrier,
  kCommit,  // ends a group of the async copies so far
  kWait,    // for all groups except this many
  kLoad,
  kStore,
  kAsyncCopy,
  kAtomicLoad,  // an atomic is both of these, and races with non-atomics
  kAtomicStore,
  kBadIndex,  // beyond a dimension of an array
  kLockLoad,  // of an atomic that implements locks and flags: its store is a kAtomicStore
  kVolatileLoad,
  kVolatileStore,
  kTold,      // by the machine: see Told
  kLdmatrix,  // of four matrices
  kLdmatrixOfTwo,
  kLdmatrixOfOne,
  kStmatrix,
  kStmatrixOfTwo,
  kStmatrixOfOne
};

// A place has 24 bits: the program's code is smaller than 16 MB.
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
constexpr int bytes_of(Token token) {
  return 1 << (token & 7u);
}

// The site of a box or of an operand of wgmma has pieces of 16 bytes.
inline constexpr Token kBoxSite = 4;

constexpr bool is_ldmatrix(Kind kind) {
  return kind == Kind::kLdmatrix || kind == Kind::kLdmatrixOfTwo || kind == Kind::kLdmatrixOfOne;
}
constexpr bool is_matrix(Kind kind) {
  return kind >= Kind::kLdmatrix;
}
constexpr bool is_load(Kind kind) {
  return kind == Kind::kLoad || kind == Kind::kAtomicLoad || kind == Kind::kLockLoad ||
         kind == Kind::kVolatileLoad || is_ldmatrix(kind);
}
constexpr bool is_store(Kind kind) {
  return kind == Kind::kStore || kind == Kind::kAtomicStore || kind == Kind::kVolatileStore ||
         kind == Kind::kStmatrix || kind == Kind::kStmatrixOfTwo || kind == Kind::kStmatrixOfOne;
}

// Of an ldmatrix or stmatrix.
constexpr int matrices_of(Kind kind) {
  return kind == Kind::kLdmatrix || kind == Kind::kStmatrix             ? 4
         : kind == Kind::kLdmatrixOfTwo || kind == Kind::kStmatrixOfTwo ? 2
                                                                        : 1;
}

constexpr bool is_atomic(Kind kind) {
  return kind == Kind::kAtomicLoad || kind == Kind::kLockLoad || kind == Kind::kAtomicStore;
}

// A report by the machine about a lane that is neither a step nor an access.
struct Told {
  enum class What : std::uint8_t { fence, read_only_load, hazard, async } what;
  std::uint8_t kind = 0;     // of the hazard (model::HazardKind) or action (machine::AsyncAction)
  std::uint32_t extent = 0;  // of the hazard; the action's number
  std::uint64_t value = 0;   // the hazard's index, the loaded address, or the action's value

  std::uint64_t first_word() const {
    return static_cast<std::uint64_t>(what) | std::uint64_t{kind} << 8 |
           std::uint64_t{extent} << 32;
  }
  static Told of(std::uint64_t first, std::uint64_t second) {
    return {
        static_cast<What>(first & 0xff), static_cast<std::uint8_t>(first >> 8 & 0xff),
        static_cast<std::uint32_t>(first >> 32), second};
  }
};

// What a lane did since its warp's logs were last folded. The hooks write through these pointers.
struct LaneLog {
  Token* next_token = nullptr;
  Token* tokens_end = nullptr;
  // The number of words per token: a load, store, ldmatrix or stmatrix has one; an async copy two,
  // its destination and source; a wait the number of groups; a barrier of the warp its mask; a bad
  // index two, the compiler's type data and the index; a Told two.
  std::uintptr_t* next_address = nullptr;
  bool has_room() const { return next_token < tokens_end; }
};

}  // namespace trace
