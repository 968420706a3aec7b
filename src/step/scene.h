// What is stepped through: the recorded work of the first blocks of one launch.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/recording.h"

namespace step {

// What is stepped through, one launch; it does not change.
struct StepScene {
  std::string name;                       // "stage 3, shared-memory tiling (32x32)"
  std::string problem;                    // "C (32 x 64), K = 64"
  model::Recording recording;             // lines known; at least one event
  std::vector<std::string> source;        // the lines of the kernel's file
  int source_first = 0, source_last = 0;  // the kernel's, from 1; 0 where not known
  std::vector<std::string> sentences;     // for each of recording.hazards
  std::string fault;                      // why the kernel could not go on; empty where it could
  std::vector<int> row_words;             // of each of recording.arrays, for its picture
};

int threads_of(const model::Recording& recording);  // of a block
int warps_of(const model::Recording& recording);

// Where the event's access stands in the kernel; null for an event that is on no line.
const model::RecordedSite* site_of(const StepScene& scene, const model::RecordedEvent& event);
// What a request accesses; null for other events.
const model::RecordedArray* array_of(const StepScene& scene, const model::RecordedEvent& event);

// The steps of the block that the event `at` belongs to: they lie side by side in
// recording.events.
struct BlockSteps {
  std::size_t begin, end;
};
BlockSteps steps_of_block(const model::Recording& recording, std::size_t at);

// The event at which a hazard is best looked at: its second side, where there is one.
std::size_t shown_at(const model::RecordedHazard& hazard);

}  // namespace step
