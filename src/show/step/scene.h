// A scene: the recorded work of the first blocks of one launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/recording.h"
#include "model/warp_access.h"
#include "show/pictures/block_requests.h"

namespace step {

// What an action belongs to.
struct ActionContext {
  // Of the phase of its barrier: what has come or is on its way after this action, and in all.
  struct Sums {
    int arrivals = 0, boxes = 0;
    std::uint64_t bytes = 0;
  } so_far, in_all;
  bool completes = false;   // that phase, as a thread has seen: else in_all may lack something
  int multiplied = 0;       // the wgmma that the action's warp has started
  std::ptrdiff_t box = -1;  // of a wgmma: the action that brought its operand; -1 if none did
};
std::vector<ActionContext> contexts_of(const model::Recording& recording);  // of each action

// The recording of one launch. It does not change.
struct StepScene {
  std::string name;                       // "stage 3, shared-memory tiling (32x32)"
  std::string problem;                    // "C (32 x 64), K = 64"
  model::Recording recording;             // with lines; at least one event
  std::vector<std::string> source;        // the lines of the kernel's file
  int source_first = 0, source_last = 0;  // the kernel's lines, from 1; 0 if unknown
  std::vector<std::string> sentences;     // for each of recording.hazards
  std::string fault;                      // why the kernel could not continue; empty if it could
  std::vector<int> row_words;             // for each of recording.arrays, for its picture
  std::vector<ActionContext> contexts;    // for each of recording.actions
};

// The steps of the block that the event `at` belongs to. They are consecutive in recording.events.
struct BlockSteps {
  std::size_t begin, end;
};
BlockSteps steps_of_block(const model::Recording& recording, std::size_t at);

// The event that shows a hazard best: its second access if it has one.
std::size_t shown_at(const model::RecordedHazard& hazard);

// Calls visit(word) for each word that these lanes access.
template <class Visit>
void for_each_word(const model::WarpAccess& access, std::uint32_t lanes, Visit visit) {
  model::for_each_lane(lanes, [&](int lane) { model::for_each_word(access, lane, visit); });
}

// What an event of Kind::action consists of.
std::span<const model::RecordedAction> actions_at(
    const model::Recording& recording, std::size_t at);

// What happens at that step: "warp 1, 32 lanes store 4 B to As: 2 wavefronts, ideal 1 <- bank
// conflict".
std::string step_text(const StepScene& scene, std::size_t at);

// Why the request at that step costs what it costs, report::request_sentence; or what the action at
// that step waits for, or who waits for it. Empty for other steps.
std::string sentence_at(const StepScene& scene, std::size_t at);

}  // namespace step
