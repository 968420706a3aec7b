// Whether the threads of a block may meet at the barriers at which they do.
//
// CUDA C++ programming guide, independent thread scheduling: since Volta __syncthreads() is
// "enforced per thread and thus will not succeed until reached by all non-exited threads in the
// block". So those that have left are not waited for. PTX: bar.sync is barrier.sync.aligned, which
// "all threads in the warp must execute", the same one; so different warps may wait at different
// ones, and the lanes of a warp may not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/counts.h"
#include "trace/call_paths.h"
#include "trace/warp_log.h"

namespace trace {

class BarrierWatch {
 public:
  explicit BarrierWatch(model::WarpGeometry geometry) : geometry_(geometry) {}
  void begin_block(std::int64_t block, int threads);

  // What there is to say about a barrier that all threads are at, but for those that have `left`:
  // a hazard, or each note once per block.
  std::vector<model::Hazard> barrier(
      std::span<const bool> left, const WarpLog& log, const CallPaths& paths);

 private:
  const model::WarpGeometry geometry_;
  std::int64_t block_ = 0;
  std::uint32_t count_ = 0;                         // barriers so far
  std::vector<std::optional<std::uint32_t>> left_;  // by thread: how many it came to, once it left
  bool said_several_ = false, said_left_ = false;
};

}  // namespace trace
