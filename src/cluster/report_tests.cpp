#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cluster/report.h"
#include "show/pictures/svg.h"
#include "testing/pattern.h"
#include "text/numbers.h"

namespace cluster {

TEST_CASE("timelines are read back as written, and anything else is refused") {
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

TEST_CASE("the embedded timeline was measured on two GPUs") {
  const RecordedTimelines recorded = recorded_timelines();
  CHECK(recorded.what.find("2 H100") != recorded.what.npos);
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

namespace {

constexpr Shape kSquare{16384, 16384, 16384};

struct Rect {
  double x, y, wide, high;
};

// The areas of a class in drawing order, with or without a border.
std::vector<Rect> areas(const pictures::Picture& picture, const std::string& fill) {
  const std::string number = "(-?[\\d.]+)";
  std::vector<Rect> found;
  const auto add = [&](const std::string& text, const std::string& what) {
    for (const testing::Match& m : testing::all_matches(text, what)) {
      found.push_back({std::stod(m[1]), std::stod(m[2]), std::stod(m[3]), std::stod(m[4])});
    }
  };
  const std::string& svg = picture.drawing.elements;
  add(svg, "<rect class=\"area " + fill + "\" x=\"" + number + "\" y=\"" + number + "\" width=\"" +
               number + "\" height=\"" + number + "\"");
  const std::string area = "M" + number + " " + number + "h" + number + "v" + number;
  const std::string path = "<path class=\"" + fill + "\" d=\"";
  for (std::size_t at = 0; (at = svg.find(path, at)) != svg.npos;) {
    at += path.size();
    add(svg.substr(at, svg.find('"', at) - at), area);
  }
  return found;
}

// Without the sample in the legend.
std::vector<Rect> drawn(const pictures::Picture& picture, const std::string& fill) {
  std::vector<Rect> all = areas(picture, fill);
  if (!all.empty()) all.erase(all.begin());
  return all;
}

struct Words {
  std::string words;
  double left, top, right, bottom;
  bool on_fill;
};

// The places of words, in the widest font.
std::vector<Words> words_of(const pictures::Picture& picture) {
  const std::string text =
      "<text(?: class=\"([^\"]*)\")? x=\"([^\"]*)\" y=\"([^\"]*)\">([^<]*)</text>";
  std::vector<Words> all;
  const std::string svg = svg_file(picture);
  for (const testing::Match& m : testing::all_matches(svg, text)) {
    const std::string classes = m[1], words = testing::replaced(m[4], "&#39;", "'");
    const auto is = [&](const char* name) { return classes.find(name) != classes.npos; };
    const double size = is("title") ? 18 : is("small") ? 12 : 14;
    const double width =
        size / 14 * pictures::text_width(words, {.bold = is("bold") || is("title")});
    const double x = std::stod(m[2]), y = std::stod(m[3]);
    const double left = is("middle") ? x - width / 2 : is("end") ? x - width : x;
    all.push_back({words, left, y - 0.72 * size, left + width, y, is("on")});
  }
  return all;
}

bool has_words(const pictures::Picture& picture, const std::string& start) {
  const std::vector<Words> all = words_of(picture);
  return std::any_of(
      all.begin(), all.end(), [&](const Words& one) { return one.words.starts_with(start); });
}

double level_of(const pictures::Picture& picture, const std::string& start) {
  for (const Words& one : words_of(picture)) {
    if (one.words.starts_with(start)) return one.bottom;
  }
  FAIL("no words start with " << start);
  return 0;
}

bool overlap(const Words& a, double left, double top, double right, double bottom) {
  constexpr double kTouch = 0.5;
  return std::min(a.right, right) - std::max(a.left, left) > kTouch &&
         std::min(a.bottom, bottom) - std::max(a.top, top) > kTouch;
}

// One sentence for each fault: words or areas outside of the picture, words over words or over the
// line of an arrow, which is level or vertical.
std::vector<std::string> faults_of(const pictures::Picture& picture) {
  std::vector<std::string> faults;
  const std::vector<Words> all = words_of(picture);
  const double height = picture.drawing.height;
  const std::string svg = picture.drawing.elements;
  const std::vector<testing::Match> lines = testing::all_matches(
      svg, "<path class=\"thick\" d=\"M([\\d.]+) ([\\d.]+)L([\\d.]+) ([\\d.]+)\"");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Words& one = all[i];
    const std::string quoted = "\"" + one.words + "\"";
    if (one.left < 8 || one.right > pictures::kPictureWidth - 8 || one.top < 4 ||
        one.bottom > height - 4) {
      faults.push_back(quoted + " leaves the picture");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(one, all[j].left, all[j].top, all[j].right, all[j].bottom)) {
        faults.push_back(quoted + " lies over \"" + all[j].words + "\"");
      }
    }
    for (const testing::Match& m : lines) {
      const auto [x1, x2] = std::minmax({std::stod(m[1]), std::stod(m[3])});
      const auto [y1, y2] = std::minmax({std::stod(m[2]), std::stod(m[4])});
      if (overlap(one, x1 - 1, y1 - 1, x2 + 1, y2 + 1)) {
        faults.push_back(quoted + " lies over an arrow");
      }
    }
  }
  for (const char* fill : {"paper", "quiet", "one", "warp", "other"}) {
    for (const Rect& area : areas(picture, fill)) {
      if (area.x < 8 || area.y < 8 || area.x + area.wide > pictures::kPictureWidth - 8 ||
          area.y + area.high > height - 8) {
        faults.push_back(std::string("an area of class ") + fill + " leaves the picture");
      }
    }
  }
  return faults;
}

void check_layout(const pictures::Picture& picture) {
  CHECK(words_of(picture).size() > 5);
  for (const std::string& fault : faults_of(picture)) FAIL_CHECK(fault);
}

// The same product with other times.
Timeline stretched(Timeline timeline, double by) {
  for (Span& span : timeline.spans) {
    span.begin_ms *= by;
    span.end_ms *= by;
  }
  return timeline;
}

Timeline predicted(Grid grid, int panel) {
  return predict(schedule(kSquare, grid, panel), find_link("pcie4"), 40);
}

std::size_t arrows(const pictures::Picture& picture) {
  // A head has two lines, and the legend has an arrow of its own.
  const std::string head = "class=\"thick\" d=\"M[^L\"]*L[^L\"]*L";
  return testing::all_matches(picture.drawing.elements, head).size() - 1;
}

std::size_t receipts(const Schedule& s, int step) {
  std::size_t count = 0;
  for (int device = 0; device < s.grid.devices(); ++device) {
    count += s.receives_A(device, s.steps[step]) + s.receives_B(device, s.steps[step]);
  }
  return count;
}

std::string in_GB(Shape shape, Grid grid) {
  return text::significant(4e-9 * floats_that_travel(shape, grid)) + " GB travel";
}

// Two devices. The first copies for 4 ms, of which 2 are hidden, and sends results for 1 ms.
const Timeline kByHand{
    {{0, Lane::arrive, 0, 0, 2},
     {0, Lane::multiply, 0, 2, 6},
     {0, Lane::arrive, 1, 2, 4},
     {0, Lane::multiply, 1, 6, 9},
     {0, Lane::leave, 1, 9, 10},
     {1, Lane::arrive, 0, 0, 2},
     {1, Lane::multiply, 0, 2, 5}}};

}  // namespace

TEST_CASE("the words of a schedule's picture do not overlap, on any grid") {
  for (const Shape shape :
       {kSquare, Shape{131072, 1000, 131072}, Shape{1000, 131072, 65536}, Shape{64, 64, 131072},
        Shape{100, 131, 77}, Shape{9, 9, 1}, Shape{100, 131, 0}}) {
    for (const int devices : {1, 4, 6}) {
      for (int rows = 1; rows <= devices; ++rows) {
        if (devices % rows != 0) continue;
        const Schedule s = schedule(shape, {rows, devices / rows}, usual_panel(shape.K));
        const int steps = static_cast<int>(s.steps.size());
        for (const int step : {0, steps / 2, steps - 1}) {
          CAPTURE(in_words(s.grid) + text::printed(", K = %d, step %d", shape.K, step));
          check_layout(draw_ownership(s, step));
        }
      }
    }
  }
}

TEST_CASE("the words of a timeline's picture do not overlap, for 1 to 8 devices") {
  for (const Grid grid : {Grid{1, 1}, {3, 1}, {2, 2}, {2, 4}}) {
    for (const int panel : {256, 16384}) {
      CAPTURE(in_words(grid) + text::printed(", panel %d", panel));
      const Timeline model = predicted(grid, panel);
      for (const double by : {1e-6, 0.97, 1e4}) {
        check_layout(draw_timeline(stretched(model, by), stretched(model, 1.1 * by), "on GPUs"));
        check_layout(draw_timeline(stretched(model, by), {}, "on GPUs"));
      }
    }
    const Timeline streamed =
        predict(streams(kSquare, grid, 2048, true, 2e9), find_link("pcie4"), 40);
    check_layout(draw_timeline(streamed, stretched(streamed, 0.9), "from the host's memory"));
  }
}

TEST_CASE("words that cannot be read are found in a picture of devices") {
  const auto faults = [](auto draw) {
    pictures::Svg svg;
    draw(svg);
    return faults_of({"name", "Title", {"", svg.elements(), 200}}).size();
  };
  using pictures::Svg;
  CHECK(faults([](Svg& svg) { svg.text(24, 90, "device 0"), svg.text(104, 90, "multiply"); }) == 0);
  CHECK(faults([](Svg& svg) { svg.text(24, 90, "device 0"), svg.text(60, 90, "multiply"); }) == 1);
  CHECK(faults([](Svg& svg) { svg.text(760, 90, "device 0"); }) == 1);
  CHECK(faults([](Svg& svg) { svg.text(24, 90, "0"), svg.line(20, 86, 90, 86, "thick"); }) == 1);
  CHECK(faults([](Svg& svg) { svg.text(24, 90, "0"), svg.line(20, 99, 90, 99, "thick"); }) == 0);
  CHECK(faults([](Svg& svg) { svg.rect(700, 90, 99, 9, pictures::Fill::one); }) == 1);
}

TEST_CASE("a schedule's picture gives the bytes that travel on both grids") {
  for (const auto& [grid, other] :
       {std::pair{Grid{2, 2}, Grid{1, 4}},
        {Grid{1, 4}, Grid{2, 2}},
        {Grid{1, 2}, Grid{2, 1}},
        {Grid{2, 4}, Grid{1, 8}}}) {
    CAPTURE(in_words(grid));
    const pictures::Picture picture = draw_ownership(schedule(kSquare, grid, 2048), 0);
    for (const Grid& one : {grid, other}) {
      const std::string bytes = in_GB(kSquare, one);
      const std::string name = text::printed("%d × %d", one.rows, one.columns);
      CHECK(has_words(picture, name + ": " + bytes));
      CHECK(picture.drawing.finding.find(bytes + " on " + name) != std::string::npos);
    }
  }
  const pictures::Picture alone = draw_ownership(schedule(kSquare, {1, 1}, 2048), 0);
  CHECK(has_words(alone, "1 × 1: nothing travels"));
  CHECK(words_of(alone).size() < 20);
}

TEST_CASE("a schedule's picture has an arrow for each panel that a device receives") {
  for (const Grid grid : {Grid{2, 2}, {2, 4}, {4, 2}, {3, 2}}) {
    const Schedule s = schedule(kSquare, grid, 2048);
    const Schedule other = schedule(kSquare, {1, grid.devices()}, 2048);
    for (int step = 0; step < static_cast<int>(s.steps.size()); ++step) {
      CAPTURE(in_words(grid) + text::printed(", step %d", step));
      CHECK(arrows(draw_ownership(s, step)) == receipts(s, step) + receipts(other, 0));
    }
  }
  CHECK(arrows(draw_ownership(schedule(kSquare, {1, 1}, 2048), 0)) == 0);
  CHECK(arrows(draw_ownership(schedule({100, 131, 0}, {2, 2}, 2048), 0)) == 0);
}

TEST_CASE("a schedule's picture has the panel at its place in A and in B") {
  const Schedule s = schedule(kSquare, {2, 2}, 2048);
  for (const int step : {0, 2, 5, 7}) {
    CAPTURE(step);
    const pictures::Picture picture = draw_ownership(s, step);
    // A and B are drawn before C: two pieces of the panel each, which belong to two devices.
    const Rect A = areas(picture, "paper").at(0), B = areas(picture, "paper").at(1);
    const std::vector<Rect> in_A = drawn(picture, "warp"), in_B = drawn(picture, "other");
    const Part k = s.steps[step].k;
    const double at = k.begin / 16384.0, size = k.size / 16384.0;
    CHECK(in_A.at(0).x == doctest::Approx(A.x + at * A.wide).epsilon(0.02));
    CHECK(in_A.at(0).wide == doctest::Approx(size * A.wide).epsilon(0.02));
    CHECK(in_A.at(0).high + in_A.at(1).high == doctest::Approx(A.high).epsilon(0.02));
    CHECK(in_B.at(0).y == doctest::Approx(B.y + at * B.high).epsilon(0.02));
    CHECK(in_B.at(0).high == doctest::Approx(size * B.high).epsilon(0.02));
    CHECK(in_B.at(0).wide + in_B.at(1).wide == doctest::Approx(B.wide).epsilon(0.02));
  }
}

TEST_CASE("a schedule's picture names every device's part of A, B and C, on both grids") {
  for (const Grid grid : {Grid{2, 2}, {2, 4}, {1, 8}, {8, 1}}) {
    const pictures::Picture picture = draw_ownership(schedule(kSquare, grid, 2048), 3);
    for (int device = 0; device < grid.devices(); ++device) {
      int named = 0;
      for (const Words& one : words_of(picture)) named += one.words == std::to_string(device);
      CHECK(named == 6);
    }
    CHECK(drawn(picture, "one").size() == 6);
  }
}

TEST_CASE(
    "a schedule's picture has the senders, and the first device's bytes sent, received and held") {
  const Schedule s = schedule({4000, 8000, 2000}, {2, 2}, 500);
  // The last columns of A belong to the grid's second column, and the last rows of B to its second
  // row.
  const int last = static_cast<int>(s.steps.size()) - 1;
  const Part k = s.steps[last].k;
  const std::string finding = draw_ownership(s, last).drawing.finding;
  CAPTURE(finding);
  const auto says = [&](const std::string& words) {
    return finding.find(words) != std::string::npos;
  };
  const auto MB = [](std::int64_t bytes) {
    return text::significant(1e-6 * static_cast<double>(bytes)) + " MB";
  };
  const Load load = predicted_load(s, 0);
  CHECK(says(text::printed("In step %d, with k = %d to 1999, ", last, k.begin)));
  CHECK(says("devices 1 and 3 send their parts of a panel of A along the grid's rows"));
  CHECK(says("and devices 2 and 3 send their parts of a panel of B"));
  CHECK(says("Device 0 receives " + MB(load.bytes_received) + ", sends " + MB(load.bytes_sent)));
  CHECK(says("holds " + MB(load.bytes_held) + " at most"));
  CHECK_THROWS_AS(draw_ownership(s, last + 1), std::out_of_range);
}

TEST_CASE("each span of both timelines is drawn, and those that are wide enough are named") {
  const auto count = [](const Timeline& timeline, Lane lane) {
    return static_cast<std::size_t>(std::count_if(
        timeline.spans.begin(), timeline.spans.end(),
        [&](const Span& span) { return span.lane == lane; }));
  };
  for (const int panel : {2048, 64}) {
    CAPTURE(panel);
    const Timeline model = predicted({2, 2}, panel), measured = stretched(model, 1.2);
    const pictures::Picture both = draw_timeline(model, measured, ""),
                            alone = draw_timeline(model, {}, "");
    CHECK(drawn(alone, "warp").size() == count(model, Lane::arrive));
    CHECK(drawn(alone, "one").size() == count(model, Lane::multiply));
    CHECK(drawn(both, "warp").size() == 2 * count(model, Lane::arrive));
    CHECK(drawn(both, "one").size() == 2 * count(model, Lane::multiply));
    CHECK(has_words(alone, "step 7") == (panel == 2048));
  }
  const Timeline streamed =
      predict(streams(kSquare, {1, 2}, 2048, false, 2e9), find_link("pcie4"), 40);
  REQUIRE(count(streamed, Lane::leave) > 1);
  CHECK(drawn(draw_timeline(streamed, {}, ""), "other").size() == count(streamed, Lane::leave));
}

TEST_CASE("a span begins and ends at its time, and both timelines have one axis") {
  const Timeline twice = stretched(kByHand, 2);  // 20 ms
  const pictures::Picture picture = draw_timeline(kByHand, twice, "");
  const Rect row = areas(picture, "paper").at(0);
  const std::vector<Rect> multiplied = drawn(picture, "one");
  REQUIRE(multiplied.size() == 6);
  const auto at = [&](double ms) { return doctest::Approx(row.x + ms / 20 * row.wide); };
  CHECK(multiplied[0].x == at(2));
  CHECK(multiplied[0].x + multiplied[0].wide == at(6));
  CHECK(multiplied[3].x == at(4));
  CHECK(multiplied[3].x + multiplied[3].wide == at(12));
  CHECK(multiplied[4].x + multiplied[4].wide == at(18));
  for (const Words& one : words_of(picture)) {
    if (one.words == "10") CHECK((one.left + one.right) / 2 == at(10));
  }
  CHECK(has_words(picture, "10"));
}

TEST_CASE("the model's timeline is above the measured one, which is left out if there is none") {
  const pictures::Picture both = draw_timeline(kByHand, stretched(kByHand, 2), "on 2 GPUs");
  const double model = level_of(both, "Model: 10.0 ms"),
               measured = level_of(both, "Measured: 20.0 ms");
  CHECK(level_of(both, "on 2 GPUs") < model);
  CHECK(model < measured);
  const std::vector<Rect> multiplied = drawn(both, "one");
  for (int i = 0; i < 3; ++i) {
    CHECK(multiplied[i].y > model);
    CHECK(multiplied[i].y < measured);
    CHECK(multiplied[i + 3].y > measured);
  }
  const pictures::Picture alone = draw_timeline(kByHand, {}, "on 2 GPUs");
  CHECK_FALSE(has_words(alone, "Measured"));
  CHECK(alone.drawing.finding.ends_with("This is a model: nothing was measured."));
  CHECK(both.drawing.finding.find("nothing was measured") == std::string::npos);
  CHECK(alone.drawing.height < both.drawing.height);
}

TEST_CASE(
    "a timeline's picture has the total time, and the part of the copying that is not hidden") {
  const pictures::Picture picture = draw_timeline(kByHand, {}, "");
  CAPTURE(picture.drawing.finding);
  // 2 of 7 ms on both devices; the first copies for 3 of them alone.
  CHECK(kByHand.hidden() == doctest::Approx(2.0 / 7));
  CHECK(
      picture.drawing.finding ==
      "By the model, the product takes 10.0 ms, and 29 % of the copying is hidden behind "
      "multiplications. Device 0 copies for 3.00 ms without multiplying, 2.00 ms of it before "
      "its first multiplication and 1.00 ms after its last one. This is a model: nothing was "
      "measured.");
  CHECK(has_words(picture, "Model: 10.0 ms, 29 % of the copying is hidden"));

  const Timeline hidden{
      {{0, Lane::arrive, 0, 0, 0.1},
       {0, Lane::multiply, 0, 0.1, 100},
       {0, Lane::arrive, 1, 1, 90}}};
  const std::string almost = draw_timeline(hidden, hidden, "").drawing.finding;
  CHECK(almost.find("more than 99 % of the copying is hidden") != std::string::npos);
  CHECK(almost.find("for 0.100 ms without multiplying, all of it before") != std::string::npos);
  CHECK(almost.find("Measured, it takes 100 ms") != std::string::npos);

  const Timeline alone{{{0, Lane::multiply, 0, 0, 5}}};
  CHECK(draw_timeline(alone, {}, "")
            .drawing.finding.starts_with(
                "By the model, the product takes 5.00 ms, and nothing is copied."));
  CHECK_FALSE(has_words(draw_timeline(alone, {}, ""), "panels"));
}

}  // namespace cluster
