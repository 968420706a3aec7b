// The pictures of the lesson, drawn from what was traced.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lab/run.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "pictures/block_requests.h"
#include "pictures/first_wave.h"
#include "pictures/picture.h"
#include "pictures/recorded_speeds.h"

namespace pictures {

// A stage with what one of its blocks did. The block's tile lies inside of C.
struct TracedStage {
  const model::Stage* stage;
  const model::Variant* variant;
  BlockRequests block;
};

// What a picture of a stage or of any kernel is about.
struct Subject {
  const char* name;   // in the file's name: "stage5-tiles"
  const char* words;  // in the title, behind the stage's or the kernel's name
};
inline constexpr Subject kAboutTiles{"tiles", "who computes what"};
inline constexpr Subject kAboutCoalescing{"coalescing", "what a warp asks of global memory"};
inline constexpr Subject kAboutBanks{"banks", "the banks of shared memory"};
inline constexpr Subject kAboutPipeline{"pipeline", "copying while multiplying"};
inline constexpr Subject kAboutSteps{"steps", "loading while multiplying"};
inline constexpr Subject kAboutSms{"sms", "which SM works on what"};
inline constexpr Subject kAboutWave{"wave", "what the blocks that run together read"};
inline constexpr Subject kAboutLanes{"lanes", "a warp's lanes on its tile"};
inline constexpr Subject kAboutBoxes{"boxes", "how boxes lie in shared memory"};
inline constexpr Subject kAboutRing{"ring", "copy engine and tensor cores over time"};
inline constexpr Subject kAboutWriters{"writers", "which thread writes which element of C"};

// From the matrices to the block's tile and to one thread's results, with what is read for them.
Drawing draw_tiles(const TracedStage& stage);

// What one warp asks of global memory, on A, B and C: its lanes over 32-byte sectors.
Drawing draw_coalescing(const BlockRequests& block);

// Its lanes over the banks of shared memory, turn by turn; none where the kernel uses none.
std::optional<Drawing> draw_banks(const BlockRequests& block);

// Which thread of the block stores to which element of C.
Drawing draw_writers(const BlockRequests& block);

// Which lane of a warp computes what of the warp's tile, and which lanes ask for the same float4 of
// A and of B. Of a stage that says what a warp's tile is.
Drawing draw_lanes(const TracedStage& stage);

// When a warp loads and when it multiplies, step by step of k: of a stage that loads a step when it
// multiplies it, and of one that loads ahead. A load takes so many cycles.
Drawing draw_steps(
    const TracedStage& before, const TracedStage& after, const model::Gpu& gpu, double load_cycles);

// Which SM computes which tile or part of a tile, if no tile is cut and if some are. Nothing if the
// variant cuts none in such a product.
std::optional<Drawing> draw_sm_times(
    const model::Variant& variant, const model::Gpu& gpu, int M, int N, int K);

// How a box of A and one of B lie in shared memory, and what is read of them at a time. Of a stage
// with boxes and wgmma that says how B is swizzled.
Drawing draw_box(const TracedStage& stage);

// The first blocks of a stage's launch, one for each SM.
struct WaveOfStage {
  const model::Stage* stage;
  const model::Variant* variant;
  FirstWave wave;
};

// Which tiles of C they compute, and what they read of A and B: of two stages that differ in the
// order of the blocks.
Drawing draw_first_wave(const WaveOfStage& before, const WaveOfStage& after, int M, int N);

// A column of a 32 x 32 tile, read by a warp, in three layouts.
Picture draw_layouts();

// The speeds of the stages that were recorded, one below the other. `runs` by size; the bars are
// those of 4096.
Picture draw_staircase(
    std::span<const model::Stage> stages, const std::vector<RecordedLadder>& runs);

// `run` has the traced counts of every stage, a row each.
Picture draw_loads(const lab::Run& run);

// Speed over the operations per byte that was asked of global memory, on run.gpu; of the stages
// that were measured.
Picture draw_roofline(const lab::Run& run, const RecordedLadder& measured);

// What a GPU consists of, where the words of the lesson live in it, and how much of each there is.
Picture draw_gpu();

}  // namespace pictures
