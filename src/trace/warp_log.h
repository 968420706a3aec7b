// The logs of one warp's 32 lanes, and where the threads of the block are between two folds.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/warp_access.h"
#include "trace/merge.h"
#include "trace/token.h"

namespace trace {

class WarpLog {
 public:
  WarpLog();
  void begin_block(int threads);
  LaneLog& lane(int lane) { return lanes_[lane].log; }
  const LaneLog& lane(int lane) const { return lanes_[lane].log; }

  // The lanes of `warp` that have logged anything or are in `running`, by what they logged.
  std::vector<Party> parties(int warp, std::uint32_t running) const;

  // One address of every lane of `together`, for the access `token`.
  model::WarpAccess gather(Token token, std::span<Party* const> together) const;

  // Forgets what the parties of `warp` have used of the log.
  void drop_used(int warp, std::span<const Party> parties);

  // The path that a thread of the block was in when its warp was last folded.
  const std::vector<Token>& paths() const { return paths_; }
  // Where a thread that has left the kernel was before: its last steps but for the one that all
  // ways out of a function share.
  const std::vector<Token>& last_places(int thread) const { return last_places_[thread]; }

 private:
  static constexpr int kTokens = 1024;  // of a lane, so that a warp's logs stay in the cache
  struct Lane {
    LaneLog log;
    std::vector<Token> tokens;
    std::vector<std::uintptr_t> addresses;
  };

  std::array<Lane, model::kWarpSize> lanes_;
  std::vector<Token> paths_;                     // by thread of the block
  std::vector<std::vector<Token>> last_places_;  // the same
};

}  // namespace trace
