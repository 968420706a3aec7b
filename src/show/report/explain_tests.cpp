// --explain: its sections, what they are computed from, and the program itself, run in a shell.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/example_run.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "show/pictures/pictures.h"
#include "show/report/explain/explain.h"
#include "show/report/predicted.h"
#include "show/report/request_sentence.h"
#include "show/report/source.h"
#include "testing/program.h"
#include "testing/thorough.h"
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
  CHECK(predicted(run, row)->gmem_loads == 256);
  CHECK(predicted(run, row)->smem_loads == 4096);
  CHECK(predicted(run, row)->gmem_stores == 64);
  SUBCASE("beta adds a load a result") {
    run.beta = 2;
    CHECK(predicted(run, row)->gmem_loads == 256 + 64);
  }
  SUBCASE("without alpha there is nothing to multiply") {
    run.alpha = 0;
    CHECK(predicted(run, row)->smem_loads == 0);
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
  CHECK(predicted(run, row)->gmem_loads == 64);
  row.aligned = false;
  CHECK(predicted(run, row)->gmem_loads == 256);
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

TEST_CASE("the picture of a request shows its lanes over the sectors or the banks") {
  model::LineCounts line;
  line.line = 7;
  line.array = "A";
  line.bytes = 4;
  line.requests = 1;
  line.pieces = 2;
  line.ideal_pieces = 1;
  line.bank_conflicts = 1;
  line.worst_pieces = 2;
  line.worst.active = 0b1011;
  line.worst.bytes = 4;
  line.worst.address[1] = 4;
  line.worst.address[3] = 1024;
  lab::Row row = row_with(line);
  const std::string sectors = worst_request(row, {});
  CHECK(
      contains(sectors, "3 lanes want 12 bytes in 2 pieces: 2 sectors, and 12 of their 64 bytes"));
  CHECK(contains(sectors, "byte          0  [ 0 1 . . . . . . ]"));
  CHECK(contains(sectors, "byte       1024  [ 3 . . . . . . . ]"));

  row.counts->lines[0].shared = true;  // lanes 0 and 3 want different words of bank 0
  const std::string banks = worst_request(row, {});
  CHECK(contains(banks, "wavefront 1  0 1 . ."));
  CHECK(contains(banks, "wavefront 2  3 . . ."));

  row.counts->lines[0].pieces = 1;
  CHECK(worst_request(row, {}).empty());
}

TEST_CASE("the costliest copy of a cp.async is explained by both of its sides") {
  model::LineCounts line;
  line.array = "As";
  line.shared = true;
  line.direction = model::Direction::copy;
  line.requests = 1;
  line.worst.active = line.worst_other.active = ~0u;
  line.worst.bytes = line.worst_other.bytes = 4;
  for (int lane = 0; lane < model::kWarpSize; ++lane) {  // a column to a row
    line.worst.address[lane] = 4 * lane;
    line.worst_other.address[lane] = 1024 * lane;
  }
  const model::AsyncCopyCost cost = model::async_copy(line.worst, line.worst_other);
  line.pieces = line.worst_pieces = cost.shared.wavefronts;
  line.ideal_pieces = cost.shared.groups;
  line.bank_conflicts = cost.shared.bank_conflicts();
  REQUIRE(line.worst_pieces == 32);
  const std::string picture = worst_request(row_with(line), {}, 99);
  CHECK(contains(
      picture,
      text::labelled(
          "", 2,
          request_sentence({line.worst, true, model::Direction::copy, 0, &line.worst_other}))));
  CHECK(contains(picture, ": 32 wavefronts."));
  CHECK(count_of(picture, "  wavefront ") == 32);

  // The program's own copies: a tile of A, transposed on its way.
  const testing::Output output =
      testing::gemm_steps("--device cpu --explain --stage 12 --size 256");
  CHECK(contains(
      output.out,
      "32 lanes copy 4 bytes each; lanes that read from the same bank, or write to the same"));
}

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

using testing::line_with;
using testing::widest;

std::string explained(const lab::Run& run, const lab::Row& row, text::Style style = {}) {
  return testing::written([&](std::FILE* out) { explain(out, run, row, style); });
}

std::string section(const std::string& name, const lab::Run& run, const lab::Row& row) {
  return testing::written(
      [&](std::FILE* out) { explain(out, run, row, {}, {.sections = {name}}); });
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
        for (const char* name : explained_sections())
          CHECK(widest(section(name, run, row)) <= most);
      }
    }
  }
}

TEST_CASE("no line of an explanation is wider than 100 columns") {
  lab::Run run = timed_run();
  for (const lab::Row& row : run.rows) CHECK(widest(explained(run, row)) <= 100);
  run.rows[3].error =
      model::Error{0.5, 1e30, false, model::Mismatch{123456789, 987654321, -1.23456789e-30, 1e300}};
  run.M = run.N = run.K = 1000003;
  CHECK(widest(explained(run, run.rows[3])) <= 100);
  for (const char* name : explained_sections()) {
    CAPTURE(std::string(name));
    CHECK(widest(section(name, run, run.rows[3])) <= 100);
  }
}

TEST_CASE("an explanation shows a formula, its numbers and its value") {
  const lab::Run run = traced_run();
  const std::string text = section("counts", run, run.rows[3]);
  CHECK(contains(text, "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C"));
  CHECK(contains(text, "= ceil(256/8)*8*(128 + 128)/256 + 8*8*0"));
  CHECK(contains(text, "= 4,096"));
  CHECK_FALSE(contains(text, "DIFFERS"));
  CHECK_FALSE(contains(text, "cp.async    copies"));
}

TEST_CASE("the counts include the tensor cores' work, if there is any") {
  lab::Run run = traced_run();
  CHECK_FALSE(contains(section("counts", run, run.rows[3]), "tensor cores"));
  run.rows[3].counts->mmas = 4096;
  run.rows[3].counts->mma_products = 4096 * 1024;
  CHECK(contains(
      section("counts", run, run.rows[3]),
      "tensor cores    4,096 instructions of a warp, each of 1,024 multiply-adds"));
}

TEST_CASE("the split before a product of parts is explained, and the look for units before it") {
  lab::Run run = traced_run();
  CHECK_FALSE(contains(section("time", run, run.rows[3]), "pre-pass"));
  model::Variant of_parts = *run.rows[3].variant;
  of_parts.multiplier = model::Multiplier::wgmma_3xf16;
  run.rows[3].variant = &of_parts;
  CHECK(
      contains(section("time", run, run.rows[3]), "splits A and B: 1.05 MB, read and written, at"));
  of_parts.has_units = true;
  CHECK(contains(
      section("time", run, run.rows[3]), "splits A and B: 1.31 MB, read and written, with B once"));
  run.gpu.tf32_products_per_clock = 128;
  CHECK(contains(
      line_with(section("ceiling", run, run.rows[3]), "  before it "),
      "ms in which A and B are split, in both; the unit is idle then"));
}

TEST_CASE("a prediction that differs from the trace is reported, with the reason in the shape") {
  lab::Run run = traced_run();
  run.rows[3].counts->gmem_loads.accesses.max = 255;
  std::string text = explained(run, run.rows[3]);
  CHECK(contains(line_with(text, "GMEM loads  accesses"), "DIFFERS"));
  CHECK_FALSE(contains(line_with(text, "SMEM loads  accesses"), "DIFFERS"));
  CHECK(contains(text, "The shape gives no reason"));
  run.K = 251;
  CHECK(contains(explained(run, run.rows[3]), "K = 251 is not a multiple of BK = 8"));
  run.M = 100;
  CHECK(contains(explained(run, run.rows[3]), "no block is an interior one"));
}

TEST_CASE("an explanation judges coalescing and conflicts by the counts") {
  lab::Run run = traced_run();
  std::string text = explained(run, run.rows[3]);
  CHECK(contains(text, "Not coalesced: 8.00 times"));  // the stores: 65536 of 8192
  CHECK(contains(text, "Nearly coalesced") == false);  // the loads: 40960 of 32768, 1.25
  CHECK(contains(text, "Bank conflicts: 60 %"));       // 196608 of 327680 wavefronts
  CHECK(contains(text, "Conflict-free"));              // the stores
  model::Counts& counts = *run.rows[3].counts;
  counts.gmem_stores.pieces = 8192;
  counts.gmem_stores.uncoalesced = 0;
  counts.gmem_loads.pieces = 20000;  // lanes share addresses
  counts.gmem_loads.ideal_pieces = 10000;
  counts.gmem_loads.uncoalesced = 0;
  text = explained(run, run.rows[3]);
  CHECK(contains(text, "Coalesced: the bytes that the lanes want fit into no fewer sectors."));
  CHECK(contains(text, "Coalesced: lanes share sectors"));
  CHECK_FALSE(contains(text, "Not coalesced"));
  counts.gmem_loads.uncoalesced = 2000;
  CHECK(contains(explained(run, run.rows[3]), "Nearly coalesced: 1.11 times"));
}

TEST_CASE("an explanation shows the compiled loads beside the written ones") {
  lab::Run run = traced_run();
  std::string text = section("ceiling", run, run.rows[3]);
  // A warp: 16 loads a step of K, 256 steps; nvcc makes 8 of 16 two wide ones.
  CHECK(contains(line_with(text, "  loads from SMEM"), "4,096          2,560"));
  CHECK(contains(text, "2,048 LDS.32 + 512 LDS.128"));
  CHECK(contains(text, "made one wide load of several"));
  CHECK_FALSE(contains(section("ceiling", run, run.rows[2]), "loads from SMEM"));
}

TEST_CASE("an explanation draws what each unit needs, and the busiest is as long as the chart") {
  const lab::Run run = timed_run();
  const std::string text = explained(run, run.rows[3]);
  CHECK(contains(line_with(text, "<- most"), "  SMEM  "));
  CHECK(contains(line_with(text, "<- most"), text::repeated("█", 50)));
  CHECK(contains(line_with(text, "  ceiling  "), "bound by SMEM"));
  CHECK(contains(
      line_with(text, "  one block alone "), "TFLOP/s, if it copied, then multiplied, never both"));
  CHECK(contains(line_with(text, "  measured  "), "% of the ceiling at this size"));
  CHECK_FALSE(contains(text, "  before it "));
  lab::Run copies_nothing = run;
  copies_nothing.rows[3].counts->smem_stores = {};
  CHECK_FALSE(contains(explained(copies_nothing, copies_nothing.rows[3]), "one block alone"));
}

TEST_CASE("an explanation says what the ceiling cannot see, and calls it latency where it counts") {
  const std::string traced = explained(traced_run(), traced_run().rows[3]);
  CHECK_FALSE(contains(traced, "  measured  "));
  const lab::Run untimed = traced_run();
  const model::Waiting waiting = lab::with_waiting(untimed, untimed.rows[3]).value();
  CHECK(waiting.busy[waiting.busiest] < 0.8);
  CHECK(line_with(traced, "  with waiting  ").ends_with(" TFLOP/s predicted"));
  lab::Run slow = timed_run();
  slow.rows[3].time->median_ms = 2 * 2.0 * 256 * 256 * 256 * 1e-9 / waiting.tflops;
  CHECK(contains(
      line_with(explained(slow, slow.rows[3]), "  with waiting  "),
      " TFLOP/s predicted, 100 % more than the "));
  CHECK(contains(traced, "the only block on an SM issues"));
  CHECK(contains(line_with(traced, "  bound by  "), "latency, by the prediction"));
  for (const double part : {0.6, 0.9}) {
    lab::Run run = timed_run();
    const double ceiling = lab::compiled_ceiling(run, run.rows[3])->tflops;
    run.rows[3].time->median_ms = 2.0 * 256 * 256 * 256 * 1e-9 / (part * ceiling);
    const std::string text = explained(run, run.rows[3]);
    CHECK(contains(line_with(text, "  bound by  "), "latency") == (part < 0.8));
    CHECK(contains(line_with(text, "  bound by  "), "SMEM"));
    CHECK(contains(text, part < 0.8 ? "60 % of the ceiling" : "90 % of the ceiling"));
    CHECK(contains(text, "is idle 40 % of the time") == (part < 0.8));
    CHECK_FALSE(contains(text, "  not seen  "));
  }
}

TEST_CASE("an explanation works out each limit of the occupancy") {
  const lab::Run run = traced_run();
  lab::Row row = run.rows[3];
  row.occupancy = model::occupancy(kGpu, {256, 38, 2048});
  const std::string text = explained(run, row);
  CHECK(contains(line_with(text, "  threads  "), "1,536 threads per SM / 32 / 8 warps"));
  CHECK(contains(text, "38 x 32 lanes = 1,216 per warp, rounded up to 1,280"));
  CHECK(contains(text, "floor(floor(65,536 / 4 / 1,280) * 4 / 8 warps per block)"));
  CHECK(contains(text, "2,048 B + 1,024 B for the system: 3,072 B"));
  CHECK(contains(text, "6 blocks x 8 warps = 48 of the 48 warps that an SM can hold: 100.00 %"));
  CHECK(contains(line_with(text, "  limiter  "), "threads and registers"));
  CHECK(contains(text, "4 blocks / (6 per SM x 82 SMs) = 0.01"));
  CHECK_FALSE(contains(text, "return at once"));
  model::Variant of_warpgroups = *row.variant;
  of_warpgroups.sharing = model::Sharing::persistent;
  row.variant = &of_warpgroups;
  CHECK(contains(explained(run, row), "3 of a block's warps return at once, and 62.50 % stay"));
  of_warpgroups.multiplier = model::Multiplier::wgmma_3xtf32;
  CHECK_FALSE(contains(explained(run, row), "return at once"));
}

TEST_CASE("an explanation of a wrong result names the element") {
  lab::Run run = traced_run();
  run.rows[3].error = model::Error{0.5, 3, false, model::Mismatch{7, 9, 1.5, 2.5}};
  const std::string text = explained(run, run.rows[3]);
  CHECK(contains(text, "FAIL"));
  CHECK(contains(text, "C[7][9] is 1.5, expected 2.5"));
}

TEST_CASE("cp.async is explained if a kernel uses it") {
  lab::Run run = traced_run();
  run.rows[3].counts->async_gmem = run.rows[3].counts->gmem_loads;
  const std::string text = explained(run, run.rows[3]);
  CHECK(contains(line_with(text, "cp.async    copies"), "DIFFERS"));
  CHECK(contains(text, "8,192 of these requests"));
}

namespace {

using testing::lines_of;
using testing::Output;

// Runs the program on the CPU, with `input` as typed text.
Output explain_with(const std::string& flags, const std::string& input = "") {
  return testing::gemm_steps("--device cpu --explain " + flags, input);
}

}  // namespace

TEST_CASE("below the costliest request is the same request of the stage that mends it") {
  struct Case {
    const char* flags;
    const char* here;
    const char* sentence;
    const char* there;
  };
  for (const Case& c :
       {Case{
            "--size 64 --stage 1", ": 32 sectors,",
            "Stage 2, coalesced, mends it: its load of A takes 1.00 sectors",
            "The same in stage 2 on line"},
        {"--size 128 --stage 6", ": 2 wavefronts,",
         "Stage 7, conflict-free, mends it: its store of As takes 1.00 wavefronts",
         ": 1 wavefront."},
        {"--size 128 --stage 5 --variant first", ": 32 sectors,",
         "Stage 7, conflict-free, mends it: its store of C takes 16.00 sectors", "[ 0 0 0 0 1 "}}) {
    CAPTURE(std::string(c.flags));
    const Output output = explain_with(c.flags);
    CHECK(output.exit_code == 0);
    const std::size_t here = output.out.find(c.here), sentence = output.out.find(c.sentence);
    REQUIRE(here != std::string::npos);
    REQUIRE(sentence != std::string::npos);
    CHECK(here < sentence);
    CHECK(output.out.find(c.there, sentence) != std::string::npos);
  }
}

TEST_CASE("a request with equally many wavefronts is not a remedy, however wide its loads are") {
  const Output output = explain_with("--size 128 --stage 4 --variant 16x16x16-tm2");
  CHECK(contains(output.out, "2 wavefronts,"));
  CHECK(contains(output.out, "No later stage makes the load of As cheaper: it takes 2.00"));
  CHECK_FALSE(contains(output.out, "mends it"));
}

TEST_CASE("a costly request that no later stage mends is reported as one") {
  // Rows of 31 floats: no stage can load four at a time. Not every stage makes costly requests.
  for (auto stage = stage_table_plain.stages.rbegin();; ++stage) {
    REQUIRE(stage->number > 0);
    const Output output =
        explain_with("--m 64 --n 31 --k 32 --stage " + std::to_string(stage->number));
    CHECK(output.exit_code == 0);
    CHECK_FALSE(contains(output.out, "The same in stage"));
    if (contains(output.out, "No later stage makes the ")) return;
  }
}

TEST_CASE("every stage is explained in at most 160 lines of 100 columns, in one order") {
  for (const char* size : {"--size 128", "--m 65 --n 71 --k 9 --beta 1"}) {
    const Output output = explain_with(std::string("--gpu 'RTX 3090' --hazards off ") + size);
    CHECK(output.exit_code == 0);
    int lines_of_stage = 0, stages = 0;
    for (const std::string& line : lines_of(output.out)) {
      CAPTURE(line);
      lines_of_stage = line.starts_with("Stage ") && contains(line, ": ") &&
                               !contains(line, "mends it") && !contains(line, "cheaper")
                           ? (++stages, 1)
                           : lines_of_stage + 1;
      CHECK(lines_of_stage <= 160);
      CHECK(text::display_width(line) <= 100);
    }
    CHECK(stages == static_cast<int>(stage_table_plain.stages.size()));
    // The last one that can be traced for this GPU.
    const auto last_traced = std::find_if(
        stage_table_plain.stages.rbegin(), stage_table_plain.stages.rend(),
        [](const model::Stage& stage) {
          return model::is_traceable(stage, *model::find_gpu("RTX 3090"));
        });
    const model::Stage &latest = *last_traced, &before = *(&latest - 1);
    const std::string last = output.out.substr(
        output.out.find(text::printed("Stage %d: %s", latest.number, latest.name)));
    const std::string changed =
        text::printed("What changed since stage %d, %s", before.number, before.name);
    // The occupancy of a stage that this GPU cannot run is left out.
    CHECK_FALSE(contains(last, "How many blocks an SM"));
    std::size_t at = 0;
    for (const char* heading :
         {changed.c_str(), "What each line asks of memory", "The launch", "What one thread does",
          "Why it is this fast", "Time and error", "\nQuestions"}) {
      CAPTURE(std::string(heading));
      const std::size_t found = last.find(heading, at);
      REQUIRE(found != std::string::npos);
      at = found;
    }
    CHECK_FALSE(contains(output.out, "their answers\n"));
  }
}

TEST_CASE("every variant is, too, even if its tiles are cut off and it copies single floats") {
  int number = 0;
  for (const model::Stage& stage : stage_table_traced.stages) {
    for (const model::Variant& variant : stage.variants) {
      if (!testing::chosen(number++, 3)) continue;
      const std::string flags = std::to_string(stage.number) + " --variant " + variant.name;
      CAPTURE(flags);
      const Output output =
          explain_with("--gpu H200 --hazards off --m 65 --n 71 --k 9 --beta 1 --stage " + flags);
      CHECK(output.exit_code == 0);
      const std::size_t lines = lines_of(output.out).size();
      CHECK(lines > 90);
      CHECK(lines <= 160);
    }
  }
}

TEST_CASE("the diff of two neighbouring stages is the lines that carry the idea") {
  const Output output = explain_with("--size 32 --stage 2 --section diff");
  CHECK(contains(output.out, " -   const int row = blockIdx.y * BM + threadIdx.x;\n"));
  CHECK(contains(output.out, " +   const int row = blockIdx.y * BM + threadIdx.y;\n"));
  CHECK_FALSE(contains(output.out, "sum += "));
  CHECK_FALSE(contains(output.out, "naive("));
}

TEST_CASE("--section prints only the sections that it names, and refuses other names") {
  const Output two = explain_with("--size 32 --stage 3 --section occupancy,idea");
  CHECK(two.exit_code == 0);
  CHECK(two.out.find("The threads of a block fetch") < two.out.find("How many blocks an SM"));
  for (const char* other : {"The launch", "What one thread does", "Time", "Questions"}) {
    CHECK_FALSE(contains(two.out, std::string("\n") + other));
  }
  const Output whole = explain_with("--size 32 --stage 3 --section kernel");
  CHECK(contains(whole.out, "const int row = threadIdx.y"));
  for (const char* wrong : {"figures", "idea,", "IDEA"}) {
    const Output refused = explain_with(std::string("--section ") + wrong);
    CHECK(refused.exit_code == 2);
    CHECK(refused.out == "");
    CHECK(contains(refused.err, "they are idea, diff, kernel, loads, tiles, launch, swizzle, "));
    CHECK(lines_of(refused.err).size() == 1);
  }
}

TEST_CASE("a section within another is printed once, and the whole has its heading") {
  const std::string whole = explain_with("--size 64 --stage 13").out;
  for (const auto& [inner, outer, heading] :
       {std::tuple("launch", "tiles", "\nThe launch\n"),
        {"swizzle", "tiles", "\nThe swizzle: chunk c of 16 bytes lies in row r of A"},
        {"thread", "counts", "\nWhat one thread does\n"},
        {"instructions", "ceiling", "\nWhat the compiler makes of a warp's loop"}}) {
    CAPTURE(std::string(inner));
    const auto section = [](const std::string& names) {
      return explain_with("--size 64 --stage 13 --section " + names).out;
    };
    const std::string alone = section(inner);
    CHECK(contains(alone, heading));
    CHECK(contains(section(outer), alone.substr(alone.find(heading))));
    CHECK(section(std::string(inner) + "," + outer) == section(outer));
  }
  CHECK(contains(whole, "\nThe launch\n"));
  CHECK(contains(whole, "\nWhat one thread does\n"));
  CHECK(contains(whole, "--section swizzle draws it"));
}

TEST_CASE("the loads are those of the annotated kernel, with the numbers of their lines") {
  const std::string loads = explain_with("--size 64 --stage 3 --section loads").out;
  const std::string kernel = explain_with("--size 64 --stage 3 --section kernel").out;
  int accesses = 0;
  for (const std::string& line : lines_of(kernel)) {
    if (!line.starts_with("      | ")) continue;
    ++accesses;
    CHECK(contains(loads, line.substr(5)));
  }
  CHECK(accesses > 0);
  CHECK(count_of(loads, " | ") == accesses);
  const std::string counts = explain_with("--size 64 --stage 3 --section thread").out;
  for (const char* row : {"GMEM loads  accesses", "SMEM loads  accesses"}) {
    CHECK(line_with(loads, row) == line_with(counts, row));
  }
  CHECK_FALSE(contains(loads, "stores accesses"));
}

TEST_CASE("neighbouring lines that do the same are one row of the loads") {
  const std::string loads =
      explain_with("--size 128 --stage 7 --variant first --section loads").out;
  CHECK(count_of(loads, "SMEM store As ") == 1);
  CHECK(contains(loads, "      | the same until line "));
  CHECK(count_of(loads, "GMEM load  ") == 2);
}

TEST_CASE("a section of which a stage has nothing says so") {
  const std::string none = explain_with("--size 32 --stage 3 --section swizzle").out;
  CHECK(contains(none, "\nswizzle: nothing of the kind here\n"));
}

TEST_CASE("answers are computed from the run's own numbers") {
  const Output output = explain_with("--size 64 --stage 1- --section answers");
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "Answer: M*N*2*K*4 = 64*64*2*64*4 = 2,097,152 bytes."));
  CHECK(contains(output.out, "Answer: (TM + TN)/(TM*TN) = (8 + 1)/(8*1) = 1.125 loads."));
  std::size_t answers = 0;
  for (std::size_t at = 0; (at = output.out.find("Answer: ", at)) != output.out.npos; ++at) {
    ++answers;
  }
  std::size_t questions = 0;
  for (const model::Stage& stage : stage_table_plain.stages)
    questions += stage.lesson.questions.size();
  CHECK(answers == questions);
  CHECK(questions >= 18);
}

TEST_CASE("--ask shows no count before the reader's prediction, and then the difference") {
  const std::string flags = "--size 64 --stage 1 --ask ";
  const Output ended = explain_with(flags);
  CHECK(ended.exit_code == 0);
  CHECK(contains(ended.out, "A thread for every element of C."));
  CHECK(contains(ended.out, "GMEM loads per thread? "));
  CHECK(contains(ended.out, "Without your predictions no counts are shown"));
  CHECK_FALSE(contains(ended.out, "traced max"));
  CHECK_FALSE(contains(ended.out, " per thread, "));

  const Output played = explain_with(flags, "2*K\n2\nnonsense\n1/0\n33\n\n");
  CHECK(played.exit_code == 0);
  CHECK(contains(played.out, "? Right: it is 128.") == false);
  CHECK(contains(played.out, "Right: it is 128.\n"));
  CHECK(contains(played.out, "You said 2, it is 1: 1 too many, or a factor of 2.\n"));
  CHECK(contains(played.out, "unknown name nonsense"));
  CHECK(contains(played.out, "division by zero"));
  CHECK(contains(played.out, "You said 33, it is 16.5: 16.5 too many"));
  CHECK(contains(played.out, "    It is 2.\n"));
  CHECK(contains(played.out, "traced max"));

  CHECK(explain_with("--ask --format json").exit_code == 2);
}

TEST_CASE("--format markdown is a handout of headings, fences that close, and a table") {
  const Output output = explain_with("--size 64 --stage 5 --variant first --format markdown");
  CHECK(output.exit_code == 0);
  const std::vector<std::string> lines = lines_of(output.out);
  REQUIRE(!lines.empty());
  CHECK(lines[0] == "# Stage 5: 2D thread tiling (128x128x8)");
  bool in_fence = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("```")) in_fence = !in_fence;
    if (in_fence || !lines[i].starts_with("#") || i == 0) continue;
    CHECK(lines[i - 1] == "");
    CHECK(lines[i + 1] == "");
  }
  CHECK_FALSE(in_fence);
  CHECK(contains(output.out, "\n```diff\n"));
  CHECK(contains(output.out, "\n+  2"));
  CHECK(contains(output.out, "\n| GMEM loads | accesses | `ceil(K/BK)*BK*(BM + BN)/threads"));
  CHECK_FALSE(contains(output.out, "\033["));
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

TEST_CASE("a picture of the tiles shows how often each is cut, at most 100 columns wide") {
  const model::Variant warps{
      .name = "",
      .BM = 128,
      .BN = 128,
      .BK = 8,
      .WM = 32,
      .WN = 128,
      .TM = 16,
      .TN = 8,
      .pipeline = 0,
      .block_x = 128,
      .block_y = 1,
      .shared_bytes = 0,
      .kernel = {},
      .kernel_any = {}};
  for (const int size : {1, 256, 2000000000}) {
    const std::vector<std::string> picture = tile_picture(warps, size, size);
    CHECK(picture.size() <= 9);
    for (const std::string& line : picture) CHECK(text::display_width(line) <= 100);
    std::string text;
    for (const std::string& line : picture) text += line + "\n";
    CHECK(contains(text, "4 x 1 warps"));
    CHECK(contains(text, "2 x 16 lanes"));
    CHECK(contains(text, "16 x 8 results"));
  }
}

namespace {

// The output of --explain and JSON for a kernel that cuts tiles along K.

using testing::contains, testing::Output;

// As one line, so that line breaks do not matter.
std::string explained(const std::string& flags) {
  const Output output = testing::gemm_steps("--device cpu --stage balanced --explain " + flags);
  CHECK(output.exit_code == 0);
  std::string text;
  for (const char letter : output.out) {
    const bool blank = letter == ' ' || letter == '\n';
    if (!blank || !text.ends_with(' ')) text += blank ? ' ' : letter;
  }
  return text;
}

}  // namespace

TEST_CASE("the prediction is right if all tiles are cut in equal parts, and if none is") {
  const std::string equal = explained("--gpu H200 --size 256");
  CHECK(contains(equal, "4 x 4 = 16 of C shared out all cut along K in 4 parts of 8 K tiles"));
  CHECK(contains(equal, "grid 64 blocks in one row, one per part"));
  CHECK(contains(equal, "sums 1.05 MB in memory"));
  CHECK(contains(equal, "16 tiles on 132 SMs, all of them cut: at most 8 of 32 K tiles on one"));
  CHECK(!contains(equal, "DIFFERS"));
  const std::string none = explained("--gpu H200 --size 64");
  CHECK(contains(none, "1 block"));
  CHECK(contains(none, "one per tile, in an order of the kernel's own; none is cut"));
  CHECK(!contains(none, "DIFFERS"));
  CHECK(!contains(none, "sums "));
}

TEST_CASE("one sentence says why the prediction is wrong for parts of different kinds") {
  const std::string unequal = explained("--gpu 'RTX 3090' --m 256 --n 256 --k 312");
  CHECK(contains(unequal, "all cut along K in 5 parts of 8 K tiles, the last of 7 "));
  CHECK(contains(unequal, "DIFFERS"));
  CHECK(contains(unequal, "The parts of a tile differ in length:"));
  const std::string mixed = explained("--gpu 'RTX 3090' --m 640 --n 640 --k 256 --variant 64x64x8");
  CHECK(contains(mixed, "82 whole, 18 cut along K in 4 parts of 8 K tiles"));
  CHECK(contains(mixed, "a whole tile, and all parts of another"));
  CHECK(contains(mixed, "at most 1 whole one and 8 of 32 K tiles on one"));
  CHECK(contains(mixed, "DIFFERS"));
  CHECK(contains(mixed, "Some tiles of C are whole and others are cut along K:"));
}

TEST_CASE("the kernel's own order of blocks is not called a grid of rows and columns") {
  const std::string ordered = explained("--gpu H200 --size 256 --variant 128x256x8-ordered");
  CHECK(contains(ordered, "2 blocks in one row, one per tile, in an order of the kernel's own "));
  CHECK(!contains(ordered, "none is cut"));
  CHECK(!contains(ordered, "DIFFERS"));
}

TEST_CASE("JSON says how the tiles are shared out") {
  const auto shares = [](const std::string& flags) {
    const Output output = testing::gemm_steps("--device cpu --format json " + flags);
    REQUIRE(output.exit_code == 0);
    const testing::StrictJson json(output.out);
    std::string text;
    for (const char* name : {"whole_tiles", "cut_tiles", "parts", "depth", "workspace_bytes"}) {
      text += json.values.at(std::string("stages.0.shares.") + name) + " ";
    }
    return text;
  };
  CHECK(shares("--stage balanced --gpu H200 --size 256") == "0 16 4 8 1048576 ");
  CHECK(shares("--stage vectorized --variant first --gpu H200 --size 256") == "4 0 1 32 0 ");
}

TEST_CASE("the list says which stage keeps sums in memory, and how much at most") {
  const Output output = testing::gemm_steps("--list --gpu H200");
  const std::size_t found = output.out.find("keeps sums of parts of tiles in GPU memory");
  REQUIRE(found != std::string::npos);
  // Two tiles of 128 x 256 floats for each of 132 SMs.
  CHECK(contains(output.out.substr(found, 200), "34.6 MB"));
  CHECK(output.out.find("keeps sums", found + 1) == std::string::npos);
}

}  // namespace report
