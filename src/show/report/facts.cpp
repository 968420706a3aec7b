#include "show/report/facts.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <span>

#include "lab/run.h"
#include "show/report/hazard_sentence.h"
#include "show/report/predicted.h"
#include "show/report/source.h"
#include "show/report/words.h"
#include "text/json.h"
#include "text/numbers.h"

namespace report {

Barriers barriers(const lab::Run& run, const lab::Row& row) {
  const double a_block =
      static_cast<double>(row.counts->barriers) / static_cast<double>(row.counts->blocks_traced);
  const model::Variant& v = *row.variant;
  const model::Product product = lab::product_of(run);
  if (v.BK == 0 || product.K == 0) return {a_block, 0};
  // The tiles of C that the traced blocks computed, as a fraction.
  const double tiles = row.stage ? model::traced_tiles(product, v, *row.counts)
                                 : static_cast<double>(row.counts->blocks_traced);
  const double k_tiles = tiles * model::padded_K(product, v) / v.BK;
  return {a_block, static_cast<double>(row.counts->barriers) / k_tiles};
}

InFlight in_flight(const lab::Row& row, const model::LineCounts& line) {
  const auto threads = static_cast<double>(row.counts->threads_traced);
  const double warps =
      std::ceil(threads / static_cast<double>(row.counts->blocks_traced) / row.counts->warp.lanes);
  const double requests = static_cast<double>(std::max<std::int64_t>(line.requests, 1));
  return {
      static_cast<double>(line.in_flight_bytes) / requests * warps,
      static_cast<double>(line.in_flight_most) * warps};
}

FactValue::FactValue(double value) {
  if (!std::isfinite(value)) return;
  kind = plain;
  written = text::shortest(value);
}

namespace {

// Appends facts, or their names with null if their subject is missing.
struct Writer {
  std::vector<Fact>& facts;
  std::string prefix;
  bool known;

  void operator()(const char* name, FactValue value) const {
    facts.push_back({prefix + name, known ? std::move(value) : FactValue()});
  }
};

FactValue or_null(const std::optional<double>& value) {
  if (!value) return {};
  return *value;
}

FactValue limit(int blocks) {
  if (blocks == INT_MAX) return {};
  return blocks;
}

// How the tiles of C are shared out among the SMs. If none is cut, each tile has one part.
void add_shares(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const bool known = row.stage && row.variant;
  const Writer add{facts, "shares.", known};
  const model::ShareOut shares = known ? lab::shares(run, *row.variant) : model::ShareOut{};
  const int tiles = known ? model::tiles_of(*row.variant, run.M, run.N) : 0;
  const std::int64_t sums = known ? model::floats_of_sums(shares, *row.variant, tiles) : 0;
  add("whole_tiles", shares.whole);
  add("cut_tiles", tiles - shares.whole);
  add("parts", shares.parts);
  add("depth", shares.depth);
  add("workspace_bytes", std::int64_t{4 * sums});
}

void add_variant(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const model::Variant v = row.variant ? *row.variant : model::Variant{};
  const Writer add{facts, "", row.variant != nullptr};
  add("variant", v.name);
  add("kernel", row.variant ? lab::kernel_name(row) : nullptr);
  add("aligned", row.aligned);
  const Writer tile{facts, "tile.", row.variant != nullptr};
  tile("BM", v.BM);
  tile("BN", v.BN);
  tile("BK", v.BK);
  tile("WM", v.WM);
  tile("WN", v.WN);
  tile("TM", v.TM);
  tile("TN", v.TN);
  tile("pipeline", v.pipeline);
  add("threads_per_block", v.threads());
  add("results_per_thread", lab::results_per_thread(v));
  const lab::Grid blocks = lab::grid(run, v);
  add("blocks", row.counts ? row.counts->blocks : std::int64_t{blocks.x * blocks.y});
  add_shares(facts, run, row);
}

void add_per_thread(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const std::optional<PredictedCounts> expected = predicted(run, row);
  const model::Counts counts = row.counts.value_or(model::Counts{});
  const auto add = [&](const char* name, const model::PerThread& figure,
                       double PredictedCounts::*of) {
    const Writer member{facts, std::string(name) + ".", counts.threads_traced > 0};
    member("min", figure.min);
    member("max", figure.max);
    member("mean", static_cast<double>(figure.sum) / static_cast<double>(counts.threads_traced));
    const Writer prediction{facts, member.prefix, expected.has_value()};
    prediction("predicted", expected.value_or(PredictedCounts{}).*of);
  };
  add("gmem_loads_per_thread", counts.gmem_loads.accesses, &PredictedCounts::gmem_loads);
  add("smem_loads_per_thread", counts.smem_loads.accesses, &PredictedCounts::smem_loads);
  add("gmem_stores_per_thread", counts.gmem_stores.accesses, &PredictedCounts::gmem_stores);
  add("smem_stores_per_thread", counts.smem_stores.accesses, &PredictedCounts::smem_stores);
  add("gmem_floats_per_thread", counts.gmem_loads.floats, &PredictedCounts::gmem_floats);
  add("smem_floats_per_thread", counts.smem_loads.floats, &PredictedCounts::smem_floats);
  add("async_copies_per_thread", counts.async_gmem.accesses, &PredictedCounts::async_copies);
}

// The requests of warps to memory.
void add_requests(const Writer& add, const model::Counts& counts) {
  add("gmem_load_requests", counts.gmem_loads.requests);
  add("gmem_load_sectors", counts.gmem_loads.pieces);
  add("gmem_store_requests", counts.gmem_stores.requests);
  add("gmem_store_sectors", counts.gmem_stores.pieces);
  add("smem_load_requests", counts.smem_loads.requests);
  add("smem_load_wavefronts", counts.smem_loads.pieces);
  add("smem_store_requests", counts.smem_stores.requests);
  add("smem_store_wavefronts", counts.smem_stores.pieces);
  add("smem_load_bank_conflicts", counts.smem_loads.bank_conflicts);
  add("smem_store_bank_conflicts", counts.smem_stores.bank_conflicts);
}

// And to the tensor cores.
void add_mmas(const Writer& add, const model::Counts& counts) {
  add("mma_instructions", counts.mmas);
  add("mma_multiply_adds", counts.mma_products);
}

// Totals of the launch, exact or null, and beside them those of the traced blocks.
void add_traced(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const bool traced = row.counts.has_value();
  const model::Counts counts = row.counts.value_or(model::Counts{});
  const Writer add{facts, "", traced};
  add("blocks_traced", counts.blocks_traced);
  const Writer total{facts, "", traced && lab::is_total(counts)};
  add_requests(total, counts);
  add_mmas(total, counts);
  const Writer sample{facts, "sample.", traced};
  sample("blocks", counts.blocks_traced);
  sample("threads", counts.threads_traced);
  add_requests(sample, counts);
  add_mmas(sample, counts);
  sample("gmem_load_ideal_sectors", counts.gmem_loads.ideal_pieces);
  sample("gmem_store_ideal_sectors", counts.gmem_stores.ideal_pieces);
  sample("async_copy_requests", counts.async_gmem.requests);
  sample("async_copy_sectors", counts.async_gmem.pieces);
  sample("async_copy_wavefronts", counts.async_smem.pieces);
  const bool waits = row.variant && counts.blocks_traced > 0;
  const Barriers of_block = waits ? barriers(run, row) : Barriers{};
  const Writer barrier{facts, "barriers.", waits};
  barrier("per_block", of_block.a_block);
  barrier("per_k_tile", of_block.a_tile > 0 ? FactValue(of_block.a_tile) : FactValue());
}

void add_occupancy(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const model::Occupancy o = row.occupancy.value_or(model::Occupancy{});
  const Writer add{facts, "occupancy.", row.occupancy.has_value()};
  add("gpu", run.gpu.name);
  add("registers", o.resources.registers_per_thread);
  add("smem_bytes", o.resources.smem_bytes_per_block);
  add("blocks_per_sm", o.blocks_per_sm);
  add("percent", o.percent);
  add("limiter", std::string(o.limiter));
  add("warps_per_block", o.warps_per_block);
  add("blocks_by_threads", limit(o.blocks_by_threads));
  add("blocks_by_blocks", limit(o.blocks_by_blocks));
  add("blocks_by_smem", limit(o.blocks_by_smem));
  add("blocks_by_registers", limit(o.blocks_by_registers));
  const lab::Grid blocks = lab::grid(run, row.variant ? *row.variant : model::Variant{});
  const Writer of_launch{facts, "occupancy.", row.occupancy && row.variant};
  of_launch("waves", model::waves(run.gpu, o, blocks.x * blocks.y));
}

void add_ceiling(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const std::optional<model::Ceiling> written = lab::written_ceiling(run, row);
  const std::optional<model::Ceiling> compiled = lab::compiled_ceiling(run, row);
  const model::Ceiling ceiling = compiled.value_or(model::Ceiling{});
  Writer{facts, "ceiling.", written.has_value()}(
      "as_written_tflops", written.value_or(model::Ceiling{}).tflops);
  const Writer add{facts, "ceiling.", compiled.has_value()};
  add("compiled_tflops", ceiling.tflops);
  add("bound_by", std::string(model::kUnitNames[ceiling.bound_by]));
  add("no_overlap_tflops", ceiling.no_overlap_tflops);
  add("busy_share", ceiling.busy_share);
  add("measured_ratio", or_null(lab::ceiling_ratio(run, row)));
  const Writer unit{facts, "ceiling.units.", compiled.has_value()};
  constexpr std::array<const char*, model::kUnits> kNames = {
      "fma_ms", "issue_ms", "smem_ms", "l1_ms", "l2_ms", "dram_ms", "tensor_ms"};
  for (int i = 0; i < model::kUnits; ++i) unit(kNames[i], ceiling.ms[i]);
}

void add_waiting(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const std::optional<model::Waiting> predicted = lab::with_waiting(run, row);
  const model::Waiting waiting = predicted.value_or(model::Waiting{});
  const Writer add{facts, "waiting.", predicted.has_value()};
  add("tflops", waiting.tflops);
  add("busiest", std::string(model::kUnitNames[waiting.busiest]));
  add("resident_blocks", waiting.resident_blocks);
  add("warps_per_scheduler", waiting.warps_per_scheduler);
  const Writer busy{facts, "waiting.busy.", predicted.has_value()};
  constexpr std::array<const char*, model::kUnits> kNames = {"fma", "issue", "smem",  "l1",
                                                             "l2",  "dram",  "tensor"};
  for (int i = 0; i < model::kUnits; ++i) busy(kNames[i], waiting.busy[i]);
  const Writer spent{facts, "waiting.block_time.", predicted.has_value()};
  spent("issuing", waiting.issuing);
  spent("smem", waiting.waiting_for_smem);
  spent("gmem", waiting.waiting_for_gmem);
  spent("barriers", waiting.at_barriers);
}

// One iteration of the main loop, and of the loop within it.
void add_compiled(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const std::optional<model::CompiledKernel> record = lab::compiled_loop(run, row);
  const model::CompiledKernel known = record.value_or(model::CompiledKernel{});
  Writer{facts, "compiled.", record.has_value()}("compute_capability", known.compute_capability);
  for (const auto& [name, mix] : {std::pair("loop", known.loop), {"inner", known.inner}}) {
    const Writer add{facts, std::string("compiled.") + name + ".", record.has_value()};
    add("ldg_32", mix.ldg32);
    add("ldg_64", mix.ldg64);
    add("ldg_128", mix.ldg128);
    add("lds_32", mix.lds32);
    add("lds_64", mix.lds64);
    add("lds_128", mix.lds128);
    add("sts_32", mix.sts32);
    add("sts_64", mix.sts64);
    add("sts_128", mix.sts128);
    add("ldgsts_32", mix.ldgsts32);
    add("ldgsts_64", mix.ldgsts64);
    add("ldgsts_128", mix.ldgsts128);
    add("ffma", mix.ffma);
    add("bar", mix.bar);
    add("all", mix.all());
    add("gmem_waits", mix.gmem_waits);
    add("gmem_ahead", mix.gmem_ahead);
    add("smem_waits", mix.smem_waits);
    add("smem_ahead", mix.smem_ahead);
  }
  // For the whole launch, if every block does the same.
  const bool counted = record && row.counts && row.counts->blocks_traced > 0;
  const model::SharedLoads loads =
      counted ? model::shared_loads_as_compiled(
                    lab::product_of(run), *row.variant, *row.counts, *record)
              : model::SharedLoads{};
  const Writer add{facts, "compiled.", counted};
  const double tiles = counted ? model::tiles_of(*row.variant, run.M, run.N) : 0;
  add("smem_load_requests", std::round(loads.requests * tiles));
  add("smem_load_wavefronts", std::round(loads.wavefronts * tiles));
}

// The sensors during the timed runs.
void add_device(std::vector<Fact>& facts, const std::optional<model::DeviceState>& measured) {
  const model::DeviceState state = measured.value_or(model::DeviceState{});
  const Writer add{facts, "device.", measured.has_value()};
  add("readings", state.readings);
  add("measured_ms", state.measured_ms);
  add("sm_mhz_median", or_null(state.median_mhz));
  add("sm_mhz_counted", or_null(state.counted_mhz));
  add("sm_mhz_min", or_null(state.min_mhz));
  add("sm_mhz_max", or_null(state.max_mhz));
  add("watts_mean", or_null(state.mean_watts));
  add("watts_max", or_null(state.max_watts));
  add("watts_limit", or_null(state.limit_watts));
  add("watts_are_averages", state.watts_are_averages);
  add("celsius_max", or_null(state.max_celsius));
  const bool known = state.throttles.has_value();
  add("throttled", known ? FactValue(!state.throttles->empty()) : FactValue());
  add("throttled_by", known ? FactValue(reasons_words(*state.throttles)) : FactValue());
}

void add_result(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const model::Error error = row.error.value_or(model::Error{});
  const Writer of_error{facts, "error.", row.error.has_value()};
  of_error("relative", error.relative);
  of_error("max_abs", error.max_abs);
  of_error("bound_ok", error.bound_ok);
  of_error("overflowed", error.overflowed);
  const lab::Timing timing = row.time.value_or(lab::Timing{});
  const Writer time{facts, "time.", row.time.has_value()};
  const Writer add{facts, "", true};
  add("cublas_error", or_null(row.cublas_error));
  add("stood_in", row.stood_in > 0);
  add("time_ms", row.time ? or_null(timing.median_ms) : FactValue());
  time("min_ms", timing.min_ms);
  time("max_ms", timing.max_ms);
  time("quartile1_ms", timing.quartile1_ms);
  time("quartile3_ms", timing.quartile3_ms);
  time("repetitions", timing.repetitions);
  time("partial", timing.partial);
  time("busy_before_ms", or_null(timing.busy_before_ms));
  const Writer before{facts, "", row.preparation.has_value()};
  before("preparation_ms", row.preparation.value_or(lab::Timing{}).median_ms);
  add_device(facts, timing.device);
  add("tflops", or_null(lab::tflops(run, row)));
  add("cublas_ratio", or_null(lab::cublas_ratio(run, row)));
}

// For a timed kernel: "latency", or the unit that is busy most of the time.
void add_bound(std::vector<Fact>& facts, const lab::Run& run, const lab::Row& row) {
  const std::optional<lab::BoundBy> bound = lab::bound_by(run, row);
  const lab::BoundBy known = bound.value_or(lab::BoundBy{});
  const Writer add{facts, "", bound.has_value()};
  add("bound_by",
      known.latency ? std::string("latency") : std::string(model::kUnitNames[known.unit]));
  add("busiest_unit_percent", known.percent);
}

}  // namespace

std::vector<Fact> stage_facts(const lab::Run& run, const lab::Row& row) {
  std::vector<Fact> facts;
  const Writer number{facts, "", row.number >= 0};
  number("number", row.number);
  facts.push_back({"name", row.name});
  facts.push_back({"why_not_run", row.why_not_run.empty() ? FactValue() : row.why_not_run});
  add_variant(facts, run, row);
  add_traced(facts, run, row);
  add_per_thread(facts, run, row);
  add_occupancy(facts, run, row);
  add_ceiling(facts, run, row);
  add_waiting(facts, run, row);
  add_compiled(facts, run, row);
  add_result(facts, run, row);
  add_bound(facts, run, row);
  facts.push_back({"recorded_tflops", or_null(recorded_tflops(run, row))});
  facts.push_back({"times_the_stage_before", or_null(lab::times_the_stage_before(run, row))});
  return facts;
}

std::vector<Fact> yardstick_facts(const lab::Run& run, const lab::Row& row) {
  std::vector<Fact> facts{{"name", row.name}};
  add_result(facts, run, row);
  return facts;
}

std::vector<Fact> run_facts(const lab::Run& run) {
  const model::Gpu& gpu = run.gpu;
  const int cc = gpu.compute_capability;
  std::vector<Fact> facts{
      {"program", "gemm_steps"}, {"schema", kSchema}, {"command", run.command}, {"date", run.date}};
  const Writer host{facts, "host.", true};
  host("cpu", run.cpu.empty() ? FactValue() : FactValue(run.cpu));
  host("threads", run.threads);
  const Writer problem{facts, "problem.", true};
  problem("M", run.M);
  problem("N", run.N);
  problem("K", run.K);
  problem("alpha", double{run.alpha});
  problem("beta", double{run.beta});
  problem("seed", std::uint64_t{run.seed});
  problem("data", lab::name_of(run.data));
  const lab::ProblemSize sides = run.checked.value_or(lab::ProblemSize{run.M, run.N, run.K});
  problem("checked_M", sides.M);
  problem("checked_N", sides.N);
  problem("checked_K", sides.K);
  if (!run.program.empty()) {
    const Writer ran{facts, "ran.", true};
    const bool has_ended = !run.unended && !run.stopped;
    ran("file", run.program);
    ran("exit_code", has_ended ? FactValue(run.exit_code) : FactValue());
    ran("stopped_by_kernel", run.stopped);
  }
  const Writer about{facts, "gpu.", true};
  about("name", gpu.name);
  about("present", run.gpu_present);
  about("driver", run.driver.empty() ? FactValue() : FactValue(run.driver));
  const bool is_real = model::has_clock(gpu);
  about(
      "compute_capability",
      is_real ? FactValue(text::printed("%d.%d", cc / 10, cc % 10)) : FactValue());
  about("sms", gpu.sms);
  about("fp32_lanes_per_sm", gpu.fp32_lanes_per_sm);
  const auto or_unknown = [](double rate) { return rate > 0 ? FactValue(rate) : FactValue(); };
  about("boost_ghz", or_unknown(gpu.boost_ghz));
  about("dram_gb_per_s", or_unknown(gpu.dram_gb_per_s));
  about("l1_bytes_per_sm_clock", or_unknown(is_real ? model::l1_bytes_per_clock(gpu) : 0));
  about("l2_bytes_per_clock", or_unknown(gpu.l2_bytes_per_clock));
  about("tf32_tflops", or_unknown(model::peak_tflops(gpu, model::Multiplier::wgmma_tf32)));
  about("bf16_tflops", or_unknown(model::peak_tflops(gpu, model::Multiplier::wgmma_bf16)));
  about("warp_lanes", gpu.warp.lanes);
  about("sector_bytes", gpu.warp.sector_bytes);
  about("line_bytes", gpu.warp.line_bytes);
  about("banks", gpu.warp.banks);
  return facts;
}

namespace {

std::string json(const FactValue& value) {
  if (value.kind == FactValue::null) return "null";
  return value.kind == FactValue::text ? text::json_string(value.written) : value.written;
}

std::string object_on_one_line(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    text += (text.empty() ? "{" : ", ") + text::json_string(fact.path) + ": " + json(fact.value);
  }
  return text + "}";
}

// What --explain prints below the lines of the kernel: one object per line and array.
FactValue json_of_lines(
    const std::vector<model::LineCounts>& lines, const lab::Row& row, const model::Counts& counts) {
  std::string text;
  for (const model::LineCounts& line : lines) {
    std::vector<Fact> facts;
    if (line.line > 0) facts.push_back({"line", line.line});
    if (line.helper_line > 0) facts.push_back({"helper_line", line.helper_line});
    if (!line.helper_file.empty()) facts.push_back({"helper_file", line.helper_file});
    const double threads = static_cast<double>(counts.threads_traced);
    facts.insert(
        facts.end(),
        {{"array", line.array},
         {"space", line.shared ? "shared" : "global"},
         {"direction", lab::name_of(line.direction)},
         {"bytes_per_lane", line.bytes},
         {"executions_per_thread", static_cast<double>(line.executions) / threads},
         {"requests", line.requests},
         {line.shared ? "wavefronts" : "sectors", line.pieces},
         {line.shared ? "ideal_wavefronts" : "ideal_sectors", line.ideal_pieces},
         {"bank_conflicts", line.shared ? FactValue(line.bank_conflicts) : FactValue()},
         {"uncoalesced_sectors", line.shared ? FactValue() : FactValue(line.uncoalesced)}});
    if (line.shared && line.direction == model::Direction::load) {
      const InFlight bytes = in_flight(row, line);
      facts.push_back({"in_flight_bytes_per_block", bytes.mean_bytes});
      facts.push_back({"in_flight_most_bytes_per_block", bytes.most_bytes});
    }
    text += (text.empty() ? "\n        " : ",\n        ") + object_on_one_line(facts);
  }
  return FactValue::json("[" + text + "]");
}

// The lines of a user's loads from shared memory as nvcc compiled them; null if that is not known.
FactValue json_of_shared_loads(const lab::Row& row) {
  if (!row.shared_loads || !row.shared_loads->compiled) return {};
  const auto or_null = [](const std::optional<std::int64_t>& count) {
    return count ? FactValue(*count) : FactValue();
  };
  std::string text;
  for (const model::CompiledLine& line : row.shared_loads->compiled->lines) {
    std::string arrays;
    for (const std::string& array : line.arrays) arrays += (arrays.empty() ? "" : ", ") + array;
    std::vector<Fact> facts;
    if (line.line > 0) facts.push_back({"line", line.line});
    if (line.helper_line > 0) facts.push_back({"helper_line", line.helper_line});
    facts.insert(
        facts.end(), {{"arrays", arrays},
                      {"requests", line.requests},
                      {"wavefronts", line.wavefronts},
                      {"compiled_requests", or_null(line.compiled_requests)},
                      {"compiled_wavefronts", or_null(line.compiled_wavefronts)},
                      {"lds_32", line.by_bytes[2]},
                      {"lds_64", line.by_bytes[3]},
                      {"lds_128", line.by_bytes[4]}});
    text += (text.empty() ? "\n        " : ",\n        ") + object_on_one_line(facts);
  }
  return FactValue::json("[" + text + "]");
}

FactValue json_of_hazards(
    const lab::Run& run, const lab::Row& row, const model::Counts& counts, bool notes) {
  std::string text;
  for (const model::Hazard& hazard : counts.hazards) {
    if (model::is_note(hazard.kind) != notes) continue;
    text += (text.empty() ? "\n        " : ",\n        ") +
            text::json_string(hazard_sentence(hazard, run, row));
  }
  return FactValue::json("[" + text + "]");
}

// The members of an object, with an inner object for paths that share their first part.
std::string members(std::span<const Fact> facts, const std::string& between) {
  std::string text;
  for (std::size_t i = 0; i < facts.size();) {
    if (i > 0) text += between;
    const std::size_t dot = facts[i].path.find('.');
    const std::string name = facts[i].path.substr(0, dot);
    if (dot == std::string::npos) {
      text += text::json_string(name) + ": " + json(facts[i++].value);
      continue;
    }
    std::vector<Fact> inner;
    for (; i < facts.size() && facts[i].path.starts_with(name + "."); ++i) {
      inner.push_back({facts[i].path.substr(dot + 1), facts[i].value});
    }
    text += text::json_string(name) + ": {" + members(inner, ", ") + "}";
  }
  return text;
}

}  // namespace

FactValue FactValue::json(std::string written) {
  FactValue value;
  value.kind = plain;
  value.written = std::move(written);
  return value;
}

std::string json_members(const std::vector<Fact>& facts) {
  return members(facts, ",\n  ");
}

std::string json_array(const std::string& name, const std::vector<std::vector<Fact>>& objects) {
  std::string text = "  " + text::json_string(name) + ": [";
  for (const std::vector<Fact>& facts : objects) {
    text += (&facts == objects.data() ? "\n    {\n      " : ",\n    {\n      ") +
            members(facts, ",\n      ") + "\n    }";
  }
  return text + (objects.empty() ? "]" : "\n  ]");
}

std::string json_text(const lab::Run& run) {
  std::vector<std::vector<Fact>> stages, yardsticks;
  for (const lab::Row& row : run.rows) {
    if (row.number >= 0) {
      stages.push_back(stage_facts(run, row));
      const model::Counts counts = row.counts.value_or(model::Counts{});
      stages.back().push_back({"lines", json_of_lines(counts.lines, row, counts)});
      stages.back().push_back({"arrays", json_of_lines(lab::by_array(counts), row, counts)});
      if (row.shared_loads) {
        stages.back().push_back({"shared_loads_as_compiled", json_of_shared_loads(row)});
      }
      stages.back().push_back({"hazards", json_of_hazards(run, row, counts, false)});
      stages.back().push_back({"notes", json_of_hazards(run, row, counts, true)});
    } else {
      yardsticks.push_back(yardstick_facts(run, row));
    }
  }
  return "{\n  " + members(run_facts(run), ",\n  ") + ",\n" + json_array("stages", stages) + ",\n" +
         json_array("yardsticks", yardsticks) + "\n}\n";
}

void print_json(std::FILE* out, const lab::Run& run) {
  std::fputs(json_text(run).c_str(), out);
}

namespace {

// RFC 4180: a field with a comma, a quote or a line break is put in quotes, and its quotes are
// doubled.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string escaped = "\"";
  for (char c : text) {
    if (c == '"') escaped += '"';
    escaped += c;
  }
  return escaped + '"';
}

template <class TextOf>
std::string line(const std::vector<Fact>& facts, TextOf text_of) {
  std::string text;
  for (const Fact& fact : facts) {
    if (&fact != facts.data()) text += ',';
    text += text_of(fact);
  }
  return text + "\r\n";
}

}  // namespace

std::string csv_names(const std::vector<Fact>& facts) {
  return line(facts, [](const Fact& fact) { return field(fact.path); });
}

std::string csv_values(const std::vector<Fact>& facts) {
  return line(facts, [](const Fact& fact) { return field(fact.value.written); });
}

void print_csv(std::FILE* out, const lab::Run& run) {
  const std::vector<Fact> about_run = run_facts(run);
  const auto facts_of = [&](const lab::Row& row) {
    std::vector<Fact> facts = stage_facts(run, row);
    facts.insert(facts.end(), about_run.begin(), about_run.end());
    return facts;
  };
  std::string text = csv_names(facts_of(lab::Row{}));
  for (const lab::Row& row : run.rows) text += csv_values(facts_of(row));
  std::fputs(text.c_str(), out);
}

}  // namespace report
