#include "simulator/trace/recorder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "simulator/machine/fault.h"

namespace trace {

EventRecord::EventRecord(model::Recorder* recorder, const std::vector<machine::KernelArray>& arrays)
    : recorder_(recorder),
      arrays_(arrays),
      launch_(recorder != nullptr ? &recorder->launches.back() : nullptr) {
  if (launch_ == nullptr || !launch_->arrays.empty()) return;
  for (const machine::KernelArray& array : arrays) {
    launch_->arrays.push_back({array.name, array.bytes, array.shared});
  }
}

void EventRecord::begin_block(std::int64_t block) {
  block_ = block;
  recording_ = recorder_ != nullptr && recorder_->records(block) ? launch_ : nullptr;
}

void EventRecord::request(
    Site& site, const Sites& sites, const model::WarpAccess& access, const RequestCost& cost,
    int warp) {
  if (site.recorded < 0) {
    site.recorded = static_cast<int>(recording_->sites.size());
    recording_->sites.push_back(
        {static_cast<int>(sites.array_of(site)), site.counts.direction,
         is_atomic(kind_of(site.token)), 0, sites.places_of(site)});
  }
  model::RecordedEvent event{model::RecordedEvent::Kind::request, block_, warp};
  event.site = site.recorded;
  event.access = access;
  machine::for_each_lane(
      access.active, [&](int l) { event.access.address[l] -= site.array->begin; });
  event.pieces = cost.pieces;
  event.ideal = cost.ideal;
  event.bank_conflicts = cost.bank_conflicts;
  event.uncoalesced = cost.uncoalesced;
  add_event(*recorder_, *recording_, event);
}

void EventRecord::event(
    model::RecordedEvent::Kind kind, std::vector<std::uint32_t> places,
    const model::WarpAccess& lanes, int warp) {
  std::vector<model::RecordedSite>& sites = recording_->sites;
  auto site = std::find_if(sites.begin(), sites.end(), [&](const model::RecordedSite& known) {
    return known.array < 0 && known.places == places;
  });
  if (site == sites.end()) {
    sites.push_back({.places = std::move(places)});
    site = sites.end() - 1;
  }
  model::RecordedEvent event{kind, block_, warp};
  event.site = static_cast<int>(site - sites.begin());
  event.access = lanes;
  add_event(*recorder_, *recording_, event);
}

void EventRecord::begin_or_end(model::RecordedEvent::Kind kind) {
  add_event(*recorder_, *recording_, {kind, block_});
}

bool EventRecord::action(int thread, const machine::AsyncAction& action) {
  using From = machine::AsyncAction::Kind;
  using To = model::RecordedAction::Kind;
  const std::pair<From, To> known[] = {
      {From::arrive, To::arrive},
      {From::wait, To::wait},
      {From::load, To::box},
      {From::multiply_tf32, To::multiply},
      {From::multiply, To::multiply},
      {From::multiply_transposed, To::multiply},
      {From::multiplied, To::multiplied},
      {From::init, To::init}};
  const auto kind = std::find_if(
      std::begin(known), std::end(known), [&](const auto& k) { return k.first == action.kind; });
  if (kind == std::end(known)) return false;
  if (recording_->actions.size() >= recorder_->most_events) {
    recording_->complete = false;
    return false;
  }
  model::RecordedAction recorded{kind->second, block_, thread, recording_->events.size()};
  recorded.value = action.value;
  recorded.named = action.id;
  if (kind->second != To::multiply) recorded.barrier = action.number;
  const auto place = [&](std::uintptr_t address, int& array, std::uint64_t& byte) {
    const auto holds = std::find_if(
        arrays_.begin(), arrays_.end(), [&](const auto& a) { return a.holds(address); });
    if (holds == arrays_.end()) return;
    array = static_cast<int>(holds - arrays_.begin());
    byte = address - holds->begin;
  };
  const auto address_of = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  if (action.copy != nullptr) {
    const machine::PartOfMatrix& part = action.copy->matrix;
    if (part.rows > 0) place(address_of(part.first), recorded.matrix, recorded.first);
    recorded.rows = part.rows;
    recorded.row_bytes = part.row_bytes;
    recorded.pitch_bytes = part.pitch_bytes;
    place(address_of(action.copy->shared), recorded.array, recorded.to);
    recorded.bytes = action.copy->bytes;
    recorded.swizzle = action.copy->swizzle;
    recorded.value = action.copy->phase;
  } else if (action.kind == From::init) {
    place(action.value, recorded.array, recorded.to);
  } else if (kind->second == To::multiply) {
    const std::uint32_t first = model::decoded(action.value).start;
    place(address_of(machine::pointer_to_shared(first, arrays_)), recorded.array, recorded.to);
    recorded.rows = static_cast<int>(action.number);
  }
  recording_->actions.push_back(recorded);
  return true;
}

void EventRecord::hazards(std::span<const model::Hazard> found) {
  if (!recording_->complete) return;
  for (const model::Hazard& hazard : found) {
    const auto event_of = [&](std::int64_t block, const model::Hazard::Actor& actor) {
      return find_event(*recording_, block, actor.thread, actor.places, hazard.byte);
    };
    model::RecordedHazard recorded{hazard, recording_->events.size() - 1};
    recorded.first = event_of(hazard.block, hazard.first);
    if (hazard.second.thread >= 0) {
      recorded.second =
          event_of(hazard.other_block < 0 ? hazard.block : hazard.other_block, hazard.second);
    }
    recording_->hazards.push_back(recorded);
  }
}

void EventRecord::crash(const model::Hazard& hazard) {
  recording_->hazards.push_back({hazard, recording_->events.size() - 1});
}

void add_event(
    const model::Recorder& recorder, model::Recording& recording, model::RecordedEvent event) {
  std::vector<model::RecordedEvent>& events = recording.events;
  if (events.size() >= recorder.most_events) {
    recording.complete = false;
    return;
  }
  if (event.kind != model::RecordedEvent::Kind::block_begin && !events.empty()) {
    const model::RecordedEvent& last = events.back();
    event.epoch = last.epoch + (last.kind == model::RecordedEvent::Kind::barrier);
  }
  events.push_back(std::move(event));
}

std::size_t find_event(
    const model::Recording& recording, std::int64_t block, std::int64_t thread,
    const std::vector<std::uint32_t>& places, std::uint64_t byte) {
  const int warp = recording.warp.warp_of(static_cast<int>(thread)),
            lane = recording.warp.lane_of(static_cast<int>(thread));
  for (std::size_t i = recording.events.size(); i-- > 0;) {
    const model::RecordedEvent& event = recording.events[i];
    if (event.kind != model::RecordedEvent::Kind::request || event.block != block ||
        event.warp != warp || !(event.access.active >> lane & 1u)) {
      continue;
    }
    const std::uint64_t word = byte / 4 * 4, from = event.access.address[lane];
    const bool touches = from < word + 4 && word < from + event.access.bytes;
    if (touches && recording.sites[event.site].places == places) return i;
  }
  return model::RecordedHazard::kNone;
}

}  // namespace trace
