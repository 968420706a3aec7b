#include "model/recording.h"
#include "trace/recorder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "lab/problem.h"
#include "trace/source_lines.h"
#include "trace/trace.h"

namespace trace {

namespace {

using Kind = model::RecordedEvent::Kind;

struct Recorded {
  model::Counts counts;
  model::Recording recording;
};

// Stage 3 with tiles of 8 x 8: two warps per block, 16 x 16 x 16 in four blocks.
const model::Variant& small_tiles() {
  return model::find_stage(stage_table_traced.stages, 3)->variants[2];
}

Recorded record(std::vector<std::int64_t> blocks, std::size_t most_events = 1'000'000) {
  constexpr int kSize = 16, kElements = kSize * kSize;
  const lab::Floats A = lab::random_floats(kElements, 1), B = lab::random_floats(kElements, 2);
  lab::Floats C(kElements);
  const machine::GlobalArray arrays[] = {
      {"A", A.data(), kElements * sizeof(float)},
      {"B", B.data(), kElements * sizeof(float)},
      {"C", C.data(), kElements * sizeof(float), true}};
  Recorder recorder{std::move(blocks), most_events};
  machine::Machine machine{model::find_gpu("RTX 3090")};
  machine.recorder = &recorder;
  const model::Variant& variant = small_tiles();
  model::Counts counts = trace(machine, arrays, [&] {
    stage_table_traced.run(variant, 0, kSize, kSize, kSize, 1, A.data(), B.data(), 0, C.data());
  });
  REQUIRE(recorder.launches.size() == 1);
  model::Recording recording = recorder.launches[0];
  resolve_lines(recording, kernel_lines(recording.kernel));
  return {counts, recording};
}

std::int64_t count(const model::Recording& recording, Kind kind) {
  return std::count_if(
      recording.events.begin(), recording.events.end(),
      [&](const model::RecordedEvent& event) { return event.kind == kind; });
}

}  // namespace

TEST_CASE("a recording of all blocks has every counted request, with the same cost") {
  const auto [counts, recording] = record({0, 1, 2, 3});
  std::int64_t requests[2][2]{}, pieces[2][2]{}, ideal[2][2]{};
  for (const model::RecordedEvent& event : recording.events) {
    if (event.kind != Kind::request) continue;
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
  CHECK(count(recording, Kind::block_begin) == 4);
  CHECK(count(recording, Kind::barrier) == 4 * 2 * 2);
  CHECK(count(recording, Kind::block_end) == 4);
  CHECK(recording.complete);
  CHECK(recording.hazards.empty());
}

TEST_CASE("only the chosen blocks are recorded, one warp after the other between two barriers") {
  const auto [counts, recording] = record({2});
  CHECK(counts.blocks_traced == 4);
  REQUIRE(recording.events.size() > 2);
  CHECK(recording.events.front().kind == Kind::block_begin);
  CHECK(recording.events.back().kind == Kind::block_end);
  for (std::size_t i = 1; i < recording.events.size(); ++i) {
    const model::RecordedEvent &before = recording.events[i - 1], &event = recording.events[i];
    CHECK(event.block == 2);
    CHECK(event.epoch == before.epoch + (before.kind == Kind::barrier));
    if (event.kind == Kind::request && before.kind == Kind::request) {
      CHECK(event.warp >= before.warp);
    }
  }
}

TEST_CASE("a recorded event knows its line, its array and the lanes' addresses in it") {
  const model::Recording recording = record({3}).recording;
  const std::string source = source_text("gemm_steps.cu");
  const auto text = [&](const model::RecordedEvent& event) {
    std::size_t begin = 0;
    for (int line = recording.sites[event.site].line; line > 1; --line) {
      begin = source.find('\n', begin) + 1;
    }
    return source.substr(begin, source.find('\n', begin) - begin);
  };
  const auto next = [&](Kind kind, const char* array) {
    return *std::find_if(recording.events.begin(), recording.events.end(), [&](const auto& event) {
      return event.kind == kind &&
             (array[0] == '\0' ||
              recording.arrays[recording.sites[event.site].array].name == array);
    });
  };
  CHECK(text(next(Kind::barrier, "")).find("__syncthreads();") != std::string::npos);

  // The block in the second row and column: A's rows from 8 on (16 floats each), and B's columns.
  const model::RecordedEvent a = next(Kind::request, "A"), b = next(Kind::request, "B");
  CHECK(text(a).find("As[row][col] = load_or_zero(A") != std::string::npos);
  CHECK(a.access.active == 0xffffffffu);
  CHECK(a.access.bytes == 4);
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    const std::uint64_t row = lane / 8, col = lane % 8;
    CHECK(a.access.address[lane] == ((8 + row) * 16 + col) * sizeof(float));
    CHECK(b.access.address[lane] == (row * 16 + 8 + col) * sizeof(float));
  }
  CHECK(a.pieces == 4);

  const model::RecordedEvent store = next(Kind::request, "As");
  CHECK(recording.sites[store.site].direction == model::Direction::store);
  CHECK(recording.arrays[recording.sites[store.site].array].bytes == 8 * 8 * sizeof(float));
  for (int lane = 0; lane < model::kWarpSize; ++lane)
    CHECK(store.access.address[lane] == lane * 4u);
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

}  // namespace trace
