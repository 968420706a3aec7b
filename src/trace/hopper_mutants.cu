#include <cmath>
#include <string>
#include <vector>

#include "trace/hopper_checks.h"
#include "trace/hopper_pipeline.h"

namespace {


// Empty, or "wrong result".
template <Mistake kMistake>
std::string result() {
  constexpr int K = 192, kRounds = 2;
  std::vector<float> a(128 * K), b(K * 128);
  for (int i = 0; i < 128 * K; ++i) {
    a[i] = static_cast<float>(i * 7 % 13 - 6);
    b[i] = static_cast<float>(i * 5 % 11 - 5);
  }
  const Array<float> on_a(a), on_b(b);
  Array<float> c(128 * 128);
  const TensorBox box{kTileRows, 32};
  const CUtensorMap map_a = tensor_map_2d(on_a.device, 128, K, K * 4, box);
  const CUtensorMap map_c = tensor_map_2d(c.device, 128, 128, 512, box);
  launch(
      multiply_pipelined<kMistake>, dim3(1), dim3(384), kPipelineBytes, map_a,
      map_c, static_cast<const float*>(on_b.device), K, kRounds);
  c.fetch();
  for (int row = 0; row < 128; ++row) {
    for (int n = 0; n < 128; ++n) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += a[row * K + k] * b[k * 128 + n];
      if (c.host[row * 128 + n] != sum) return "wrong result";
    }
  }
  return "";
}

}  // namespace

#define MUTANT(mistake, finds) \
  { #mistake, result < Mistake::mistake>, finds }

extern const std::vector<trace::HopperMutant> trace::hopper_mutants = {
    MUTANT(none, ""),
    MUTANT(no_block_barrier, "race"),
    MUTANT(no_barrier_fence, "not_fenced"),
    MUTANT(two_arrivals_expected, "1 of 2 arrivals is missing, and 16384 bytes of copies are missing in phase 0"),
    MUTANT(initialized_twice, "initializes an mbarrier that is initialized already"),
    MUTANT(no_wait_for_empty, "tile_not_waited_for"),
    MUTANT(wrong_parity_of_empty, "forever: 1 of 1 arrivals is missing in phase 0"),
    MUTANT(nothing_announced, "tile_not_waited_for"),
    MUTANT(too_few_bytes, "64 bytes were copied that no thread announced"),
    MUTANT(too_many_bytes, "forever: 64 bytes of copies are missing"),
    MUTANT(announced_twice, "have come; wait for the phase first"),
    MUTANT(wrong_stage, "tile_in_use tile_not_waited_for"),
    MUTANT(other_barrier, "tile_not_waited_for"),
    MUTANT(no_wait_for_full, "tile_in_use tile_not_waited_for"),
    MUTANT(wrong_parity_of_full, "tile_in_use tile_not_waited_for"),
    MUTANT(waits_for_next_stage, "tile_not_waited_for"),
    MUTANT(no_wgmma_fence, "without a wgmma_fence()"),
    MUTANT(no_commit, "changes the registers of d while a wgmma uses them"),
    MUTANT(no_wgmma_wait, "changes the registers of d while a wgmma uses them"),
    MUTANT(waits_for_all_but_one, "changes the registers of a while a wgmma uses them"),
    MUTANT(frees_before_wait, "tile_in_use"),
    MUTANT(frees_nothing, "arrivals is missing in phase 1"),
    MUTANT(frees_twice, "forever"),
    MUTANT(same_k_again, "wrong result"),
    MUTANT(no_swizzle, "wrong result"),
    MUTANT(wrong_stride, "wrong result"),
    MUTANT(changes_a, "changes the registers of a while a wgmma uses them"),
    MUTANT(reads_d_early, "wrong result"),
    MUTANT(changes_d, "changes the registers of d while a wgmma uses them"),
    MUTANT(half_a_warpgroup, "does not give the tensor cores the same wgmma instructions"),
    MUTANT(no_proxy_fence, "not_fenced"),
    MUTANT(proxy_fence_after_barrier, "not_fenced"),
    MUTANT(no_barrier_before_store, "race tile_in_use"),
    MUTANT(no_barrier_after_store, "tile_in_use"),
    MUTANT(no_wait_for_reads, "store_not_waited_for tile_in_use"),
    MUTANT(no_wait_for_last_reads, "store_not_waited_for"),
    MUTANT(no_store_group, "store_not_waited_for tile_in_use"),
    MUTANT(registers_by_half, "waits at setmaxnreg for the other threads of its warpgroup"),
    MUTANT(other_barrier_id, "race tile_in_use"),
};
