#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cluster/report.h"
#include "show/pictures/svg.h"
#include "testing/pattern.h"

namespace cluster {

TEST_CASE("a timeline as text has a line for each lane that is used, and each step by its digit") {
  const Timeline timeline{
      {{0, Lane::arrive, 0, 0, 5}, {0, Lane::multiply, 0, 5, 10}, {1, Lane::multiply, 12, 0, 10}}};
  const std::vector<std::string> lines = drawn(timeline, 28);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "GPU 0 arrives    |00000");
  CHECK(lines[1] == "GPU 0 multiplies |     00000");
  CHECK(lines[2] == "GPU 1 multiplies |2222222222");
}

TEST_CASE("the picture of the owners has an arrow for each panel that a device receives") {
  const pictures::Picture picture = draw_ownership();
  const std::string& svg = picture.drawing.elements;
  // A head has two lines, and the legend has an arrow of its own. In a square each of 4 devices
  // receives one panel, and in a row each of the 3 others.
  CHECK(testing::all_matches(svg, "class=\"thick\" d=\"M[^L\"]*L[^L\"]*L").size() == 1 + 4 + 3);
  for (const char* device : {"0", "1", "2", "3"}) {
    CHECK(testing::all_matches(svg, std::string(">") + device + "</text>").size() == 6);
  }
}

}  // namespace cluster
