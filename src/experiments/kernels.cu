// The variants that the experiments (src/experiments/catalogue.cpp) launch besides the stages' own:
// more tile sizes of the stages' kernels, and kernels that differ from a stage's in one detail.

// gemm_steps.cu up to its table, so that the stages' own variants are compiled only there; and the
// stages' kernels with the edits of changes.txt. Written by changed_kernels.sh.
#include "changed_kernels.cuh"

// That of gemm_steps.cu, compiled for the same machine.
extern const model::StageTable stage_table;

// A variant with a changed kernel in place of its own.
template <auto kernel, auto kernel_any = kernel>
model::Variant changed(const char* name, model::Variant variant) {
  variant.name = name;
  variant.kernel = model::ref<kernel>();
  variant.kernel_any = model::ref<kernel_any>();
  return variant;
}

template <Tile t, int VEC>
using AnyRegisters =
    Of<warp_tiling_any_registers<t.BM, t.BN, t.BK, t.WM, t.WN, t.TM, t.TN, VEC>, Padded<t, 4>>;
template <Tile t>
model::Variant any_registers(const char* name) {
  model::Variant variant = model::variant<AnyRegisters, t>();
  variant.name = name;
  return variant;
}

const model::Stage& own(int number) {
  return *model::find_stage(stage_table.stages, number);
}
const model::Variant& first(int number) {
  return own(number).variants[0];
}

// A stage with more variants, some of which may have conflicts.
model::Stage with_more(int number, const std::vector<model::Variant>& variants) {
  model::Stage stage = own(number);
  stage.lesson.conflict_free = false;
  stage.variants = model::joined(stage.variants, variants);
  return stage;
}

// A variant whose number of loads from shared memory differs from its stage's.
model::Stage with_other_shared_loads(int number, const char* smem_loads, model::Variant variant) {
  model::Stage stage = own(number);
  stage.lesson.conflict_free = false;
  stage.lesson.predicted.smem_loads = smem_loads;
  stage.variants = {variant};
  return stage;
}

// The list, and the stages that it has nothing to add to: this table has every variant of the
// ladder, because tests.cpp takes its variants from here.
std::vector<model::Stage> with_the_others(std::vector<model::Stage> list) {
  for (const model::Stage& stage : stage_table.stages) {
    const bool is_listed = model::find_stage(list, stage.number) != nullptr;
    if (!is_listed && !stage.variants.empty()) list.push_back(stage);
  }
  return list;
}

constexpr Tile kMoreColumns[] = {
    // With TM 1 this is stage 3 without the condition that the tile is square.
    {.BM = 8, .BN = 32, .BK = 32, .suffix = "-tm1"},
    {.BM = 32, .BN = 32, .BK = 32, .TM = 8, .suffix = "-tm8"}};
constexpr Tile kMoreSquares[] = {
    {.BM = 128, .BN = 64, .BK = 8, .TM = 8, .TN = 8},
    {.BM = 128, .BN = 128, .BK = 16, .TM = 8, .TN = 8},
    {.BM = 64, .BN = 64, .BK = 16, .TM = 4, .TN = 4, .suffix = "-4x4"}};
constexpr Tile kMoreSpread[] = {
    {.BM = 128, .BN = 64, .BK = 8, .TM = 8, .TN = 8},
    {.BM = 64, .BN = 128, .BK = 8, .TM = 8, .TN = 8},
    {.BM = 128, .BN = 128, .BK = 8, .TM = 16, .TN = 8, .suffix = "-16x8"}};
constexpr Tile kMoreOfWarps[] = {
    {128, 128, 8, 64, 64, 16, 8, 0, false, "-64x64"},
    {.BM = 128, .BN = 64, .BK = 8, .WM = 64, .WN = 64, .TM = 16, .TN = 8},
    {.BM = 64, .BN = 128, .BK = 8, .WM = 64, .WN = 64, .TM = 16, .TN = 8}};
constexpr Tile kOtherRings[] = {
    {128, 256, 8, 64, 64, 16, 8, 2, false, "-2"},
    {128, 256, 8, 64, 64, 16, 8, 3, false, "-3"},
    {128, 256, 8, 64, 64, 16, 8, 5, false, "-5"}};

constexpr Tile kMoreOfFragments[] = {
    {128, 256, 16, 64, 64, 8, 16, 3, false, "-ring3"},
    {128, 256, 32, 64, 64, 8, 16, 3, false, "-ring3"}};
constexpr Tile kTurnedSwizzled[] = {
    {.BM = 256, .BN = 128, .BK = 32, .WM = 64, .WN = 64, .TM = 8, .TN = 16, .STAGES = 4}};
constexpr Tile kTurnedInBoxes[] = {
    {.BM = 128, .BN = 256, .BK = 32, .WM = 64, .WN = 64, .TM = 8, .TN = 16, .STAGES = 4}};
constexpr Tile kFewerParts[] = {
    {.BM = 128, .BN = 128, .BK = kPartK, .STAGES = 3, .suffix = "-ring3"}};
constexpr Tile kHalfPieces[] = {{.BM = 256, .BN = 128, .BK = kPartK, .STAGES = 4}};

std::vector<model::Stage> experiment_stages() {
  return with_the_others({
      with_more(
          1, {variant<Naive, Tile{.BM = 32, .BN = 8}>(),
              changed<swapped_naive<32, 32>>("swapped-grid", first(1))}),
      with_more(
          2, {variant<Coalesced, Tile{.BM = 8, .BN = 32}>(),
              changed<swapped_coalesced<32, 32>>("swapped-grid", first(2))}),
      with_more(3, {changed<swapped_tiling<32, 32, 32>>("swapped-grid", first(3))}),
      with_more(4, variants<ThreadCoarsening1d, kMoreColumns>()),
      with_more(
          5, model::joined(
                 variants<ThreadTiling2d, kMoreSquares>(),
                 {changed<tiling_unrolled<128, 128, 8, 8, 8>>("unrolled", first(5)),
                  changed<tiling_unrolled_other_index<128, 128, 8, 8, 8>>(
                      "unrolled-other-index", first(5))})),
      with_more(
          6, model::joined(
                 variants<Vectorized, kMoreSquares>(),
                 {changed<
                      vectorized_not_unrolled<128, 128, 8, 8, 8, 4>,
                      vectorized_not_unrolled<128, 128, 8, 8, 8, 1>>("not-unrolled", first(6)),
                  changed<
                      vectorized_padded_b<128, 128, 8, 8, 8, 4>,
                      vectorized_padded_b<128, 128, 8, 8, 8, 1>>("padded-b", first(6))})),
      with_more(
          7, model::joined(
                 variants<ConflictFree, kMoreSpread>(),
                 {changed<
                      conflict_free_unpadded<128, 128, 8, 8, 8, 4>,
                      conflict_free_unpadded<128, 128, 8, 8, 8, 1>>("unpadded", first(7)),
                  changed<
                      conflict_free_swizzled<128, 128, 8, 8, 8, 4>,
                      conflict_free_swizzled<128, 128, 8, 8, 8, 1>>("swizzled", first(7)),
                  changed<
                      conflict_free_3_blocks<128, 128, 8, 16, 8, 4>,
                      conflict_free_3_blocks<128, 128, 8, 16, 8, 1>>(
                      "16x8-3-blocks", variant<ConflictFree, kMoreSpread[2]>())})),
      with_other_shared_loads(
          7, "ceil(K/BK)*BK*(TM + TN/4)",
          changed<
              conflict_free_padded_by_1<128, 128, 8, 8, 8, 4>,
              conflict_free_padded_by_1<128, 128, 8, 8, 8, 1>>("padded-by-1", first(7))),
      with_more(
          8, model::joined(
                 variants<WarpTiling, kMoreOfWarps>(),
                 {any_registers<kOfWarps[0]>("any-registers"),
                  any_registers<Tile{128, 128, 8, 32, 64, 8, 8}>("any-registers-8x8"),
                  any_registers<Tile{128, 256, 8, 64, 64, 16, 8}>("any-registers-128x256")})),
      with_more(9, variants<AsyncPipeline, kOtherRings>()),
      with_more(
          10,
          {changed<
               fragments_not_ahead<128, 256, 8, 64, 64, 16, 8, 4, 4>,
               fragments_not_ahead<128, 256, 8, 64, 64, 16, 8, 4, 1>>("not-ahead", first(10)),
           changed<
               fragments_forwards<128, 256, 8, 64, 64, 16, 8, 4, 4>,
               fragments_forwards<128, 256, 8, 64, 64, 16, 8, 4, 1>>("forwards", first(10)),
           changed<
               fragments_by_columns<128, 256, 8, 64, 64, 16, 8, 4, 4>,
               fragments_by_columns<128, 256, 8, 64, 64, 16, 8, 4, 1>>("by-columns", first(10))}),
      with_more(12, variants<TensorCores, kMoreOfFragments>()),
      with_more(
          13, model::joined(
                  variants<LdmatrixFragments, kTurnedSwizzled>(),
                  {changed<
                      ldmatrix_unswizzled<128, 256, 32, 64, 64, 8, 16, 4, 4>,
                      ldmatrix_unswizzled<128, 256, 32, 64, 64, 8, 16, 4, 1>>(
                      "unswizzled", first(13))})),
      with_more(
          14, model::joined(
                  variants<CopyEngine, kTurnedInBoxes>(),
                  {changed<
                      engine_copies_first<256, 128, 32, 64, 64, 8, 16, 4, 4>,
                      engine_copies_first<256, 128, 32, 64, 64, 8, 16, 4, 1>>(
                      "copies-first", first(14))})),
      with_more(
          15,
          {changed<warpgroups_waiting<256, 128, 32, 4, 2>, warpgroups_waiting<256, 128, 32, 4, 1>>(
              "waiting", first(15))}),
      with_more(
          16,
          {changed<
               specialized_waiting<256, 128, 32, 4, 2>, specialized_waiting<256, 128, 32, 4, 1>>(
               "waiting", first(16)),
           changed<specialized_equal<256, 128, 32, 4, 2>, specialized_equal<256, 128, 32, 4, 1>>(
               "equal-registers", first(16))}),
      with_more(
          17,
          {changed<tf32_parts_rolled<128, 128, 32, 4, 2>, tf32_parts_rolled<128, 128, 32, 4, 1>>(
               "rolled", first(17)),
           changed<
               tf32_parts_in_turns<128, 128, 32, 4, 2>, tf32_parts_in_turns<128, 128, 32, 4, 1>>(
               "in-turns", first(17))}),
      with_more(
          18,
          model::joined(
              variants<Fp16Parts, kFewerParts>(),
              {changed<
                  fp16_parts_in_turns<128, 128, 32, 4, 2>, fp16_parts_in_turns<128, 128, 32, 4, 1>>(
                  "in-turns", first(18))})),
      with_more(
          19,
          model::joined(
              variants<TakingTurns, kHalfPieces>(),
              {changed<turns_not_taken<256, 128, 64, 4, 2>, turns_not_taken<256, 128, 64, 4, 1>>(
                  "no-turns", first(19))})),
  });
}

// Made when it is first asked for: only then is stage_table sure to be complete.
extern "C" const model::StageTable& experiment_table() {
  static const std::vector<model::Stage> all = experiment_stages();
  static const model::StageTable table = [] {
    model::StageTable same = stage_table;
    same.stages = all;
    return same;
  }();
  return table;
}
