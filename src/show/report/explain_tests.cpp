// --explain: its sections, what they are computed from, and the program itself, run in a shell.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "lab/example_run.h"
#include "lab/run.h"
#include "show/pictures/pictures.h"
#include "show/report/explain/explain.h"
#include "show/report/explain/source.h"
#include "show/report/known.h"
#include "show/report/quantities.h"
#include "testing/golden.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace report {

namespace {

using lab::example::kTiling;
using lab::example::stage_row;
using lab::example::tiling_counts;
using lab::example::traced_run;

}  // namespace

TEST_CASE("the 2D tiling's formulas give what its loops do") {
  lab::Run run = traced_run();
  const lab::Row& row = run.rows[3];
  const auto is_predicted = [&](const std::string& count) {
    return number(count + "_per_thread.predicted", {run, row});
  };
  CHECK(is_predicted("gmem_loads") == 256);
  CHECK(is_predicted("smem_loads") == 4096);
  CHECK(is_predicted("gmem_stores") == 64);
  SUBCASE("beta adds a load a result") {
    run.beta = 2;
    CHECK(is_predicted("gmem_loads") == 256 + 64);
  }
  SUBCASE("without alpha there is nothing to multiply") {
    run.alpha = 0;
    CHECK(is_predicted("smem_loads") == 0);
  }
  SUBCASE("a row that is not a kernel has none") {
    CHECK_FALSE(predicted(run, run.rows[0]));
  }
}

TEST_CASE("a formula knows whether four floats move at a time") {
  lab::Run run = traced_run();
  model::Stage stage = kTiling;
  stage.lesson.predicted.gmem_loads = "K/vec";
  lab::Row row = stage_row(stage, tiling_counts(), 128);
  CHECK(number("gmem_loads_per_thread.predicted", {run, row}) == 64);
  row.aligned = false;
  CHECK(number("gmem_loads_per_thread.predicted", {run, row}) == 256);
}

TEST_CASE("a formula with numbers in place of its names reads as arithmetic") {
  const lab::Run run = traced_run();
  const std::vector<model::Named> names = formula_names(run, run.rows[3]);
  CHECK(
      with_numbers("ceil(K/BK) * (BM*BK + BK*BN) / threads", names) ==
      "ceil(256/8) * (128*8 + 8*128) / 256");
  CHECK(with_numbers("2*K2 + TMx", names) == "2*K2 + TMx");
}

namespace {

using testing::contains;

lab::Row row_with(const model::LineCounts& line) {
  lab::Row row;
  row.counts = model::Counts{};
  row.counts->lines = {line};
  return row;
}

int count_of(const std::string& text, const std::string& words) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("a picture draws as many wavefronts as it counts, of all groups of lanes") {
  struct Case {
    int bytes, apart;
    bool in_pairs;
    model::Direction direction;
  };
  using model::Direction;
  for (const Case& c :
       {Case{16, 16, false, Direction::load},
        {16, 32, false, Direction::load},
        {16, 32, true, Direction::load},
        {16, 32, true, Direction::store},
        {8, 16, true, Direction::load},
        {8, 8, false, Direction::store},
        {4, 8, false, Direction::load}}) {
    CAPTURE(c.bytes);
    CAPTURE(c.apart);
    CAPTURE(c.in_pairs);
    model::LineCounts line;
    line.array = "As";
    line.shared = true;
    line.direction = c.direction;
    line.bytes = c.bytes;
    line.requests = 1;
    line.ideal_pieces = 1;
    line.worst.active = ~0u;
    line.worst.bytes = c.bytes;
    for (int lane = 0; lane < model::kWarpSize; ++lane) {
      line.worst.address[lane] = c.apart * (c.in_pairs ? lane / 2 : lane);
    }
    line.worst_pieces = (c.direction == Direction::load ? model::shared_load(line.worst)
                                                        : model::shared_store(line.worst))
                            .wavefronts;
    line.pieces = line.worst_pieces;
    line.bank_conflicts = line.pieces - 1;
    REQUIRE(line.pieces > 1);
    const std::string picture = worst_request(row_with(line), {}, 99);
    CHECK(contains(picture, std::to_string(line.worst_pieces) + " wavefronts"));
    CHECK(count_of(picture, "  wavefront ") == line.worst_pieces);
  }
}

namespace {

using lab::example::kGpu;
using lab::example::timed_run;

using testing::widest;

std::string explained(const lab::Run& run, const lab::Row& row, text::Style style = {}) {
  return testing::written([&](std::FILE* out) { explain(out, run, row, style); });
}

std::string section(const std::string_view name, const lab::Run& run, const lab::Row& row) {
  return testing::written(
      [&](std::FILE* out) { explain(out, run, row, {}, {.sections = {std::string(name)}}); });
}

}  // namespace

TEST_CASE("a narrow terminal has narrow lines, down to 80 columns") {
  for (const auto& [typed, most] :
       {std::pair("100", 100),
        {"80", 80},
        {"40", 80},
        {"", 100},
        {"200", 100},
        {"wide", 100},
        {"-5", 100}}) {
    CAPTURE(std::string(typed));
    const testing::Variable terminal("COLUMNS", typed);
    CHECK(text::report_width() == most);
    for (const lab::Run& run : {timed_run(), traced_run()}) {
      for (const lab::Row& row : run.rows) {
        CHECK(widest(explained(run, row)) <= most);
        for (const std::string_view name : flags::kExplained)
          CHECK(widest(section(name, run, row)) <= most);
      }
    }
  }
  lab::Run enormous = timed_run();
  enormous.rows[3].error =
      model::Error{0.5, 1e30, false, model::Mismatch{123456789, 987654321, -1.23456789e-30, 1e300}};
  enormous.M = enormous.N = enormous.K = 1000003;
  model::Counts& counts = *enormous.rows[3].counts;
  for (model::LineCounts& line : counts.lines) line.executions *= 10'000'000;
  for (model::Traffic* traffic : {&counts.gmem_loads, &counts.smem_loads, &counts.smem_stores}) {
    traffic->requests = traffic->pieces = 123'456'789'012;
    traffic->accesses.max = traffic->floats.max = traffic->floats.sum = 8'102'400'001;
  }
  for (const int most : {100, 80}) {
    const testing::Variable terminal("COLUMNS", std::to_string(most).c_str());
    for (const std::string_view name : flags::kExplained) {
      CAPTURE(std::string(name));
      CHECK(widest(section(name, enormous, enormous.rows[3])) <= most);
    }
  }
}

TEST_CASE("every variant is explained in at most 160 lines of 100 columns") {
  for (const model::Stage& stage : stage_table_traced.stages) {
    for (const model::Variant& variant : stage.variants) {
      const std::string flags = std::to_string(stage.number) + " --variant " + variant.name;
      CAPTURE(flags);
      // Its tiles are cut off, and it copies single floats.
      const testing::Output output = testing::gemm_steps(
          "--device cpu --explain --gpu H200 --hazards off --m 33 --n 71 --k 5 --beta 1 --stage " +
          flags);
      CHECK(output.exit_code == 0);
      CHECK(widest(output.out) <= 100);
      const std::size_t lines = testing::lines_of(output.out).size();
      CHECK(lines > 90);
      CHECK(lines <= 160);
    }
  }
}

TEST_CASE("sections that follow from the code alone run nothing") {
  const testing::Output output = testing::run(
      "ulimit -t 5; " + testing::program() +
      " --device cpu --trace all --size 1024 --section idea,diff,swizzle,occupancy");
  CHECK(output.exit_code == 0);
  CHECK(testing::contains(output.out, "What changed since stage 12"));
  CHECK(testing::contains(output.out, "The swizzle: "));
}

TEST_CASE("a diff is as short as possible, and a shortened one keeps the changes") {
  const std::vector<DiffLine> diff = line_diff({"a", "b", "c", "d"}, {"a", "x", "c", "  d", "}"});
  std::string text;
  for (const DiffLine& line : diff) {
    text += (line.before == 0 ? "+" : line.after == 0 ? "-" : " ") + line.text + "\n";
  }
  CHECK(text == " a\n-b\n+x\n c\n   d\n+}\n");
  const std::vector<DiffLine> shortened = shortened_diff(diff, 0);
  REQUIRE(shortened.size() == 2);
  CHECK(shortened[0].before == 2);
  CHECK(shortened[1].after == 2);
  CHECK(shortened_diff(diff, 1).size() == 4);
  CHECK(line_diff({}, {}).empty());
  CHECK(line_diff({}, {"a"}).size() == 1);
}

TEST_CASE("explanations of made-up runs are those of their golden file") {
  std::vector<testing::TitledText> outputs;
  const auto changed = [&](const std::string& change, lab::Run run, auto make,
                           const std::vector<std::string>& sections, int row = 3) {
    make(run, run.rows[row], *run.rows[3].counts);
    outputs.emplace_back(change, "");
    if (sections.empty()) outputs.back().second = explained(run, run.rows[row]);
    for (const std::string& name : sections) {
      outputs.back().second += section(name, run, run.rows[row]);
    }
  };
  using lab::Row, lab::Run, model::Counts;
  const auto nothing = [](Run&, Row&, Counts&) {};
  changed("traced", traced_run(), nothing, {});
  changed("timed", timed_run(), nothing, {"ceiling", "time"});
  changed("cuBLAS", timed_run(), nothing, {}, 4);
  const auto differs = [](Run&, Row&, Counts& counts) { counts.gmem_loads.accesses.max = 255; };
  changed("differs", traced_run(), differs, {"counts"});
  changed(
      "reasons in the shape", traced_run(),
      [](Run& run, Row&, Counts& counts) {
        counts.gmem_loads.accesses.max = 255;
        run.K = 251, run.M = 100;
      },
      {"counts"});
  for (const int uncoalesced : {0, 2000}) {
    changed(
        "coalesced", traced_run(),
        [&](Run&, Row&, Counts& counts) {
          counts.gmem_stores.pieces = 8192, counts.gmem_stores.uncoalesced = 0;
          counts.gmem_loads.pieces = 20000, counts.gmem_loads.ideal_pieces = 10000;
          counts.gmem_loads.uncoalesced = uncoalesced;
        },
        {"counts"});
  }
  changed(
      "tensor cores and cp.async", traced_run(),
      [](Run&, Row&, Counts& counts) {
        counts.mmas = 4096, counts.mma_products = 4096 * 1024;
        counts.async_gmem = counts.gmem_loads;
      },
      {"counts"});
  model::Variant of_parts = kTiling.variants[0];
  of_parts.multiplier = model::Multiplier::wgmma_3xf16;
  for (const bool has_units : {false, true}) {
    of_parts.has_units = has_units;
    changed(
        "parts", traced_run(),
        [&](Run& run, Row& row, Counts&) {
          row.variant = &of_parts;
          run.gpu.tf32_products_per_clock = 128;
        },
        {"time", "ceiling"});
  }
  changed(
      "copies nothing", timed_run(), [](Run&, Row&, Counts& counts) { counts.smem_stores = {}; },
      {"ceiling"});
  for (const double part : {0.6, 0.9}) {
    changed(
        "a part of the ceiling", timed_run(),
        [&](Run& run, Row& row, Counts&) {
          const double ceiling = lab::ceilings(run, row).compiled->tflops;
          row.time->median_ms = 2.0 * 256 * 256 * 256 * 1e-9 / (part * ceiling);
        },
        {"ceiling"});
  }
  model::Variant of_warpgroups = kTiling.variants[0];
  of_warpgroups.sharing = model::Sharing::persistent;
  for (const model::Variant* variant : {&kTiling.variants.front(), &std::as_const(of_warpgroups)}) {
    changed(
        "occupancy", traced_run(),
        [&](Run&, Row& row, Counts&) {
          row.occupancy = model::occupancy(kGpu, {256, 38, 2048});
          row.variant = variant;
        },
        {"occupancy"});
  }
  changed(
      "wrong", traced_run(),
      [](Run&, Row& row, Counts&) {
        row.error = model::Error{0.5, 3, false, model::Mismatch{7, 9, 1.5, 2.5}};
      },
      {"time"});
  testing::compare_with_golden("made-up-explanations", outputs);
}

}  // namespace report
