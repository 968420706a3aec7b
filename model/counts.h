// What a traced launch counted: plain data, filled by simt/, printed by report/.
#pragma once

#include <array>
#include <cstdint>

// One figure over all traced threads.
struct PerThread {
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t sum = 0;
};

// One direction (loads or stores) of one memory space (global or shared).
struct Traffic {
  PerThread accesses;                // as written: one float4 is one access
  PerThread floats;                  // bytes / 4
  PerThread bytes;
  std::int64_t requests = 0;         // instructions of one warp
  std::int64_t pieces = 0;           // global: 32-byte sectors; shared: wavefronts
  std::int64_t ideal_pieces = 0;     // the same for the same lanes, perfectly arranged
  std::int64_t bank_conflicts = 0;   // shared only: wavefronts beyond one a group of lanes
  std::int64_t lines = 0;            // global only: 128-byte lines, summed over the requests
};

// Loads from shared memory that the source writes for one word a lane, and of which a compiler that
// unrolls could make one for two or four words, because all lanes are equally far from alignment.
struct Widenable {
  std::int64_t requests = 0;         // as written; their wavefronts are known from where this stands
  std::int64_t wavefronts_64 = 0;    // of all of them, were they 8 bytes a lane
  std::int64_t wavefronts_128 = 0;   // and 16
};

struct Counts {
  std::int64_t blocks = 0;           // of the launch
  std::int64_t blocks_traced = 0;    // the figures below are these blocks', and no others'
  std::int64_t threads_traced = 0;
  Traffic gmem_loads;                // cp.async counts here ...
  Traffic gmem_stores;
  Traffic smem_loads;
  Traffic smem_stores;               // ... and here,
  Traffic async_gmem;                // and once more on its own: its global side
  Traffic async_smem;                // and its shared side
  std::array<Widenable, 33> widenable{};  // of smem_loads: [w] are those that take w wavefronts
};
