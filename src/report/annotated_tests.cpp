#include "report/annotated.h"

#include <doctest/doctest.h>

#include <string>

#include "testing/program.h"

namespace report {

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
  CHECK(contains(sectors, "3 lanes, 2 sectors"));
  CHECK(contains(sectors, "byte          0  [ 0 1 . . . . . . ]"));
  CHECK(contains(sectors, "byte       1024  [ 3 . . . . . . . ]"));

  row.counts->lines[0].shared = true;  // lanes 0 and 3 want different words of bank 0
  const std::string banks = worst_request(row, {});
  CHECK(contains(banks, "wavefront 1  0 1 . ."));
  CHECK(contains(banks, "wavefront 2  3 . . ."));

  row.counts->lines[0].pieces = 1;
  CHECK(worst_request(row, {}).empty());
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
    CHECK(contains(picture, std::to_string(line.worst_pieces) + " wavefronts."));
    CHECK(count_of(picture, "  wavefront ") == line.worst_pieces);
  }
}

}  // namespace report
