#include "show/page/data.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include "lab/measure.h"
#include "lab/problem.h"
#include "model/compiled_kernel.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "show/pictures/recorded_gpus.h"
#include "show/report/facts.h"
#include "show/report/known.h"
#include "show/report/quantities.h"
#include "text/json.h"
#include "text/numbers.h"

namespace page {

namespace {

using Facts = std::vector<report::Fact>;

std::string object(const Facts& members) {
  return "{" + report::json_members(members) + "}";
}

std::string array(const std::vector<std::string>& elements) {
  std::string json;
  for (const std::string& element : elements) json += (json.empty() ? "[" : ",\n") + element;
  return (json.empty() ? "[" : json) + "]";
}

std::string gpu_json(const model::Gpu& gpu) {
  return object(
      {{"name", gpu.name},
       {"computeCapability", gpu.compute_capability},
       {"smemBytesPerSm", gpu.smem_bytes_per_sm},
       {"smemBytesPerBlock", gpu.smem_bytes_per_block},
       {"smemReservedBytesPerBlock", gpu.smem_reserved_bytes_per_block},
       {"smemGranularityBytes", gpu.smem_granularity_bytes},
       {"threadsPerSm", gpu.threads_per_sm},
       {"blocksPerSm", gpu.blocks_per_sm},
       {"registersPerSm", gpu.registers_per_sm},
       {"registerGranularity", gpu.register_granularity},
       {"subPartitionsPerSm", gpu.sub_partitions_per_sm},
       {"lanes", gpu.warp.lanes}});
}

// "90": [registers, bytes of shared memory] on a GPU of that architecture, for every one of the
// table that the kernel was compiled for.
std::string resources_json(const model::Stage& stage, const model::Variant& variant) {
  Facts members;
  std::set<int> seen;
  for (const model::Gpu& gpu : model::known_gpus()) {
    const int cc = gpu.compute_capability;
    const auto [hardware, from, only_there] = stage.needs;
    const bool runs = cc >= from && (!only_there || cc == from);
    if (!runs || !seen.insert(cc).second) continue;
    const auto record = model::find_compiled_kernel(variant.kernel.name, cc);
    if (!record) continue;
    members.push_back(
        {std::to_string(cc),
         report::FactValue::json(text::printed(
             "[%d, %d]", record->registers, record->static_smem_bytes + variant.shared_bytes))});
  }
  return object(members);
}

std::string kernel_json(const model::Stage& stage, const model::Variant& variant) {
  return object(
      {{"stage", stage.number},
       {"name", variant.contrast != nullptr ? variant.contrast->name : stage.name},
       {"variant", variant.name},
       {"threads", variant.threads()},
       {"compiled", report::FactValue::json(resources_json(stage, variant))}});
}

}  // namespace

std::string calculator_data(const model::StageTable& traced) {
  std::vector<std::string> gpus, kernels;
  for (const model::Gpu& gpu : model::known_gpus()) gpus.push_back(gpu_json(gpu));
  for (const model::Stage& stage : traced.stages) {
    for (const model::Variant& variant : stage.variants) {
      if (variant.for_few_results) continue;  // they are no step of the lesson
      kernels.push_back(kernel_json(stage, variant));
    }
  }
  return "{\"gpus\": " + array(gpus) + ",\n\"kernels\": " + array(kernels) + "}";
}

namespace {

// The page shows three digits.
double rounded(double value) {
  return std::strtod(text::printed("%.5g", value).c_str(), nullptr);
}

}  // namespace

std::string race_data(
    const model::StageTable& traced, const lab::Run& run, lab::Row row, lab::LongProduct& large) {
  lab::Run of_race = run;
  of_race.M = of_race.N = of_race.K = kRaceSide;
  const machine::Machine machine{&of_race.gpu, machine::Blocks::kSample, /*hazards=*/false};
  row.counts = large.count(traced, *row.variant, machine);
  const std::optional<model::Waiting> waiting = lab::ceilings(of_race, row).waiting;
  if (!waiting) return "null";
  Facts busy;
  for (int unit = 0; unit < model::kUnits; ++unit) {
    busy.push_back({std::string(model::kUnitNames[unit]), rounded(100 * waiting->busy[unit])});
  }
  const double operations = 2.0 * kRaceSide * kRaceSide * kRaceSide;
  return object(
      {{"side", kRaceSide},
       {"ms", rounded(operations * 1e-9 / waiting->tflops)},
       {"busy", report::FactValue::json(object(busy))}});
}

std::string prediction_data(const lab::Run& run, const lab::Row& row, const std::string& race) {
  // What the stage's opening shows beside the stage before: numbers that tiles of any size share.
  constexpr std::pair<const char*, const char*> kShown[] = {
      {"bytes loaded from GMEM per result", "gmem_bytes_per_result"},
      {"GMEM loads per result", "gmem_loads_per_result"},
      {"SMEM loads per result", "smem_loads_per_result"},
      {"sectors per GMEM load request of a warp, on average", "sectors_per_request"},
      {"wavefronts per SMEM load request of a warp, on average", "wavefronts_per_request"},
      {"blocks per SM", "occupancy.blocks_per_sm"}};
  const report::Known known{run, row};
  std::string names, asked, shown;
  for (const auto& [what, path] : kShown) {
    shown += (shown.empty() ? "[" : ",[") + text::json_string(what) + "," +
             text::shortest(rounded(report::number(path, known).value_or(0))) + "]";
  }
  const pictures::RecordedGpu& recorded = pictures::recorded_gpus().front();
  const pictures::RecordedLadder& largest = recorded.ladders.back();
  if (const double tflops = largest.of(row.number).tflops; tflops > 0) {
    shown += text::printed(
        ",[\"TFLOP/s, recorded on the %s for M = N = K = %d\",%s]", recorded.gpu.name.c_str(),
        largest.size, text::shortest(rounded(tflops)).c_str());
  }
  for (const model::Named& named : report::formula_names(run, row)) {
    names += (names.empty() ? "" : ",") + text::json_string(named.name) + ":" +
             text::shortest(named.value);
  }
  for (const report::AskedQuestion& question : report::asked(known)) {
    asked += (asked.empty() ? "[" : ",[") + text::json_string(question.text) + "," +
             text::shortest(*question.value) + "," + text::json_string(question.worked_out) + "," +
             text::json_string(question.because) + "]";
  }
  return "{\"gpu\":" + text::json_string(run.gpu.name) + ",\"shown\":[" + shown +
         "],\"race\":" + race + ",\"names\":{" + names + "},\"asked\":[" + asked + "]}";
}

}  // namespace page
