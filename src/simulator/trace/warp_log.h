// The logs of the lanes of a block, warp by warp, and where the threads of the block are between
// two folds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/counts.h"
#include "model/warp_access.h"
#include "simulator/trace/hooks.h"

namespace trace {

// What one thread did, by kind of traffic.

enum TrafficIndex {
  kGmemLoads,
  kGmemStores,
  kSmemLoads,
  kSmemStores,
  kAsyncGmem,
  kAsyncSmem,
  kTraffics
};

inline constexpr model::Traffic model::Counts::*kTraffic[kTraffics] = {
    &model::Counts::gmem_loads,  &model::Counts::gmem_stores, &model::Counts::smem_loads,
    &model::Counts::smem_stores, &model::Counts::async_gmem,  &model::Counts::async_smem};

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

// The function calls that lanes are in, identified by the places of the calls.

// A path is a number; 0 is outside of all traced functions.
class CallPaths {
 public:
  // The path of the function that is called at `call` in `path`.
  Token called(Token path, Token call);
  Token caller(Token path) const { return paths_[path].parent; }

  // A lane reached `place` in `path`. The first such place identifies the function.
  void came_to(Token path, Token place) {
    if (paths_[path].entry == 0) paths_[path].entry = place;
  }
  // Whether any lane was in the function with this code.
  bool has_entered(Token function, Token bytes) const;

  // The calls, outermost first, and then `place`.
  std::vector<std::uint32_t> places_of(Token path, Token place) const;
  // The same for the call that led to `path`.
  std::vector<std::uint32_t> places_of_call(Token path) const {
    return places_of(paths_[path].parent, paths_[path].call);
  }

  // When lanes have diverged, those at the lowest address in the code go first, so that they
  // reconverge after the branch.
  struct Position {
    Token path, place;
  };
  bool goes_before(Position a, Position b) const;

 private:
  struct Path {
    Token parent, call, depth;
    Token entry = 0;  // a place in the function
  };
  std::vector<Path> paths_{{0, 0, 0}};
};

// The order in which a warp executes what its lanes logged.

// Lanes with identical logs, which are followed together.
struct Party {
  std::uint32_t lanes;
  std::span<const Token> tokens;
  Token path;
  bool running;  // will log more
  std::size_t tokens_used = 0, addresses_used = 0;
  Tally tally{};
  bool finished() const { return tokens_used == tokens.size(); }
  Token next() const { return tokens[tokens_used]; }
};

class Merge {
 public:
  Merge(std::vector<Party>& parties, const CallPaths& paths) : parties_(parties), paths_(paths) {}

  // The parties that execute the warp's next instruction, which is the next() of each. Empty if all
  // are finished, or if a running party without logged tokens might be the next.
  std::span<Party* const> next();
  // Whether these parties also execute the following instruction because there are no others. Then
  // next() need not be called.
  bool stay_together() const { return parties_.size() == 1 && !together_[0]->finished(); }

 private:
  std::vector<Party>& parties_;
  const CallPaths& paths_;
  std::vector<Party*> together_;
};

class WarpLog {
 public:
  explicit WarpLog(model::WarpGeometry geometry) : geometry_(geometry) {}
  void begin_block(int threads);
  LaneLog& lane_of(int thread) {
    select(geometry_.warp_of(thread));
    return (*lanes_)[geometry_.lane_of(thread)].log;
  }

  // The lanes of `warp` that have logged anything or are in `running`, grouped by identical logs.
  std::vector<Party> parties(int warp, std::uint32_t running);

  // The addresses of the lanes of `together`, for the access `token`.
  model::WarpAccess gather(Token token, std::span<Party* const> together) const;

  // Removes what the parties of `warp` have used from the logs.
  void drop_used(int warp, std::span<const Party> parties);

  // For each thread of the block, its path when its warp was last folded.
  const std::vector<Token>& paths() const { return paths_; }
  // The last places of a thread that has left the kernel, without the one that all exits of a
  // function share.
  const std::vector<Token>& last_places(int thread) const { return last_places_[thread]; }

 private:
  static constexpr int kTokens = 1024;  // per lane, so that a warp's logs stay in the cache
  struct Lane {
    LaneLog log;
    std::vector<Token> tokens;
    std::vector<std::uintptr_t> addresses;
  };

  using Lanes = std::array<Lane, model::kWarpSize>;  // a warp may have fewer
  static std::unique_ptr<Lanes> empty_lanes();
  void select(int warp);

  const model::WarpGeometry geometry_;
  std::unique_ptr<Lanes> lanes_ = empty_lanes();  // those of warp_
  int warp_ = 0;
  // Logs of warps that let other warps run while some of their tokens could not be folded yet.
  std::map<int, std::unique_ptr<Lanes>> set_aside_;
  std::vector<Token> paths_;                     // by thread of the block
  std::vector<std::vector<Token>> last_places_;  // by thread of the block
};

}  // namespace trace
