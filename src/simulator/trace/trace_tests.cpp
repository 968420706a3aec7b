#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/problem.h"
#include "model/recording.h"
#include "simulator/machine/fault.h"
#include "simulator/trace/hazard_kernels.h"
#include "simulator/trace/hooks.h"
#include "simulator/trace/idioms.h"
#include "simulator/trace/source_lines.h"
#include "simulator/trace/trace.h"
#include "testing/program.h"

namespace trace {

namespace {

struct alignas(256) Arrays {
  float in[1024];
  float out[1024];
};

Arrays arrays;

// Of whole numbers, in an array of zeros.
model::Counts trace_block(void (*run)(const float*, float*), const char* name = "RTX 3090") {
  for (int i = 0; i < 1024; ++i) arrays.in[i] = static_cast<float>(i);
  std::fill(std::begin(arrays.out), std::end(arrays.out), 0.0f);
  const model::Gpu& gpu = *model::find_gpu(name);
  const machine::GlobalArray known[] = {
      {"in", arrays.in, sizeof arrays.in}, {"out", arrays.out, sizeof arrays.out}};
  return trace({&gpu}, known, [&] { run(arrays.in, arrays.out); });
}

void check_equal_lanes(const model::Traffic& traffic, int accesses, int bytes) {
  CHECK(traffic.accesses.min == accesses);
  CHECK(traffic.accesses.max == accesses);
  CHECK(traffic.bytes.min == bytes);
  CHECK(traffic.bytes.max == bytes);
}

void check_accesses(const std::vector<Idiom>& all, const char* gpu = "RTX 3090") {
  REQUIRE(!all.empty());
  for (const Idiom& idiom : all) {
    CAPTURE(std::string(idiom.text));
    const model::Counts counts = trace_block(idiom.run, gpu);
    CHECK(counts.threads_traced == 32);
    check_equal_lanes(counts.gmem_loads, idiom.gmem_loads, idiom.gmem_load_bytes);
    check_equal_lanes(counts.gmem_stores, idiom.gmem_stores, idiom.gmem_store_bytes);
    check_equal_lanes(counts.smem_loads, idiom.smem_loads, idiom.smem_load_bytes);
    check_equal_lanes(counts.smem_stores, idiom.smem_stores, idiom.smem_store_bytes);
  }
}

// The exchange whose text begins so.
const Exchange& exchange_of(const std::string& text) {
  const auto found = std::ranges::find_if(
      exchanges, [&](const Exchange& e) { return std::string(e.text).starts_with(text); });
  REQUIRE(found != exchanges.end());
  return *found;
}

void check_results(const std::vector<Exchange>& all) {
  REQUIRE(!all.empty());
  for (const Exchange& exchange : all) {
    CAPTURE(std::string(exchange.text));
    trace_block(exchange.run);
    for (int t = 0; t < 32; ++t) {
      CAPTURE(t);
      CHECK(arrays.out[t] == exchange.expected(t));
    }
  }
}

}  // namespace

TEST_CASE("the tracer sees every C++ idiom as the accesses in its source") {
  for (const char* gpu : {"RTX 3090", "paper"}) {
    CAPTURE(gpu);
    check_accesses(idioms, gpu);
  }
}

TEST_CASE("types of 1 and 2 bytes and pairs of them are one access each") {
  check_accesses(narrow_idioms);
}

// A token has this many bits for a place. The last of the traced objects is vocabulary_traced.o.
TEST_CASE("traced code stands where the tracer's tokens have places for it") {
  for (const Exchange& last : vocabulary) {
    CHECK(machine::place_of_code(reinterpret_cast<void*>(last.run)) < 1 << (32 - kPlaceShift));
  }
}

TEST_CASE("an ldmatrix is one request: each lane gives a row and receives as many bytes") {
  const model::Counts counts = trace_block(exchange_of("ldmatrix").run);
  check_equal_lanes(counts.smem_loads, 1, 16);
  CHECK(counts.smem_loads.requests == 1);
  CHECK(counts.smem_loads.pieces == 4);
  CHECK(counts.smem_loads.bank_conflicts == 0);
}

TEST_CASE("an mma is counted once for its warp") {
  const model::Counts counts = trace_block(exchange_of("mma").run);
  CHECK(counts.mmas == 1);
  CHECK(counts.mma_products == 16 * 8 * 8);
  CHECK(trace_block(idioms[0].run).mmas == 0);
}

TEST_CASE("lanes that diverge and reconverge make the requests of a warp in lockstep") {
  REQUIRE(!divergences.empty());
  for (const Divergence& divergence : divergences) {
    CAPTURE(std::string(divergence.text));
    const model::Traffic loads = trace_block(divergence.run).gmem_loads;
    CHECK(loads.requests == divergence.gmem_load_requests);
    CHECK(loads.pieces == divergence.gmem_load_sectors);
  }
}

TEST_CASE("collective operations give the GPU's results") {
  check_results(exchanges);
}

TEST_CASE("a sample has the middle block of a grid with several layers") {
  CHECK(machine::sample_of({3, 5, 4}) == std::vector<std::int64_t>{0, 2, 37, 57, 59});
}

TEST_CASE("functions of CUDA that most kernels do not use give the GPU's results") {
  check_results(vocabulary);
}

// As seen in the code that nvcc makes for sm_80 and sm_90 (src/simulator/cuda/headers/mma.h).
TEST_CASE("wmma fragments are loaded and stored by the requests that nvcc makes of them") {
  REQUIRE(!matrix_requests.empty());
  for (const Requests& expected : matrix_requests) {
    CAPTURE(std::string(expected.text));
    const model::Counts counts = trace_block(expected.run);
    CHECK(counts.gmem_loads.requests == expected.gmem_load_requests);
    CHECK(counts.gmem_loads.pieces == expected.gmem_load_sectors);
    CHECK(counts.gmem_stores.requests == expected.gmem_store_requests);
    CHECK(counts.gmem_stores.pieces == expected.gmem_store_sectors);
    CHECK(counts.smem_loads.requests == expected.smem_load_requests);
    CHECK(counts.smem_loads.pieces == expected.smem_load_wavefronts);
    CHECK(counts.mmas == expected.mmas);
  }
}

TEST_CASE("on the paper GPU warpSize is 4, and lanes exchange within 4") {
  const auto result_of = [](const std::string& text) {
    trace_block(exchange_of(text).run, "paper");
    return std::vector<float>(arrays.out, arrays.out + 32);
  };
  CHECK(result_of("dim3 and warpSize")[0] == 32 + 4);
  const std::vector<float> moved = result_of("__shfl_down_sync");
  for (int t = 0; t < 32; ++t) {
    CAPTURE(t);
    CHECK(moved[t] == (t % 4 + 3 < 4 ? t + 3 : t));
  }
}

TEST_CASE("local variables are measured over all calls, and other threads must not access them") {
  REQUIRE(!locals.empty());
  for (const Local& local : locals) {
    CAPTURE(std::string(local.text));
    const model::Counts counts = trace_block(local.run);
    CHECK(model::has_fatal(counts) == local.foreign);
    if (local.foreign) {
      REQUIRE(counts.hazards.size() == 1);
      CHECK(counts.hazards[0].kind == model::HazardKind::foreign_local);
    } else {
      CHECK(counts.hazards.empty());
      CHECK(counts.local_bytes >= local.least_bytes);
      CHECK(counts.local_bytes <= local.most_bytes);
    }
  }
}

TEST_CASE("the trace has the thread that stored each word of the result, if any") {
  REQUIRE(!exchanges.empty());
  const machine::GlobalArray known[] = {
      {"in", arrays.in, sizeof arrays.in}, {"out", arrays.out, sizeof arrays.out, true}};
  std::vector<std::uint64_t> writers;
  machine::Machine machine{model::find_gpu("RTX 3090")};
  machine.wrote = [&](std::span<const std::uint64_t> last) {
    writers.assign(last.begin(), last.end());
  };
  trace(machine, known, [] { exchanges[0].run(arrays.in, arrays.out); });  // 32 threads
  REQUIRE(writers.size() == std::size(arrays.out));
  for (std::size_t word = 0; word < writers.size(); ++word) {
    CAPTURE(word);
    CHECK(writers[word] == (word < 32 ? word + 1 : 0));
  }
}

TEST_CASE("a kernel that cannot continue is a fault with its block and thread") {
  REQUIRE(!faults.empty());
  for (const Fault& fault : faults) {
    CAPTURE(std::string(fault.text));
    CHECK_THROWS_AS(trace_block(fault.run), machine::KernelFault);
    CHECK_THROWS_WITH(trace_block(fault.run), doctest::Contains(fault.says));
    CHECK_THROWS_WITH(trace_block(fault.run), doctest::Contains("block (0, 0, 0), thread ("));
  }
  CHECK_THROWS_WITH(
      trace_block(exchange_of("mma").run, "paper"),
      doctest::Contains("it waits at mma, which takes 32 lanes, but its warp has only 4"));
  // The next launch is not affected.
  CHECK(trace_block(idioms[0].run).gmem_loads.requests == 1);
}

namespace {

using EventKind = model::RecordedEvent::Kind;

struct Recorded {
  model::Counts counts;
  model::Recording recording;
};

Recorded record(std::vector<std::int64_t> blocks, std::size_t most_events = 1'000'000) {
  constexpr int kSize = 16, kElements = kSize * kSize;
  const lab::Floats A = lab::random_floats(kElements, 1), B = lab::random_floats(kElements, 2);
  lab::Floats C(kElements);
  const machine::GlobalArray matrices[] = {
      {"A", A.data(), kElements * sizeof(float)},
      {"B", B.data(), kElements * sizeof(float)},
      {"C", C.data(), kElements * sizeof(float), true}};
  model::Recorder recorder{std::move(blocks), most_events};
  machine::Machine machine{model::find_gpu("RTX 3090")};
  machine.recorder = &recorder;
  // Tiles of 8 x 8: two warps per block, 16 x 16 x 16 in four blocks.
  const model::Variant& variant = model::find_stage(stage_table_traced.stages, 3)->variants[2];
  model::Counts counts = trace(machine, matrices, [&] {
    stage_table_traced.run({variant, 0, kSize, kSize, kSize, 1, A.data(), B.data(), 0, C.data()});
  });
  REQUIRE(recorder.launches.size() == 1);
  model::Recording recording = recorder.launches[0];
  resolve_lines(recording, kernel_lines(recording.kernel));
  return {counts, recording};
}

std::int64_t count(const model::Recording& recording, EventKind kind) {
  return std::count_if(
      recording.events.begin(), recording.events.end(),
      [&](const model::RecordedEvent& event) { return event.kind == kind; });
}

}  // namespace

TEST_CASE("after its time a block is cut at a barrier, and counted whole if it reaches none") {
  static double end_s;
  for (const bool has_barrier : {false, true}) {
    CAPTURE(has_barrier);
    machine::Machine machine{model::find_gpu("RTX 3090")};
    machine.cut_blocks_after = end_s = machine::used_s() + 0.2;
    const auto late = [] {
      while (machine::used_s() <= end_s) {
      }
    };
    const model::Counts counts = trace(machine, {}, [&] { run_until(late, has_barrier); });
    CHECK(counts.blocks_traced == 1);
    CHECK(counts.blocks_cut == has_barrier);
  }
}

TEST_CASE("a recording of all blocks has every counted request, with the same cost") {
  const auto [counts, recording] = record({0, 1, 2, 3});
  std::int64_t requests[2][2]{}, pieces[2][2]{}, ideal[2][2]{};
  for (const model::RecordedEvent& event : recording.events) {
    if (event.kind != EventKind::request) continue;
    const model::RecordedSite& site = recording.sites[event.site];
    const bool shared = recording.arrays[site.array].shared;
    const bool loads = site.direction == model::Direction::load;
    requests[shared][loads] += 1;
    pieces[shared][loads] += event.pieces;
    ideal[shared][loads] += event.ideal;
  }
  const model::Traffic* traffic[2][2] = {
      {&counts.gmem_stores, &counts.gmem_loads}, {&counts.smem_stores, &counts.smem_loads}};
  for (const int shared : {0, 1}) {
    for (const int loads : {0, 1}) {
      CHECK(traffic[shared][loads]->requests > 0);
      CHECK(requests[shared][loads] == traffic[shared][loads]->requests);
      CHECK(pieces[shared][loads] == traffic[shared][loads]->pieces);
      CHECK(ideal[shared][loads] == traffic[shared][loads]->ideal_pieces);
    }
  }
  CHECK(count(recording, EventKind::block_begin) == 4);
  CHECK(count(recording, EventKind::barrier) == 4 * 2 * 2);
  CHECK(count(recording, EventKind::block_end) == 4);
  CHECK(recording.complete);
  CHECK(recording.hazards.empty());
}

TEST_CASE("only the chosen blocks are recorded, one warp after the other between two barriers") {
  const auto [counts, recording] = record({2});
  CHECK(counts.blocks_traced == 4);
  REQUIRE(recording.events.size() > 2);
  CHECK(recording.events.front().kind == EventKind::block_begin);
  CHECK(recording.events.back().kind == EventKind::block_end);
  for (std::size_t i = 1; i < recording.events.size(); ++i) {
    const model::RecordedEvent &before = recording.events[i - 1], &event = recording.events[i];
    CHECK(event.block == 2);
    CHECK(event.epoch == before.epoch + (before.kind == EventKind::barrier));
    if (event.kind == EventKind::request && before.kind == EventKind::request) {
      CHECK(event.warp >= before.warp);
    }
  }
}

TEST_CASE("a recording ends at its size limit, and says so") {
  const model::Recording recording = record({0, 1}, 10).recording;
  CHECK(recording.events.size() == 10);
  CHECK(!recording.complete);
}

TEST_CASE("without a recorder the counts are the same") {
  const auto [counts, recording] = record({});
  CHECK(recording.events.empty());
  CHECK(counts.smem_loads.requests == record({0}).counts.smem_loads.requests);
}

TEST_CASE("a function ends at its own brace, not at one of a comment or a string") {
  const char* const source = "void f() {\n  // {\n  g(\"\\\"}\", '}', '\"');  /* }\n */ 1'0;\n}\n}";
  CHECK(closing_line(source, 1) == 5);
}

TEST_CASE("a function begins below an #include or a using, and with its template") {
  CHECK(heading_line({"#include <cmath>", "template <int N>", "void f() {", "  g();"}, 4) == 2);
  CHECK(heading_line({"using namespace std;", "void f() {", "#pragma unroll", "  g();"}, 4) == 2);
}

TEST_CASE("a user's gemm_steps.cu is read from its file, ours from the compiled text") {
  std::optional<testing::Folder> folder(std::in_place);
  const std::string file = *folder / "gemm_steps.cu";
  for (const char* name : {"gemm_steps.cu", "my_gemm_steps.cu"}) {
    CAPTURE(std::string(name));
    folder->write(name, "// a student's own\n");
    CHECK(source_text(*folder / name) == "// a student's own\n");
  }
  folder.reset();

  const std::string ours = source_text("gemm_steps.cu");
  CHECK(ours.find("stage_table") != std::string::npos);
  CHECK(source_text(file) == ours);  // the file no longer exists
}

}  // namespace trace
