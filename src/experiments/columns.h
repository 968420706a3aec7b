// The columns that experiments choose for their tables.
#pragma once

#include "experiments/experiment.h"

namespace experiments {

extern const Column kStage, kBlockTile, kWarpTile, kThreadTile, kThreads, kRegisters, kSharedBytes,
    kBlocksPerSm, kOccupancy, kSectors, kLines, kGlobalLoads, kSharedWritten, kSharedCompiled,
    kLoadConflicts, kStoreConflicts, kProblem, kBlocks, kWaves, kLastWave, kWasted, kFirstWave,
    kFirstWaveBytes, kCeiling, kBoundBy, kTime, kTflops, kOfCublas;

}  // namespace experiments
