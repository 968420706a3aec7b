// The table, its legend and list, and the words that all reports share.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "lab/example_run.h"
#include "lab/run.h"
#include "show/pictures/recorded_gpus.h"
#include "show/report/explain/explain.h"
#include "show/report/facts.h"
#include "show/report/table.h"
#include "show/report/words.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace report {

namespace {

using lab::example::kTiling;
using lab::example::stage_row;
using lab::example::tiling_counts;
using lab::example::timed_run;
using lab::example::traced_run;
using testing::contains;
using testing::line_with;
using testing::widest;

std::string table_of(const lab::Run& run, text::Style style = {}, bool wide = false) {
  return testing::written([&](std::FILE* out) { print_table(out, run, style, wide); });
}

// The place of a heading's word, in columns.
int column_of(const std::string& line, const std::string& word) {
  const std::size_t at = line.find(word);
  REQUIRE(at != line.npos);
  return text::display_width(line.substr(0, at));
}

// A ladder as an H200 records it at 4096, with the longest text in each column.
lab::Run recorded_ladder() {
  lab::Run run = timed_run();
  run.M = run.N = run.K = 4096;
  run.rows[0].time = lab::Timing{491253, 491253, 491253, 491253, 491253, 1, true};
  run.rows[2].name = "shared-memory tiling";
  run.rows[2].time->median_ms = 16.0;
  run.rows[3].name = "1D thread coarsening";
  run.rows[3].counts->gmem_loads.accesses.max = 1024;
  run.rows[3].counts->smem_loads.accesses.max = 36864;
  run.rows[3].time->median_ms = 8.22;
  run.rows[4].time->median_ms = 2.68;
  run.rows[5].time->median_ms = 0.353;
  return run;
}

// The tiling, with a speed at which its unit is busy for this part of the time.
lab::Run busy_for(double part) {
  lab::Run run = timed_run();
  const double ceiling = lab::compiled_ceiling(run, run.rows[3])->tflops;
  run.rows[3].time->median_ms = 2.0 * 256 * 256 * 256 * 1e-9 / (part * ceiling);
  return run;
}

}  // namespace

TEST_CASE("no line of the table is wider than the report") {
  CHECK(widest(table_of(traced_run())) <= 100);
  CHECK(widest(table_of(timed_run())) <= 100);
  lab::Run large = timed_run();
  large.M = large.N = large.K = 65536;
  large.alpha = -1.2345678e-12f;
  large.beta = 3.3333333e12f;
  large.seed = std::numeric_limits<unsigned long long>::max();
  large.driver = std::string(200, 'd');
  for (lab::Row& row : large.rows) {
    row.name = "a stage with quite a long name";
    if (row.time) row.time = lab::Timing{12345678, 1, 1, 1, 1, 1, true};
    if (row.counts) row.counts->smem_loads.accesses.max = std::int64_t{1} << 40;
    if (row.counts) row.counts->gmem_loads.accesses.max = std::int64_t{1} << 40;
    row.error = model::Error{std::nan(""), 1, false, {}};
    row.cublas_error = 1e-20;
  }
  for (const char* columns : {"100", "90", "80"}) {
    const testing::Variable terminal("COLUMNS", columns);
    for (const lab::Run& run : {large, timed_run(), traced_run(), recorded_ladder()}) {
      CAPTURE(table_of(run));
      CHECK(widest(table_of(run)) <= std::atoi(columns));
    }
  }
  const std::string wide = table_of(large, {}, true);
  CHECK(widest(wide) > 100);
  CHECK(contains(wide, "a stage with quite a long name"));
}

TEST_CASE("100 columns show all that the table has at 4096, in whole words and two lines") {
  const std::string table = table_of(recorded_ladder());
  const std::vector<std::string> lines = testing::lines_of(table);
  const auto second = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("# stage");
  });
  REQUIRE(second != lines.end());
  const std::string top = second[-1], bottom = second[0];
  CHECK(second[-2].empty());
  for (const char* words :
       {"time", "TFLOP/s", "% of", "loads/thread", "sectors", "conflicts", "occupancy",
        "error vs"}) {
    CHECK(contains(top, words));
  }
  for (const char* words :
       {"stage", "ms", "cuBLAS", "GMEM", "SMEM", "per request", "bound by, % busy", "CPU"}) {
    CHECK(contains(bottom, words));
  }
  const std::string row = line_with(table, "4 1D thread");  // the name is there in full
  CHECK(row.empty());
  CHECK(contains(line_with(table, "1D thread coarsening"), " 1,024 36,864 "));
  CHECK(contains(line_with(table, "0 serial"), "  ~491,253 0.00028 <0.01 "));
}

TEST_CASE("headings are above their columns") {
  for (const lab::Run& run : {traced_run(), timed_run(), recorded_ladder()}) {
    for (const bool wide : {false, true}) {
      const std::vector<const Column*> columns = columns_of(run, wide);
      std::vector<Cells> rows;
      for (const lab::Row& row : run.rows) {
        Cells& cells = rows.emplace_back();
        for (const Column* column : columns) cells.push_back(cell_of(*column, run, row));
      }
      const Layout layout = laid_out(columns, rows, wide ? 999 : 100);
      const std::string lines[] = {heading_line(layout, 0), heading_line(layout, 1)};
      int begin = 0;
      for (std::size_t c = 0; c < columns.size(); ++c) {
        for (const int line : {0, 1}) {
          const std::string label = line == 0 ? columns[c]->top : columns[c]->bottom;
          const bool shared =
              (c > 0 && label == (line == 0 ? columns[c - 1]->top : columns[c - 1]->bottom));
          if (label.empty() || shared) continue;
          // One of its occurrences overlaps the column.
          bool above = false;
          for (std::size_t at = lines[line].find(label); at != std::string::npos;
               at = lines[line].find(label, at + 1)) {
            const int first = text::display_width(lines[line].substr(0, at));
            above = above || (first < begin + layout.widths[c] &&
                              first + text::display_width(label) > begin);
          }
          CAPTURE(label);
          CHECK(above);
        }
        begin += layout.widths[c] + gap_after(layout, c);
      }
      for (const std::string& line : lines) CHECK(text::display_width(line) <= layout.width);
    }
  }
}

TEST_CASE("the columns of the table are aligned") {
  const std::string table = table_of(timed_run());
  std::vector<int> widths;
  for (const char* row : {"0 serial", "  OpenMP CPU", "4 naive", "5 2D thread", "  cuBLAS fp32"}) {
    widths.push_back(text::display_width(line_with(table, row)));
  }
  for (int width : widths) CHECK(width == widths[0]);
}

TEST_CASE("a timed row has its speed relative to cuBLAS, with --wide also to the stage before") {
  const std::string row = line_with(table_of(timed_run()), "5 2D thread tiling");
  CHECK(contains(row, " 0.0132 "));
  CHECK(contains(row, " 2.54 "));  // 2 * 256^3 / 13.2 us
  CHECK(contains(row, " 50.0 "));  // 6.6 / 13.2
  const double before = lab::times_the_stage_before(timed_run(), timed_run().rows[3]).value();
  const std::string times = " " + text::brief(before) + " ";
  CHECK_FALSE(contains(row, times));
  CHECK(contains(line_with(table_of(timed_run(), {}, true), "5 2D thread tiling"), times));
}

TEST_CASE("the table gives loads per thread, sectors and conflicts per request") {
  const std::string row = line_with(table_of(traced_run()), "5 2D thread tiling");
  CHECK(contains(row, " 256  4,096 "));
  CHECK(contains(row, " 5.00 "));  // 40960 / 8192
  CHECK(contains(row, " 1.41 "));  // 196608 / (131072 + 8192)
  const std::string wide = line_with(table_of(traced_run(), {}, true), "5 2D thread tiling");
  CHECK(contains(wide, " 4,096 "));
  CHECK(contains(wide, " 4.00 "));  // loads from GMEM per result
  lab::Run in_boxes = traced_run();
  in_boxes.rows[3].counts->box_requests = 1;
  CHECK(contains(line_with(table_of(in_boxes), "5 2D thread tiling"), " □256  4,096 "));
  CHECK(contains(table_of(in_boxes), "□ a box"));
  CHECK_FALSE(contains(table_of(traced_run()), "□"));
  CHECK(contains(wide, " 64.0 "));  // and from SMEM
}

TEST_CASE("numbers have one format") {
  lab::Run run = recorded_ladder();
  run.rows[2].counts->gmem_loads.accesses.max = 8192;
  run.rows[2].time->median_ms = 274877.9;  // 0.0005 TFLOP/s
  run.rows[2].error->relative = 1.25e-12;
  const std::string table = table_of(run);
  CHECK(contains(table, " 8,192 "));
  CHECK(contains(table, " 0.00050 "));
  CHECK(contains(table, " 1e-12 "));
  for (const std::string& line : testing::lines_of(table.substr(table.find("0 serial")))) {
    if (line.empty()) break;
    CAPTURE(line);
    CHECK_FALSE(contains(line, " ."));
    for (const char* unit : {"k ", "M ", "s "}) {
      CHECK_FALSE(contains(line.substr(line.find_first_of("0123456789", 2)), unit));
    }
  }
  run.rows[2].time->median_ms = 1e12;
  CHECK(contains(line_with(table_of(run), "shared-memory"), " <0.0001 "));
}

TEST_CASE("a unit is the bound if it is busy for 80 % of the time; else latency is") {
  CHECK(contains(line_with(table_of(busy_for(0.80)), "5 2D thread"), " SMEM 80 "));
  CHECK_FALSE(contains(line_with(table_of(busy_for(0.80)), "5 2D thread"), "latency"));
  CHECK(contains(line_with(table_of(busy_for(0.79)), "5 2D thread"), " latency SMEM 79 "));
  // As it is printed: 79.6 is 80.
  CHECK(contains(line_with(table_of(busy_for(0.796)), "5 2D thread"), " SMEM 80 "));
  CHECK_FALSE(lab::bound_by(busy_for(0.796), busy_for(0.796).rows[3])->latency);
  CHECK(lab::bound_by(busy_for(0.5), busy_for(0.5).rows[3])->latency);
  // Of the kernel's time, without what is before it.
  lab::Run split = busy_for(0.5);
  split.rows[3].preparation = split.rows[3].time;
  split.rows[3].preparation->median_ms /= 2;
  CHECK(lab::bound_by(split, split.rows[3])->percent == 100);
  CHECK_FALSE(lab::bound_by(traced_run(), traced_run().rows[3]).has_value());
  CHECK(contains(table_of(busy_for(0.79)), "warps mostly wait for results"));
}

TEST_CASE("a kernel that did not run on the GPU has its ceiling in the column of the bound") {
  lab::Run run = timed_run();
  run.rows[3].time.reset();
  const std::string ceiling = ceiling_words(*lab::compiled_ceiling(run, run.rows[3]));
  CHECK(contains(line_with(table_of(run), "5 2D thread"), ceiling));
  CHECK(contains(table_of(run), "not timed"));
}

TEST_CASE("a wrong result fails in words, and colour only repeats them") {
  lab::Run run = traced_run();
  run.rows[3].error->bound_ok = false;
  const std::string plain = table_of(run);
  CHECK(contains(line_with(plain, "5 2D thread tiling"), "FAIL"));
  CHECK(contains(line_with(plain, "4 naive"), " ok"));
  CHECK_FALSE(contains(plain, "\033"));
  std::string colourful = table_of(run, {.colour = true});
  CHECK(contains(colourful, "\033[31mFAIL\033[0m"));
  for (std::size_t at; (at = colourful.find('\033')) != std::string::npos;) {
    colourful.erase(at, colourful.find('m', at) - at + 1);
  }
  CHECK(colourful == plain);
}

TEST_CASE("colour marks the count that differs most from the stage before") {
  const auto marked = [](const lab::Run& run) {
    const std::string row = line_with(table_of(run, {.colour = true}), "5 2D thread tiling");
    const std::size_t begin = row.find("\033[33m");
    if (begin == row.npos) return std::string();
    return row.substr(begin + 5, row.find('\033', begin + 1) - begin - 5);
  };
  lab::Run run = traced_run();
  CHECK(marked(run) == "4,096");  // the stage before loads nothing from SMEM
  run.rows[2].counts->smem_loads = run.rows[3].counts->smem_loads;
  CHECK(marked(run) == "5.00");  // sectors: from 16.5
  run.rows[2].counts->gmem_loads = run.rows[3].counts->gmem_loads;
  run.rows[2].counts->smem_stores = run.rows[3].counts->smem_stores;
  run.rows[2].occupancy = run.rows[3].occupancy;
  CHECK(marked(run) == "");
  CHECK_FALSE(contains(line_with(table_of(run, {.colour = true}), "4 naive"), "\033[33m"));
}

TEST_CASE("a serial loop timed on its first rows says so") {
  lab::Run run = timed_run();
  CHECK_FALSE(contains(table_of(run), "~"));
  run.rows[0].time->partial = true;
  run.rows[0].time->median_ms = 271000;
  CHECK(contains(line_with(table_of(run), "0 serial"), "~271,000"));
  const std::string legend = testing::written([](std::FILE* out) { print_legend(out); });
  CHECK(contains(legend, "first rows"));
}

TEST_CASE("if nothing is timed, the ceiling replaces the time") {
  const std::string table = table_of(traced_run());
  const std::string row = line_with(table, "5 2D thread tiling");
  const double ceiling = lab::compiled_ceiling(traced_run(), traced_run().rows[3])->tflops;
  CHECK(contains(row, " ≤ " + text::significant(ceiling) + " SMEM "));
  CHECK(contains(table, "ceiling in"));
  CHECK(contains(table, "TFLOP/s, by"));
  CHECK_FALSE(contains(line_with(table, "ceiling in"), "time"));
  CHECK(column_of(line_with(table, "# stage"), "TFLOP/s, by") == column_of(row, "≤"));
  CHECK(contains(line_with(table, "0 serial"), "took 18.3 ms"));
  CHECK_FALSE(contains(table_of(timed_run()), "≤"));
  lab::Run unknown = traced_run();
  model::Stage stage = kTiling;
  stage.variants[0].kernel.name = "not recorded";
  unknown.rows[3] = stage_row(stage, tiling_counts(), 128);
  CHECK_FALSE(contains(line_with(table_of(unknown), "5 2D thread tiling"), "≤"));
}

TEST_CASE("a traced table has the speeds that were recorded on its GPU at its size") {
  lab::Run run = traced_run();
  CHECK_FALSE(contains(table_of(run), "recorded"));
  run.gpu = *model::find_gpu("H200");
  run.M = run.N = run.K = 4096;
  const double speed = pictures::main_run(pictures::recorded_gpus().front().ladders).of(4).tflops;
  CHECK(contains(line_with(table_of(run), "4 naive"), " " + text::significant(speed) + " "));
  CHECK(contains(table_of(run), "recorded    the speed on this GPU at this size"));
  CHECK(contains(line_with(table_of(run), "OpenMP CPU"), " – "));
  // But not of other tiles, nor at another size.
  model::Stage tiles = lab::example::kNaive;
  tiles.variants.push_back(tiles.variants[0]);
  tiles.variants[1].name = "other";
  run.rows = {stage_row(tiles, lab::example::naive_counts(), 37)};
  CHECK(contains(table_of(run), "recorded"));
  run.rows[0].variant = &tiles.variants[1];
  CHECK_FALSE(contains(table_of(run), "recorded"));
  run.rows[0].variant = &tiles.variants[0];
  run.K = 64;
  CHECK_FALSE(contains(table_of(run), "recorded"));
}

TEST_CASE("a row whose tile is not its stage's first, because C is small, is marked") {
  model::Stage tiling = kTiling;
  tiling.variants.push_back(tiling.variants[0]);
  tiling.variants[1].name = "64x64x8";
  tiling.variants[1].BM = tiling.variants[1].BN = 64;
  tiling.variants[1].for_small = true;
  lab::Run run = timed_run();  // 4 blocks of the first variant
  run.rows[3].stage = &tiling;
  for (const std::size_t chosen : {0, 1}) {
    run.rows[3].variant = &tiling.variants[chosen];
    const std::string table = table_of(run);
    CHECK(contains(line_with(table, "5 2D thread tiling"), "tiling + ") == (chosen == 1));
    CHECK(contains(table, "tiles    64x64x8 in stage 5, because C is small") == (chosen == 1));
    CHECK(contains(table, "\n+           not the stage's first tile") == (chosen == 1));
    CHECK_FALSE(contains(line_with(table, "4 naive"), "+"));
  }
  run.rows[3].variant = &tiling.variants[1];
  run.M = run.N = 4096;  // only --variant names it
  CHECK_FALSE(contains(line_with(table_of(run), "5 2D thread tiling"), "+"));
}

TEST_CASE("--wide says how many products an instruction of the tensor cores makes") {
  lab::Run run = traced_run();
  CHECK_FALSE(contains(table_of(run), "per mma"));
  CHECK(contains(table_of(run, {}, true), "per mma"));
  CHECK_FALSE(contains(table_of(run, {}, true), "32,768"));
  run.rows[3].counts->mmas = 2;
  run.rows[3].counts->mma_products = 65536;
  CHECK(contains(line_with(table_of(run, {}, true), "5 2D thread tiling"), " 32,768 "));
}

TEST_CASE("a legend of six lines says what the reader of this table needs, --legend the rest") {
  const auto legend_of = [](const std::string& table) {
    const std::string rows = table.substr(table.find("# stage"));
    return rows.substr(rows.find("\n\n") + 2);
  };
  lab::Run overflowed = timed_run();
  overflowed.rows[3].error->overflowed = 3;
  overflowed.rows[0].time->partial = true;
  for (const char* columns : {"100", "80"}) {
    const testing::Variable terminal("COLUMNS", columns);
    for (const lab::Run& run : {traced_run(), timed_run(), recorded_ladder(), overflowed}) {
      const std::string legend = legend_of(table_of(run));
      CHECK(testing::lines_of(legend).size() <= 6);
      CHECK(contains(legend, "--legend"));
    }
  }
  CHECK(contains(legend_of(table_of(overflowed)), "infinity or NaN"));
  CHECK_FALSE(contains(legend_of(table_of(timed_run())), "infinity or NaN"));
  const std::string all = testing::written([](std::FILE* out) { print_legend(out); });
  CHECK(widest(all) <= 100);
  for (const char* term :
       {"stage", "time", "TFLOP/s", "% of cuBLAS", "times the", "ceiling", "bound by",
        "loads/thread", "loads/result", "sectors", "ideal", "conflicts", "registers", "blocks",
        "occupancy", "error", "ok", "over", "colour"}) {
    CAPTURE(term);
    CHECK(contains(all, term));
  }
}

TEST_CASE("on a narrow terminal columns go in an order, and the legend says which") {
  const testing::Variable terminal("COLUMNS", "80");
  const std::string table = table_of(recorded_ladder());
  CHECK(contains(table, "left out"));
  CHECK(contains(line_with(table, "left out"), "error against cuBLAS, time, error against CPU"));
  CHECK(contains(table, "TFLOP/s"));
  CHECK(contains(line_with(table, "shared-memory tiling"), " ok"));
  CHECK_FALSE(contains(table_of(recorded_ladder(), {}, true), "left out"));
}

namespace {

using lab::example::kNaive;

using testing::StrictJson;

}  // namespace

TEST_CASE("the list names every stage and variant, in each format") {
  const model::Stage stages[] = {kNaive, kTiling};
  const auto list = [&](Format format) {
    return testing::written([&](std::FILE* out) {
      print_list(out, stages, {lab::example::kGpu, 256, 256}, format);
    });
  };
  const std::string table = list(Format::table);
  CHECK(testing::widest(table) <= 100);
  CHECK(line_with(table, "serial").starts_with("0 "));
  CHECK(contains(line_with(table, "2D thread tiling"), "128x128x8"));
  {
    const testing::Variable terminal("COLUMNS", "80");
    const std::string narrow = list(Format::table);
    CHECK(testing::widest(narrow) <= 80);
    CHECK(contains(narrow, "2D thread tiling"));
    CHECK(contains(narrow, "128x128x8"));
  }
  const StrictJson json(list(Format::json));
  CHECK(json.values.at("variants.1.variant") == "128x128x8");
  CHECK(json.values.at("variants.1.kernel") == "thread_tiling_2d<128, 128, 8, 8, 8>");
  CHECK(json.values.at("variants.1.threads_per_block") == "256");
  CHECK(testing::lines_of(list(Format::csv)).size() == 3);
}

TEST_CASE("the list marks the variant that runs, and the others that could be chosen") {
  model::Stage stage = kTiling;  // 128x128x8
  stage.variants.front().pipeline = 3;
  const auto with_tile = [&](const char* name, int side, bool for_small) {
    model::Variant& variant = stage.variants.emplace_back(stage.variants.front());
    variant.name = name;
    variant.BM = variant.BN = side;
    variant.for_small = for_small;
  };
  with_tile("64x64x8", 64, true);
  with_tile("16x16x8", 16, false);
  const auto list = [&](const char* gpu, int M, int N, Format format) {
    return testing::written([&](std::FILE* out) {
      print_list(out, {&stage, 1}, {*model::find_gpu(gpu), M, N}, format);
    });
  };
  const std::string small = list("H200", 1024, 1000, Format::table);
  CHECK(contains(small, "128x128x8 +"));
  CHECK(contains(small, "64x64x8 *"));
  CHECK(contains(small, "16x16x8  "));
  CHECK(contains(small, "C (1024 x 1000) on the H200"));
  CHECK(contains(small, "at most 3/4"));
  const std::string large = list("H200", 4096, 4096, Format::table);
  CHECK(contains(large, "128x128x8 *"));
  CHECK(contains(large, "64x64x8 +"));
  // 82 SMs: 64 large tiles are as good as 256 small ones.
  CHECK(contains(list("RTX 3090", 1024, 1024, Format::table), "128x128x8 *"));

  const StrictJson json(list("H200", 1024, 1000, Format::json));
  const auto value = [&](int variant, const char* name) {
    return json.values.at("variants." + std::to_string(variant) + "." + name);
  };
  CHECK(value(0, "default") == "true");
  CHECK(value(0, "for_small") == "false");
  CHECK(value(0, "chosen") == "false");
  CHECK(value(1, "default") == "false");
  CHECK(value(1, "for_small") == "true");
  CHECK(value(1, "chosen") == "true");
  CHECK(value(2, "for_small") == "false");
  CHECK(value(2, "chosen") == "false");
  CHECK(contains(list("H200", 4096, 4096, Format::csv), ",128x128x8,true,false,true,128,"));
}

namespace {

model::DeviceState steady() {
  return {
      .readings = 52,
      .measured_ms = 480,
      .median_mhz = 1980,
      .min_mhz = 1980,
      .max_mhz = 1980,
      .mean_watts = 655.2,
      .max_watts = 655.4,
      .limit_watts = 700,
      .watts_are_averages = true,
      .max_celsius = 54,
      .throttles = std::vector<model::Throttle>{}};
}

model::DeviceState throttled() {
  model::DeviceState state = steady();
  state.median_mhz = 1935;
  state.min_mhz = 1905;
  state.max_watts = 701;
  state.throttles = std::vector<model::Throttle>{{"the power limit", 34}, {"heat", 2}};
  return state;
}

// The run of a GPU that was in that state for its first kernel.
lab::Run run_in(const std::optional<model::DeviceState>& state) {
  lab::Run run = lab::example::timed_run();
  run.rows[2].time->device = state;
  run.rows[2].time->busy_before_ms = 3210;
  return run;
}

std::string time_of(const lab::Run& run) {
  return testing::written(
      [&](std::FILE* out) { explain(out, run, run.rows[2], {}, {.sections = {"time"}}); });
}

}  // namespace

TEST_CASE("clock, power and throttling are one line of words") {
  CHECK(clocks_words(steady()) == "SM 1980 MHz throughout, 655 W of 700 W, not throttled");
  CHECK(
      clocks_words(throttled()) ==
      "SM 1935 MHz (1905 to 1980), 655 W (at most 701) of 700 W, throttled by the power limit and "
      "heat in 34 of 52 readings");
  CHECK(clocks_words({}) == "SM clock not known, power not known, throttling not known");
}

TEST_CASE("a power that is an average over more than the measurement is marked as one") {
  CHECK(contains(readings_words(steady()), "52 readings in 480 ms; the power is an average over"));
  model::DeviceState other = steady();
  other.measured_ms = 1200;
  CHECK(readings_words(other) == "52 readings in 1,200 ms");
  other = steady();
  other.watts_are_averages = false;
  CHECK(readings_words(other) == "52 readings in 480 ms");
  other.readings = 1;
  CHECK(readings_words(other) == "one reading, at the end of 480 ms");
}

TEST_CASE("an explanation has the GPU's clock, and how long the GPU had been busy") {
  const std::string text = time_of(run_in(steady()));
  CHECK(contains(
      line_with(text, "clocks"), "SM 1980 MHz throughout, 655 W of 700 W, not throttled, 54 °C"));
  CHECK(contains(line_with(text, "busy before"), "3.21 s of work for this program, without"));
  CHECK(contains(line_with(time_of(run_in({})), "clocks"), "not known: the driver's NVML"));
  // A time of the CPU has no clock of a GPU.
  CHECK_FALSE(contains(time_of(lab::example::timed_run()), "clocks"));
}

TEST_CASE("the head of a report has the clocks of all rows, if they are known") {
  lab::Run run = run_in(steady());
  run.rows[3].time->device = throttled();
  CHECK(contains(
      line_with(about(run), "clocks   "),
      "clocks   SM 1935 MHz (1905 to 1980), 655 W (at most 701) of 700 W, throttled by the power"));
  CHECK_FALSE(contains(about(run_in({})), "clocks"));
}

TEST_CASE("a table says which rows ran on a throttled GPU, and nothing if there are none") {
  const lab::Run run = run_in(throttled());
  CHECK(contains(
      line_with(table_of(run), "throttled   "), run.rows[2].name + ": the GPU lowered its clock"));
  CHECK_FALSE(contains(table_of(run_in(steady())), "lowered its clock"));
  CHECK(testing::widest(table_of(run)) <= 100);
}

TEST_CASE("the JSON has the sensors' readings, and null for missing ones") {
  const auto json_of = [](const lab::Run& run) {
    return testing::StrictJson(testing::written([&](std::FILE* out) { print_json(out, run); }));
  };
  const testing::StrictJson json = json_of(run_in(throttled()));
  const std::string device = "stages.1.device.";
  CHECK(json.values.at(device + "sm_mhz_median") == "1935");
  CHECK(json.values.at(device + "watts_limit") == "700");
  CHECK(json.values.at(device + "throttled") == "true");
  CHECK(json.values.at(device + "throttled_by") == "the power limit and heat");
  CHECK(json.values.at("stages.1.time.busy_before_ms") == "3210");
  CHECK(json.values.at("stages.2.device.sm_mhz_median") == "null");
  CHECK(json.values.at("stages.2.device.throttled") == "null");
  CHECK(json_of(run_in(steady())).values.at(device + "throttled") == "false");
}

TEST_CASE("a ~ marks the mean of traced blocks that differ from one another") {
  const auto table = [](const std::string& flags) {
    return testing::gemm_steps("--device cpu --stage 2-3 --no-color " + flags).out;
  };
  const std::string sample = table("--size 250");
  CHECK(contains(line_with(sample, "2 coalesced"), "~"));
  CHECK(contains(sample, "~           the mean of a few blocks"));
  // All blocks are alike, or all are traced.
  for (const char* flags : {"--size 256", "--size 250 --trace all"}) {
    CHECK_FALSE(contains(table(flags), "~"));
  }
}

TEST_CASE("a ceiling below that of the stage before has a reason, if first variants ran") {
  const auto table = [](const std::string& flags) {
    return testing::gemm_steps("--device cpu --stage 8-13 --no-color " + flags).out;
  };
  CHECK(contains(table("--gpu H200"), "lower       stage 10 waits less"));
  const std::string rtx = table("--gpu rtx3090");
  CHECK(contains(rtx, "lower       stage 9 leaves more SMs without a block at its end; 10 waits"));
  CHECK(contains(rtx, "13 leaves more SMs"));
  CHECK_FALSE(contains(table("--gpu rtx4090"), "13 leaves more SMs"));
  // At this size, other variants run.
  CHECK_FALSE(contains(table("--gpu H200 --size 256"), "lower "));
}

}  // namespace report
