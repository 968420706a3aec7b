#include "show/report/quantities.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <type_traits>

#include "show/report/words.h"
#include "text/numbers.h"

namespace report {

namespace {

using K = Known;
using In = Column::In;
using Align = Column::Align;
using lab::Row, lab::Timing, model::Ceiling, model::Counts, model::DeviceState, model::Error,
    model::Occupancy, model::SharedLoads, model::Traffic, model::Variant, model::Waiting;
using Mix = model::InstructionMix;
using Record = model::CompiledKernel;

FactValue value_of(const auto& object) {
  return FactValue(object);
}

// A member of a member, and so on; null where one of them is empty.
template <class Object, class Member, class... Members>
FactValue value_of(const Object& object, Member member, Members... members) {
  if constexpr (requires { *object; }) {
    return object ? value_of(*object, member, members...) : FactValue();
  } else {
    return value_of(std::invoke(member, object), members...);
  }
}

// The first is a member of what is known of a row, or of the row.
auto of(auto first, auto... members) {
  return [=](const Known& k) {
    if constexpr (std::is_invocable_v<decltype(first), const Known&>) {
      return value_of(k, first, members...);
    } else {
      return value_of(k.row, first, members...);
    }
  };
}

// Of the traced blocks.
auto count(auto... members) {
  return of(&Row::counts, members...);
}

std::optional<int> if_limited(int blocks) {
  return blocks == INT_MAX ? std::nullopt : std::optional(blocks);
}

// How numbers are shown.

std::string rounded(double value) {
  return text::grouped(std::llround(value));
}

std::string name_cell(const Known& k) {
  return k.row.name + (k.is_for_small ? " +" : "");
}

std::string time_in_ms(const Known& k) {
  if (!k.row.time) return k.row.why_not_run.empty() ? "–" : k.row.why_not_run;
  return (k.row.time->partial ? "~" : "") + text::significant(k.row.time->median_ms);
}

std::string ceiling_words(const Ceiling& ceiling) {
  return "≤ " + text::pad_left(tflops_words(ceiling.tflops), 5) + " " +
         std::string(model::kUnitNames[ceiling.bound_by]);
}

// The rows that are not kernels have a time on this CPU, and no ceiling.
std::string ceiling_cell(const Known& k) {
  if (!k.row.why_not_run.empty()) return k.row.why_not_run;
  if (k.compiled) return ceiling_words(*k.compiled);
  return k.row.time ? "took " + time_in_ms(k) + " ms" : "–";
}

// "issue 86", or "latency SMEM 68" if no unit is busy enough to be the reason.
std::string bound_by_cell(const Known& k) {
  if (!k.bound) return k.compiled && !k.row.time ? ceiling_words(*k.compiled) : "–";
  return (k.bound->latency ? "latency " : "") + std::string(model::kUnitNames[k.bound->unit]) +
         text::printed(" %d", k.bound->percent);
}

std::string verdict_cell(const Known& k) {
  if (k.row.unfit_data) return "n/a";
  if (!k.row.error) return "–";
  const Error& error = *k.row.error;
  return !error.bound_ok ? "FAIL" : error.forgiven ? "tiny" : error.overflowed > 0 ? "over" : "ok";
}

// What only tables have.

// A thread's loads of one kind, if the kernel was traced.
auto most(Traffic Counts::*loads) {
  return of(&Row::counts, loads, &Traffic::accesses, &model::PerThread::max);
}

std::string gmem_loads_cell(const Known& k) {
  const FactValue loads = most(&Counts::gmem_loads)(k);
  if (loads.kind == FactValue::null) return "–";
  return (has_boxes(k.row) ? kBox : "") + rounded(loads.number);
}

auto per_result(Traffic Counts::*loads, model::PerThread Traffic::*what = &Traffic::accesses) {
  return [=](const Known& k) -> FactValue {
    if (!k.row.counts || !k.row.variant) return {};
    const auto most = static_cast<double>(((*k.row.counts).*loads.*what).max);
    return most / lab::results_per_thread(*k.row.variant);
  };
}

// Of a whole tile of C.
FactValue gmem_bytes_per_result(const Known& k) {
  if (!k.traced || !k.row.variant || k.row.variant->BM < 1) return {};
  const Variant& v = *k.row.variant;
  const double whole = model::traced_tiles(lab::product_of(k.run), v, *k.traced);
  return 4.0 * static_cast<double>(k.traced->gmem_loads.floats.sum) / (whole * v.BM * v.BN);
}

FactValue ratio(std::int64_t of_these, std::int64_t to) {
  if (to == 0) return {};
  return static_cast<double>(of_these) / static_cast<double>(to);
}

FactValue conflicts(const Counts& counts) {
  const Traffic &loads = counts.smem_loads, &stores = counts.smem_stores;
  return ratio(loads.bank_conflicts + stores.bank_conflicts, loads.requests + stores.requests);
}

// Of the requests that are counted there.
auto per_request(Traffic Counts::*of_these, std::int64_t Traffic::*count) {
  return of(&Row::counts, of_these, [=](const Traffic& t) { return ratio(t.*count, t.requests); });
}

// What JSON and CSV have.

using Quantities = std::vector<Quantity>;

Quantities joined(std::initializer_list<Quantities> groups) {
  Quantities all;
  for (const Quantities& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

// Requests of warps to memory, and to the tensor cores.
Quantities requests(const std::string& group, auto counts) {
  const auto count = [&](const char* name, auto... members) {
    return Quantity{group + name, of(counts, members...)};
  };
  return {
      count("gmem_load_requests", &Counts::gmem_loads, &Traffic::requests),
      count("gmem_load_sectors", &Counts::gmem_loads, &Traffic::pieces),
      count("gmem_store_requests", &Counts::gmem_stores, &Traffic::requests),
      count("gmem_store_sectors", &Counts::gmem_stores, &Traffic::pieces),
      count("smem_load_requests", &Counts::smem_loads, &Traffic::requests),
      count("smem_load_wavefronts", &Counts::smem_loads, &Traffic::pieces),
      count("smem_store_requests", &Counts::smem_stores, &Traffic::requests),
      count("smem_store_wavefronts", &Counts::smem_stores, &Traffic::pieces),
      count("smem_load_bank_conflicts", &Counts::smem_loads, &Traffic::bank_conflicts),
      count("smem_store_bank_conflicts", &Counts::smem_stores, &Traffic::bank_conflicts),
      count("mma_instructions", &Counts::mmas),
      count("mma_multiply_adds", &Counts::mma_products)};
}

// In the order of JSON: first the accesses of each kind.
Quantities per_thread() {
  using model::PerThread;
  Quantities all;
  for (const int i : {0, 2, 4, 5, 1, 3, 6}) {
    const PerThreadCount& count = kPerThread[i];
    const auto traced = [&count](const Known& k) {
      const bool any = k.row.counts && k.row.counts->threads_traced > 0;
      return any ? &count.traced(*k.row.counts) : nullptr;
    };
    const auto mean = [traced](const Known& k) {
      return traced(k) ? ratio(traced(k)->sum, k.row.counts->threads_traced) : FactValue();
    };
    const std::string group = std::string(count.path) + ".";
    all.push_back({group + "min", of(traced, &PerThread::min)});
    all.push_back({group + "max", of(traced, &PerThread::max)});
    all.push_back({group + "mean", mean});
    all.push_back({group + "predicted", of(&K::predicted, [i](const PredictedCounts& counts) {
                     return counts[i];
                   })});
  }
  return all;
}

// One of each unit.
Quantities units(const std::string& group, const char* unit, auto subject, auto values) {
  Quantities all;
  for (std::size_t i = 0; i < model::kUnits; ++i) {
    std::string name(model::kUnitNames[i]);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    all.push_back({group + name + unit, of(subject, values, [i](const auto& v) { return v[i]; })});
  }
  return all;
}

// One iteration of a compiled loop.
Quantities instructions(const std::string& group, Mix Record::*loop) {
  const auto count = [&](const char* name, auto member) {
    return Quantity{group + name, of(&K::record, loop, member)};
  };
  return {
      count("ldg_32", &Mix::ldg32),
      count("ldg_64", &Mix::ldg64),
      count("ldg_128", &Mix::ldg128),
      count("lds_32", &Mix::lds32),
      count("lds_64", &Mix::lds64),
      count("lds_128", &Mix::lds128),
      count("sts_32", &Mix::sts32),
      count("sts_64", &Mix::sts64),
      count("sts_128", &Mix::sts128),
      count("ldgsts_32", &Mix::ldgsts32),
      count("ldgsts_64", &Mix::ldgsts64),
      count("ldgsts_128", &Mix::ldgsts128),
      count("ffma", &Mix::ffma),
      count("bar", &Mix::bar),
      count("all", &Mix::all),
      count("gmem_waits", &Mix::gmem_waits),
      count("gmem_ahead", &Mix::gmem_ahead),
      count("smem_waits", &Mix::smem_waits),
      count("smem_ahead", &Mix::smem_ahead)};
}

Quantities facts_in_order() {
  using O = Occupancy;
  using D = DeviceState;
  const auto device = [](auto... members) { return of(&Row::time, &Timing::device, members...); };
  const auto nearest = [](double value) { return std::round(value); };
  const auto if_any = [](double value) { return value > 0 ? rounded(value) : "–"; };
  const auto in_percent = [](double ratio) { return text::brief(100 * ratio); };
  const auto tile = [](auto member) { return of(&Row::variant, member); };
  const auto shares = [](auto member) {
    return [=](const K& k) { return k.row.stage ? value_of(k.shares, member) : FactValue(); };
  };
  return joined(
      {{{"number",
         [](const K& k) { return k.row.number < 0 ? FactValue() : k.row.number; },
         {"", "#", In::every_table, nullptr,
          [](const K& k) { return k.row.number < 0 ? "" : std::to_string(k.row.number); }}},
        {"name",
         of(&Row::name),
         {"", "stage", In::stages, nullptr, name_cell, Align::left},
         {"#, stage",
          "the stage's number and name. Rows without a number are yardsticks: the CPU and cuBLAS"}},
        {"why_not_run",
         [](const K& k) { return k.row.why_not_run.empty() ? FactValue() : k.row.why_not_run; }},
        {"variant",
         of(&Row::variant, &Variant::name),
         {"", "variant", In::wide, nullptr, nullptr, Align::left},
         {"variant",
          "the tile sizes that ran: those that suit the GPU and the size, unless --variant names "
          "others (--wide)"}},
        {"kernel", of(&K::kernel)},
        {"aligned", of(&K::aligned)},
        {"tile.BM", tile(&Variant::BM)},
        {"tile.BN", tile(&Variant::BN)},
        {"tile.BK", tile(&Variant::BK)},
        {"tile.WM", tile(&Variant::WM)},
        {"tile.WN", tile(&Variant::WN)},
        {"tile.TM", tile(&Variant::TM)},
        {"tile.TN", tile(&Variant::TN)},
        {"tile.pipeline", tile(&Variant::pipeline)},
        {"threads_per_block", of(&Row::variant, &Variant::threads)},
        {"results_per_thread", of(&Row::variant, lab::results_per_thread)},
        {"blocks", of(&K::blocks)},
        {"shares.whole_tiles", shares(&SharedOut::whole)},
        {"shares.cut_tiles", shares(&SharedOut::cut_tiles)},
        {"shares.parts", shares(&SharedOut::slices)},
        {"shares.depth", shares(&SharedOut::depth)},
        {"shares.workspace_bytes", shares(&SharedOut::sums_bytes)},
        // Totals of the launch, exact or null, and beside them those of the traced blocks.
        {"blocks_traced", of(&Row::counts, &Counts::blocks_traced)}},
       requests("", &K::total),
       {{"sample.blocks", of(&Row::counts, &Counts::blocks_traced)},
        {"sample.threads", of(&Row::counts, &Counts::threads_traced)}},
       requests("sample.", &Row::counts),
       {{"sample.gmem_load_ideal_sectors", count(&Counts::gmem_loads, &Traffic::ideal_pieces)},
        {"sample.gmem_store_ideal_sectors", count(&Counts::gmem_stores, &Traffic::ideal_pieces)},
        {"sample.async_copy_requests", count(&Counts::async_gmem, &Traffic::requests)},
        {"sample.async_copy_sectors", count(&Counts::async_gmem, &Traffic::pieces)},
        {"sample.async_copy_wavefronts", count(&Counts::async_smem, &Traffic::pieces)},
        {"barriers.per_block", of(&K::barriers_per_block)},
        {"barriers.per_k_tile", of(&K::barriers_per_k_tile)}},
       per_thread(),
       {{"occupancy.gpu",
         [](const K& k) { return k.row.occupancy ? FactValue(k.run.gpu.name) : FactValue(); }},
        {"occupancy.registers",
         of(&Row::occupancy, &O::resources, &model::KernelResources::registers_per_thread),
         {"registers", "per thread", In::wide, if_any},
         {"registers", "per thread, as the compiler allocates them (--wide)"}},
        {"occupancy.smem_bytes",
         of(&Row::occupancy, &O::resources, &model::KernelResources::smem_bytes_per_block)},
        {"occupancy.blocks_per_sm",
         of(&Row::occupancy, &O::blocks_per_sm),
         {"blocks", "per SM", In::wide, rounded},
         {"blocks", "that an SM holds at a time (--wide)"}},
        {"occupancy.percent",
         of(&Row::occupancy, &O::percent),
         {"occupancy", "%", In::every_table, rounded},
         {"occupancy",
          "warps that an SM holds, in % of those that it could hold; --explain says where some of "
          "them return at once"}},
        {"occupancy.limiter", of(&Row::occupancy, &O::limiter)},
        {"occupancy.warps_per_block", of(&Row::occupancy, &O::warps_per_block)},
        {"occupancy.blocks_by_threads", of(&Row::occupancy, &O::blocks_by_threads, if_limited)},
        {"occupancy.blocks_by_blocks", of(&Row::occupancy, &O::blocks_by_blocks, if_limited)},
        {"occupancy.blocks_by_smem", of(&Row::occupancy, &O::blocks_by_smem, if_limited)},
        {"occupancy.blocks_by_registers", of(&Row::occupancy, &O::blocks_by_registers, if_limited)},
        {"occupancy.waves", of(&K::waves)},
        {"ceiling.as_written_tflops", of(&K::written, &Ceiling::tflops)},
        {"ceiling.compiled_tflops",
         of(&K::compiled, &Ceiling::tflops),
         {"ceiling", "TFLOP/s", In::timed | In::wide | In::product, tflops_words}},
        {"ceiling.bound_by",
         of(&K::compiled, &Ceiling::bound_by),
         {"its", "unit", In::timed | In::wide | In::product}},
        {"ceiling.no_overlap_tflops", of(&K::compiled, &Ceiling::no_overlap_tflops)},
        {"ceiling.busy_share", of(&K::compiled, &Ceiling::busy_share)},
        {"ceiling.measured_ratio", of(&K::ceiling_ratio)}},
       units("ceiling.units.", "_ms", &K::compiled, &Ceiling::ms),
       {{"waiting.tflops", of(&K::waiting, &Waiting::tflops)},
        {"waiting.busiest", of(&K::waiting, &Waiting::busiest)},
        {"waiting.resident_blocks", of(&K::waiting, &Waiting::resident_blocks)},
        {"waiting.warps_per_scheduler", of(&K::waiting, &Waiting::warps_per_scheduler)}},
       units("waiting.busy.", "", &K::waiting, &Waiting::busy),
       {{"waiting.block_time.issuing", of(&K::waiting, &Waiting::issuing)},
        {"waiting.block_time.smem", of(&K::waiting, &Waiting::waiting_for_smem)},
        {"waiting.block_time.gmem", of(&K::waiting, &Waiting::waiting_for_gmem)},
        {"waiting.block_time.barriers", of(&K::waiting, &Waiting::at_barriers)},
        {"compiled.compute_capability", of(&K::record, &Record::compute_capability)}},
       instructions("compiled.loop.", &Record::loop),
       instructions("compiled.inner.", &Record::inner),
       {{"compiled.smem_load_requests", of(&K::compiled_loads, &SharedLoads::requests, nearest)},
        {"compiled.smem_load_wavefronts",
         of(&K::compiled_loads, &SharedLoads::wavefronts, nearest)},
        {"error.relative",
         of(&Row::error, &Error::relative),
         {"error vs", "CPU", In::product, text::scientific, nullptr, Align::left_label},
         {"error",
          "|C - other| / |other| (Frobenius): against an fp64 product on the CPU, and against "
          "cuBLAS fp32"}},
        {"error.max_abs", of(&Row::error, &Error::max_abs)},
        {"error.bound_ok", of(&Row::error, &Error::bound_ok)},
        {"error.forgiven", of(&Row::error, &Error::forgiven)},
        {"error.overflowed", of(&Row::error, &Error::overflowed)},
        {"cublas_error",
         of(&Row::cublas_error),
         {"error vs", "cuBLAS", In::timed | In::product, text::scientific, nullptr,
          Align::left_label}},
        {"stood_in", [](const K& k) { return k.row.stood_in > 0; }},
        {"time_ms",
         of(&Row::time, &Timing::median_ms),
         {"time", "ms", In::timed, nullptr, time_in_ms},
         {"time",
          "the median of many launches in ms, each between two events, after unmeasured ones; "
          "--explain gives the spread. ~: scaled up from the first rows of C, because all of C "
          "would take too long"}},
        {"time.min_ms", of(&Row::time, &Timing::min_ms)},
        {"time.max_ms", of(&Row::time, &Timing::max_ms)},
        {"time.quartile1_ms", of(&Row::time, &Timing::quartile1_ms)},
        {"time.quartile3_ms", of(&Row::time, &Timing::quartile3_ms)},
        {"time.repetitions", of(&Row::time, &Timing::repetitions)},
        {"time.partial", of(&Row::time, &Timing::partial)},
        {"time.busy_before_ms", of(&Row::time, &Timing::busy_before_ms)},
        {"preparation_ms", of(&Row::preparation, &Timing::median_ms)},
        // The sensors during the timed runs.
        {"device.readings", device(&D::readings)},
        {"device.measured_ms", device(&D::measured_ms)},
        {"device.sm_mhz_median", device(&D::median_mhz)},
        {"device.sm_mhz_counted", device(&D::counted_mhz)},
        {"device.sm_mhz_min", device(&D::min_mhz)},
        {"device.sm_mhz_max", device(&D::max_mhz)},
        {"device.watts_mean", device(&D::mean_watts)},
        {"device.watts_max", device(&D::max_watts)},
        {"device.watts_limit", device(&D::limit_watts)},
        {"device.watts_are_averages", device(&D::watts_are_averages)},
        {"device.celsius_max", device(&D::max_celsius)},
        {"device.throttled", device(&D::throttles, [](const auto& all) { return !all.empty(); })},
        {"device.throttled_by", device(&D::throttles, reasons_words)},
        {"tflops",
         of(&K::tflops),
         {"TFLOP/s", "", In::timed | In::product, tflops_words},
         {"TFLOP/s", "1e12 operations per second, 2*M*N*K of them in all"}},
        {"cublas_ratio",
         of(&K::cublas_ratio),
         {"% of", "cuBLAS", In::timed | In::product, in_percent},
         {"% of cuBLAS", "speed over that of cuBLAS fp32 in the same run"}},
        // For a timed kernel: "latency", or the unit that is busy most of the time.
        {"bound_by",
         of(&K::bound, [](const auto& b) { return b.latency ? FactValue("latency") : b.unit; }),
         {"", "bound by, % busy", In::timed | In::product, nullptr, bound_by_cell, Align::left},
         {"bound by",
          "the busiest unit, and the % of the kernel's time that it is busy, without a split "
          "before. Above 100: the clock that was counted is lower than that of the timed "
          "launches. " +
              latency_words() + ": it counts work and no waiting"}},
        {"busiest_unit_percent", of(&K::bound, &BoundBy::percent)},
        {"recorded_tflops",
         of(&K::recorded_tflops),
         {"recorded", "TFLOP/s", In::recorded, tflops_words},
         {"recorded",
          "without this GPU: the speed that somebody recorded on one, at this size (results/)"}},
        {"times_the_stage_before",
         of(&K::times_before),
         {"times the", "stage before", In::timed | In::wide | In::product, text::brief},
         {"times the", "stage before: its speed divided by that of the stage before (--wide)"}}}});
}

Quantity sign(const char* path, const char* words, const char* term = nullptr) {
  return {path, {}, {}, {term ? term : path, words}};
}

// What only tables have, and terms of the legend.
Quantities others() {
  return {
      {"kernel_of_program",
       of(&Row::name),
       {"", "kernel", In::kernels, nullptr, name_cell, Align::left}},
      {"launches",
       of(&Row::launch, &lab::LaunchShape::launches),
       {"", "launches", In::program, rounded}},
      {"ceiling",
       {},
       {"ceiling in", "TFLOP/s, by", In::traced | In::product, nullptr, ceiling_cell, Align::left},
       {"ceiling",
        "the TFLOP/s at which one unit of this GPU, the one named, would be busy all the "
        "time with the compiled kernel, at this size; --explain shows every unit. Where A and B "
        "are split before, the split takes its time at DRAM's bandwidth, and the unit is busy "
        "after it. ≤: not timed, so this is the most that the GPU can reach. took: a time on this "
        "CPU"}},
      {"gmem_loads",
       most(&Counts::gmem_loads),
       {"loads/thread", "GMEM", In::every_table, nullptr, gmem_loads_cell},
       {"loads/thread",
        "accesses as written, of the thread with the most: one float4 is one, one "
        "cp.async is one. GMEM: global memory. SMEM: shared memory. " +
            std::string(kBox) + ": boxes of the copy engine, of kilobytes each, among them"}},
      {"smem_loads", most(&Counts::smem_loads), {"loads/thread", "SMEM", In::every_table, rounded}},
      {"gmem_loads_per_result",
       per_result(&Counts::gmem_loads),
       {"loads/result", "GMEM", In::wide, text::brief},
       {"loads/result", "the same, divided by the results of C that a thread computes (--wide)"}},
      {"smem_loads_per_result",
       per_result(&Counts::smem_loads),
       {"loads/result", "SMEM", In::wide, text::brief}},
      {"gmem_bytes_per_result",
       gmem_bytes_per_result,
       {"bytes/result", "GMEM", In::wide, text::brief},
       {"bytes/result",
        "that a block loads from GMEM, divided by the results of C that it computes (--wide)"}},
      {"sectors_per_request",
       count(&Counts::gmem_loads, lab::pieces_per_request),
       {"sectors", "per request", In::every_table, text::brief, nullptr, Align::right,
        &Counts::block_sectors},
       {"sectors",
        "of 32 bytes (16 on the paper GPU) that a request, one instruction of a warp, loads from "
        "GMEM"}},
      {"ideal_sectors_per_request",
       per_request(&Counts::gmem_loads, &Traffic::ideal_pieces),
       {"ideal", "sectors", In::wide, text::brief},
       {"ideal",
        "the fewest sectors that can hold the bytes that the request wants: 4 for 32 floats, "
        "16 for 32 float4, 1 where all lanes want the same float (--wide)"}},
      {"conflicts_per_request",
       of(&Row::counts, conflicts),
       {"conflicts", "per request", In::every_table, text::brief, nullptr, Align::left_label,
        &Counts::block_conflicts},
       {"conflicts",
        "bank conflicts: wavefronts of SMEM that a request takes beyond the fewest, "
        "loads and stores together"}},
      {"products_per_instruction",
       of(&Row::counts, [](const Counts& c) { return ratio(c.mma_products, c.mmas); }),
       {"products", "per mma", In::wide, rounded},
       {"products",
        "multiply-adds that an instruction of the tensor cores makes for a warp; an FFMA makes 32, "
        "one for each lane (--wide)"}},
      {"wavefronts_per_request", count(&Counts::smem_loads, lab::pieces_per_request)},
      {"verdict",
       {},
       {"", "", In::product, nullptr, verdict_cell, Align::left},
       {"ok",
        "no element is farther from the fp64 reference than rounding can explain; FAIL: one "
        "is. over: ok, but some elements of C, or sums on the way to them, are beyond the "
        "range of fp32: they overflow to infinity or NaN, as in every BLAS. tiny: ok, but for "
        "numbers that are too small for the stage's format. n/a: not checked, as the stage needs "
        "finite data"}},
      sign(
          "+",
          "after a stage's name: its tile is not the stage's first, because C is small; the line "
          "\"tiles\" above the table names it"),
      sign(
          "bf16",
          "a variant that multiplies bf16 gets copies of A and B that are rounded before its clock "
          "starts, and so does cuBLAS bf16, which the table shows beside it on a GPU"),
      sign(
          "fp16_parts",
          "a variant that multiplies them makes them anew in each run, and that is in its time. "
          "Its counts are those of the kernel that multiplies them. Where a stage needs a proof "
          "that they lose little and there is none, the GPU multiplies tf32 parts instead, and a "
          "line below the table says so",
          "fp16 parts"),
      sign(
          "units",
          "FMA: multiply-adds. issue: instructions. SMEM: wavefronts of shared memory. L1: "
          "128-byte lines. L2, DRAM: bytes. tensor: products of the tensor cores"),
      sign(
          "few_blocks",
          "most SMs have nothing to do for most of the time; a stage with larger blocks has fewer "
          "of them. A larger --size fills the GPU",
          "few blocks"),
      sign(
          "sampled",
          "sectors and conflicts are of the traced blocks (corners, edges, middle), with a ~ if "
          "these differ; --trace all traces every block"),
      sign(
          "colour",
          "in each row the count that differs most from the stage before, by its ratio: emphasis, "
          "and no more than the numbers say"),
      sign("–", "not measured, or there is no such access")};
}

// What experiments have, with "figures." where they are also in JSON and CSV.
Quantities figures() {
  using O = Occupancy;
  const auto percent = [](double share) { return text::printed("%.1f", 100 * share); };
  const auto hundredths = [](double value) { return text::printed("%.2f", value); };
  const auto millions = [](double value) { return text::printed("%.2f", value / 1e6); };
  const auto megabytes = [](double bytes) { return text::significant(bytes / 1e6); };
  const auto tile = [](int rows, int columns) { return text::printed("%dx%d", rows, columns); };
  return {
      {"figures.stage", of(&Row::number), {"", "stage"}},
      {"block_tile",
       of(&Row::variant,
          [=](const Variant& v) { return tile(v.BM, v.BN) + text::printed("x%d", v.BK); }),
       {"tile", "BMxBNxBK"}},
      {"warp_tile",
       of(&Row::variant,
          [=](const Variant& v) { return v.WM > 0 ? FactValue(tile(v.WM, v.WN)) : FactValue(); }),
       {"warp", "WMxWN"}},
      {"thread_tile",
       of(&Row::variant, [=](const Variant& v) { return tile(v.TM, v.TN); }),
       {"thread", "TMxTN"}},
      {"figures.threads_per_block", of(&Row::variant, &Variant::threads), {"thrds/", "block"}},
      {"figures.registers_per_thread",
       of(&Row::occupancy, &O::resources, &model::KernelResources::registers_per_thread),
       {"", "regs"}},
      {"figures.smem_bytes_per_block",
       of(&Row::occupancy, &O::resources, &model::KernelResources::smem_bytes_per_block),
       {"SMEM B", "/block", In::no_table, rounded}},
      {"figures.blocks_per_sm", of(&Row::occupancy, &O::blocks_per_sm), {"blocks", "/SM"}},
      {"figures.occupancy_percent",
       of(&Row::occupancy, &O::percent),
       {"occ", "%", In::no_table, hundredths},
       {"", "occupancy: resident warps as a share of those that an SM can hold"}},
      {"figures.sectors_per_request",
       count(&Counts::gmem_loads, lab::pieces_per_request),
       {"sect", "/req", In::no_table, text::brief},
       {"", "32-byte sectors per request (one instruction of a warp) loaded from GMEM"}},
      {"figures.lines_per_request",
       per_request(&Counts::gmem_loads, &Traffic::lines),
       {"lines", "/req", In::no_table, text::brief},
       {"", "128-byte lines per such request: L1 serves one per cycle"}},
      {"figures.gmem_load_floats_per_result",
       per_result(&Counts::gmem_loads, &Traffic::floats),
       {"GMEM", "/res", In::no_table, text::brief},
       {"", "floats loaded from GMEM per result"}},
      {"figures.smem_load_requests_written",
       [](const K& k) {
         return k.traced
                    ? ratio(
                          k.traced->smem_loads.requests * k.traced->blocks, k.traced->blocks_traced)
                    : FactValue();
       },
       {"written", "SMEM M", In::no_table, millions},
       {"", "SMEM load requests of the whole launch, in millions, as written in the source"}},
      {"figures.smem_load_requests_compiled",
       of(&K::compiled_loads, &SharedLoads::requests),
       {"compiled", "SMEM M", In::no_table, millions},
       {"", "the same after compilation, which merges loads of neighbours into wide ones"}},
      {"figures.smem_load_conflicts_per_request",
       per_request(&Counts::smem_loads, &Traffic::bank_conflicts),
       {"conf", "/load", In::no_table, text::brief},
       {"", "bank conflicts: extra SMEM wavefronts per request"}},
      {"figures.smem_store_conflicts_per_request",
       per_request(&Counts::smem_stores, &Traffic::bank_conflicts),
       {"conf", "/store", In::no_table, text::brief}},
      {"problem",
       [](const K& k) { return text::printed("%dx%dx%d", k.run.M, k.run.N, k.run.K); },
       {"", "MxNxK"}},
      {"figures.blocks_in_the_launch",
       of(&K::grid, [](const lab::Grid& grid) { return grid.x * grid.y; }),
       {"", "blocks"}},
      {"figures.waves",
       of(&K::waves),
       {"", "waves", In::no_table, text::brief},
       {"", "how many times all SMs must be filled with blocks"}},
      {"figures.last_wave_full",
       of(&K::waves,
          [](double waves) {
            return waves > 0 ? FactValue(waves - std::ceil(waves) + 1) : FactValue();
          }),
       {"last", "full%", In::no_table, percent},
       {"", "how much of the last wave is filled with blocks"}},
      {"figures.tiles_wasted",
       of(&K::wasted),
       {"waste", "%", In::no_table, percent},
       {"", "the part of the tiles that is outside C, which is wasted work"}},
      {"figures.first_wave_blocks",
       of(&K::first_wave,
          [](const FirstWave& wave) {
            return text::printed("%lld x %lld", wave.block_rows, wave.block_columns);
          }),
       {"wave", "rows x columns"},
       {"", "the blocks that the GPU holds at once, and the part of C that they span"}},
      {"figures.first_wave_bytes",
       of(&K::first_wave, &FirstWave::bytes),
       {"wave's A", "and B MB", In::no_table, megabytes},
       {"", "the parts of A and B that these blocks read, each element counted once"}},
      {"figures.ceiling_tflops",
       of(&K::ceiling, &Ceiling::tflops),
       {"ceiling", "TFLOP/s", In::no_table, text::significant},
       {"",
        "the most that this GPU can reach: the unit in the next column would then be busy all "
        "the time"}},
      {"figures.ceiling_bound_by", of(&K::ceiling, &Ceiling::bound_by), {"bound", "by"}},
      {"figures.median_ms",
       of(&Row::time, &Timing::median_ms),
       {"time", "ms", In::timed, text::significant},
       {"", "the median of many launches, each between two events, after unmeasured ones"}},
      {"figures.measured_tflops", of(&K::tflops), {"", "TFLOP/s", In::timed, text::significant}},
      {"figures.of_cublas",
       of(&K::cublas_ratio),
       {"% of", "cuBLAS", In::timed, percent},
       {"", "speed relative to cuBLAS fp32 in the same run"}}};
}

}  // namespace

std::string latency_words() {
  return text::printed("latency: no unit is busy %d %% of the time", kBusy) +
         ", so warps mostly wait for results, and the ceiling cannot see that";
}

const std::vector<Quantity>& facts() {
  static const Quantities all = facts_in_order();
  return all;
}

std::vector<const Quantity*> quantities(const std::string& paths) {
  static const Quantities of_tables = joined({others(), figures()});
  std::vector<const Quantity*> all;
  std::istringstream words(paths);
  for (std::string path; words >> path;) {
    const auto before = all.size();
    for (const Quantities* some : {&facts(), &of_tables}) {
      const auto found = std::ranges::find(*some, path, &Quantity::path);
      if (found != some->end()) all.push_back(&*found);
    }
    if (all.size() == before) throw std::logic_error("no such quantity: " + path);
  }
  return all;
}

std::optional<double> number(const std::string& path, const Known& known) {
  const FactValue value = quantities(path).front()->value(known);
  return value.kind == FactValue::null ? std::nullopt : std::optional(value.number);
}

std::string cell_of(const Quantity& quantity, const Known& known) {
  if (quantity.column.cell) return quantity.column.cell(known);
  const FactValue value = quantity.value(known);
  if (value.kind == FactValue::null) return "–";
  if (!quantity.column.words) return value.written;
  return (is_of_a_sample(quantity, known.row) ? "~" : "") + quantity.column.words(value.number);
}

bool is_of_a_sample(const Quantity& quantity, const lab::Row& row) {
  const auto of_blocks = quantity.column.of_blocks;
  return of_blocks != nullptr && row.counts && !lab::is_total(*row.counts) &&
         ((*row.counts).*of_blocks).differ();
}

}  // namespace report
