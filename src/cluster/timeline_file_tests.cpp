#include "cluster/timeline_file.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "cluster/report.h"

namespace cluster {

TEST_CASE("timelines are read as they were written, and nothing else is") {
  const RecordedTimelines written{
      "8 x 8 x 8 on 2 GPUs",
      {{{0, Lane::arrive, 0, 0, 0.5}, {1, Lane::multiply, 3, 0.5, 2.25}}},
      {{{0, Lane::leave, 1, 1, 1.125}}}};
  const std::string csv = timelines_csv(written);
  const RecordedTimelines read = read_timelines(csv);
  CHECK(timelines_csv(read) == csv);
  CHECK(read.what == written.what);
  REQUIRE(read.model.spans.size() == 2);
  CHECK(read.model.spans[1].device == 1);
  CHECK(read.model.spans[1].lane == Lane::multiply);
  CHECK(read.model.spans[1].end_ms == 2.25);
  REQUIRE(read.measured.spans.size() == 1);
  CHECK(read.measured.spans[0].lane == Lane::leave);

  CHECK_THROWS_AS(read_timelines(""), std::invalid_argument);
  CHECK_THROWS_AS(read_timelines("# what\nanother,heading\n"), std::invalid_argument);
  for (const char* line : {"model,0,sleep,0,0,1\n", "guess,0,arrive,0,0,1\n", "model,0,arrive\n"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(read_timelines(csv + line), std::invalid_argument);
  }
}

TEST_CASE("the timeline that travels in the program was measured on two GPUs") {
  const RecordedTimelines recorded = recorded_timelines();
  CHECK(recorded.what.find("2 H200") != recorded.what.npos);
  for (const Timeline* timeline : {&recorded.model, &recorded.measured}) {
    REQUIRE(!timeline->spans.empty());
    CHECK(timeline->spans.back().device == 1);
  }
  // The model's promise: within 15 % of what was measured.
  CHECK(recorded.model.ms() > 0.85 * recorded.measured.ms());
  CHECK(recorded.model.ms() < 1.15 * recorded.measured.ms());
}

TEST_CASE("a timeline as text has a line for each lane that is used, and each step by its digit") {
  const Timeline timeline{
      {{0, Lane::arrive, 0, 0, 5}, {0, Lane::multiply, 0, 5, 10}, {1, Lane::multiply, 12, 0, 10}}};
  const std::vector<std::string> lines = drawn(timeline, 28);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "GPU 0 arrives    |00000");
  CHECK(lines[1] == "GPU 0 multiplies |     00000");
  CHECK(lines[2] == "GPU 1 multiplies |2222222222");
}

}  // namespace cluster
