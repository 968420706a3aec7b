// What a kernel may not do, found in the requests of its warps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/kernel_memory.h"
#include "model/counts.h"
#include "model/warp_access.h"
#include "trace/hazard_watch.h"
#include "trace/result_writers.h"
#include "trace/sites.h"
#include "trace/warp_log.h"

namespace trace {

class Watch {
 public:
  // All have to outlive it. `writers` is null where nothing is to be watched.
  Watch(
      const machine::KernelMemory& memory, Sites& sites, const CallPaths& paths,
      ResultWriters* writers);

  bool looks() const { return writers_ != nullptr; }
  // After that the block is to be abandoned.
  bool is_fatal() const { return fatal_; }

  void begin_block(std::int64_t block, int threads);
  void end_block() { shared_.end_block(); }

  // Of here on, all do nothing where nothing is watched.
  void request(const Site& site, model::WarpAccess access, int warp);
  // An access of which no site is known.
  void stray(Token path, Token token, bool stores, const model::WarpAccess& access, int warp);
  // What the compiler's check of an index hands over, a word each.
  void bad_index(
      const model::WarpAccess& type, const model::WarpAccess& index, Token path, Token token,
      int warp);
  void commit(int thread);
  void wait(int thread, std::uint64_t groups_in_flight);
  void warp_barrier(int warp);
  // Fatal where it is not the same one for all.
  void barrier(std::span<const bool> left, const WarpLog& log);

  // All hazards so far.
  std::vector<model::Hazard> found() const;
  // Those of this block that were not taken yet.
  std::vector<model::Hazard> take_new();

 private:
  void access_to_shared(const Site& site, const model::WarpAccess& access, int warp);
  void foreign_local(Token path, Token token, bool stores, std::uintptr_t address, int thread);
  void store_to_result(const Site& site, const model::WarpAccess& access, int warp);
  model::Hazard hazard_of(const HazardWatch::Found& found) const;
  model::Hazard::Actor actor_of(HazardWatch::Actor actor) const;

  const machine::KernelMemory& memory_;
  Sites& sites_;
  const CallPaths& paths_;
  ResultWriters* const writers_;
  HazardWatch shared_;  // array numbers are those of memory_.arrays
  std::vector<model::Hazard> others_;
  std::size_t shared_taken_ = 0, others_taken_ = 0;
  bool race_on_result_known_ = false, fatal_ = false;
  std::int64_t block_ = 0, block_threads_ = 0;
};

}  // namespace trace
