#include "page/calculator_data.h"

#include <set>
#include <string_view>

#include "model/compiled_kernel.h"
#include "model/gpus.h"
#include "report/facts.h"
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
       {"sms", gpu.sms},
       {"fp32LanesPerSm", gpu.fp32_lanes_per_sm},
       {"boostGhz", gpu.boost_ghz},
       {"dramGbPerS", gpu.dram_gb_per_s},
       {"smemBytesPerSm", gpu.smem_bytes_per_sm},
       {"smemBytesPerBlock", gpu.smem_bytes_per_block},
       {"smemReservedBytesPerBlock", gpu.smem_reserved_bytes_per_block},
       {"smemGranularityBytes", gpu.smem_granularity_bytes},
       {"threadsPerSm", gpu.threads_per_sm},
       {"blocksPerSm", gpu.blocks_per_sm},
       {"registersPerSm", gpu.registers_per_sm},
       {"registerGranularity", gpu.register_granularity},
       {"subPartitionsPerSm", gpu.sub_partitions_per_sm},
       {"l2BytesPerClock", gpu.l2_bytes_per_clock},
       {"lanes", gpu.warp.lanes}});
}

// "90": [registers, bytes of shared memory], for every architecture of the table that the kernel
// was compiled for.
std::string compiled_json(const model::Stage& stage, const model::Variant& variant) {
  Facts members;
  std::set<int> seen;
  for (const model::Gpu& gpu : model::known_gpus()) {
    const int cc = gpu.compute_capability;
    const bool runs = cc >= stage.runs_from && (!stage.only_there || cc == stage.runs_from);
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
       {"compiled", report::FactValue::json(compiled_json(stage, variant))}});
}

std::string tiles_json(const model::Stage& stage) {
  const model::Predicted& formulas = stage.predicted;
  std::vector<std::string> sizes;
  for (const model::Variant& variant : stage.variants) {
    sizes.push_back(object(
        {{"name", variant.name},
         {"BM", variant.BM},
         {"BN", variant.BN},
         {"BK", variant.BK},
         {"TM", variant.TM},
         {"TN", variant.TN}}));
  }
  return object(
      {{"stage", stage.number},
       {"name", stage.name},
       {"vec", floats_at_once(stage)},
       {"formulas.gmem_loads", formulas.gmem_loads},
       {"formulas.gmem_floats", formulas.gmem_floats},
       {"formulas.smem_loads", formulas.smem_loads},
       {"formulas.smem_floats", formulas.smem_floats},
       {"formulas.gmem_stores", formulas.gmem_stores},
       {"formulas.smem_stores", formulas.smem_stores},
       {"sizes", report::FactValue::json(array(sizes))}});
}

}  // namespace

bool has_plain_tiles(const model::Stage& stage) {
  if (stage.variants.empty()) return false;
  const model::Variant& variant = stage.variants.front();
  return variant.BK > 0 && variant.pipeline == 0 && variant.sharing == model::Sharing::grid &&
         variant.multiplier == model::Multiplier::ffma;
}

int floats_at_once(const model::Stage& stage) {
  const bool is_wide =
      std::string_view(stage.predicted.gmem_loads).find("vec") != std::string::npos;
  return is_wide ? 4 : 1;
}

std::string calculator_data(const model::StageTable& table) {
  std::vector<std::string> gpus, kernels, tiles;
  for (const model::Gpu& gpu : model::known_gpus()) gpus.push_back(gpu_json(gpu));
  for (const model::Stage& stage : table.stages) {
    for (const model::Variant& variant : stage.variants) {
      kernels.push_back(kernel_json(stage, variant));
    }
    if (has_plain_tiles(stage)) tiles.push_back(tiles_json(stage));
  }
  return "{\"gpus\": " + array(gpus) + ",\n\"kernels\": " + array(kernels) +
         ",\n\"tiles\": " + array(tiles) + "}";
}

}  // namespace page
