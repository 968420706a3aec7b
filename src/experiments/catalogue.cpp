// The experiments: the question, launches, columns and conclusion of each.

#include <algorithm>
#include <initializer_list>
#include <string>

#include "experiments/experiment.h"
#include "text/numbers.h"

namespace experiments {

namespace {

std::vector<PlannedLaunch> coarsening(const Plan&) {
  std::vector<PlannedLaunch> launches;
  for (const char* stride : {"1", "2", "4", "8", "16"}) {
    launches.push_back({stride, 4, std::string("16x16x16-tm") + stride});
  }
  return launches;
}

// A block's threads as in the launch, x by y.
std::vector<PlannedLaunch> block_shape(const Plan&) {
  return {{"8x8", 1, "8x8"},     {"16x16", 1, "16x16"},      {"32x8", 1, "32x8"},
          {"32x32", 1, "32x32"}, {"8x8", 2, "8x8"},          {"16x16", 2, "16x16"},
          {"32x8", 2, "8x32"},   {"32x32", 2, "32x32"},      {"8x8", 3, "8x8"},
          {"16x16", 3, "16x16"}, {"32x8", 4, "8x32x32-tm1"}, {"32x32", 3, "32x32"}};
}

std::vector<PlannedLaunch> swapped_grid(const Plan&) {
  std::vector<PlannedLaunch> launches;
  for (int stage = 1; stage <= 3; ++stage) {
    launches.push_back({"as it is", stage, "32x32"});
    launches.push_back({"swapped", stage, "swapped-grid"});
  }
  return launches;
}

std::vector<PlannedLaunch> tile_sizes(const Plan&) {
  std::vector<PlannedLaunch> launches;
  const auto add = [&](int stage, std::initializer_list<const char*> variants) {
    for (const char* variant : variants)
      launches.push_back({std::to_string(stage), stage, variant});
  };
  add(5, {"128x128x8", "64x64x8", "128x64x8", "128x128x16", "64x64x16-4x4"});
  add(6, {"128x128x8", "64x64x8", "128x64x8", "128x128x16", "64x64x16-4x4"});
  add(7, {"128x128x8", "64x64x8", "128x64x8", "64x128x8", "128x128x8-16x8"});
  add(8, {"128x128x8", "64x256x8", "128x128x8-64x64", "128x64x8", "64x128x8"});
  return launches;
}

std::vector<PlannedLaunch> padding(const Plan&) {
  return {
      {"none", 7, "unpadded"},
      {"+1", 7, "padded-by-1"},
      {"+4", 7, "128x128x8"},
      {"XOR 16", 7, "swizzled"}};
}

// A depth of 1 is not a pipeline: copy, wait, multiply, as stage 8 does with the same tile.
std::vector<PlannedLaunch> pipeline_stages(const Plan&) {
  return {
      {"1", 8, "any-registers-128x256"},
      {"2", 9, "128x256x8-2"},
      {"3", 9, "128x256x8-3"},
      {"4", 9, "128x256x8"},
      {"5", 9, "128x256x8-5"}};
}

// From stage 3 to stage 11, one change at a time; then separate changes.
std::vector<PlannedLaunch> one_change(const Plan&) {
  return {
      {"stage 3", 3, "32x32"},
      {"TM 8", 4, "32x32x32-tm8"},
      {"tile 64x64x8: stage 4", 4, "64x64x8-tm8"},
      {"TN 8", 5, "64x64x8"},
      {"tile 128x128x8: stage 5", 5, "128x128x8"},
      {"unrolled", 5, "unrolled"},
      {"float4, A transposed: stage 6", 6, "128x128x8"},
      {"B's columns spread", 7, "unpadded"},
      {"A's rows padded: stage 7", 7, "128x128x8"},
      {"results 16x8", 7, "128x128x8-16x8"},
      {"warp tiles", 8, "any-registers"},
      {"registers for 3 blocks per SM: stage 8", 8, "128x128x8"},
      {"tile 128x256x8, 1 block per SM", 8, "any-registers-128x256"},
      {"cp.async, 4 tiles: stage 9", 9, "128x256x8"},
      {"addresses kept, only K checked", 10, "not-ahead"},
      {"fragments one step ahead", 10, "forwards"},
      {"back and forth: stage 10", 10, "128x256x8"},
      {"blocks in bands of 8 tile rows", 11, "128x256x8-ordered"},
      {"last wave cut along K: stage 11", 11, "128x256x8"},
      {"5 unrolled, rows as (i + thread) / BK", 5, "unrolled-other-index"},
      {"6 not unrolled", 6, "not-unrolled"},
      {"6 with B padded", 6, "padded-b"},
      {"7 with warp tiles, still 8x8", 8, "any-registers-8x8"},
      {"8 without warp tiles", 7, "16x8-3-blocks"},
      {"10 by columns, back and forth", 10, "by-columns"},
      {"12 as it is", 12, "128x256x16"},
      {"12, ring of 3", 12, "128x256x16-ring3"},
      {"12, ring of 3, K tile of 32", 12, "128x256x32-ring3"},
      {"13 as it is", 13, "128x256x32"},
      {"13, ring of 3", 13, "128x256x32-ring3"},
      {"13 without a swizzle", 13, "unswizzled"},
      {"13, tile 256x128", 13, "256x128x32"},
      {"14 as it is", 14, "256x128x32"},
      {"14, tile 128x256", 14, "128x256x32"},
      {"14, copies started first", 14, "copies-first"},
      {"15 as it is", 15, "256x128x32"},
      {"15, ring of 3", 15, "256x128x32-ring3"},
      {"15 waiting for each tile", 15, "waiting"},
      {"16 as it is", 16, "256x128x32"},
      {"16, ring of 3", 16, "256x128x32-ring3"},
      {"16 waiting for each tile", 16, "waiting"},
      {"16, no registers moved", 16, "equal-registers"},
      {"17 as it is", 17, "128x128x32"},
      {"17, ring of 3", 17, "128x128x32-ring3"},
      {"17, A split by a rolled loop", 17, "rolled"},
      {"17 with turns", 17, "in-turns"},
      {"18 as it is", 18, "128x128x32"},
      {"18, ring of 3", 18, "128x128x32-ring3"},
      {"18 with turns", 18, "in-turns"},
      {"19 as it is", 19, "256x128x64"},
      {"19 without turns", 19, "no-turns"},
      {"19, K tile of 32", 19, "256x128x32"}};
}

// Squares and other shapes with about as much work, and the products by which two language models
// multiply M tokens. GPT-2 small: 768 wide, 50257 words (Radford et al., Language Models are
// Unsupervised Multitask Learners, 2019, table 2, and its published hyperparameters). Llama-3-8B:
// 4096 wide, 8 of 32 heads of 128 for keys and values, 14336 in between (Grattafiori et al., The
// Llama 3 Herd of Models, 2024, table 3).
std::vector<PlannedLaunch> shapes(const Plan& plan) {
  const int side = plan.sides.K, tokens = plan.sides.M;
  const int quarter = side / 4, four = side > (1 << 28) ? side : 4 * side;
  using Sides = lab::ProblemSize;
  const std::string name = plan.variant->name;
  const int stage = plan.stage->number;
  return {
      {"square", stage, name, Sides{side, side, side}},
      {"square, 4 more", stage, name, Sides{side + 4, side + 4, side}},
      {"square, 1 more", stage, name, Sides{side + 1, side + 1, side}},
      {"tall", stage, name, Sides{four, quarter, side}},
      {"wide", stage, name, Sides{quarter, four, side}},
      {"deep", stage, name, Sides{quarter, quarter, four}},
      {"GPT-2 Q, K and V", stage, name, Sides{tokens, 2304, 768}},
      {"GPT-2 attention out", stage, name, Sides{tokens, 768, 768}},
      {"GPT-2 MLP up", stage, name, Sides{tokens, 3072, 768}},
      {"GPT-2 MLP down", stage, name, Sides{tokens, 768, 3072}},
      {"GPT-2 words", stage, name, Sides{tokens, 50257, 768}},
      {"Llama-3-8B Q, out", stage, name, Sides{tokens, 4096, 4096}},
      {"Llama-3-8B K, V", stage, name, Sides{tokens, 1024, 4096}},
      {"Llama-3-8B MLP up", stage, name, Sides{tokens, 14336, 4096}},
      {"Llama-3-8B MLP down", stage, name, Sides{tokens, 4096, 14336}},
      {"MLP up, 1 token", stage, name, Sides{1, 14336, 4096}},
      {"1 token, few rows", 11, "16x256x16", Sides{1, 14336, 4096}},
      {"16 tokens, few rows", 11, "16x256x16", Sides{16, 14336, 4096}},
      {"64, few rows, stage 17", 17, "64x128x32", Sides{64, 14336, 4096}}};
}

// From as many blocks as an SM holds down to one, each time with the largest shared memory per
// block that leaves room for them.
std::vector<PlannedLaunch> occupancy_walk(const Plan& plan) {
  std::vector<PlannedLaunch> launches;
  const auto add = [&](int blocks, int padding_bytes) {
    launches.push_back(
        {text::printed("%d", blocks), plan.stage->number, plan.variant->name, {}, padding_bytes});
  };
  if (!plan.occupancy || plan.occupancy->blocks_per_sm == 0) {
    add(0, 0);
    return launches;
  }
  const model::Gpu& gpu = plan.gpu;
  const model::KernelResources needs = plan.occupancy->resources;
  add(plan.occupancy->blocks_per_sm, 0);
  for (int blocks = plan.occupancy->blocks_per_sm - 1; blocks >= 1; --blocks) {
    const int granule = gpu.smem_granularity_bytes;
    const int room = gpu.smem_bytes_per_sm / blocks / granule * granule;
    model::KernelResources padded = needs;
    padded.smem_bytes_per_block =
        std::min(room - gpu.smem_reserved_bytes_per_block, gpu.smem_bytes_per_block);
    // Some numbers of blocks are impossible if a block takes much shared memory, and are skipped.
    if (model::occupancy(gpu, padded).blocks_per_sm != blocks) continue;
    add(blocks, padded.smem_bytes_per_block - needs.smem_bytes_per_block);
  }
  return launches;
}

const std::vector<Experiment> kExperiments = {
    {.name = "coarsening",
     .question = "How many results should a thread compute? A block computes 16 x 16, with 1 to 16 "
                 "per thread.",
     .setting = "stride",
     .otherwise = {1024, 1024, 2048},
     .launches = coarsening,
     .columns = "figures.threads_per_block figures.registers_per_thread figures.occupancy_percent "
                "figures.smem_load_requests_written figures.smem_load_requests_compiled",
     .conclusion =
         {.before = "stride ",
          .reasons =
              {{"figures.occupancy_percent", "% occupancy"},
               {"figures.smem_load_requests_compiled", "million loads from shared memory"}}}},
    {.name = "block-shape",
     .question =
         "What does the shape of a block do to the first three stages, and why can 8x8 be slow?",
     .setting = "block",
     .launches = block_shape,
     .columns = "figures.stage figures.threads_per_block figures.registers_per_thread "
                "figures.occupancy_percent figures.sectors_per_request figures.lines_per_request "
                "figures.gmem_load_floats_per_result",
     .conclusion =
         {.of = Conclusion::Of::stage,
          .beside_slowest = true,
          .reasons =
              {{"figures.lines_per_request", "lines per request"},
               {"figures.sectors_per_request", "sectors per request"},
               {"figures.occupancy_percent", "% occupancy"}}},
     .note = "threads of a block, x by y; 32x8 for stage 3 is stage 4's kernel with one result per "
             "thread, because stage 3's own tile must be square"},
    {.name = "swapped-grid",
     .question = "What happens when the grid's M and N are exchanged, so that blocks start down "
                 "C's columns?",
     .setting = "grid",
     .launches = swapped_grid,
     .columns = "figures.stage figures.occupancy_percent figures.first_wave_blocks "
                "figures.first_wave_bytes",
     .conclusion =
         {.of = Conclusion::Of::stage,
          .before = "the grid ",
          .reasons = {{"figures.first_wave_bytes", "MB of A and B at once"}}}},
    {.name = "tile-sizes",
     .question = "Which tiles suit this GPU best? An autotuner's table of stages 5 to 8.",
     .setting = "stage",
     .launches = tile_sizes,
     .columns = "block_tile warp_tile thread_tile figures.threads_per_block "
                "figures.registers_per_thread figures.occupancy_percent",
     .best_first = true,
     .conclusion =
         {.of = Conclusion::Of::stage,
          .beside_slowest = true,
          .reasons = {{"figures.occupancy_percent", "% occupancy"}}}},
    {.name = "padding",
     .question =
         "How should A's tile be laid out in shared memory? Stage 7's kernel with four layouts.",
     .setting = "padding",
     .launches = padding,
     .columns = "figures.registers_per_thread figures.smem_bytes_per_block "
                "figures.occupancy_percent figures.smem_load_conflicts_per_request "
                "figures.smem_store_conflicts_per_request figures.smem_load_requests_compiled",
     .conclusion =
         {.before = "padding ",
          .reasons =
              {{"figures.smem_load_conflicts_per_request", "conflicts per load"},
               {"figures.smem_store_conflicts_per_request", "conflicts per store"},
               {"figures.smem_load_requests_compiled", "million loads from shared memory"}}},
     .note = "floats added to each row of As; XOR 16 adds none and exchanges groups of 16 columns "
             "every four rows; with +1 the length of a row is not a multiple of 16 bytes, so A is "
             "loaded float by float"},
    {.name = "stages",
     .question =
         "How many tiles should shared memory hold? 1 works like stage 8: copy, wait, multiply.",
     .setting = "depth",
     .launches = pipeline_stages,
     .columns = "figures.stage figures.smem_bytes_per_block figures.registers_per_thread "
                "figures.blocks_per_sm figures.occupancy_percent",
     .conclusion =
         {.before = "depth ",
          .enough = true,
          .reasons = {{"figures.blocks_per_sm", "blocks per SM"}}},
     .note = "tiles of A and B that a block's shared memory holds; with a depth of 1 the next copy "
             "starts when the previous multiplication has finished"},
    {.name = "one-change",
     .question = "What is each change worth alone, from stage 3 on, and some that no stage has?",
     .setting = "change",
     .launches = one_change,
     .columns = "figures.registers_per_thread figures.occupancy_percent "
                "figures.smem_load_requests_compiled",
     .conclusion = {.of = Conclusion::Of::row_above},
     .note = "up to stage 11, each row is the row above with one more change; the names of the "
             "rows after it begin with the stage that they change"},
    {.name = "shapes",
     .question = "Which shapes of C fit the tiles, and which leave SMs idle or waste work?",
     .setting = "shape",
     .one_kernel = 9,
     .otherwise = {1024, 0, 4096},
     .launches = shapes,
     .columns = "problem figures.blocks_in_the_launch figures.waves figures.last_wave_full "
                "figures.tiles_wasted",
     .conclusion =
         {.before = "\"",
          .after = "\"",
          .beside_slowest = true,
          .reasons =
              {{"figures.tiles_wasted", "% of the tiles outside C"},
               {"figures.last_wave_full", "% of the last wave full"}}},
     .note =
         "every row but the last three has the same tile, whatever the shape; --size N changes the "
         "first six, --m N the tokens of the others, which are layers of GPT-2 small (768 wide, "
         "50257 words) and Llama-3-8B (4096 wide, 14336 in between, 8 of 32 heads for K and V)"},
    {.name = "occupancy",
     .question =
         "How many warps does a kernel need? Unused shared memory limits the blocks per SM.",
     .setting = "blocks",
     .one_kernel = 3,
     .variant = "16x16",
     .launches = occupancy_walk,
     .columns = "figures.smem_bytes_per_block figures.occupancy_percent figures.waves",
     .conclusion =
         {.before = "a limit of ",
          .after = " blocks per SM",
          .enough = true,
          .least = true,
          .nearly = 0.05,
          .beside_slowest = true,
          .reasons = {{"figures.occupancy_percent", "% occupancy"}}},
     .note = "blocks per SM; the shared memory that they take is also missing from the L1 cache"},
};

}  // namespace

std::span<const Experiment> experiments() {
  return kExperiments;
}

}  // namespace experiments
