#include "report/recorded.h"

#include <algorithm>

#include "model/stage.h"
#include "pictures/recorded_gpus.h"

namespace report {

namespace {

const pictures::RecordedLadder* ladder_of(const lab::Run& run) {
  if (run.M != run.N || run.M != run.K || !run.program.empty()) return nullptr;
  for (const pictures::RecordedGpu& of : pictures::recorded_gpus()) {
    if (of.gpu.name != run.gpu.name) continue;
    for (const pictures::RecordedLadder& ladder : of.ladders) {
      if (ladder.size == run.M) return &ladder;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<double> recorded_tflops(const lab::Run& run, const lab::Row& row) {
  const pictures::RecordedLadder* const ladder = ladder_of(run);
  if (!ladder || !row.stage || !row.variant) return std::nullopt;
  const model::Variant& ran = model::suited_variant(*row.stage, run.gpu, run.M, run.N);
  const double tflops = ladder->of(row.number).tflops;
  if (tflops == 0 || std::string_view(ran.name) != row.variant->name) return std::nullopt;
  return tflops;
}

bool is_recorded(const lab::Run& run) {
  return std::any_of(run.rows.begin(), run.rows.end(), [&](const lab::Row& row) {
    return recorded_tflops(run, row).has_value();
  });
}

}  // namespace report
