// What chosen blocks of a traced launch did, request by request: for stepping through it and for
// drawing it. Plain data, filled by trace/, shown by step/ and pictures/. (src/model/counts.h has
// the sums.)
//
// The order is the one in which the tracer runs a block: between two barriers warp after warp, each
// as far as it gets. Within a warp that is the order of its instructions; between the warps of an
// epoch a GPU may choose any other, so nothing may be concluded from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/counts.h"
#include "model/warp_access.h"

namespace model {

struct RecordedArray {
  std::string name;  // "A", "Bs"; "dynamic" for dynamic shared memory
  std::size_t bytes;
  bool shared;  // else global
};

// One place in the kernel, reached by one path of calls.
struct RecordedSite {
  int array = -1;  // in Recording::arrays; -1 for what is no access
  Direction direction = Direction::load;
  bool atomic = false;
  int line = 0;  // as in LineCounts: 0 until trace::resolve_lines, or not known
  std::vector<std::uint32_t> places;
};

struct RecordedEvent {
  enum class Kind {
    block_begin,
    request,       // one instruction of a warp on one array; a cp.async is two: to, then from
    warp_barrier,  // __syncwarp
    commit,        // of the cp.async so far to a group
    wait,          // for all groups but the latest access.address[lane] ones
    barrier,       // __syncthreads: all threads of the block are there
    block_end
  };
  Kind kind;
  std::int64_t block;  // linear
  int warp = -1;       // in the block; -1 for what is the whole block's
  int epoch = 0;       // barriers that the block has passed before
  int site = -1;       // in Recording::sites; -1 for the block's begin and end
  // The lanes, with bytes a lane; addresses count from the array's begin.
  WarpAccess access{};
  int pieces = 0;          // it costs: sectors in global memory, wavefronts in shared memory
  int ideal = 0;           // the fewest that the same lanes, or bytes, could take
  int bank_conflicts = 0;  // as in Traffic
  int uncoalesced = 0;
};

struct RecordedHazard {
  static constexpr std::size_t kNone = ~std::size_t{0};
  Hazard hazard;
  std::size_t found_at;  // the event by which it was known, in Recording::events
  std::size_t first = kNone, second = kNone;  // the events of its two sides, where recorded
};

struct RecordedExtent {
  unsigned x, y, z;
};

// Of one launch.
struct Recording {
  const void* kernel = nullptr;
  RecordedExtent grid{}, block{};  // in blocks, in threads
  std::vector<RecordedArray> arrays;
  std::vector<RecordedSite> sites;
  std::vector<RecordedEvent> events;
  std::vector<RecordedHazard> hazards;  // those of the recorded blocks; by found_at
  bool complete = true;                 // false: there was more than the recorder was to keep
};

}  // namespace model
