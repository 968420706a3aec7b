#include "grade/outside.h"

#include <algorithm>
#include <bit>

#include "grade/case.h"
#include "grade/element.h"
#include "grade/thread_name.h"
#include "lab/run.h"
#include "text/numbers.h"
#include "trace/recorder.h"
#include "trace/source_lines.h"

namespace grade {

namespace {

constexpr std::size_t kMostEvents = 200'000;

bool is_outside(const model::LineCounts& line) {
  return line.array.starts_with(kOutside);
}

// Which matrix the memory called `array` lies beside: 0 for A to 2 for C.
int matrix_beside(const std::string& array) {
  const auto names = array_names(exercise.product);
  for (int matrix = 0; matrix < 3; ++matrix) {
    if (array.ends_with(std::string(" ") + names[matrix])) return matrix;
  }
  return 0;
}

const lab::Floats& floats_of(const Case& c, int matrix) {
  return matrix == 0 ? c.A : matrix == 1 ? c.B : c.C;
}

// The position of a byte in that matrix, or in the memory beside it, in floats from the matrix's
// start.
std::int64_t float_at(const Case& c, int matrix, const std::string& array, std::uint64_t byte) {
  const std::int64_t at = static_cast<std::int64_t>(byte) >> 2;
  if (array.starts_with(kBefore)) return at - static_cast<std::int64_t>(kFence);
  if (array.starts_with(kOutside)) return at + std::ssize(floats_of(c, matrix));
  return at;
}

struct Reach {
  std::int64_t block, thread, at;  // `at`: in floats from the matrix's start
};

// The first thread of the recorded blocks that reaches beside the matrix on that line. The request
// of a warp that goes to both belongs to the one that its first lane asks for.
std::optional<Reach> first_reach(
    const Case& c, const model::Recording& recording, const model::LineCounts& line) {
  const int matrix = matrix_beside(line.array);
  const std::string name = array_names(exercise.product)[matrix];
  for (const model::RecordedEvent& event : recording.events) {
    if (event.kind != model::RecordedEvent::Kind::request) continue;
    const model::RecordedSite& site = recording.sites[event.site];
    if (site.array < 0 || site.line != line.line || site.direction != line.direction) continue;
    const std::string& array = recording.arrays[site.array].name;
    if (array != name && !(array.starts_with(kOutside) && array.ends_with(" " + name))) continue;
    for (std::uint32_t lanes = event.access.active; lanes != 0; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      const std::int64_t at = float_at(c, matrix, array, event.access.address[lane]);
      if (at >= 0 && at < std::ssize(floats_of(c, matrix))) continue;
      return Reach{event.block, 32 * event.warp + lane, at};
    }
  }
  return std::nullopt;
}

// "line 11: thread (0, 1) of block (0, 7) loads A(57, 0), row 57; A has rows 0 to 56"
std::string who_reaches(const Case& c, const model::LineCounts& line) {
  const auto& grid = c.row.launch->grid;
  const std::int64_t across = grid.x, last = c.row.counts->blocks - 1;
  trace::Recorder recorder{
      .blocks = {line.worst_block, 0, across - 1, last - across + 1, last},
      .most_events = kMostEvents};
  Case again = c;
  run_recorded(again, recorder);
  model::Recording& recording = recorder.launches.at(0);
  trace::resolve_lines(recording, trace::kernel_lines(c.kernel));
  const std::string where = line.line > 0 ? text::printed("line %d: ", line.line) : "";
  const std::optional<Reach> reach = first_reach(c, recording, line);
  if (!reach) return where + "some thread of the launch does it";
  const int matrix = matrix_beside(line.array);
  return where + "thread " + thread_name(c, reach->thread) + " of block " +
         block_name(c, reach->block) + " " + lab::name_of(line.direction) + "s " +
         element_text(c, matrix, reach->at) + bounds_text(c, matrix, reach->at);
}

}  // namespace

bool reaches_outside(const Case& c) {
  return std::ranges::any_of(c.row.counts->lines, is_outside);
}

std::optional<Complaint> complaint_about_outside(const Case& c) {
  const std::vector<model::LineCounts>& lines = c.row.counts->lines;
  const auto line = std::ranges::find_if(lines, is_outside);
  if (line == lines.end()) return std::nullopt;
  const std::string name = array_names(exercise.product)[matrix_beside(line->array)];
  const bool stores = line->direction == model::Direction::store;
  return Complaint{
      "memory outside of " + name + (stores ? " is written" : " is read"),
      std::string("at the ") + lab::name_of(line->direction) + " of " + name +
          ": which threads may do it?",
      who_reaches(c, *line), Gravity::outside};
}

}  // namespace grade
