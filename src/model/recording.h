// What chosen blocks of a traced launch did, request by request, to step through it and to draw it.
// Plain data, filled by trace/, shown by step/ and pictures/. (src/model/warp_access.h has the
// sums.)
//
// The order is the one in which the tracer runs a block: between two barriers one warp after the
// other, each as far as it can run. Within a warp this is the order of its instructions. Between
// the warps of an epoch a GPU may choose any other order, so it has no meaning.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/tensor_core.h"
#include "model/warp_access.h"

namespace model {

struct RecordedArray {
  std::string name;  // "A", "Bs"; "dynamic" for dynamic shared memory
  std::size_t bytes;
  bool shared;  // else global
};

// One place in the kernel, reached by one path of calls.
struct RecordedSite {
  int array = -1;  // in Recording::arrays; -1 if it is not an access
  Direction direction = Direction::load;
  bool atomic = false;
  int line = 0;  // as in LineCounts: 0 until trace::resolve_lines, or if unknown
  std::vector<std::uint32_t> places;
};

struct RecordedEvent {
  enum class Kind {
    block_begin,
    // One instruction of a warp on one array; a cp.async is two: its destination, then its source.
    request,
    warp_barrier,  // __syncwarp
    commit,        // ends a group of the cp.async so far
    wait,          // for all groups except the latest access.address[lane] ones
    barrier,       // __syncthreads: all threads of the block have arrived
    block_end,
    action  // of one place in the code: the RecordedActions with this event's number
  };
  Kind kind;
  std::int64_t block;  // linear
  int warp = -1;       // in the block; -1 for an event of the whole block
  int epoch = 0;       // barriers that the block has passed
  int site = -1;       // in Recording::sites; -1 for the start and end of the block
  // The lanes, with bytes per lane; addresses are relative to the array's start.
  WarpAccess access{};
  int pieces = 0;          // the cost: sectors in global memory, wavefronts in shared memory
  int ideal = 0;           // the fewest that the same lanes, or bytes, could take
  int bank_conflicts = 0;  // as in Traffic
  int uncoalesced = 0;
};

// One thread's request to an mbarrier, the copy engine or the tensor cores.
struct RecordedAction {
  enum class Kind {
    arrive,      // at mbarrier `barrier`, in phase `value`
    wait,        // for mbarrier `barrier`, whose phase `value` is complete
    box,         // of a matrix, to shared memory; phase `value` of `barrier` counts its bytes
    multiply,    // wgmma of the thread's warp, by the operand that descriptor `value` describes
    multiplied,  // the thread's first `value` multiplications are complete
    init,        // of mbarrier `barrier`, at `to`
    mma          // `value` of the thread's warp, one after the other; each has 8 columns
  };
  Kind kind;
  std::int64_t block;  // linear
  int thread;          // of the block; for a multiplication the first of its warp
  std::size_t events;  // in Recording::events, that were there before; its own event's number
  std::uint32_t barrier = 0;  // numbered as the block initialized them
  int named = -1;             // the id of a named barrier
  std::uint64_t value = 0;
  // Of a box: where its first element is in which matrix, the part of it that lies in the matrix,
  // and where it goes to. Of a wgmma: the rows of the operand, and where it lies; of an mma: A's.
  int matrix = -1;  // in Recording::arrays; -1 if all of it lies outside
  std::uint64_t first = 0;
  int rows = 0, row_bytes = 0;
  std::uint64_t pitch_bytes = 0;  // from one row of the matrix to the next
  int array = -1;                 // of shared memory
  std::uint64_t to = 0, bytes = 0;
  Swizzle swizzle = Swizzle::none;
  int depth = 0, bits = 0;  // of A: its columns, and the bits of an element, if it is in registers
};

struct RecordedHazard {
  static constexpr std::size_t kNone = ~std::size_t{0};
  Hazard hazard;
  std::size_t found_at;  // the event at which it was found, in Recording::events
  std::size_t first = kNone, second = kNone;  // the events of its two accesses, if recorded
};

struct RecordedExtent {
  unsigned x, y, z;
};

// The recording of one launch.
struct Recording {
  const void* kernel = nullptr;
  RecordedExtent grid{}, block{};  // in blocks, in threads
  WarpGeometry warp{};             // of the GPU that it was launched on
  std::vector<RecordedArray> arrays;
  std::vector<RecordedSite> sites;
  std::vector<RecordedEvent> events;
  std::vector<RecordedAction> actions;
  std::vector<RecordedHazard> hazards;  // those of the recorded blocks; sorted by found_at
  bool complete = true;                 // false: there was more than the recorder may keep

  int threads() const { return static_cast<int>(block.x * block.y * block.z); }  // of a block
  int warps() const { return warp.warps_of(threads()); }
  int line_of(const RecordedEvent& event) const {  // 0 if it has none
    return event.site < 0 ? 0 : sites[event.site].line;
  }
  std::span<const RecordedAction> actions_at(std::size_t at) const {  // of an event of that kind
    const auto found = std::ranges::equal_range(actions, at, {}, &RecordedAction::events);
    return {found.begin(), found.end()};
  }
  // Of a request.
  const RecordedSite& site_of(const RecordedEvent& event) const { return sites[event.site]; }
  const RecordedArray& array_of(const RecordedEvent& event) const {
    return arrays[site_of(event).array];
  }
};

// Which blocks of traced launches to record, and the recordings.
struct Recorder {
  std::vector<std::int64_t> blocks;      // linear indices; the launch must trace them
  std::size_t most_events = 1'000'000;   // per launch, at about 300 bytes each
  std::vector<Recording> launches = {};  // one per launch; after a KernelFault, those so far

  bool records(std::int64_t block) const {
    return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
  }
};

// What the first block of each launch really did to memory, compared with what was announced to the
// tracer: plain data, filled by trace/.
struct Audit {
  // After this many accesses, or this time, the rest runs unaudited.
  std::int64_t most_accesses = 50'000;
  double most_s = 3600;
  int every = 1;   // one in this many threads of a block is audited, starting with the first
  int blocks = 0;  // the number that were audited
  std::int64_t accesses = 0;  // the number compared with announcements
  bool whole = true;          // all threads finished before the limit was reached

  // An access that was not announced, or an announcement without an access.
  struct Surprise {
    // In the program's code, the outermost call first, as in LineCounts; the rest is 0.
    std::array<std::uint32_t, 8> places;
    std::int64_t thread;  // of the block
    std::uint64_t address;
    bool stores, announced;
    int line = 0;           // as in LineCounts
    std::string file = {};  // unless it is the user's own
  };
  std::vector<Surprise> surprises;  // the first for each place and kind

  bool complete() const { return blocks > 0 && surprises.empty(); }
};

}  // namespace model
