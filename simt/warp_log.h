// One warp's 32 logs, and how they become requests.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/counts.h"
#include "model/warp_access.h"
#include "simt/trace.h"

namespace simt {

// A token is one thing that a lane did, in 32 bits: the place in the code, the kind, log2 of the
// bytes.
using Token = std::uint32_t;
enum class Kind : Token { kStep, kEnter, kExit, kLoad, kStore, kAsyncCopy };

inline constexpr int kPlaceShift = 6;
constexpr Token make_token(Token place, Kind kind, Token log2_bytes = 0) {
  return place << kPlaceShift | static_cast<Token>(kind) << 3 | log2_bytes;
}
constexpr Token place_of(Token token) {
  return token >> kPlaceShift;
}
constexpr Kind kind_of(Token token) {
  return static_cast<Kind>(token >> 3 & 7u);
}
constexpr int bytes_of(Token token) {
  return 1 << (token & 7u);
}
constexpr bool has_address(Token token) {
  return kind_of(token) >= Kind::kLoad;
}

// What a lane did since its warp was last folded. The hooks write through these pointers.
struct LaneLog {
  Token* next_token = nullptr;
  Token* tokens_end = nullptr;
  std::uintptr_t* next_address = nullptr;  // a load or store has one; an async copy two: from, to
};

// Counts what the warps of one OS thread's blocks do, one warp at a time.
class WarpTracer {
 public:
  WarpTracer(std::span<const GlobalArray> arrays, std::span<const std::byte> shared_memory);

  void begin_block(int threads);
  LaneLog& log(int lane) { return lanes_[lane].log; }
  bool has_room(int lane) const {
    return lanes_[lane].log.next_token < lanes_[lane].log.tokens_end;
  }

  // Folds the logs of warp `warp`, as far as they determine the order of its instructions: a lane
  // in `running` has more to come, so nothing that might come after it is folded yet.
  void fold(int warp, std::uint32_t running);

  void end_block();
  Counts counts;

 private:
  static constexpr int kTokens = 1024;      // of a lane, so that a warp's logs stay in the cache
  static constexpr int kRemembered = 1024;  // requests whose cost is kept
  static constexpr int kTraffics = 6;       // the Traffic members of Counts

  struct Tally {
    std::array<std::int64_t, kTraffics> accesses{}, bytes{};
    void add(int traffic, int access_bytes) {
      accesses[traffic] += 1;
      bytes[traffic] += access_bytes;
    }
    void add(const Tally& more) {
      for (int t = 0; t < kTraffics; ++t) {
        accesses[t] += more.accesses[t];
        bytes[t] += more.bytes[t];
      }
    }
  };
  struct Lane {
    LaneLog log;
    std::vector<Token> tokens;
    std::vector<std::uintptr_t> addresses;
    Token path = 0;
    Tally tally;  // what it did apart from its party
  };
  // Lanes whose logs are the same, token for token: they are followed together.
  struct Party {
    std::uint32_t lanes;
    std::span<const Token> tokens;
    Token path;
    bool running;
    std::size_t tokens_used = 0, addresses_used = 0;
    Tally tally{};
    bool finished() const { return tokens_used == tokens.size(); }
    Token next() const { return tokens[tokens_used]; }
  };
  // An activation of a function, by the places of the calls that led to it.
  struct Path {
    Token parent, call, depth;
  };
  struct Cost {
    int pieces, ideal, bank_conflicts, lines = 0;
    bool widenable = false;
    int wavefronts_64 = 0, wavefronts_128 = 0;
  };
  struct Request {
    std::uint32_t active;
    int bytes, traffic, alignment;
    std::array<std::uint64_t, kWarpSize> distances;
    bool operator==(const Request&) const = default;
  };
  struct Remembered {
    Request request{};
    Cost cost{};
  };

  std::vector<Party> parties(std::uint32_t running) const;
  // Steps through the logs in the order in which a warp executes them: of lanes that have parted
  // the ones at the lowest place in the code go first, so that they meet again behind the branch.
  void merge(std::vector<Party>& parties);
  bool before(const Party& a, const Party& b) const;
  void step(std::span<Party* const> together);
  Token called(Token path, Token call);

  WarpAccess gather(Token token, std::span<Party* const> together);
  void count_access(const WarpAccess& access, int in_shared, int in_global,
                    std::span<Party* const> together);
  void count_async_copy(WarpAccess from, const WarpAccess& to, std::span<Party* const> together);
  void count(int traffic, const WarpAccess& access, const Cost& cost,
             std::span<Party* const> together);
  const Cost& cost_of(int traffic, const WarpAccess& access);
  static Cost compute_cost(int traffic, const WarpAccess& access);
  static void add_wider(const WarpAccess& access, Cost& cost);

  std::span<const GlobalArray> arrays_;
  std::span<const std::byte> shared_memory_;
  std::array<Lane, kWarpSize> lanes_;
  std::vector<Tally> threads_;  // of the block
  std::vector<Path> paths_{{0, 0, 0}};
  std::vector<Remembered> remembered_;
};

// Adds the counts of more blocks.
void add(Counts& to, const Counts& from);

}  // namespace simt
