#include "page/chart_data.h"

#include <map>
#include <vector>

#include "lab/measure.h"
#include "lab/problem.h"
#include "model/stage.h"
#include "pictures/recorded_gpus.h"
#include "report/facts.h"

namespace page {

namespace {

// M, N and K of what is traced. The operations per byte do not depend on K, once it is a multiple
// of every BK.
constexpr int kSide = 256, kDepth = 32;

using Facts = std::vector<report::Fact>;

report::FactValue array(const std::vector<Facts>& objects) {
  std::string json;
  for (const Facts& members : objects) {
    json += (json.empty() ? "{" : ",\n{") + report::json_members(members) + "}";
  }
  return report::FactValue::json("[" + json + "]");
}

// A run of every stage that a GPU can run, with the tiles that suit the recorded size. Variants are
// traced once.
class Tracer {
 public:
  Tracer(const model::StageTable& table, const model::Gpu& gpu) : table_(table), gpu_(gpu) {}

  lab::Run run_for(int size) {
    lab::Run run{};
    run.M = run.N = kSide;
    run.K = kDepth;
    run.gpu = gpu_;
    for (const model::Stage& stage : table_.stages) {
      if (stage.variants.empty() || !model::why_not_run(stage, gpu_).empty()) continue;
      const model::Variant& variant = model::suited_variant(stage, run.gpu, size, size);
      lab::Row row{};
      row.number = stage.number;
      row.stage = &stage;
      row.variant = &variant;
      row.counts = counts_of(variant);
      run.rows.push_back(std::move(row));
    }
    return run;
  }

 private:
  const std::optional<model::Counts>& counts_of(const model::Variant& variant) {
    const auto known = counts_.find(&variant);
    if (known != counts_.end()) return known->second;
    const lab::Problem p = lab::random_problem({kSide, kSide, kDepth}, 1, 0, 1);
    lab::Means means{{&gpu_, machine::Blocks::kSample}};
    means.machine.hazards = false;  // the tests look for them
    lab::Floats C;
    return counts_[&variant] =
               lab::measure(p, {.traced = lab::gemm_of(table_, variant)}, means, C).counts;
  }

  const model::StageTable& table_;
  const model::Gpu& gpu_;
  std::map<const model::Variant*, std::optional<model::Counts>> counts_;
};

report::FactValue stairs_json(const pictures::Staircase& staircase) {
  std::vector<Facts> stairs;
  for (const pictures::Stair& stair : staircase.stairs) {
    stairs.push_back(
        {{"stage", stair.stage->number},
         {"name", stair.stage->name},
         {"onGpu", pictures::runs_on_gpu(*stair.stage)},
         {"tflops", stair.tflops},
         {"percent", stair.cublas_percent},
         {"times", stair.times_before},
         {"roof", stair.roof_tflops}});
  }
  return array(stairs);
}

report::FactValue dots_json(const pictures::Roofline& roofline, const model::Gpu& gpu) {
  std::vector<Facts> dots;
  for (const pictures::Dot& dot : roofline.dots) {
    const pictures::Peak peak = pictures::peak_of(gpu, *dot.row->variant);
    dots.push_back(
        {{"stage", dot.row->number},
         {"name", dot.row->stage->name},
         {"variant", dot.row->variant->name},
         {"intensity", dot.intensity},
         {"tflops", dot.tflops},
         {"peak", peak.name},
         {"peakTflops", peak.tflops}});
  }
  return array(dots);
}

report::FactValue sizes_json(
    const model::StageTable& traced, const pictures::RecordedGpu& recorded) {
  Tracer tracer(traced, recorded.gpu);
  std::vector<Facts> sizes;
  for (const pictures::RecordedLadder& measured : recorded.ladders) {
    const lab::Run run = tracer.run_for(measured.size);
    const pictures::Roofline roofline = pictures::roofline_of(run, measured);
    const pictures::Staircase staircase = pictures::staircase_of(traced.stages, measured, run.gpu);
    std::vector<Facts> roofs, peaks;
    for (const pictures::Roof& roof : roofline.roofs) {
      roofs.push_back({{"name", roof.name}, {"tbPerS", roof.tb_per_s}});
    }
    for (const pictures::Peak& peak : roofline.peaks) {
      peaks.push_back({{"name", peak.name}, {"tflops", peak.tflops}});
    }
    sizes.push_back(
        {{"size", measured.size},
         {"cublas", staircase.cublas_tflops},
         {"stairs", stairs_json(staircase)},
         {"roofs", array(roofs)},
         {"peaks", array(peaks)},
         {"dots", dots_json(roofline, run.gpu)}});
  }
  return array(sizes);
}

}  // namespace

std::string chart_data(
    const model::StageTable& traced, const std::vector<pictures::RecordedGpu>& recorded) {
  std::vector<Facts> gpus;
  for (const pictures::RecordedGpu& of : recorded) {
    gpus.push_back({{"gpu", of.gpu.name}, {"sizes", sizes_json(traced, of)}});
  }
  return "{" + report::json_members({{"gpus", array(gpus)}}) + "}";
}

}  // namespace page
