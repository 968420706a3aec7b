// Timelines in a file: what a run recorded, from which its picture can be drawn again.
#pragma once

#include <string>
#include <string_view>

#include "cluster/timeline.h"

namespace cluster {

struct RecordedTimelines {
  std::string what;  // "16384 x 16384 x 16384 on 2 H200, stage 14"
  Timeline model, measured;
};

// CSV: a line "# " with `what`, a heading, and a line for each span.
std::string timelines_csv(const RecordedTimelines& timelines);

// Throws std::invalid_argument for anything else.
RecordedTimelines read_timelines(std::string_view csv);

// The one of two H200 that travels in the program.
RecordedTimelines recorded_timelines();

}  // namespace cluster
