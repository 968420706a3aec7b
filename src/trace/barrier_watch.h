// Checks whether the threads of a block may meet at the barriers where they do.
//
// CUDA C++ programming guide, independent thread scheduling: since Volta __syncthreads() is
// "enforced per thread and thus will not succeed until reached by all non-exited threads in the
// block". So a barrier does not wait for threads that have left. It is allowed in conditional code
// only if the condition "evaluates identically across the entire thread block", so warps that wait
// at different barriers are undefined, too, though today's GPUs let them pass: the block goes on.
// (PTX defines bar.sync by its number, so two of those in one function are one barrier here.)
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

  // The findings about a barrier that all threads have reached, except those that have `left`: one
  // that ends the block, or the others once per block.
  std::vector<model::Hazard> barrier(
      std::span<const bool> left, const WarpLog& log, const CallPaths& paths);

 private:
  const model::WarpGeometry geometry_;
  std::int64_t block_ = 0;
  std::uint32_t count_ = 0;  // number of barriers so far
  // Per thread that has left: the number of barriers it reached.
  std::vector<std::optional<std::uint32_t>> left_;
  bool said_several_ = false, said_left_ = false;
};

}  // namespace trace
