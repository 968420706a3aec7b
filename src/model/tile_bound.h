// What tile sizes alone decide, before there is a kernel: its loads, and the highest speed that
// they allow. For kernels whose threads copy a tile of A and B to shared memory, a block at a time,
// and multiply TM x TN results from it.
#pragma once

#include <optional>

#include "model/ceiling.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace model {

struct TileSizes {
  int BM, BN, BK, TM, TN;
};

// Why there can be no such kernel.
enum class TileFault {
  none,
  range,          // a size is below 1 or above 1024
  rows,           // BM is no multiple of TM
  columns,        // BN is no multiple of TN
  threads,        // more than a block may have
  vectors,        // TM, TN or BK is no multiple of the floats that are moved at once
  copies_of_A,    // the threads do not copy whole rows of A's tile
  copies_of_B,    // or of B's
  shared_memory,  // the tiles take more than a block may have
};

// `vec`: the floats that a copy moves, and a load from shared memory: 1 or 4.
TileFault tile_fault(const Gpu& gpu, const TileSizes& sizes, int vec);

// Of one thread of an interior block, by the formulas of a stage; beta is 0.
struct TileCosts {
  int threads;     // per block
  int smem_bytes;  // per block, without padding
  double gmem_loads, gmem_floats, smem_loads, smem_floats, gmem_stores, smem_stores;
  double operations_per_gmem_byte;  // asked of global memory, whether caches answer or DRAM
  double operations_per_smem_byte;
};

// Sizes without a fault. The formulas may use M, N, K, the sizes, `threads`, `vec` and `reads_C`.
TileCosts tile_costs(
    const Product& product, const TileSizes& sizes, int vec, const Predicted& formulas);

// The ceiling as written, if every request takes the fewest cycles that the rules allow: requests
// to global memory are contiguous, those to shared memory have no bank conflict, and all lanes of a
// load from it may share what they load. So it is an upper bound for every order of the threads.
// Nothing for a GPU without a clock.
std::optional<Ceiling> tile_bound(
    const Gpu& gpu, const Product& product, const TileSizes& sizes, int vec,
    const Predicted& formulas);

}  // namespace model
