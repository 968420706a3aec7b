// The counts of a traced launch: plain data, filled by trace/, printed by report/.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/warp_access.h"

namespace model {

// One count over all traced threads.
struct PerThread {
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t sum = 0;
};

// What a traced block's request takes on average: the least and the most of all blocks.
struct OfBlocks {
  std::optional<double> least, most;
  bool differ() const { return least != most; }
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
  std::int64_t uncoalesced = 0;     // global only: sectors beyond those of a coalesced access
  std::int64_t lines = 0;           // global only: 128-byte lines, summed over the requests
};

// Loads from shared memory that the source writes as one word per lane, and that an unrolling
// compiler could merge into loads of two or four words, because all lanes have the same alignment.
struct Widenable {
  std::int64_t requests = 0;        // as written; grouped by their wavefronts: Counts::widenable
  std::int64_t wavefronts_64 = 0;   // wavefronts of all of them as loads of 8 bytes per lane
  std::int64_t wavefronts_128 = 0;  // and of 16
};

// What an optimizing compiler could make of a line's loads from shared memory.
struct Merging {
  // As loads of 8 and of 16 bytes per lane, if all lanes have the same alignment: the loads that
  // each would begin with, and its wavefronts.
  struct Wide {
    std::int64_t requests = 0;
    std::int64_t wavefronts = 0;
    int most = 0;  // of one request
  } by_64, by_128;

  // Of the loads that were watched, in some of the blocks, those whose word their warp had loaded
  // or stored since the last barrier, and those that are one of two or four aligned neighbours
  // that it loaded since then.
  std::int64_t watched = 0, repeated = 0, in_pairs = 0, in_fours = 0;
};

enum class Direction { load, store, copy };  // copy: one side of a cp.async

// The accesses of one source line to one array, counted in the traced blocks.
struct LineCounts {
  int line = 0;                  // of the kernel, from 1; 0 if unknown
  int helper_line = 0;           // if a function that `line` calls makes the access: its line
  std::string helper_file = {};  // of that line, unless it is the kernel's own
  std::string array;             // "A", "Bs"; "dynamic" for dynamic shared memory
  bool shared = false;           // else global
  Direction direction = Direction::load;
  int bytes = 0;                // bytes per lane
  std::int64_t executions = 0;  // lanes that took part, in total
  std::int64_t requests = 0;
  std::int64_t pieces = 0;
  std::int64_t ideal_pieces = 0;
  std::int64_t bank_conflicts = 0;
  std::int64_t uncoalesced = 0;
  std::int64_t lines = 0;  // global only: 128-byte lines
  // The bytes that cp.async had in flight for the warp, not yet waited for: the sum over all of
  // these requests (loads from shared memory only), and the maximum at one of them.
  std::int64_t in_flight_bytes = 0;
  std::int64_t in_flight_most = 0;
  int worst_pieces = 0;  // sectors or wavefronts of the costliest request
  std::int64_t worst_block = 0;
  WarpAccess worst{};  // the first request with that cost; addresses relative to the array's start
  WarpAccess worst_other{};  // of a cp.async: its other side
  Merging merging;           // of loads from shared memory

  // The place in the program, outermost call first. src/simulator/trace/source_lines.h converts
  // these to lines.
  std::vector<std::uint32_t> places;
};

#define HAZARD(name, severity, symptom, place, sentence) name,
enum class HazardKind {
#include "model/hazards.inc"
};

// An entry of model/hazards.inc, which explains them.
struct HazardEntry {
  const char* name;
  enum Severity { fatal, wrong, note } severity;
  const char *symptom, *place, *sentence;
};
#define HAZARD(name, severity, symptom, place, sentence) \
  {#name, HazardEntry::severity, symptom, place, sentence},
inline constexpr HazardEntry kHazards[] = {
#include "model/hazards.inc"
};

constexpr const HazardEntry& entry_of(HazardKind kind) {
  return kHazards[static_cast<int>(kind)];
}
constexpr bool is_fatal(HazardKind kind) {
  return entry_of(kind).severity == HazardEntry::fatal;
}
constexpr bool is_note(HazardKind kind) {
  return entry_of(kind).severity == HazardEntry::note;
}

// What a race or a misaligned access needs.
#define REMEDY(name, text) name,
enum class Remedy {
#include "model/hazards.inc"
};

// Something that a kernel must not do, with the places of the one or two accesses.
struct Hazard {
  HazardKind kind;
  std::string array;  // out_of_bounds: the nearest array; empty if none is near
  // From the start of the array, or an address; before the start it wraps around.
  std::uint64_t byte;
  std::int64_t block;  // linear, like its threads
  struct Actor {
    std::int64_t thread = -1;  // -1: there is no second access
    int line = 0;              // as in LineCounts
    bool stores = false;
    std::vector<std::uint32_t> places;
    int helper_line = 0;                      // as in LineCounts
    std::string file = {}, helper_file = {};  // of the two lines, unless it is the user's own
  } first, second;
  std::int64_t other_block = -1;  // the second access's block, if it differs
  bool shared = false;            // for out_of_bounds: the array is in shared memory
  std::int64_t index = 0;         // as model/hazards.inc says
  std::int64_t extent = 0;        // index_out_of_range: elements of the dimension; out_of_bounds:
                            // elements of the array; never_written: the number of such elements;
                            // unwritten: bytes of the access, negative if a part is written
  Remedy remedy = Remedy::block_barrier;
  std::array<unsigned, 3> grid{}, block_size{};  // of its launch
  std::int64_t more = 0;  // the number of other pairs of accesses on the same lines
};

struct Counts {
  std::int64_t blocks = 0;         // of the launch
  std::int64_t blocks_traced = 0;  // the counts below are for these blocks only
  std::int64_t blocks_cut = 0;     // of these: only their beginning was traced
  bool along_part_of_K = false;    // the rest of K, and of a block's tiles, was extrapolated
  std::int64_t threads_traced = 0;
  std::int64_t barriers = 0;  // number of barriers that blocks reached
  // Instructions of the tensor cores, and the multiply-adds that they make. A wgmma counts once for
  // each of its four warps.
  std::int64_t mmas = 0, mma_products = 0;
  // The stack that a thread's active functions used, for the thread that used the most. The source
  // is compiled without optimization, so all its variables are on the stack.
  std::int64_t local_bytes = 0;
  Traffic gmem_loads;  // these include cp.async ...
  Traffic gmem_stores;
  Traffic smem_loads;
  Traffic smem_stores;  // ... and so do these;
  Traffic async_gmem;   // these count cp.async alone: its global side
  Traffic async_smem;   // and its shared side
  // Of async_gmem: the boxes that the copy engine moves.
  std::int64_t box_requests = 0, box_sectors = 0;
  // Boxes that are outside of their matrix, and the sectors that ncu counts for all boxes
  // (model/warp_access.h).
  std::int64_t boxes_outside = 0, box_sectors_delivered = 0;
  // The bytes of boxes that may be in flight when one starts, its own included, summed over all
  // starts: the thread that starts it cannot know that they have arrived. (Counted with hazards.)
  std::int64_t box_bytes_in_flight = 0;
  OfBlocks block_sectors;    // of a load from global memory
  OfBlocks block_conflicts;  // bank conflicts of a load from shared memory or a store to it
  // Of smem_loads: ldmatrix.
  std::int64_t ldmatrix_requests = 0, ldmatrix_wavefronts = 0;
  // Atomics on global memory, each of which is counted among both the loads and the stores.
  std::int64_t atomic_requests = 0, atomic_sectors = 0;
  std::array<Widenable, 33> widenable{};  // of smem_loads: [w] counts those that take w wavefronts
  std::vector<LineCounts> lines;
  WarpGeometry warp{};          // of the GPU whose requests these are
  std::vector<Hazard> hazards;  // and notes: the first for each kind, array and pair of places
};

// The parts of Counts that are added up over the traced blocks. In each, every tile of K adds the
// same number.
inline constexpr Traffic Counts::*kTraffic[] = {&Counts::gmem_loads, &Counts::gmem_stores,
                                                &Counts::smem_loads, &Counts::smem_stores,
                                                &Counts::async_gmem, &Counts::async_smem};
inline constexpr std::int64_t Counts::*kSums[] = {
    &Counts::box_bytes_in_flight,
    &Counts::blocks_traced,
    &Counts::threads_traced,
    &Counts::barriers,
    &Counts::mmas,
    &Counts::mma_products,
    &Counts::box_requests,
    &Counts::box_sectors,
    &Counts::boxes_outside,
    &Counts::box_sectors_delivered,
    &Counts::ldmatrix_requests,
    &Counts::ldmatrix_wavefronts,
    &Counts::atomic_requests,
    &Counts::atomic_sectors};

inline bool has_fatal(const Counts& counts) {
  for (const Hazard& hazard : counts.hazards) {
    if (is_fatal(hazard.kind)) return true;
  }
  return false;
}

// Whether there is anything besides notes.
inline bool has_hazard(const Counts& counts) {
  for (const Hazard& hazard : counts.hazards) {
    if (!is_note(hazard.kind)) return true;
  }
  return false;
}

// Adds one more thread's value.
void include(PerThread& figure, std::int64_t value, bool first);
// Adds another block's value, if it has one.
void include(OfBlocks& figure, std::optional<double> value);

// Adds a hazard. Of two hazards that differ only in the block, keeps the first.
void add(std::vector<Hazard>& hazards, const Hazard& more);

// Adds the counts of more blocks.
void add(Counts& to, const Counts& from);

// Whether the two count the same access of a source line.
bool is_same_access(const LineCounts& a, const LineCounts& b);

// Adds `more` to the entry for the same access, or as a new entry.
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
