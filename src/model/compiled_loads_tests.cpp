#include "model/compiled_loads.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace model {

namespace {

constexpr const char* kFile = "/home/me/tiled.cu";

// A load or store of `bytes` bytes per lane, without conflicts; what it costs as a wider one is
// that of a broadcast.
LineCounts written(
    int line, const char* array, Direction direction, std::int64_t requests, int bytes = 4) {
  LineCounts counts;
  counts.line = line;
  counts.array = array;
  counts.shared = true;
  counts.direction = direction;
  counts.bytes = bytes;
  counts.requests = counts.pieces = requests;
  counts.worst_pieces = 1;
  if (direction == Direction::load) counts.merging.watched = requests;
  return counts;
}

// All lanes are aligned alike: a wide load takes `wavefronts`.
LineCounts widenable(LineCounts counts, int wavefronts) {
  const std::int64_t pairs = counts.requests / 2, fours = counts.requests / 4;
  counts.merging.by_64 = {pairs, pairs * wavefronts, wavefronts};
  counts.merging.by_128 = {fours, fours * wavefronts, wavefronts};
  counts.merging.in_pairs = counts.merging.in_fours = counts.merging.watched;
  return counts;
}

void make(
    SassKernel& kernel, int count, SharedInstruction::Kind kind, int bytes, int together,
    int line) {
  for (int i = 0; i < count; ++i) {
    kernel.instructions.push_back({kind, bytes, false, together, {{kFile, line}}});
  }
}

using Kind = SharedInstruction::Kind;

CompiledLoads compiled(const std::vector<LineCounts>& lines, const SassKernel& kernel) {
  Counts counts;
  counts.lines = lines;
  return compiled_loads(counts, kernel, kFile, 10, 40);
}

}  // namespace

TEST_CASE("a line whose compiled loads have one width has the bytes as written in such loads") {
  SassKernel kernel;
  make(kernel, 2, Kind::load, 16, 7, 20);
  make(kernel, 8, Kind::load, 4, 7, 21);
  const CompiledLoads loads = compiled(
      {widenable(written(20, "As", Direction::load, 800), 2),
       written(21, "Bs", Direction::load, 800)},
      kernel);
  REQUIRE(loads.lines.size() == 2);
  CHECK(loads.lines[0].compiled_requests == 200);
  CHECK(loads.lines[0].compiled_wavefronts == 400);
  CHECK(loads.lines[0].by_bytes[4] == 2);
  CHECK(loads.lines[1].compiled_requests == 800);
  CHECK(loads.lines[1].compiled_wavefronts == 800);
  CHECK(loads.requests() == 1000);
  CHECK(loads.wavefronts() == 1200);
}

TEST_CASE("of a line with two arrays, the wide loads are those of the array that can be wide") {
  SassKernel kernel;
  make(kernel, 8, Kind::load, 16, 7, 20);
  make(kernel, 32, Kind::load, 4, 7, 21);  // the compiler books B's to the next line
  const CompiledLoads loads = compiled(
      {widenable(written(20, "As", Direction::load, 3200), 1),
       written(20, "Bs", Direction::load, 3200)},
      kernel);
  REQUIRE(loads.lines.size() == 1);
  CHECK(loads.lines[0].arrays == std::vector<std::string>{"As", "Bs"});
  CHECK(loads.requests() == 800 + 3200);
  CHECK(loads.wavefronts() == 800 + 3200);
}

TEST_CASE("a store in the same basic block tells how often loads run that were partly left out") {
  SassKernel kernel;
  make(kernel, 2, Kind::store, 16, 7, 15);  // 100 times
  make(kernel, 8, Kind::load, 4, 7, 20);
  LineCounts repeated = written(20, "Bs", Direction::load, 6400);
  repeated.merging.repeated = 5600;
  const CompiledLoads loads =
      compiled({written(15, "As", Direction::store, 200, 16), repeated}, kernel);
  CHECK(loads.requests() == 800);
  CHECK(loads.wavefronts() == 800);

  // In another block, that cannot be told.
  for (SharedInstruction& made : kernel.instructions) {
    if (made.kind == Kind::load) made.together = 8;
  }
  const CompiledLoads unknown =
      compiled({written(15, "As", Direction::store, 200, 16), repeated}, kernel);
  REQUIRE(unknown.lines.size() == 1);
  CHECK(!unknown.lines[0].compiled_requests);
  CHECK(!unknown.requests());
  CHECK(!unknown.wavefronts());
}

TEST_CASE("a loop that is unrolled partly, with loads of two widths, cannot be told") {
  SassKernel kernel;
  make(kernel, 1, Kind::load, 16, 7, 20);
  make(kernel, 1, Kind::load, 4, 9, 20);  // the remaining iterations
  const std::vector<LineCounts> lines{widenable(written(20, "As", Direction::load, 100), 1)};
  CHECK(!compiled(lines, kernel).requests());
  // In one block it can.
  kernel.instructions[1].together = 7;
  CHECK(compiled(lines, kernel).requests() == 40);
  // Loads that some warps leave out are not as many.
  kernel.instructions[1].predicated = true;
  CHECK(!compiled(lines, kernel).requests());
}

TEST_CASE("wavefronts that differ from load to load are known if all loads became wide") {
  SassKernel kernel;
  make(kernel, 2, Kind::load, 16, 7, 20);
  LineCounts line = widenable(written(20, "As", Direction::load, 800), 1);
  line.merging.by_128 = {200, 300, 2};
  CHECK(compiled({line}, kernel).wavefronts() == 300);
  make(kernel, 1, Kind::load, 8, 7, 20);
  line.requests = line.pieces = 1000;
  line.merging.by_128 = {250, 375, 2};
  const CompiledLoads mixed = compiled({line}, kernel);
  CHECK(mixed.requests() == 300);
  CHECK(!mixed.wavefronts());
}

TEST_CASE("more compiled loads than the source has are a contradiction, and not told") {
  SassKernel kernel;
  make(kernel, 1, Kind::store, 4, 7, 15);
  make(kernel, 3, Kind::load, 4, 7, 20);
  LineCounts repeated = written(20, "Bs", Direction::load, 200);
  repeated.merging.repeated = 1;
  CHECK(!compiled({written(15, "As", Direction::store, 100), repeated}, kernel).requests());
}

TEST_CASE("an access in a helper belongs to the helper's line and the call's") {
  SassKernel kernel;
  kernel.instructions.push_back({Kind::load, 4, false, 7, {{kFile, 30}, {kFile, 5}}});
  kernel.instructions.push_back({Kind::load, 16, false, 8, {{kFile, 31}, {kFile, 5}}});
  LineCounts first = written(30, "As", Direction::load, 40);
  first.helper_line = 5;
  LineCounts second = widenable(written(31, "As", Direction::load, 40), 1);
  second.helper_line = 5;
  const CompiledLoads loads = compiled({first, second}, kernel);
  REQUIRE(loads.lines.size() == 2);
  CHECK(loads.lines[0].compiled_requests == 40);
  CHECK(loads.lines[1].compiled_requests == 10);
  CHECK(loads.lines[1].helper_line == 5);
}

TEST_CASE("neighbouring, aligned loads may be merged, and no others") {
  Counts counts;
  counts.lines = {
      widenable(written(20, "As", Direction::load, 800), 1),
      written(21, "Bs", Direction::load, 800),
      widenable(written(22, "Cs", Direction::load, 800), 1)};
  counts.lines[2].merging.in_fours = 400;
  const std::vector<MergeableLine> lines = mergeable_lines(counts);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].array == "As");
  CHECK(lines[0].loads == 4);
  CHECK(lines[0].wavefronts == 4);
  CHECK(lines[0].wavefronts_merged == 1);
  CHECK(lines[1].array == "Cs");
  CHECK(lines[1].loads == 2);
}

}  // namespace model
