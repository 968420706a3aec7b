#include "show/report/table.h"

#include <array>
#include <cmath>

#include "lab/run.h"
#include "show/report/words.h"
#include "text/numbers.h"

namespace report {

namespace {

using Number = std::optional<double>;
using In = Column::In;
using Align = Column::Align;

std::string number_of_stage(const lab::Run&, const lab::Row& row) {
  return row.number < 0 ? "" : std::to_string(row.number);
}

std::string name_of_row(const lab::Run& run, const lab::Row& row) {
  return row.name + (is_for_small(run, row) ? " +" : "");
}

std::string launches(const lab::Run&, const lab::Row& row) {
  return row.launch ? text::grouped(row.launch->launches) : "–";
}

std::string variant_name(const lab::Run&, const lab::Row& row) {
  return row.variant ? row.variant->name : "–";
}

std::string time_in_ms(const lab::Run&, const lab::Row& row) {
  if (!row.time) return row.why_not_run.empty() ? "–" : row.why_not_run;
  return (row.time->partial ? "~" : "") + text::significant(row.time->median_ms);
}

std::string bound_by_cell(const lab::Run& run, const lab::Row& row) {
  if (const auto bound = lab::bound_by(run, row)) return bound_by_words(*bound);
  const auto ceiling = lab::compiled_ceiling(run, row);
  return ceiling && !row.time ? ceiling_words(*ceiling) : "–";
}

// The rows that are not kernels have a time on this CPU, and no ceiling.
std::string ceiling_cell(const lab::Run& run, const lab::Row& row) {
  if (!row.why_not_run.empty()) return row.why_not_run;
  if (const auto ceiling = lab::compiled_ceiling(run, row)) return ceiling_words(*ceiling);
  if (!row.time) return "–";
  return "took " + time_in_ms(run, row) + " ms";
}

std::string busiest_unit(const lab::Run& run, const lab::Row& row) {
  const auto ceiling = lab::compiled_ceiling(run, row);
  return ceiling ? std::string(model::kUnitNames[ceiling->bound_by]) : "–";
}

std::string verdict(const lab::Run&, const lab::Row& row) {
  if (row.unfit_data) return "n/a";
  if (!row.error) return "–";
  const model::Error& error = *row.error;
  return !error.bound_ok ? "FAIL" : error.forgiven ? "tiny" : error.overflowed > 0 ? "over" : "ok";
}

Number percent(const Number& ratio) {
  if (!ratio) return std::nullopt;
  return 100 * *ratio;
}

// A thread's loads, or one side of them, if the kernel was traced.
Number loads(const lab::Row& row, model::Traffic model::Counts::*of) {
  if (!row.counts || !row.variant) return std::nullopt;
  return static_cast<double>(((*row.counts).*of).accesses.max);
}

Number gmem_loads(const lab::Run&, const lab::Row& row) {
  return loads(row, &model::Counts::gmem_loads);
}

Number smem_loads(const lab::Run&, const lab::Row& row) {
  return loads(row, &model::Counts::smem_loads);
}

std::string gmem_loads_cell(const lab::Run& run, const lab::Row& row) {
  const Number loads = gmem_loads(run, row);
  return loads ? (has_boxes(row) ? kBox : "") + text::grouped(std::llround(*loads)) : "–";
}

// Of a whole tile of C.
Number gmem_bytes_per_result(const lab::Run& run, const lab::Row& row) {
  if (!row.counts || !row.variant || row.variant->BM < 1) return std::nullopt;
  if (row.counts->blocks_traced == 0) return std::nullopt;
  const model::Variant& v = *row.variant;
  const double tiles = model::traced_tiles(lab::product_of(run), v, *row.counts);
  return 4.0 * static_cast<double>(row.counts->gmem_loads.floats.sum) / (tiles * v.BM * v.BN);
}

Number per_result(const Number& loads, const lab::Row& row) {
  if (!loads) return std::nullopt;
  return *loads / lab::results_per_thread(*row.variant);
}

Number sectors(const lab::Run&, const lab::Row& row) {
  if (!row.counts || !row.variant) return std::nullopt;
  return lab::pieces_per_request(row.counts->gmem_loads);
}

Number ideal_sectors(const lab::Run&, const lab::Row& row) {
  if (!row.counts || !row.variant || row.counts->gmem_loads.requests == 0) return std::nullopt;
  const model::Traffic& traffic = row.counts->gmem_loads;
  return static_cast<double>(traffic.ideal_pieces) / static_cast<double>(traffic.requests);
}

Number conflicts(const lab::Run&, const lab::Row& row) {
  if (!row.counts || !row.variant) return std::nullopt;
  const bool uses_smem = row.counts->smem_loads.requests + row.counts->smem_stores.requests > 0;
  if (!uses_smem) return std::nullopt;
  return lab::conflicts_per_request(*row.counts);
}

Number products_per_instruction(const lab::Run&, const lab::Row& row) {
  if (!row.counts || row.counts->mmas == 0) return std::nullopt;
  return static_cast<double>(row.counts->mma_products) / static_cast<double>(row.counts->mmas);
}

Number occupancy(const lab::Run&, const lab::Row& row) {
  if (!row.occupancy) return std::nullopt;
  return row.occupancy->percent;
}

std::string rounded(double value) {
  return text::grouped(std::llround(value));
}

constexpr const char* kLoads = "loads/thread";
constexpr const char* kEach = "loads/result";
constexpr const char* kPerRequest = "per request";
constexpr const char* kError = "error vs";

const std::array kColumns = {
    Column{.top = "", .bottom = "#", .cell = number_of_stage},
    Column{
        .top = "",
        .bottom = "kernel",
        .in = In::kernels,
        .cells = Align::left,
        .label = Align::left,
        .cell = name_of_row},
    Column{.top = "", .bottom = "launches", .in = In::program, .cell = launches},
    Column{
        .top = "",
        .bottom = "stage",
        .in = In::stages,
        .cells = Align::left,
        .label = Align::left,
        .cell = name_of_row},
    Column{
        .top = "",
        .bottom = "variant",
        .in = In::wide,
        .cells = Align::left,
        .label = Align::left,
        .cell = variant_name},
    Column{
        .top = "time",
        .bottom = "ms",
        .in = In::timed,
        .goes = 2,
        .name = "time",
        .cell = time_in_ms},
    Column{
        .top = "TFLOP/s",
        .bottom = "",
        .in = In::timed_product,
        .number = lab::tflops,
        .words = tflops_words},
    Column{
        .top = "% of",
        .bottom = "cuBLAS",
        .in = In::timed_product,
        .goes = 4,
        .name = "% of cuBLAS",
        .number = [](const lab::Run& run,
                     const lab::Row& row) { return percent(lab::cublas_ratio(run, row)); },
        .words = text::brief},
    Column{
        .top = "times the",
        .bottom = "stage before",
        .in = In::timed_and_wide,
        .number = lab::times_the_stage_before,
        .words = text::brief},
    Column{
        .top = "ceiling in",
        .bottom = "TFLOP/s, by",
        .in = In::traced_product,
        .cells = Align::left,
        .label = Align::left,
        .cell = ceiling_cell},
    Column{
        .top = "recorded",
        .bottom = "TFLOP/s",
        .in = In::recorded,
        .goes = 8,
        .name = "recorded TFLOP/s",
        .number = recorded_tflops,
        .words = tflops_words},
    Column{
        .top = kLoads,
        .bottom = "GMEM",
        .is_a_count = true,
        .number = gmem_loads,
        .cell = gmem_loads_cell},
    Column{
        .top = kLoads,
        .bottom = "SMEM",
        .is_a_count = true,
        .number = smem_loads,
        .words = rounded},
    Column{
        .top = kEach,
        .bottom = "GMEM",
        .in = In::wide,
        .number = [](const lab::Run& run,
                     const lab::Row& row) { return per_result(gmem_loads(run, row), row); },
        .words = text::brief},
    Column{
        .top = kEach,
        .bottom = "SMEM",
        .in = In::wide,
        .number = [](const lab::Run& run,
                     const lab::Row& row) { return per_result(smem_loads(run, row), row); },
        .words = text::brief},
    Column{
        .top = "bytes/result",
        .bottom = "GMEM",
        .in = In::wide,
        .number = gmem_bytes_per_result,
        .words = text::brief},
    Column{
        .top = "ideal",
        .bottom = "sectors",
        .in = In::wide,
        .number = ideal_sectors,
        .words = text::brief},
    Column{
        .top = "sectors",
        .bottom = kPerRequest,
        .goes = 7,
        .name = "sectors per request",
        .is_a_count = true,
        .number = sectors,
        .words = text::brief,
        .of_blocks = &model::Counts::block_sectors},
    Column{
        .top = "conflicts",
        .bottom = kPerRequest,
        .label = Align::left,
        .goes = 6,
        .name = "conflicts per request",
        .is_a_count = true,
        .number = conflicts,
        .words = text::brief,
        .of_blocks = &model::Counts::block_conflicts},
    Column{
        .top = "products",
        .bottom = "per mma",
        .in = In::wide,
        .number = products_per_instruction,
        .words = rounded},
    Column{
        .top = "",
        .bottom = "bound by, % busy",
        .in = In::timed_product,
        .cells = Align::left,
        .label = Align::left,
        .cell = bound_by_cell},
    Column{
        .top = "ceiling",
        .bottom = "TFLOP/s",
        .in = In::timed_and_wide,
        .number = [](const lab::Run& run, const lab::Row& row) -> Number {
          const auto ceiling = lab::compiled_ceiling(run, row);
          if (!ceiling) return std::nullopt;
          return ceiling->tflops;
        },
        .words = tflops_words},
    Column{.top = "its", .bottom = "unit", .in = In::timed_and_wide, .cell = busiest_unit},
    Column{
        .top = "registers",
        .bottom = "per thread",
        .in = In::wide,
        .number = [](const lab::Run&, const lab::Row& row) -> Number {
          if (!row.occupancy || row.occupancy->resources.registers_per_thread <= 0) {
            return std::nullopt;
          }
          return row.occupancy->resources.registers_per_thread;
        },
        .words = rounded},
    Column{
        .top = "blocks",
        .bottom = "per SM",
        .in = In::wide,
        .number = [](const lab::Run&, const lab::Row& row) -> Number {
          if (!row.occupancy) return std::nullopt;
          return row.occupancy->blocks_per_sm;
        },
        .words = rounded},
    Column{
        .top = "occupancy",
        .bottom = "%",
        .goes = 5,
        .name = "occupancy",
        .is_a_count = true,
        .number = occupancy,
        .words = rounded},
    Column{
        .top = kError,
        .bottom = "CPU",
        .in = In::product,
        .label = Align::left,
        .goes = 3,
        .name = "error against CPU",
        .number = [](const lab::Run&, const lab::Row& row) -> Number {
          if (!row.error) return std::nullopt;
          return row.error->relative;
        },
        .words = text::scientific},
    Column{
        .top = kError,
        .bottom = "cuBLAS",
        .in = In::timed_product,
        .label = Align::left,
        .goes = 1,
        .name = "error against cuBLAS",
        .number = [](const lab::Run&, const lab::Row& row) { return row.cublas_error; },
        .words = text::scientific},
    Column{.top = "", .bottom = "", .in = In::product, .cells = Align::left, .cell = verdict}};

bool belongs(const Column& column, const lab::Run& run, bool wide) {
  const bool timed = run.gpu_present, of_program = !run.program.empty();
  const bool of_kernels = of_program || (!run.rows.empty() && run.rows.front().launch);
  switch (column.in) {
    case In::every_table:
      return true;
    case In::timed:
      return timed;
    case In::kernels:
      return of_kernels;
    case In::stages:
      return !of_kernels;
    case In::product:
      return !of_program;
    case In::timed_product:
      return timed && !of_program;
    case In::traced_product:
      return !timed && !of_program;
    case In::recorded:
      return !timed && is_recorded(run);
    case In::program:
      return of_program;
    case In::wide:
      return wide;
    case In::timed_and_wide:
      return timed && wide && !of_program;
  }
  return false;
}

const lab::Row* stage_before(const lab::Run& run, const lab::Row& row) {
  for (const lab::Row& before : run.rows) {
    const bool is_before = row.before_number >= 0 && before.number == row.before_number;
    if (is_before && row.before_number != row.number) return &before;
  }
  return nullptr;
}

}  // namespace

std::vector<const Column*> columns_of(const lab::Run& run, bool wide) {
  std::vector<const Column*> columns;
  for (const Column& column : kColumns) {
    if (belongs(column, run, wide)) columns.push_back(&column);
  }
  return columns;
}

std::string cell_of(const Column& column, const lab::Run& run, const lab::Row& row) {
  if (column.cell) return column.cell(run, row);
  const Number number = column.number(run, row);
  if (!number) return "–";
  return (is_of_a_sample(column, row) ? "~" : "") + column.words(*number);
}

bool is_of_a_sample(const Column& column, const lab::Row& row) {
  return column.of_blocks != nullptr && row.counts && !lab::is_total(*row.counts) &&
         ((*row.counts).*column.of_blocks).differ();
}

const Column* most_changed(
    const std::vector<const Column*>& columns, const lab::Run& run, const lab::Row& row) {
  const lab::Row* before = stage_before(run, row);
  if (!before) return nullptr;
  constexpr double kLeast = 0.05;  // a ragged edge
  const Column* found = nullptr;
  double most = kLeast;
  for (const Column* column : columns) {
    if (!column->is_a_count) continue;
    const Number now = column->number(run, row), then = column->number(run, *before);
    if (!now || !then) continue;
    // One is added to both counts, so that there is a ratio if one of them is 0.
    const double change = std::abs(std::log2((*now + 1) / (*then + 1)));
    if (change <= most) continue;
    most = change;
    found = column;
  }
  return found;
}

}  // namespace report
