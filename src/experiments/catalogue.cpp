// The experiments: the question, launches, columns and conclusion of each.
#include "experiments/experiment.h"

#include "experiments/columns.h"
#include "experiments/conclusions.h"
#include "experiments/launches.h"

namespace experiments {

namespace {

constexpr Sides kSquare{4096, 4096, 4096};

const std::vector<Experiment> kExperiments = {
    {"coarsening",
     "How many results should a thread compute? A block computes 16 x 16, with 1 to 16 per thread.",
     "stride",
     0,
     "",
     Sides{1024, 1024, 2048},
     coarsening,
     {&kThreads, &kRegisters, &kOccupancy, &kSharedWritten, &kSharedCompiled, &kCeiling, &kBoundBy,
      &kTime, &kTflops, &kOfCublas},
     false,
     coarsening_shows,
     nullptr},
    {"block-shape",
     "What does the shape of a block do to the first three stages, and why can 8x8 be slow?",
     "block",
     0,
     "",
     kSquare,
     block_shape,
     {&kStage, &kThreads, &kRegisters, &kOccupancy, &kSectors, &kLines, &kGlobalLoads, &kCeiling,
      &kBoundBy, &kTime, &kTflops, &kOfCublas},
     false,
     block_shape_shows,
     "threads of a block, x by y; 32x8 for stage 3 is stage 4's kernel with one result per thread, "
     "because stage 3's own tile must be square"},
    {"swapped-grid",
     "What happens when the grid's M and N are exchanged, so that blocks start down C's columns?",
     "grid",
     0,
     "",
     kSquare,
     swapped_grid,
     {&kStage, &kOccupancy, &kFirstWave, &kFirstWaveBytes, &kCeiling, &kBoundBy, &kTime, &kTflops,
      &kOfCublas},
     false,
     swapped_grid_shows,
     nullptr},
    {"tile-sizes",
     "Which tiles suit this GPU best? An autotuner's table of stages 5 to 8.",
     "stage",
     0,
     "",
     kSquare,
     tile_sizes,
     {&kBlockTile, &kWarpTile, &kThreadTile, &kThreads, &kRegisters, &kOccupancy, &kCeiling,
      &kBoundBy, &kTime, &kTflops, &kOfCublas},
     true,
     tile_sizes_shows,
     nullptr},
    {"padding",
     "How should A's tile be laid out in shared memory? Stage 7's kernel with four layouts.",
     "padding",
     0,
     "",
     kSquare,
     padding,
     {&kRegisters, &kSharedBytes, &kOccupancy, &kLoadConflicts, &kStoreConflicts, &kSharedCompiled,
      &kCeiling, &kBoundBy, &kTime, &kTflops, &kOfCublas},
     false,
     padding_shows,
     "floats added to each row of As; XOR 16 adds none and exchanges groups of 16 "
     "columns every four rows; with +1 the length of a row is not a multiple of 16 "
     "bytes, so A is loaded float by float"},
    {"stages",
     "How many tiles should shared memory hold? 1 works like stage 8: copy, wait, multiply.",
     "depth",
     0,
     "",
     kSquare,
     pipeline_stages,
     {&kStage, &kSharedBytes, &kRegisters, &kBlocksPerSm, &kOccupancy, &kCeiling, &kBoundBy, &kTime,
      &kTflops, &kOfCublas},
     false,
     stages_shows,
     "tiles of A and B that a block's shared memory holds; with a depth of 1 the next copy "
     "starts when the previous multiplication has finished"},
    {"one-change",
     "What is each change between stages 3 and 11 worth alone, and some that no stage has?",
     "change",
     0,
     "",
     kSquare,
     one_change,
     {&kRegisters, &kOccupancy, &kSharedCompiled, &kCeiling, &kBoundBy, &kTime, &kTflops,
      &kOfCublas},
     false,
     one_change_shows,
     "up to stage 11, each row is the row above with one more change; the names of the rows after "
     "it begin with the stage that they change"},
    {"shapes",
     "Which shapes of C fit the tiles, and which leave SMs idle or waste work?",
     "shape",
     9,
     "",
     Sides{1024, 0, 4096},
     shapes,
     {&kProblem, &kBlocks, &kWaves, &kLastWave, &kWasted, &kCeiling, &kBoundBy, &kTime, &kTflops,
      &kOfCublas},
     false,
     shapes_shows,
     "every row has the same tile, whatever the shape; --size N changes the first six, --m N the "
     "tokens of the others, which are layers of GPT-2 small (768 wide, 50257 words) and "
     "Llama-3-8B (4096 wide, 14336 in between, 8 of 32 heads for K and V)"},
    {"occupancy",
     "How many warps does a kernel need? Unused shared memory limits the blocks per SM.",
     "blocks",
     3,
     "16x16",
     kSquare,
     occupancy_walk,
     {&kSharedBytes, &kOccupancy, &kWaves, &kCeiling, &kBoundBy, &kTime, &kTflops, &kOfCublas},
     false,
     occupancy_shows,
     "blocks per SM; the shared memory that they take is also missing from the L1 cache"},
};

}  // namespace

std::span<const Experiment> experiments() {
  return kExperiments;
}

}  // namespace experiments
