#include "host/order.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "host/call.h"
#include "host/handles.h"
#include "host/places.h"
#include "machine/device_memory.h"

namespace host {
namespace {

constexpr std::size_t kLegacy = 0, kPerThread = 1;

struct Timeline {
  bool blocking;  // it waits for the legacy default stream, which waits for it
  Clock clock = {};
};
std::vector<Timeline> timelines = {{true}, {true}};
Clock host_clock;

struct Running {
  cudaStream_t stream = nullptr;
  const void* place = nullptr;
};
Running running;

struct Past {
  Operation operation;
  std::string name;
  std::vector<machine::Touched> touched;  // sorted
};
std::deque<Past> pasts;

std::size_t number_of(cudaStream_t stream) {
  if (stream == cudaStreamPerThread) return kPerThread;
  return is_default(stream) ? kLegacy : stream->timeline;
}

void join(Clock& into, const Clock& more) {
  if (into.size() < more.size()) into.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) into[i] = std::max(into[i], more[i]);
}

bool has_ended(const Past& past, const Clock& clock) {
  const std::size_t timeline = past.operation.timeline;
  return timeline < clock.size() && past.operation.number <= clock[timeline];
}

Clock reached(std::size_t timeline) {
  Clock clock = timelines[timeline].clock;
  if (timeline == kLegacy) {
    for (const Timeline& other : timelines) {
      if (other.blocking) join(clock, other.clock);
    }
  } else if (timelines[timeline].blocking) {
    join(clock, timelines[kLegacy].clock);
  }
  return clock;
}

// Host code must leave alone what unfinished work uses, as far as it could access it at all.
void close_what_is_used() {
  std::vector<machine::Busy> busy;
  for (const Past& past : pasts) {
    for (const machine::Touched& touched : past.touched) {
      if (touched.atomic) continue;  // the host may take part
      const auto* const at = reinterpret_cast<const void*>(touched.begin);
      if (machine::is_shared_with_host(at)) busy.push_back({touched, past.name});
    }
  }
  machine::close_to_host(std::move(busy));
}

bool conflict(const machine::Touched& a, const machine::Touched& b) {
  return a.begin < b.end && b.begin < a.end && (a.stores || b.stores) && !(a.atomic && b.atomic);
}

// The first bytes that both use, if one of them must not.
const machine::Touched* conflict(const Past& past, const Past& now) {
  std::size_t from = 0;
  std::uintptr_t longest = 0;  // of the past's ranges
  for (const machine::Touched& range : past.touched) {
    longest = std::max(longest, range.end - range.begin);
  }
  for (const machine::Touched& mine : now.touched) {
    while (from < past.touched.size() && past.touched[from].begin + longest <= mine.begin) ++from;
    for (std::size_t i = from; i < past.touched.size() && past.touched[i].begin < mine.end; ++i) {
      if (conflict(past.touched[i], mine)) return &mine;
    }
  }
  return nullptr;
}

void report(const Past& past, const Past& now, const machine::Touched& where) {
  const std::string array = place_of(reinterpret_cast<const void*>(where.begin)).name;
  note(
      "race on " + (array.empty() ? "memory of the GPU" : array) + ": " + now.name +
          " may use it at the same time as " + (past.name == now.name ? "another " : "") +
          past.name +
          " in another stream, and one of the two stores to it; let one stream wait for the other: "
          "cudaEventRecord and cudaStreamWaitEvent, or cudaStreamSynchronize",
      now.operation.place, true, past.operation.place);
}

}  // namespace

std::size_t new_timeline(bool blocking) {
  timelines.push_back({blocking});
  return timelines.size() - 1;
}

Clock reached_by(cudaStream_t stream) {
  return reached(number_of(stream));
}

void let_wait(cudaStream_t stream, const Clock& until) {
  join(timelines[number_of(stream)].clock, until);
}

void host_waits(const Clock& until) {
  join(host_clock, until);
  const std::size_t before = pasts.size();
  std::erase_if(pasts, [](const Past& past) { return has_ended(past, host_clock); });
  if (pasts.size() != before) close_what_is_used();
}
void host_waits(cudaStream_t stream) {
  host_waits(reached_by(stream));
}
void host_waits() {
  Clock all;
  for (const Timeline& timeline : timelines) join(all, timeline.clock);
  host_waits(all);
}

void set_running(cudaStream_t stream, const void* place) {
  running = {stream, place};
}

Operation begin_operation() {
  const auto [stream, place] = std::exchange(running, {});
  Operation operation{number_of(stream), 0, reached_by(stream), place};
  join(operation.before, host_clock);
  Clock& clock = timelines[operation.timeline].clock;
  clock = operation.before;
  if (clock.size() <= operation.timeline) clock.resize(operation.timeline + 1);
  operation.number = ++clock[operation.timeline];
  return operation;
}

bool may_conflict(const Operation& operation) {
  const bool alone = operation.timeline == kLegacy &&
                     std::all_of(timelines.begin(), timelines.end(), [](const Timeline& other) {
                       return other.blocking;
                     });
  return !alone || machine::any_shared_with_host();
}

void end_operation(
    const Operation& operation, const std::string& name, std::vector<machine::Touched> touched) {
  constexpr std::size_t kMost = 1000;
  if (touched.empty() || !may_conflict(operation)) return;
  std::sort(touched.begin(), touched.end(), [](const auto& a, const auto& b) {
    return a.begin < b.begin;
  });
  Past now{operation, name, std::move(touched)};
  for (const Past& past : pasts) {
    if (has_ended(past, operation.before)) continue;
    if (const machine::Touched* where = conflict(past, now)) report(past, now, *where);
  }
  if (pasts.size() == kMost) pasts.pop_front();
  pasts.push_back(std::move(now));
  close_what_is_used();
}

void forget_order() {
  pasts.clear();
  close_what_is_used();
  timelines.resize(kPerThread + 1);
  for (Timeline& timeline : timelines) timeline.clock.clear();
  host_clock.clear();
}

}  // namespace host
