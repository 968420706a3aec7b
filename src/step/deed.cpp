#include "step/parts.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "model/wavefronts.h"
#include "pictures/block_requests.h"
#include "text/numbers.h"

namespace step {

namespace {

using Kind = model::RecordedEvent::Kind;

std::string thread_text(const model::Recording& recording, int thread) {
  const int x = static_cast<int>(recording.block.x), y = static_cast<int>(recording.block.y);
  std::string text = text::printed("(%d, %d", thread % x, thread / x % y);
  if (recording.block.z > 1) text += text::printed(", %d", thread / x / y);
  return text + ")";
}

}  // namespace

Line deed(const StepScene& scene, const model::RecordedEvent& event) {
  const model::Recording& recording = scene.recording;
  const int lanes = std::popcount(event.access.active);
  const std::string warp =
      text::printed("warp %d, %d lane%s: ", event.warp, lanes, lanes == 1 ? "" : "s");
  const int threads = threads_of(recording);
  const int warps = warps_of(recording);
  switch (event.kind) {
    case Kind::block_begin:
      return {{text::printed(
          "the block begins: %d threads in %d warp%s; shared memory is empty", threads, warps,
          warps == 1 ? "" : "s")}};
    case Kind::block_end:
      return {{"the block ends: all its threads have left the kernel"}};
    case Kind::barrier:
      return {{"barrier: every thread of the block has reached __syncthreads()"}};
    case Kind::warp_barrier:
      return {{warp + "__syncwarp(): they wait for each other"}};
    case Kind::commit:
      return {{warp + "commit: the copies so far become a group"}};
    case Kind::wait: {
      std::uint64_t groups = 0;
      model::for_each_lane(event.access.active, [&](int l) { groups = event.access.address[l]; });
      const auto still = static_cast<unsigned long long>(groups);
      return {
          {warp + (groups == 0 ? "wait for all their copies"
                               : text::printed(
                                     "wait for their copies, except the last %llu "
                                     "group%s",
                                     still, groups == 1 ? "" : "s"))}};
    }
    case Kind::request:
      break;
  }
  const model::RecordedSite& site = *site_of(scene, event);
  const model::RecordedArray& array = *array_of(scene, event);
  const bool loads = site.direction == model::Direction::load;
  const char* verb = site.direction == model::Direction::copy ? "copy" : loads ? "load" : "store";
  const char* way =
      loads || (site.direction == model::Direction::copy && !array.shared) ? "from" : "to";
  const char* pieces = array.shared ? "wavefront" : "sector";
  Line line{{text::printed(
      "warp %d, %d lane%s %s%s %d B %s %s: %d %s%s, ideal %d", event.warp, lanes,
      lanes == 1 ? "" : "s", site.atomic ? "atomically " : "", verb, event.access.bytes, way,
      array.name.c_str(), event.pieces, pieces, event.pieces == 1 ? "" : "s", event.ideal)}};
  if (event.bank_conflicts + event.uncoalesced > 0) {
    line.push_back({array.shared ? " <- bank conflict" : " <- uncoalesced", text::Colour::yellow});
  }
  return line;
}

Line chosen_lane(const StepScene& scene, const StepState& state) {
  const model::RecordedEvent& event = scene.recording.events[state.at];
  const int warp = event.warp >= 0 ? event.warp : state.warp;
  const int thread = scene.recording.warp.thread_of(warp, state.lane);
  std::string text = text::printed("lane %d", state.lane);
  if (thread >= threads_of(scene.recording)) return {{text + ": the block has no such thread"}};
  text += " is thread " + thread_text(scene.recording, thread);
  if (event.kind != Kind::request) return {{text}};
  if (!(event.access.active >> state.lane & 1u)) return {{text + " and does not take part"}};
  const std::uint64_t byte = event.access.address[state.lane];
  const int columns = std::max(1, scene.row_words[site_of(scene, event)->array]);
  const auto word = byte / model::kWordBytes;
  text += text::printed(
      ": byte %llu, row %llu, column %llu", static_cast<unsigned long long>(byte),
      static_cast<unsigned long long>(word / columns),
      static_cast<unsigned long long>(word % columns));
  if (array_of(scene, event)->shared)
    text += text::printed(", bank %d", static_cast<int>(word % scene.recording.warp.banks));
  return {{text + text::printed(", drawn as %c", pictures::lane_sign(state.lane))}};
}

}  // namespace step
