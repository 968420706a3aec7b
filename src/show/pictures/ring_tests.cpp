#include <doctest/doctest.h>

#include <set>
#include <string>

#include "lab/measure.h"
#include "lab/problem.h"
#include "model/gpus.h"
#include "show/pictures/block_times.h"
#include "show/pictures/pictures.h"

namespace pictures {

TEST_CASE("a ring is drawn of the stages whose warps copy or multiply, tile by tile") {
  std::set<std::string> with_rings;
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (!stage.specialized) continue;
    const model::Variant& v = stage.variants[0];
    const lab::Problem p = lab::random_problem({v.BM, v.BN, 4 * v.BK}, 1, 0, 1);
    model::Recorder recorder{.blocks = {0}};
    lab::Means means{{model::find_gpu("H200")}};
    means.machine.recorder = &recorder;
    lab::Floats C;
    lab::measure(p, {.traced = lab::gemm_of(stage_table_traced, v)}, means, C);
    const TracedStage traced{
        &stage, &v, requests_of_block(recorder.launches.at(0), 0, p.M, p.N, p.K)};
    if (!has_ring(traced)) continue;
    with_rings.insert(stage.name);
    CHECK(ring_of(traced, {100, 80, 0, 1, 0}).tiles.size() == 4);
  }
  CHECK(with_rings == std::set<std::string>{"specialized warps", "fp32 from tf32 parts"});
}

}  // namespace pictures
