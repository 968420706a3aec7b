// What a traced launch counted: plain data, filled by trace/, printed by report/.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/warp_access.h"

namespace model {

// One figure over all traced threads.
struct PerThread {
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t sum = 0;
};

// One direction (loads or stores) of one memory space (global or shared).
struct Traffic {
  PerThread accesses;  // as written: one float4 is one access
  PerThread floats;    // bytes / 4
  PerThread bytes;
  std::int64_t requests = 0;        // instructions of one warp
  std::int64_t pieces = 0;          // global: 32-byte sectors; shared: wavefronts
  std::int64_t ideal_pieces = 0;    // the fewest that the same lanes, or bytes, could take
  std::int64_t bank_conflicts = 0;  // shared only: wavefronts beyond one per group of lanes
  std::int64_t uncoalesced = 0;     // global only: sectors beyond those of neighbouring lanes
  std::int64_t lines = 0;           // global only: 128-byte lines, summed over the requests
};

// Loads from shared memory that the source writes for one word a lane, and of which a compiler that
// unrolls could make one for two or four words, because all lanes are equally far from alignment.
struct Widenable {
  std::int64_t requests = 0;        // as written; their wavefronts are known from where this stands
  std::int64_t wavefronts_64 = 0;   // of all of them, were they 8 bytes a lane
  std::int64_t wavefronts_128 = 0;  // and 16
};

enum class Direction { load, store, copy };  // copy: one side of a cp.async

// What one line of the kernel's source does to one array. Counts of the traced blocks.
struct LineCounts {
  int line = 0;         // from 1; 0 where it is not known
  std::string array;    // "A", "Bs"; "dynamic" for dynamic shared memory
  bool shared = false;  // else global
  Direction direction = Direction::load;
  int bytes = 0;                // of a lane
  std::int64_t executions = 0;  // lanes that did it, all told
  std::int64_t requests = 0;
  std::int64_t pieces = 0;
  std::int64_t ideal_pieces = 0;
  std::int64_t bank_conflicts = 0;
  std::int64_t uncoalesced = 0;
  std::int64_t lines = 0;  // global only: 128-byte lines
  // What cp.async had on its way for the warp and its threads had not waited for, in bytes: over
  // all of these requests (loads from shared memory only), and at most at one of them.
  std::int64_t in_flight_bytes = 0;
  std::int64_t in_flight_most = 0;
  int worst_pieces = 0;  // of its costliest request, ...
  std::int64_t worst_block = 0;
  WarpAccess worst{};  // ... the first of them; addresses from the array's begin

  // Where in the program it stands, outermost call first: src/trace/source_lines.h makes lines of
  // them.
  std::vector<std::uint32_t> places;
};

enum class HazardKind {
  index_out_of_range,  // of a dimension of an array, which need not lie in memory that counts
  out_of_bounds,       // of a matrix, or of a shared array
  foreign_local,       // an access of another thread's local variables, or of some that are gone
  misaligned,          // an access whose address is no multiple of its size: a GPU stops there
  barrier_divergence,  // the first thread waits at a barrier; the second at another, or it left
  race,                // of two threads of a block
  uninitialized,
  copy_not_waited_for,
  race_on_result,       // two stores
  race_between_blocks,  // a load and a store, or two stores to what is no result
  read_only_is_stored,  // the first loads by __ldg what the second stores in the same launch
  copy_of_bad_size,     // a cp.async of `index` bytes
  copy_of_bad_zeros,    // one of `extent` bytes that fills `index` of them with zeros
  copy_to_global,       // one whose destination is not in shared memory
  copy_from_shared,     // one whose source is not in global memory
  nothing_shuffled,     // a shuffle from lane `index`, which does not take part in it
  bad_width,            // a shuffle in segments of `index` lanes, in a warp of `extent`
  never_written,
  // What this GPU does and older ones or other compilers may not: notes.
  threads_left,     // the first thread waits at a barrier, and the second has left the kernel
  several_barriers  // warps wait at different barriers, each as often as the others
};

// Whether nothing that its block did afterwards means anything.
constexpr bool is_fatal(HazardKind kind) {
  return kind <= HazardKind::barrier_divergence;
}

// Whether it is worth a word, but wrong on no GPU since Volta.
constexpr bool is_note(HazardKind kind) {
  return kind >= HazardKind::threads_left;
}

// Something that a kernel may not do, with the places of the one or two accesses.
struct Hazard {
  HazardKind kind;
  std::string array;   // out_of_bounds: the nearest; empty where none is near
  std::uint64_t byte;  // from the array's begin, or an address; below the begin it wraps around
  std::int64_t block;  // linear, as are the threads in it
  struct Actor {
    std::int64_t thread = -1;  // -1: there is no second one
    int line = 0;              // as in LineCounts
    bool stores = false;
    std::vector<std::uint32_t> places;
  } first, second;
  std::int64_t other_block = -1;  // the second one's, where it is another
  bool shared = false;            // of out_of_bounds: the array is in shared memory
  std::int64_t index = 0;         // index_out_of_range, and as HazardKind says
  std::int64_t extent = 0;  // index_out_of_range: elements of the dimension; out_of_bounds: bytes
                            // of the array; never_written: such elements
};

struct Counts {
  std::int64_t blocks = 0;         // of the launch
  std::int64_t blocks_traced = 0;  // the figures below are these blocks', and no others'
  std::int64_t threads_traced = 0;
  std::int64_t barriers = 0;  // that blocks came to
  // What a thread's functions took of its stack, all that were under way at a time, in the thread
  // with the most. The source is compiled without optimization, so all its variables are there.
  std::int64_t local_bytes = 0;
  Traffic gmem_loads;  // cp.async counts here ...
  Traffic gmem_stores;
  Traffic smem_loads;
  Traffic smem_stores;                    // ... and here,
  Traffic async_gmem;                     // and once more on its own: its global side
  Traffic async_smem;                     // and its shared side
  std::array<Widenable, 33> widenable{};  // of smem_loads: [w] are those that take w wavefronts
  std::vector<LineCounts> lines;
  WarpGeometry warp{};          // of the GPU whose requests these are
  std::vector<Hazard> hazards;  // and notes: the first of each kind, array and pair of places
};

inline bool has_fatal(const Counts& counts) {
  for (const Hazard& hazard : counts.hazards) {
    if (is_fatal(hazard.kind)) return true;
  }
  return false;
}

// Whether there is more than notes.
inline bool has_hazard(const Counts& counts) {
  for (const Hazard& hazard : counts.hazards) {
    if (!is_note(hazard.kind)) return true;
  }
  return false;
}

// Takes one more thread's value in.
void include(PerThread& figure, std::int64_t value, bool first);

// Adds a hazard, or keeps the first of two that are the same but for the block.
void add(std::vector<Hazard>& hazards, const Hazard& more);

// Adds the counts of more blocks.
void add(Counts& to, const Counts& from);

// Adds `more` to the line that it is, or as one more.
void add(std::vector<LineCounts>& lines, const LineCounts& more);

// For two counts of requests, of a line or of all lines.
template <class To, class From>
void add_requests(To& to, const From& from) {
  to.requests += from.requests;
  to.pieces += from.pieces;
  to.ideal_pieces += from.ideal_pieces;
  to.bank_conflicts += from.bank_conflicts;
  to.uncoalesced += from.uncoalesced;
  to.lines += from.lines;
}

}  // namespace model
