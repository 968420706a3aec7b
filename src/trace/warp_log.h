// The logs of the lanes of a block, warp by warp, and where the threads of the block are between
// two folds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/warp_access.h"
#include "trace/merge.h"
#include "trace/token.h"

namespace trace {

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
