// What a traced launch counted: plain data, filled by simt/, printed by report/.
#pragma once

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
};
