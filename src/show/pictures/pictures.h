// The pictures of the lesson and of a user's kernel, drawn from traces.
#pragma once

#include <cstdio>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "lab/run.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "show/pictures/block_requests.h"
#include "show/pictures/recorded_gpus.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

// A stage's variant, traced on some blocks, and what the first one did. Pictures show no hazards.
struct RecordedRow {
  lab::Row row;
  model::Recording recording;
};
RecordedRow recorded_row(
    const model::StageTable& table, const model::Stage& stage, const model::Variant& variant,
    const lab::Problem& p, const model::Gpu& gpu, machine::Blocks blocks,
    std::size_t most_events = model::Recorder{}.most_events);

// A stage's first variant, traced for the GPU of the recorded times, and the requests of its first
// block. The block's tile lies inside of C.
struct TracedStage {
  lab::Row row;
  BlockRequests block;
};
TracedStage traced_stage(
    const model::StageTable& table, const model::Stage& stage, const lab::ProblemSize& sides);

// From the matrices to the block's tile and to one thread's results, with what they read. Nothing
// if a thread's results are several pieces.
std::optional<Drawing> draw_tiles(const TracedStage& stage);

// One warp's requests to global memory, for A, B and C: its lanes over 32-byte sectors.
Drawing draw_coalescing(const BlockRequests& block);

// Its lanes over the banks of shared memory, turn by turn; none if the kernel uses no shared
// memory.
std::optional<Drawing> draw_banks(const BlockRequests& block);

// Which lane of a warp computes which part of the warp's tile, and which lanes load the same float4
// of A and of B. For a stage with a warp tile.
Drawing draw_lanes(const TracedStage& stage);

// Which lane holds which element of an mma, and in which register.
Drawing draw_fragments();

// A column of a 32 x 32 tile, read by a warp, in three layouts.
Picture draw_layouts();

// The speeds of the stages that were recorded, one below the other. The bars are those of the
// lesson's size.
Picture draw_staircase(std::span<const model::Stage> stages, const RecordedGpu& recorded);

// Speed over the operations per byte requested from global memory, on run.gpu, for the stages that
// were measured.
Picture draw_roofline(const lab::Run& run, const RecordedLadder& measured);

// The staircase and the roofline of each GPU that is recorded, the lesson's first: its speeds, and
// bytes that are traced here, with the tiles that the stages have there.
struct Charts {
  std::string gpu;
  std::vector<Picture> pictures;
};
std::vector<Charts> draw_charts(const model::StageTable& table);

// The parts of a GPU, with the words of the lesson, and how much of each there is.
Picture draw_gpu();

// Traces the default variant of every stage and draws all pictures of the lesson.
std::vector<Picture> draw_pictures(const model::StageTable& table);

// Draws these and writes them with `others`, and prints a line "NAME.svg: what it shows" for each.
void draw_figures(
    const std::string& directory, const model::StageTable& table,
    const std::vector<Picture>& others);

// Writes each to DIR/NAME.svg, complete or not at all, and makes DIR if it is missing. Throws a
// Refusal if that fails.
void write_pictures(const std::string& directory, const std::vector<Picture>& pictures);

// What a user's kernel did, in pictures: on a terminal, and as a part of a page.
struct ShownKernel {
  std::string name;
  std::string launch;   // its shape, in words
  BlockRequests block;  // the first one, as far as it came
  std::string source;   // lines with the accesses of each; empty if they are not known
};

struct Show {
  std::string title;
  std::vector<std::string> complaints;  // a sentence each: hazards, wrong results, faults
  std::set<int> lines;                  // of the source, with complaints
  std::vector<ShownKernel> kernels;
};

// At most 100 columns wide; the pictures in it have 80.
void print_show(std::FILE* out, const Show& show, text::Style style);

// The kernels' annotated source and pictures as HTML, all text escaped. A page has them in an
// element with the id "pictures" (src/show/page/page.css).
std::string show_html(const Show& show);

}  // namespace pictures
