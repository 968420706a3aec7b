// The pictures of the lesson, drawn from what was traced.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/run.h"
#include "model/stage.h"
#include "pictures/block_requests.h"

namespace pictures {

struct Picture {
  std::string name;     // of the file, without its end: "stage5-tiles"
  std::string finding;  // what it shows, in a sentence or two: for readers who do not see it
  std::string svg;
};

// A stage with what one of its blocks did. The block's tile lies inside of C.
struct TracedStage {
  const model::Stage* stage;
  const model::Variant* variant;
  BlockRequests block;
};

// From the matrices to the block's tile and to one thread's results, with what is read for them.
Picture draw_tiles(const TracedStage& stage);

// What one warp asks of global memory, on A, B and C: its lanes over 32-byte sectors.
Picture draw_coalescing(const TracedStage& stage);

// Its lanes over the banks of shared memory, turn by turn; none where the stage uses none.
std::optional<Picture> draw_banks(const TracedStage& stage);

// The same of any kernel: `file` names the picture, `name` the kernel.
Picture draw_coalescing(
    const std::string& file, const std::string& name, const BlockRequests& block);
std::optional<Picture> draw_banks(
    const std::string& file, const std::string& name, const BlockRequests& block);

// Which thread of the block stores to which element of C.
Picture draw_writers(const std::string& file, const std::string& name, const BlockRequests& block);

// Which tile of A each place in shared memory holds between two barriers, in two stages.
Picture draw_pipeline(const TracedStage& before, const TracedStage& after);

// A column of a 32 x 32 tile, read by a warp, in three layouts.
Picture draw_layouts();

// One stage's speed, as recorded on a GPU.
struct RecordedSpeed {
  int number;  // -1: cuBLAS fp32
  double tflops;
  double cublas_percent;  // of the same run
  double times_before;    // the stage before it; 0 where there is none
};
struct RecordedLadder {
  int size;  // M = N = K
  std::vector<RecordedSpeed> speeds;
};

// The speeds in a table that print_table wrote; the stages and cuBLAS fp32. Throws
// std::invalid_argument where it is no such table.
RecordedLadder recorded_run(std::string_view table);

// Those of an H200 in results/, by size.
std::vector<RecordedLadder> recorded_h200();

// The speeds of the stages that were recorded, one below the other. `runs` by size; the bars are
// those of 4096.
Picture draw_staircase(
    std::span<const model::Stage> stages, const std::vector<RecordedLadder>& runs);

// `run` has the traced counts of every stage, a row each.
Picture draw_loads(const lab::Run& run);

// Speed over the operations that a byte serves which was asked of global memory, on run.gpu; of the
// stages that were measured.
Picture draw_roofline(const lab::Run& run, const RecordedLadder& measured);

}  // namespace pictures
