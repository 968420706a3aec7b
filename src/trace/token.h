// What a lane logs of what it does, one token after the other.
#pragma once

#include <cstdint>

namespace trace {

// A token is one thing that a lane did, in 32 bits: the place in the code, the kind, log2 of the
// bytes.
using Token = std::uint32_t;
enum class Kind : Token {
  kStep,   // a basic block
  kEnter,  // a function, called from that place
  kExit,
  kWarpBarrier,
  kCommit,  // of the async copies so far to a group
  kWait,    // for all groups but so many
  kLoad,
  kStore,
  kAsyncCopy,
  kAtomicLoad,  // an atomic is both of these, and races with what is none
  kAtomicStore,
  kBadIndex  // past a dimension of an array
};

inline constexpr int kKindShift = 3, kPlaceShift = 7;
constexpr Token make_token(Token place, Kind kind, Token log2_bytes = 0) {
  return place << kPlaceShift | static_cast<Token>(kind) << kKindShift | log2_bytes;
}
constexpr Token place_of(Token token) {
  return token >> kPlaceShift;
}
constexpr Kind kind_of(Token token) {
  return static_cast<Kind>(token >> kKindShift & 15u);
}
constexpr int bytes_of(Token token) {
  return 1 << (token & 7u);
}

// What a lane did since its warp was last folded. The hooks write through these pointers.
struct LaneLog {
  Token* next_token = nullptr;
  Token* tokens_end = nullptr;
  // A load or store has one; an async copy two: from and to; a wait the number of groups; a bad
  // index two: what the compiler says of it, and the index.
  std::uintptr_t* next_address = nullptr;
  bool has_room() const { return next_token < tokens_end; }
};

}  // namespace trace
