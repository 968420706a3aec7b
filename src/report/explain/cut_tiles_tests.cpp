// What --explain and JSON say of a kernel that cuts tiles along K.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "testing/program.h"

namespace report {

namespace {

using testing::contains, testing::Output;

// In one line, so that it does not matter where a line is broken.
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

TEST_CASE("the prediction is right where all tiles are cut in equal parts, and where none is") {
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

TEST_CASE("one sentence says why the prediction is not right of parts of different kinds") {
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
