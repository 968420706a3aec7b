// The experiments: questions, launches, figures. What they show is worked out in conclusions.cpp.
#include <algorithm>
#include <cmath>

#include "experiments/conclusions.h"
#include "experiments/experiment.h"
#include "lab/rates.h"
#include "text/numbers.h"

namespace experiments {

namespace {

report::FactValue or_null(const std::optional<double>& value) {
  if (!value) return {};
  return *value;
}

std::string or_dash(const std::optional<double>& value, std::string (*text)(double)) {
  return value && std::isfinite(*value) ? text(*value) : "–";
}

std::string percent(double share) {
  return text::printed("%.1f", 100 * share);
}

std::string millions(double value) {
  return text::printed("%.2f", value / 1e6);
}

std::optional<model::Ceiling> ceiling_of(const Trial& trial) {
  const auto compiled = lab::compiled_ceiling(trial.run, trial.row);
  return compiled ? compiled : lab::written_ceiling(trial.run, trial.row);
}

std::optional<double> last_wave(const Trial& trial) {
  const double waves = quantization(trial).waves;
  if (waves <= 0 || !std::isfinite(waves)) return std::nullopt;
  return waves - std::ceil(waves) + 1;
}

const Column kStage{
    "stage",
    {"", "stage"},
    [](const Trial& t) { return std::to_string(t.row.number); },
    [](const Trial& t) { return report::FactValue(t.row.number); },
    nullptr};
const Column kBlockTile{
    nullptr,
    {"tile", "BMxBNxBK"},
    [](const Trial& t) {
      const model::Variant& v = *t.row.variant;
      return text::printed("%dx%dx%d", v.BM, v.BN, v.BK);
    },
    nullptr,
    nullptr};
const Column kWarpTile{
    nullptr,
    {"warp", "WMxWN"},
    [](const Trial& t) {
      const model::Variant& v = *t.row.variant;
      return v.WM > 0 ? text::printed("%dx%d", v.WM, v.WN) : "–";
    },
    nullptr,
    nullptr};
const Column kThreadTile{
    nullptr,
    {"thread", "TMxTN"},
    [](const Trial& t) { return text::printed("%dx%d", t.row.variant->TM, t.row.variant->TN); },
    nullptr,
    nullptr};
const Column kThreads{
    "threads_a_block",
    {"thrds/", "block"},
    [](const Trial& t) { return std::to_string(t.row.variant->threads()); },
    [](const Trial& t) { return report::FactValue(t.row.variant->threads()); },
    nullptr};
const Column kRegisters{
    "registers_a_thread",
    {"", "regs"},
    [](const Trial& t) {
      return t.row.occupancy ? std::to_string(t.row.occupancy->resources.registers_per_thread)
                             : "–";
    },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(t.row.occupancy->resources.registers_per_thread)
                             : report::FactValue();
    },
    nullptr};
const Column kSharedBytes{
    "smem_bytes_a_block",
    {"SMEM B", "/block"},
    [](const Trial& t) {
      return t.row.occupancy ? text::grouped(t.row.occupancy->resources.smem_bytes_per_block) : "–";
    },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(t.row.occupancy->resources.smem_bytes_per_block)
                             : report::FactValue();
    },
    nullptr};
const Column kBlocksPerSm{
    "blocks_an_sm",
    {"blocks", "/SM"},
    [](const Trial& t) {
      return t.row.occupancy ? std::to_string(t.row.occupancy->blocks_per_sm) : "–";
    },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(t.row.occupancy->blocks_per_sm)
                             : report::FactValue();
    },
    nullptr};
const Column kOccupancy{
    "occupancy_percent",
    {"occ", "%"},
    [](const Trial& t) {
      return t.row.occupancy ? text::printed("%.2f", t.row.occupancy->percent) : "–";
    },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(t.row.occupancy->percent) : report::FactValue();
    },
    "occupancy: warps that an SM holds, of those that it could"};
const Column kSectors{
    "sectors_a_request",
    {"sect", "/req"},
    [](const Trial& t) { return text::brief(lab::pieces_per_request(t.row.counts->gmem_loads)); },
    [](const Trial& t) {
      return report::FactValue(lab::pieces_per_request(t.row.counts->gmem_loads));
    },
    "32-byte sectors that a request (one instruction of a warp) loads from GMEM"};
const Column kLines{
    "lines_a_request",
    {"lines", "/req"},
    [](const Trial& t) {
      const model::Traffic& loads = t.row.counts->gmem_loads;
      return loads.requests > 0 ? text::brief(double(loads.lines) / double(loads.requests)) : "–";
    },
    [](const Trial& t) {
      const model::Traffic& loads = t.row.counts->gmem_loads;
      return loads.requests > 0 ? report::FactValue(double(loads.lines) / double(loads.requests))
                                : report::FactValue();
    },
    "128-byte lines that such a request touches: L1 serves one a cycle"};
const Column kGlobalLoads{
    "gmem_load_floats_a_result",
    {"GMEM", "/res"},
    [](const Trial& t) {
      const double results = lab::results_per_thread(*t.row.variant);
      return text::brief(static_cast<double>(t.row.counts->gmem_loads.floats.max) / results);
    },
    [](const Trial& t) {
      const double results = lab::results_per_thread(*t.row.variant);
      return report::FactValue(static_cast<double>(t.row.counts->gmem_loads.floats.max) / results);
    },
    "floats that a thread loads from GMEM for each of its results"};
const Column kSharedWritten{
    "smem_load_requests_written",
    {"written", "SMEM M"},
    [](const Trial& t) { return or_dash(shared_loads_written(t), millions); },
    [](const Trial& t) { return or_null(shared_loads_written(t)); },
    "requests of the whole launch that load from SMEM, in millions, as the source says it"};
const Column kSharedCompiled{
    "smem_load_requests_compiled",
    {"compiled", "SMEM M"},
    [](const Trial& t) { return or_dash(shared_loads_compiled(t), millions); },
    [](const Trial& t) { return or_null(shared_loads_compiled(t)); },
    "such requests as the compiler made them, which merges loads of neighbours into wide ones"};
const Column kLoadConflicts{
    "smem_load_conflicts_a_request",
    {"conf", "/load"},
    [](const Trial& t) {
      const model::Traffic& loads = t.row.counts->smem_loads;
      return loads.requests > 0 ? text::brief(double(loads.bank_conflicts) / double(loads.requests))
                                : "–";
    },
    [](const Trial& t) {
      const model::Traffic& loads = t.row.counts->smem_loads;
      return loads.requests > 0
                 ? report::FactValue(double(loads.bank_conflicts) / double(loads.requests))
                 : report::FactValue();
    },
    "bank conflicts: turns (wavefronts) of SMEM that a request takes too many"};
const Column kStoreConflicts{
    "smem_store_conflicts_a_request",
    {"conf", "/store"},
    [](const Trial& t) {
      const model::Traffic& stores = t.row.counts->smem_stores;
      return stores.requests > 0
                 ? text::brief(double(stores.bank_conflicts) / double(stores.requests))
                 : "–";
    },
    [](const Trial& t) {
      const model::Traffic& stores = t.row.counts->smem_stores;
      return stores.requests > 0
                 ? report::FactValue(double(stores.bank_conflicts) / double(stores.requests))
                 : report::FactValue();
    },
    nullptr};
const Column kProblem{
    nullptr,
    {"", "MxNxK"},
    [](const Trial& t) { return text::printed("%dx%dx%d", t.run.M, t.run.N, t.run.K); },
    nullptr,
    nullptr};
const Column kBlocks{
    "blocks_of_the_launch",
    {"", "blocks"},
    [](const Trial& t) { return std::to_string(quantization(t).blocks); },
    [](const Trial& t) { return report::FactValue(std::int64_t{quantization(t).blocks}); },
    nullptr};
const Column kWaves{
    "waves",
    {"", "waves"},
    [](const Trial& t) { return t.row.occupancy ? text::brief(quantization(t).waves) : "–"; },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(quantization(t).waves) : report::FactValue();
    },
    "how many times all SMs must be filled with blocks"};
const Column kLastWave{
    "last_wave_full",
    {"last", "full%"},
    [](const Trial& t) { return or_dash(last_wave(t), percent); },
    [](const Trial& t) { return or_null(last_wave(t)); },
    "how much of the last wave there are blocks for"};
const Column kWasted{
    "tiles_wasted",
    {"waste", "%"},
    [](const Trial& t) { return percent(quantization(t).wasted); },
    [](const Trial& t) { return report::FactValue(quantization(t).wasted); },
    "the part of the tiles that lies outside of C and is computed in vain"};
const Column kFirstWave{
    "first_wave_blocks",
    {"wave", "rows x columns"},
    [](const Trial& t) {
      const auto wave = first_wave(t);
      return wave ? text::printed("%lld x %lld", wave->block_rows, wave->block_columns) : "–";
    },
    [](const Trial& t) {
      const auto wave = first_wave(t);
      return wave ? report::FactValue(
                        text::printed("%lld x %lld", wave->block_rows, wave->block_columns))
                  : report::FactValue();
    },
    "the blocks that the GPU holds at once, and the part of C that they reach over"};
const Column kFirstWaveBytes{
    "first_wave_bytes",
    {"wave's A", "and B MB"},
    [](const Trial& t) {
      const auto wave = first_wave(t);
      return wave ? text::significant(wave->bytes / 1e6) : "–";
    },
    [](const Trial& t) {
      const auto wave = first_wave(t);
      return wave ? report::FactValue(wave->bytes) : report::FactValue();
    },
    "what these blocks read of A and B, each element once"};
const Column kCeiling{
    "ceiling_tflops",
    {"ceiling", "TFLOP/s"},
    [](const Trial& t) {
      const auto ceiling = ceiling_of(t);
      return ceiling ? text::significant(ceiling->tflops) : "–";
    },
    [](const Trial& t) {
      const auto ceiling = ceiling_of(t);
      return ceiling ? report::FactValue(ceiling->tflops) : report::FactValue();
    },
    "the most that this GPU can reach, because the unit in the next column would then be busy all "
    "the time"};
const Column kBoundBy{
    "ceiling_bound_by",
    {"bound", "by"},
    [](const Trial& t) {
      const auto ceiling = ceiling_of(t);
      return ceiling ? std::string(model::kUnitNames[ceiling->bound_by]) : "–";
    },
    [](const Trial& t) {
      const auto ceiling = ceiling_of(t);
      return ceiling ? report::FactValue(std::string(model::kUnitNames[ceiling->bound_by]))
                     : report::FactValue();
    },
    nullptr};
const Column kTime{
    "median_ms",
    {"time", "ms"},
    [](const Trial& t) { return text::significant(t.row.time->median_ms); },
    [](const Trial& t) {
      return t.row.time ? report::FactValue(t.row.time->median_ms) : report::FactValue();
    },
    "the median of many launches, each between two events, after unmeasured ones",
    true};
const Column kTflops{
    "measured_tflops",
    {"", "TFLOP/s"},
    [](const Trial& t) { return or_dash(lab::tflops(t.run, t.row), text::significant); },
    [](const Trial& t) { return or_null(lab::tflops(t.run, t.row)); },
    nullptr,
    true};
const Column kOfCublas{
    "of_cublas",
    {"% of", "cuBLAS"},
    [](const Trial& t) { return or_dash(lab::cublas_ratio(t.run, t.row), percent); },
    [](const Trial& t) { return or_null(lab::cublas_ratio(t.run, t.row)); },
    "speed over that of cuBLAS fp32 in the same run",
    true};

std::vector<Case> coarsening(const Plan&) {
  std::vector<Case> cases;
  for (const char* stride : {"1", "2", "4", "8", "16"}) {
    cases.push_back({stride, 4, std::string("16x16x16-tm") + stride, {}});
  }
  return cases;
}

// A block's threads as the launch says them, x by y.
std::vector<Case> block_shape(const Plan&) {
  return {{"8x8", 1, "8x8", {}},     {"16x16", 1, "16x16", {}},      {"32x8", 1, "32x8", {}},
          {"32x32", 1, "32x32", {}}, {"8x8", 2, "8x8", {}},          {"16x16", 2, "16x16", {}},
          {"32x8", 2, "8x32", {}},   {"32x32", 2, "32x32", {}},      {"8x8", 3, "8x8", {}},
          {"16x16", 3, "16x16", {}}, {"32x8", 4, "8x32x32-tm1", {}}, {"32x32", 3, "32x32", {}}};
}

std::vector<Case> swapped_grid(const Plan&) {
  std::vector<Case> cases;
  for (int stage = 1; stage <= 3; ++stage) {
    cases.push_back({"as it is", stage, "32x32", {}});
    cases.push_back({"swapped", stage, "swapped-grid", {}});
  }
  return cases;
}

std::vector<Case> tile_sizes(const Plan&) {
  std::vector<Case> cases;
  const auto add = [&](int stage, std::initializer_list<const char*> variants) {
    for (const char* variant : variants)
      cases.push_back({std::to_string(stage), stage, variant, {}});
  };
  add(5, {"128x128x8", "64x64x8", "128x64x8", "128x128x16", "64x64x16-4x4"});
  add(6, {"128x128x8", "64x64x8", "128x64x8", "128x128x16", "64x64x16-4x4"});
  add(7, {"128x128x8", "64x64x8", "128x64x8", "64x128x8", "128x128x8-16x8"});
  add(8, {"128x128x8", "64x256x8", "128x128x8-64x64", "128x64x8", "64x128x8"});
  return cases;
}

std::vector<Case> padding(const Plan&) {
  return {
      {"none", 7, "unpadded", {}},
      {"+1", 7, "padded-by-1", {}},
      {"+4", 7, "128x128x8", {}},
      {"XOR 16", 7, "swizzled", {}}};
}

// A depth of 1 is no pipeline: copy, wait, multiply, as stage 8 does with the same tile.
std::vector<Case> pipeline_stages(const Plan&) {
  return {
      {"1", 8, "64x256x8", {}},
      {"2", 9, "64x256x8-2", {}},
      {"3", 9, "64x256x8-3", {}},
      {"4", 9, "64x256x8", {}},
      {"5", 9, "64x256x8-5", {}}};
}

// Squares and others of about as much work, and the products that two language models multiply M
// tokens by. GPT-2 small: 768 wide, 50257 words (Radford et al., Language Models are Unsupervised
// Multitask Learners, 2019, table 2, and its published hyperparameters). Llama-3-8B: 4096 wide, 8
// of 32 heads of 128 for keys and values, 14336 in between (Grattafiori et al., The Llama 3 Herd of
// Models, 2024, table 3).
std::vector<Case> shapes(const Plan& plan) {
  const int side = plan.sides.K, tokens = plan.sides.M;
  const int quarter = side / 4, four = side > (1 << 28) ? side : 4 * side;
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
      {"MLP up, 1 token", stage, name, Sides{1, 14336, 4096}}};
}

// From as many blocks as an SM holds down to one, each time with the most shared memory a block
// that leaves room for them.
std::vector<Case> occupancy_walk(const Plan& plan) {
  std::vector<Case> cases;
  const auto add = [&](int blocks, int padding_bytes) {
    cases.push_back(
        {text::printed("%d", blocks), plan.stage->number, plan.variant->name, {}, padding_bytes});
  };
  if (!plan.occupancy || plan.occupancy->blocks_per_sm == 0) {
    add(0, 0);
    return cases;
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
    // Not every number of blocks can be had: some are skipped where a block takes much.
    if (model::occupancy(gpu, padded).blocks_per_sm != blocks) continue;
    add(blocks, padded.smem_bytes_per_block - needs.smem_bytes_per_block);
  }
  return cases;
}

constexpr Sides kSquare{4096, 4096, 4096};

const std::vector<Experiment> kExperiments = {
    {"coarsening",
     "How many results should a thread compute? A block's 16 x 16, one to 16 a thread.",
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
     "threads of a block, x by y; 32x8 for stage 3 is stage 4's kernel with one result a thread, "
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
     "How should the rows of A's tile lie in shared memory? Stage 7's kernel in four layouts.",
     "padding",
     0,
     "",
     kSquare,
     padding,
     {&kRegisters, &kSharedBytes, &kOccupancy, &kLoadConflicts, &kStoreConflicts, &kSharedCompiled,
      &kCeiling, &kBoundBy, &kTime, &kTflops, &kOfCublas},
     false,
     padding_shows,
     "floats by which a row of As is longer; XOR 16 has rows of their own length and exchanges "
     "their columns, sixteen by sixteen, every four rows; with +1 a row is no multiple of 16 "
     "bytes, so that A is loaded float by float"},
    {"stages",
     "How many tiles should shared memory have room for? 1 is stage 8's way: copy, wait, multiply.",
     "depth",
     0,
     "",
     kSquare,
     pipeline_stages,
     {&kStage, &kSharedBytes, &kRegisters, &kBlocksPerSm, &kOccupancy, &kCeiling, &kBoundBy, &kTime,
      &kTflops, &kOfCublas},
     false,
     stages_shows,
     "tiles of A and B that a block's shared memory has room for; with a depth of 1 the next copy "
     "starts when the last multiplication is over"},
    {"shapes",
     "Which shapes of C do the tiles fit, and which leave SMs idle or compute in vain?",
     "shape",
     9,
     "",
     Sides{1024, 0, 4096},
     shapes,
     {&kProblem, &kBlocks, &kWaves, &kLastWave, &kWasted, &kCeiling, &kBoundBy, &kTime, &kTflops,
      &kOfCublas},
     false,
     shapes_shows,
     "--size N changes the first six, --m N the tokens of the others; their layers are those of "
     "GPT-2 small (768 wide, 50257 words) and Llama-3-8B (4096 wide, 14336 in between, 8 of 32 "
     "heads for K and V)"},
    {"occupancy",
     "How many warps does a kernel need? Shared memory that nobody uses keeps blocks away.",
     "blocks",
     3,
     "16x16",
     kSquare,
     occupancy_walk,
     {&kSharedBytes, &kOccupancy, &kWaves, &kCeiling, &kBoundBy, &kTime, &kTflops, &kOfCublas},
     false,
     occupancy_shows,
     "that an SM has room for; what is taken of its shared memory is also taken from its L1 cache"},
};

}  // namespace

std::span<const Experiment> experiments() {
  return kExperiments;
}

}  // namespace experiments
