#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include "lab/rates.h"
#include "model/refusal.h"
#include "profile/profile.h"
#include "report/csv.h"
#include "report/explain/explain.h"
#include "report/json.h"
#include "report/list.h"
#include "report/predicted.h"
#include "report/table.h"
#include "text/numbers.h"

namespace report {

namespace {

const model::Gpu kGpu{
    .name = "RTX 3090",
    .compute_capability = 86,
    .sms = 82,
    .fp32_lanes_per_sm = 128,
    .boost_ghz = 1.695,
    .dram_gb_per_s = 936,
    .smem_bytes_per_sm = 102400,
    .smem_bytes_per_block = 101376,
    .smem_reserved_bytes_per_block = 1024,
    .smem_granularity_bytes = 128,
    .threads_per_sm = 1536,
    .blocks_per_sm = 16,
    .registers_per_sm = 65536};

void no_kernel(int, int, int, float, const float*, const float*, float, float*) {}

const model::Stage kTiling{
    .number = 5,
    .name = "2D thread tiling",
    .idea =
        "A thread computes a square of TM x TN results: every float that it takes from shared "
        "memory is used TM or TN times.",
    .needs = 0,
    .predicted =
        {.gmem_loads = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
         .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
         .smem_loads = "ceil(K/BK)*BK*(TM + TN)",
         .smem_floats = "ceil(K/BK)*BK*(TM + TN)",
         .gmem_stores = "TM*TN",
         .smem_stores = "ceil(K/BK)*BK*(BM + BN)/threads",
         .async_copies = "0"},
    .variants = {
        {.name = "128x128x8",
         .BM = 128,
         .BN = 128,
         .BK = 8,
         .WM = 0,
         .WN = 0,
         .TM = 8,
         .TN = 8,
         .pipeline = 1,
         .block_x = 16,
         .block_y = 16,
         .shared_bytes = 0,
         .kernel = {no_kernel, "thread_tiling_2d<128, 128, 8, 8, 8>"},
         .kernel_any = {no_kernel, "thread_tiling_2d<128, 128, 8, 8, 8>"}}}};

const model::Stage kNaive{
    .number = 4,
    .name = "naive",
    .idea = "A thread for every element of C.",
    .needs = 0,
    .predicted =
        {.gmem_loads = "2*K + reads_C",
         .gmem_floats = "2*K + reads_C",
         .smem_loads = "0",
         .smem_floats = "0",
         .gmem_stores = "1",
         .smem_stores = "0",
         .async_copies = "0"},
    .variants = {
        {.name = "32x32",
         .BM = 32,
         .BN = 32,
         .BK = 0,
         .WM = 0,
         .WN = 0,
         .TM = 0,
         .TN = 0,
         .pipeline = 0,
         .block_x = 32,
         .block_y = 32,
         .shared_bytes = 0,
         .kernel = {no_kernel, "naive<32, 32>"},
         .kernel_any = {no_kernel, "naive<32, 32>"}}}};

model::PerThread each(std::int64_t value, std::int64_t threads) {
  return {value, value, value * threads};
}

// What the 2D tiling does at 256^3: four interior blocks of 256 threads, all traced.
model::Counts tiling_counts() {
  constexpr std::int64_t threads = 4 * 256;
  model::Counts counts;
  counts.blocks = counts.blocks_traced = 4;
  counts.threads_traced = threads;
  counts.gmem_loads = {
      each(256, threads), each(256, threads), each(1024, threads), 8192, 40960, 32768, 0};
  counts.gmem_stores = {
      each(64, threads), each(64, threads), each(256, threads), 2048, 65536, 8192, 0};
  counts.smem_loads = {each(4096, threads),
                       each(4096, threads),
                       each(16384, threads),
                       131072,
                       327680,
                       131072,
                       196608};
  counts.smem_stores = {
      each(256, threads), each(256, threads), each(1024, threads), 8192, 8192, 8192, 0};
  return counts;
}

model::Counts naive_counts() {
  constexpr std::int64_t threads = 5 * 1024;
  model::Counts counts;
  counts.blocks = 64;
  counts.blocks_traced = 5;
  counts.threads_traced = threads;
  counts.gmem_loads = {
      each(512, threads), each(512, threads), each(2048, threads), 81920, 1351680, 327680, 0};
  counts.gmem_stores = {each(1, threads), each(1, threads), each(4, threads), 160, 5120, 640, 0};
  return counts;
}

lab::Row serial_row() {
  lab::Row row;
  row.number = 0;
  row.name = "serial";
  row.time = lab::Timing{18.3, 18.1, 19.0, 3, false};
  row.error = model::Error{3.1e-7, 4.5e-6, true, {}};
  return row;
}

lab::Row cpu_row() {
  lab::Row row;
  row.name = "OpenMP CPU";
  row.time = lab::Timing{0.512, 0.5, 0.6, 10, false};
  row.error = model::Error{2.2e-7, 3.5e-6, true, {}};
  return row;
}

lab::Row stage_row(const model::Stage& stage, const model::Counts& counts, int registers) {
  lab::Row row;
  row.number = stage.number;
  row.before_number = stage.number - 1;
  row.name = stage.name;
  row.stage = &stage;
  row.variant = &stage.variants[0];
  row.counts = counts;
  const int smem = stage.variants[0].BK * (stage.variants[0].BM + stage.variants[0].BN) * 4;
  row.occupancy = model::occupancy(kGpu, {stage.variants[0].threads(), registers, smem});
  row.error = model::Error{2.9e-7, 5.1e-6, true, {}};
  return row;
}

// A ladder of four rows at 256^3 on a machine without a GPU.
lab::Run traced_run() {
  lab::Run run{
      256, 256, 256, 1, 0, 1, kGpu, false, "", "gemm_steps --stage 4-5", "2025-01-02T03:04:05Z",
      {}};
  run.rows = {
      serial_row(), cpu_row(), stage_row(kNaive, naive_counts(), 37),
      stage_row(kTiling, tiling_counts(), 128)};
  return run;
}

// The same where a GPU timed the stages, and cuBLAS beside them.
lab::Run timed_run() {
  lab::Run run = traced_run();
  run.gpu_present = true;
  run.driver = "580.65, CUDA 13.0";
  run.rows[2].time = lab::Timing{0.0671, 0.0669, 0.0702, 20, false};
  run.rows[3].time = lab::Timing{0.0132, 0.0131, 0.0140, 20, false};
  run.rows[2].cublas_error = run.rows[3].cublas_error = 3.3e-7;
  lab::Row fp32;
  fp32.name = "cuBLAS fp32";
  fp32.time = lab::Timing{0.0066, 0.0065, 0.0070, 20, false};
  fp32.error = model::Error{2.5e-7, 4e-6, true, {}};
  lab::Row tf32 = fp32;
  tf32.name = "cuBLAS tf32";
  tf32.time->median_ms = 0.0033;
  run.rows.push_back(fp32);
  run.rows.push_back(tf32);
  return run;
}

// What `print` writes, also where it throws on the way.
std::string written(const std::function<void(std::FILE*)>& print) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  const auto close = [&] {
    std::fclose(out);
    const std::string copy(text, size);
    std::free(text);
    return copy;
  };
  try {
    print(out);
  } catch (...) {
    close();
    throw;
  }
  return close();
}

std::string table_of(const lab::Run& run, text::Style style = {}) {
  return written([&](std::FILE* out) { print_table(out, run, style); });
}

std::string explained(const lab::Run& run, const lab::Row& row, text::Style style = {}) {
  return written([&](std::FILE* out) { explain(out, run, row, style); });
}

std::string section(const std::string& name, const lab::Run& run, const lab::Row& row) {
  return written([&](std::FILE* out) { explain(out, run, row, {}, {.sections = {name}}); });
}

std::string json_of(const lab::Run& run) {
  return written([&](std::FILE* out) { print_json(out, run); });
}

std::string csv_of(const lab::Run& run) {
  return written([&](std::FILE* out) { print_csv(out, run); });
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first line with `words` in it, empty where there is none.
std::string line_with(const std::string& text, const std::string& words) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(words) != std::string::npos) return line;
  }
  return "";
}

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

int widest(const std::string& text) {
  int width = 0;
  for (const std::string& line : lines_of(text)) width = std::max(width, text::display_width(line));
  return width;
}

// JSON by the letter of RFC 8259: every value by its path, strings without their quotes and with
// escapes as they stand. Throws on anything else.
class StrictJson {
 public:
  explicit StrictJson(const std::string& text) : text_(text) {
    value("");
    space();
    if (at_ != text_.size()) fail();
  }
  std::map<std::string, std::string> values;

 private:
  [[noreturn]] void fail() const {
    throw std::runtime_error("not JSON at " + text_.substr(at_, 40));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() {
    while (peek() == ' ' || peek() == '\n') ++at_;
  }
  void take(char wanted) {
    if (peek() != wanted) fail();
    ++at_;
  }
  void digits() {
    if (!std::isdigit(peek())) fail();
    while (std::isdigit(peek())) ++at_;
  }
  std::string string() {
    take('"');
    const std::size_t begin = at_;
    while (peek() != '"') {
      if (static_cast<unsigned char>(peek()) < 0x20) fail();
      if (text_[at_++] != '\\') continue;
      if (peek() == 'u') {
        for (int i = 1; i <= 4; ++i) {
          if (!std::isxdigit(text_.at(at_ + i))) fail();
        }
      } else if (!std::strchr("\"\\/bfnrt", peek())) {
        fail();
      }
      ++at_;
    }
    return text_.substr(begin, at_++ - begin);
  }
  void number() {
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (peek() == '.') ++at_, digits();
    if (peek() != 'e' && peek() != 'E') return;
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    digits();
  }
  void members(const std::string& path, char close, bool named) {
    ++at_;
    space();
    for (int index = 0; peek() != close; ++index) {
      if (index > 0) take(','), space();
      std::string name = std::to_string(index);
      if (named) name = string(), space(), take(':');
      const std::string inner = path.empty() ? name : path + "." + name;
      if (values.count(inner)) fail();
      value(inner);
      space();
    }
    ++at_;
    values[path] = named ? "{}" : "[]";
  }
  void value(const std::string& path) {
    space();
    const std::size_t begin = at_;
    if (peek() == '{') return members(path, '}', true);
    if (peek() == '[') return members(path, ']', false);
    if (peek() == '"') {
      values[path] = string();
      return;
    }
    for (const std::string word : {"true", "false", "null"}) {
      if (text_.compare(at_, word.size(), word) == 0) at_ += word.size();
    }
    if (at_ == begin) number();
    values[path] = text_.substr(begin, at_ - begin);
  }

  std::string text_;
  std::size_t at_ = 0;
};

std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

TEST_CASE("numbers are written as a reader wants them") {
  CHECK(text::grouped(0) == "0");
  CHECK(text::grouped(999) == "999");
  CHECK(text::grouped(196608) == "196,608");
  CHECK(text::grouped(-1234567) == "-1,234,567");
  CHECK(text::exact(256) == "256");
  CHECK(text::exact(1.125) == "1.125");
  CHECK(text::exact(4096.5) == "4,096.5");
  CHECK(text::exact(-0.25) == "-0.25");
  CHECK(text::significant(0.02134) == "0.0213");
  CHECK(text::significant(9.999) == "10.0");
  CHECK(text::significant(2748.4) == "2748");
  CHECK(text::significant(0) == "0");
  CHECK(text::brief(0) == "0");
  CHECK(text::brief(0.001) == "<.01");
  CHECK(text::brief(9.996) == "10.0");
  CHECK(text::brief(98.64) == "98.6");
  CHECK(text::brief(123456) == "123k");
  CHECK(text::scientific(1.23e-6) == "1.2e-6");
  CHECK(text::scientific(0) == "0");
  CHECK(text::scientific(std::nan("")) == "nan");
  CHECK(text::whole(65536, 5) == "65536");
  CHECK(text::whole(131072, 5) == "131k");
  CHECK(text::whole(2e9, 5) == "2000M");
}

TEST_CASE("a width is counted in characters and not in bytes") {
  CHECK(text::display_width("–") == 1);
  CHECK(text::display_width("ceil × ≠") == 8);
  CHECK(text::pad_left("–", 3) == "  –");
  CHECK(text::pad_right("×", 3) == "×  ");
  CHECK(text::pad_left("long", 2) == "long");
  CHECK(text::shortened("shared-memory", 7) == "shared…");
  CHECK(text::shortened("×××", 3) == "×××");
  CHECK(text::shortened("×××", 2) == "×…");
}

TEST_CASE("a paragraph is cut between words, and a word only where it must be") {
  CHECK(text::wrapped("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(text::wrapped("abcdefgh", 3) == std::vector<std::string>{"abc", "def", "gh"});
  CHECK(text::wrapped("", 10) == std::vector<std::string>{""});
  CHECK(text::labelled("occ", 5, "warps") == "occ  warps\n");
}

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
  SUBCASE("a row that is no kernel has none") {
    CHECK_FALSE(predicted(run, run.rows[0]));
  }
}

TEST_CASE("a formula knows whether four floats move at a time") {
  lab::Run run = traced_run();
  model::Stage stage = kTiling;
  stage.predicted.gmem_loads = "K/vec";
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

TEST_CASE("no line of the table is wider than 100 columns") {
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
    if (row.time) row.time = lab::Timing{12345678, 1, 1, 1, true};
    if (row.counts) row.counts->smem_loads.accesses.max = std::int64_t{1} << 40;
    if (row.counts) row.counts->gmem_loads.accesses.max = std::int64_t{1} << 40;
    row.error = model::Error{std::nan(""), 1, false, {}};
    row.cublas_error = 1e-20;
  }
  CHECK(widest(table_of(large)) <= 100);
}

TEST_CASE("the columns of the table stand under one another") {
  const std::string table = table_of(timed_run());
  std::vector<int> widths;
  for (const char* row : {"0 serial", "  OpenMP CPU", "4 naive", "5 2D thread", "  cuBLAS fp32"}) {
    widths.push_back(text::display_width(line_with(table, row)));
  }
  for (int width : widths) CHECK(width == widths[0]);
}

TEST_CASE("a timed row says how fast it is beside cuBLAS and the stage before") {
  const std::string row = line_with(table_of(timed_run()), "5 2D thread tiling");
  CHECK(contains(row, " 0.0132 "));
  CHECK(contains(row, " 2.54 "));  // 2 * 256^3 / 13.2 us
  CHECK(contains(row, " 50.0 "));  // 6.6 / 13.2
  const double before = lab::times_the_stage_before(timed_run(), timed_run().rows[3]).value();
  CHECK(contains(row, " " + text::brief(before) + " "));
}

TEST_CASE("the table gives loads per thread and per result, sectors and conflicts per request") {
  const std::string row = line_with(table_of(traced_run()), "5 2D thread tiling");
  CHECK(contains(row, "  256 4.00 4096 64.0 "));
  CHECK(contains(row, " 5.00 "));  // 40960 / 8192
  CHECK(contains(row, " 1.41 "));  // 196608 / (131072 + 8192)
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

TEST_CASE("a serial loop timed on its first rows says so") {
  lab::Run run = traced_run();
  CHECK_FALSE(contains(table_of(run), "~"));
  run.rows[0].time->partial = true;
  run.rows[0].time->median_ms = 271000;
  CHECK(contains(line_with(table_of(run), "0 serial"), "~271s"));
  CHECK(contains(table_of(run), "first rows"));
}

TEST_CASE("the JSON is valid and has every key of a stage") {
  const StrictJson json(json_of(timed_run()));
  for (const char* key :
       {"number",
        "name",
        "variant",
        "threads_per_block",
        "blocks",
        "blocks_traced",
        "gmem_load_requests",
        "gmem_load_sectors",
        "gmem_store_requests",
        "gmem_store_sectors",
        "smem_load_requests",
        "smem_load_wavefronts",
        "smem_store_requests",
        "smem_store_wavefronts",
        "smem_load_bank_conflicts",
        "smem_store_bank_conflicts",
        "ceiling.as_written_tflops",
        "ceiling.compiled_tflops",
        "ceiling.bound_by",
        "ceiling.no_overlap_tflops",
        "ceiling.measured_ratio",
        "ceiling.units.smem_ms",
        "ceiling.units.dram_ms",
        "compiled.loop.lds_128",
        "compiled.smem_load_requests",
        "barriers.per_block",
        "barriers.per_k_tile",
        "compiled.inner.ffma",
        "occupancy.gpu",
        "occupancy.registers",
        "occupancy.smem_bytes",
        "occupancy.blocks_per_sm",
        "occupancy.percent",
        "occupancy.limiter",
        "occupancy.waves",
        "error.relative",
        "error.max_abs",
        "error.bound_ok",
        "time_ms",
        "tflops",
        "cublas_ratio"}) {
    CAPTURE(key);
    for (const char* stage : {"stages.0.", "stages.1.", "stages.2."}) {
      CHECK(json.values.count(std::string(stage) + key) == 1);
    }
  }
  for (const char* figure :
       {"gmem_loads_per_thread", "smem_loads_per_thread", "gmem_stores_per_thread",
        "smem_stores_per_thread", "gmem_floats_per_thread", "smem_floats_per_thread",
        "async_copies_per_thread"}) {
    for (const char* member : {".min", ".max", ".mean", ".predicted"}) {
      CAPTURE(figure);
      CHECK(json.values.at("stages.2." + std::string(figure) + member) != "null");
    }
  }
}

TEST_CASE("the JSON's values are the run's") {
  const StrictJson json(json_of(timed_run()));
  CHECK(json.values.at("problem.K") == "256");
  CHECK(json.values.at("gpu.compute_capability") == "8.6");
  CHECK(json.values.at("stages.0.number") == "0");
  CHECK(json.values.at("stages.0.threads_per_block") == "null");
  CHECK(json.values.at("stages.2.variant") == "128x128x8");
  CHECK(json.values.at("stages.2.threads_per_block") == "256");
  CHECK(json.values.at("stages.2.gmem_loads_per_thread.mean") == "256");
  CHECK(json.values.at("stages.2.smem_loads_per_thread.predicted") == "4096");
  CHECK(json.values.at("stages.2.time_ms") == "0.0132");
  CHECK(json.values.at("stages.2.cublas_ratio") == "0.5");
  CHECK(json.values.at("stages.2.error.bound_ok") == "true");
  CHECK(json.values.at("yardsticks.0.name") == "OpenMP CPU");
  CHECK(json.values.at("yardsticks.1.name") == "cuBLAS fp32");
  CHECK(json.values.count("stages.3") == 0);
}

TEST_CASE("totals are null unless every block was traced, and the sample stands beside") {
  const StrictJson json(json_of(traced_run()));
  CHECK(json.values.at("stages.1.blocks") == "64");
  CHECK(json.values.at("stages.1.blocks_traced") == "5");
  CHECK(json.values.at("stages.1.gmem_load_sectors") == "null");
  CHECK(json.values.at("stages.1.smem_load_bank_conflicts") == "null");
  CHECK(json.values.at("stages.1.sample.gmem_load_sectors") == "1351680");
  CHECK(json.values.at("stages.2.gmem_load_sectors") == "40960");
  CHECK(json.values.at("stages.2.smem_load_bank_conflicts") == "196608");
}

TEST_CASE("a traced stage has no time in the JSON") {
  const StrictJson json(json_of(traced_run()));
  CHECK(json.values.at("stages.2.time_ms") == "null");
  CHECK(json.values.at("stages.2.tflops") == "null");
  CHECK(json.values.at("stages.2.cublas_ratio") == "null");
}

TEST_CASE("the JSON stays valid with hostile text and with numbers that are none") {
  lab::Run run = timed_run();
  run.command = "a \"quote\", a \\, a tab\t, \x01, \xff\xc3, \xed\xa0\x80 and ×";
  run.rows[2].error =
      model::Error{std::nan(""), std::numeric_limits<double>::infinity(), false, {}};
  const StrictJson json(json_of(run));
  CHECK(
      json.values.at("command") ==
      "a \\\"quote\\\", a \\\\, a tab\\u0009, \\u0001, \\ufffd\\ufffd, \\ufffd\\ufffd\\ufffd and "
      "×");
  CHECK(json.values.at("stages.1.error.relative") == "null");
  CHECK(json.values.at("stages.1.error.max_abs") == "null");
  run.rows.clear();
  CHECK(StrictJson(json_of(run)).values.at("stages") == "[]");
}

TEST_CASE("the CSV has a line of names and a line a row, of as many fields") {
  lab::Run run = timed_run();
  run.command = "gemm_steps --a \"x, y.npy\"";
  const std::string csv = csv_of(run);
  const std::vector<std::string> lines = lines_of(csv);
  REQUIRE(lines.size() == 1 + run.rows.size());
  const std::vector<std::string> names = csv_fields(lines[0]);
  for (const std::string& line : lines) {
    CHECK(line.back() == '\r');
    CHECK(csv_fields(line).size() == names.size());
  }
  CHECK(contains(csv, ",\"gemm_steps --a \"\"x, y.npy\"\"\","));
  const auto field = [&](int line, const std::string& name) {
    const auto column = std::find(names.begin(), names.end(), name) - names.begin();
    return csv_fields(lines[line]).at(static_cast<std::size_t>(column));
  };
  CHECK(field(4, "number") == "5");
  CHECK(field(4, "gmem_loads_per_thread.max") == "256");
  CHECK(field(4, "gmem_load_sectors") == "40960");
  CHECK(field(3, "gmem_load_sectors") == "");
  CHECK(field(2, "number") == "");
  CHECK(field(2, "name") == "OpenMP CPU");
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

TEST_CASE("a prediction that the trace does not bear out is said aloud, with the shape's reason") {
  lab::Run run = traced_run();
  run.rows[3].counts->gmem_loads.accesses.max = 255;
  std::string text = explained(run, run.rows[3]);
  CHECK(contains(line_with(text, "GMEM loads  accesses"), "DIFFERS"));
  CHECK_FALSE(contains(line_with(text, "SMEM loads  accesses"), "DIFFERS"));
  CHECK(contains(text, "The shape gives no reason"));
  run.K = 251;
  CHECK(contains(explained(run, run.rows[3]), "K = 251 is no multiple of BK = 8"));
  run.M = 100;
  CHECK(contains(explained(run, run.rows[3]), "no block is an interior one"));
}

TEST_CASE("an explanation judges coalescing and conflicts by the counts") {
  lab::Run run = traced_run();
  std::string text = explained(run, run.rows[3]);
  CHECK(contains(text, "Not coalesced: 8 times"));     // the stores: 65536 of 8192
  CHECK(contains(text, "Nearly coalesced") == false);  // the loads: 40960 of 32768, 1.25
  CHECK(contains(text, "Bank conflicts: 60 %"));       // 196608 of 327680 wavefronts
  CHECK(contains(text, "Conflict-free"));              // the stores
  run.rows[3].counts->gmem_stores.pieces = 8192;
  run.rows[3].counts->gmem_loads.pieces = 20000;
  text = explained(run, run.rows[3]);
  CHECK(contains(text, "Coalesced: the lanes' addresses"));
  CHECK(contains(text, "Coalesced, and fewer than ideal"));
  CHECK_FALSE(contains(text, "Not coalesced"));
}

TEST_CASE("where nothing is timed, the ceiling stands in place of the time") {
  const std::string row = line_with(table_of(traced_run()), "5 2D thread tiling");
  const double ceiling = lab::compiled_ceiling(traced_run(), traced_run().rows[3])->tflops;
  CHECK(contains(row, "traced ≤ " + text::significant(ceiling)));
  CHECK(contains(row, " SMEM "));
  CHECK_FALSE(contains(line_with(table_of(traced_run()), "0 serial"), "≤"));
  CHECK_FALSE(contains(table_of(timed_run()), "≤"));
  lab::Run unknown = traced_run();
  model::Stage stage = kTiling;
  stage.variants[0].kernel.name = "not recorded";
  unknown.rows[3] = stage_row(stage, tiling_counts(), 128);
  CHECK(contains(line_with(table_of(unknown), "5 2D thread tiling"), " traced "));
}

TEST_CASE("an explanation sets the compiled loads beside the written ones") {
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
  CHECK(contains(line_with(text, "  no overlap  "), "TFLOP/s"));
  CHECK(contains(line_with(text, "  tail  "), "4 blocks on 82 SMs, at most 1 on one"));
  CHECK(contains(line_with(text, "  measured  "), "% of the ceiling"));
  CHECK_FALSE(contains(explained(traced_run(), traced_run().rows[3]), "% of the ceiling"));
}

TEST_CASE("a kernel that does not fit on the GPU, or multiplies nothing, has no ceiling") {
  lab::Run run = traced_run();
  run.rows[3].occupancy->blocks_per_sm = 0;
  CHECK(!lab::compiled_ceiling(run, run.rows[3]));
  CHECK(!lab::written_ceiling(run, run.rows[3]));
  CHECK(lab::compiled_ceiling(run, run.rows[2]));
  run.alpha = 0;
  CHECK(!lab::compiled_ceiling(run, run.rows[2]));
}

TEST_CASE("an explanation works out each limit of the occupancy") {
  const lab::Run run = traced_run();
  lab::Row row = run.rows[3];
  row.occupancy = model::occupancy(kGpu, {256, 38, 2048});
  const std::string text = explained(run, row);
  CHECK(contains(line_with(text, "  threads  "), "1536 threads an SM / 32 / 8 warps"));
  CHECK(contains(text, "38 x 32 lanes = 1,216 a warp, rounded up to 1,280"));
  CHECK(contains(text, "floor(floor(65536 / 4 / 1280) * 4 / 8 warps a block)"));
  CHECK(contains(text, "2,048 B + 1,024 B of the system: 3,072 B"));
  CHECK(contains(text, "6 blocks x 8 warps = 48 of the 48 warps that an SM can hold: 100.00 %"));
  CHECK(contains(line_with(text, "  limiter  "), "threads and registers"));
  CHECK(contains(text, "4 blocks / (6 a SM x 82 SMs) = 0.01"));
}

TEST_CASE("an explanation of a wrong result names the element") {
  lab::Run run = traced_run();
  run.rows[3].error = model::Error{0.5, 3, false, model::Mismatch{7, 9, 1.5, 2.5}};
  const std::string text = explained(run, run.rows[3]);
  CHECK(contains(text, "FAIL"));
  CHECK(contains(text, "C[7][9] is 1.5, expected 2.5"));
}

TEST_CASE("cp.async is explained where there is any") {
  lab::Run run = traced_run();
  run.rows[3].counts->async_gmem = run.rows[3].counts->gmem_loads;
  const std::string text = explained(run, run.rows[3]);
  CHECK(contains(line_with(text, "cp.async    copies"), "DIFFERS"));
  CHECK(contains(text, "8,192 of these requests"));
}

TEST_CASE("the list names every stage and variant, in each format") {
  const model::Stage stages[] = {kNaive, kTiling};
  const auto list = [&](Format format) {
    return written([&](std::FILE* out) { print_list(out, stages, format); });
  };
  const std::string table = list(Format::table);
  CHECK(widest(table) <= 100);
  CHECK(contains(line_with(table, "serial"), " 0 "));
  CHECK(contains(line_with(table, "2D thread tiling"), "128x128x8"));
  const StrictJson json(list(Format::json));
  CHECK(json.values.at("variants.1.variant") == "128x128x8");
  CHECK(json.values.at("variants.1.kernel") == "thread_tiling_2d<128, 128, 8, 8, 8>");
  CHECK(json.values.at("variants.1.threads_per_block") == "256");
  CHECK(lines_of(list(Format::csv)).size() == 3);
}

namespace {

// What ncu prints for the tiling above: its messages, the program's output, a header, units, rows.
std::string ncu_csv(const std::string& kernel, const std::string& first_value = "8,192") {
  std::string header = "\"ID\",\"Kernel Name\",\"Grid Size\"", units = "\"\",\"\",\"\"";
  std::istringstream metrics(profile::ncu_metrics());
  for (std::string name; std::getline(metrics, name, ',');) {
    header += ",\"" + name + "\"";
    units += ",\"sector\"";
  }
  return "==PROF== Connected to process 12\nloads, as \"written\"\n" + header + "\n" + units +
         "\n\"0\",\"" + kernel + "\",\"(2, 2, 1)\",\"" + first_value +
         "\",\"40,960\",\"2,048\",\"65,536\",\"0\",\"0\",\"0\",\"8,192\",\"8,000\",\"81,920\","
         "\"327680.00\"\n==PROF== Disconnected\n";
}

std::string replaced_once(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

const char* const kNcuName =
    "void thread_tiling_2d<(int)128, (int)128, (int)8, (int)8, (int)8>(int, int, int, float, const "
    "float *, const float *, float, float *)";

// The tiling alone: of the other rows the trace has a sample only.
lab::Run profiled_run() {
  lab::Run run = traced_run();
  run.rows = {run.rows[3]};
  return run;
}

struct Comparison {
  bool agrees;
  std::string text;
};

Comparison compared(const std::string& csv, const lab::Run& run) {
  Comparison comparison{};
  comparison.text = written([&](std::FILE* out) {
    std::istringstream in(csv);
    comparison.agrees = profile::print_profile(out, in, run);
  });
  return comparison;
}

}  // namespace

TEST_CASE("ncu's counts, thousands separators and all, are set beside the traced ones") {
  const auto [agrees, text] = compared(ncu_csv(kNcuName), profiled_run());
  CHECK(agrees);
  CHECK(widest(text) <= 100);
  // Above, every count has its metric's name.
  CHECK(contains(
      text, "  LDG sectors         smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld\n"));
  CHECK(contains(text, "  LDG sectors                   40,960          40,960               0"));
  CHECK(contains(text, "  STS wavefronts                 8,000           8,192            -192"));
  CHECK(contains(text, "≈ -2.3 %"));
  CHECK_FALSE(contains(text, "  LDGSTS requests                    0"));
}

TEST_CASE("loads that the compiler made wide are held against the recorded instructions") {
  const std::string csv = ncu_csv(kNcuName);
  CHECK(contains(
      compared(csv, profiled_run()).text,
      "81,920         131,072         -49,152          81,920 c"));
  const std::string others = replaced_once(csv, "81,920", "81,921");
  const auto [agrees, text] = compared(others, profiled_run());
  CHECK(agrees);
  CHECK(contains(text, "81,921         131,072         -49,151          81,920 ?"));
  // Where the source has them wide, the compiler has no choice.
  lab::Run wide = profiled_run();
  wide.rows[0].counts->smem_loads.floats.sum *= 4;
  CHECK_FALSE(compared(csv, wide).agrees);
}

TEST_CASE("a global count that differs from ncu's is marked and fails") {
  const auto [agrees, text] = compared(ncu_csv(kNcuName, "8,193"), profiled_run());
  CHECK_FALSE(agrees);
  CHECK(contains(text, "8,193           8,192               1                 ≠"));
}

TEST_CASE("a count or a kernel that ncu's output lacks fails") {
  CHECK_FALSE(compared(ncu_csv(kNcuName, "n/a"), profiled_run()).agrees);
  CHECK_FALSE(compared(ncu_csv("other(int)"), profiled_run()).agrees);
  CHECK_FALSE(compared(ncu_csv("void thread_tiling_2d<(int)64>(int)"), profiled_run()).agrees);
  CHECK(compared(ncu_csv("thread_tiling_2d"), profiled_run()).agrees);
}

TEST_CASE("ncu counts cp.async as LDGSTS, and neither as LDG nor as STS") {
  lab::Run run = profiled_run();
  model::Counts& counts = *run.rows[0].counts;
  counts.async_gmem.requests = 4096;
  counts.async_gmem.pieces = 16384;
  const std::string text = compared(ncu_csv(kNcuName), run).text;
  CHECK(contains(text, "  LDG requests                   8,192           4,096           4,096"));
  CHECK(contains(text, "  LDGSTS requests                    0           4,096          -4,096"));
}

namespace {

// Percent of the time that each unit is busy, the data stage of L1 and shared memory as a whole.
std::string ncu_unit_csv(const std::string& values) {
  std::string header = "\"ID\",\"Kernel Name\"", units = "\"\",\"\"";
  std::istringstream metrics(profile::ncu_unit_metrics());
  for (std::string name; std::getline(metrics, name, ',');) {
    header += ",\"" + name + "\"";
    units += ",\"%\"";
  }
  return header + "\n" + units + "\n\"0\",\"" + kNcuName + "\"," + values + "\n";
}

Comparison units_of(const std::string& csv, double of_ceiling) {
  lab::Run run = timed_run();
  run.rows = {run.rows[3]};
  const model::Ceiling ceiling = *lab::compiled_ceiling(run, run.rows[0]);
  run.rows[0].time->median_ms = ceiling.ms[ceiling.bound_by] / of_ceiling;
  Comparison comparison{};
  comparison.text = written([&](std::FILE* out) {
    std::istringstream in(csv);
    comparison.agrees = profile::print_units(out, in, run);
  });
  return comparison;
}

}  // namespace

TEST_CASE("the unit that bounds a stage has to be ncu's busiest, and the speed near the ceiling") {
  const std::string smem = "\"38\",\"55\",\"77\",\"83\",\"5\",\"1.5\",\"1000\"";
  const auto [agrees, text] = units_of(ncu_unit_csv(smem), 0.79);
  CHECK(agrees);
  CHECK(widest(text) <= 100);
  const std::string row = line_with(text, "5 2D thread tiling");
  CHECK(contains(row, "  79  77 "));  // SMEM: the model, ncu
  CHECK(contains(row, "   6 "));      // L1: what is left of the data stage
  CHECK(contains(row, " SMEM ="));
  CHECK_FALSE(units_of(ncu_unit_csv(smem), 0.59).agrees);
  CHECK_FALSE(units_of(ncu_unit_csv(smem), 1.01).agrees);
  const auto issue = units_of(ncu_unit_csv(replaced_once(smem, "55", "78")), 0.79);
  CHECK_FALSE(issue.agrees);
  CHECK(contains(line_with(issue.text, "5 2D thread tiling"), "SMEM ≠ issue"));
  CHECK(widest(issue.text) <= 100);
  CHECK_FALSE(
      units_of(replaced_once(ncu_unit_csv(smem), "thread_tiling_2d", "other"), 0.79).agrees);
}

TEST_CASE("ncu output that is none is refused in one sentence") {
  const lab::Run run = profiled_run();
  CHECK_THROWS_AS(compared("", run), model::Refusal);
  CHECK_THROWS_AS(compared("==ERROR== no permission\n", run), model::Refusal);
  CHECK_THROWS_AS(compared("\"a\",\"b\"\n\"1\",\"2\"\n", run), model::Refusal);
  CHECK_THROWS_AS(compared(std::string(1000, '\0'), run), model::Refusal);
  const std::string csv = ncu_csv(kNcuName);
  CHECK_THROWS_AS(compared(csv.substr(0, csv.find("\"40,960") + 3), run), model::Refusal);
}

TEST_CASE("a sample cannot be held against ncu's totals") {
  CHECK_THROWS_AS(compared(ncu_csv(kNcuName), traced_run()), model::Refusal);
}

TEST_CASE("JSON has the counts of every line and array") {
  lab::Run run = traced_run();
  for (lab::Row& row : run.rows) {
    if (!row.counts) continue;
    model::LineCounts line;
    line.line = 3;
    line.array = "Bs";
    line.shared = true;
    line.requests = 5;
    row.counts->lines = {line, line};
  }
  const std::string text = written([&](std::FILE* out) { print_json(out, run); });
  CHECK(contains(text, "{\"line\": 3, \"array\": \"Bs\", \"space\": \"shared\""));
  CHECK(contains(text, "\"requests\": 10"));
}

}  // namespace report
