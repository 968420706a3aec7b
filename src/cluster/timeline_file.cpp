#include "cluster/timeline_file.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

#include "text/numbers.h"

namespace cluster {

// cluster.mk makes this file again if the recording changes.
asm(".pushsection .rodata\n"
    "recorded_timeline:\n"
    ".incbin \"results/gpus-h200-timeline.csv\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char recorded_timeline[] __attribute__((visibility("hidden")));

namespace {

constexpr const char* kHeading = "source,gpu,lane,step,begin_ms,end_ms";
constexpr std::array kLanes = {"arrive", "multiply", "leave"};

void append(std::string& csv, const char* source, const Timeline& timeline) {
  for (const Span& span : timeline.spans) {
    csv += text::printed(
        "%s,%d,%s,%d,%.4f,%.4f\n", source, span.device, kLanes[static_cast<int>(span.lane)],
        span.step, span.begin_ms, span.end_ms);
  }
}

}  // namespace

std::string timelines_csv(const RecordedTimelines& timelines) {
  std::string csv = "# " + timelines.what + "\n" + kHeading + "\n";
  append(csv, "model", timelines.model);
  append(csv, "measured", timelines.measured);
  return csv;
}

RecordedTimelines read_timelines(std::string_view csv) {
  std::istringstream lines{std::string(csv)};
  RecordedTimelines timelines;
  std::string line;
  std::getline(lines, line);
  if (!line.starts_with("# ")) throw std::invalid_argument("the first line says nothing");
  timelines.what = line.substr(2);
  std::getline(lines, line);
  if (line != kHeading) throw std::invalid_argument("the heading is another: " + line);
  while (std::getline(lines, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream cells(line);
    std::string source, lane;
    Span span{};
    cells >> source >> span.device >> lane >> span.step >> span.begin_ms >> span.end_ms;
    const auto known = std::find(kLanes.begin(), kLanes.end(), lane);
    if (!cells || known == kLanes.end() || (source != "model" && source != "measured")) {
      throw std::invalid_argument("no span: " + line);
    }
    span.lane = static_cast<Lane>(known - kLanes.begin());
    (source == "model" ? timelines.model : timelines.measured).spans.push_back(span);
  }
  return timelines;
}

RecordedTimelines recorded_timelines() {
  return read_timelines(recorded_timeline);
}

}  // namespace cluster
