#include "trace/thread_order.h"

#include <algorithm>

#include "machine/lanes.h"

namespace trace {

void ThreadOrder::begin_block(int threads) {
  const std::size_t warps = geometry_.warps_of(threads);
  now_.assign(threads, 0);
  fenced_.assign(threads, 0);
  warp_start_.assign(warps, 0);
  rounds_.assign(warps, {});
  known_.assign(threads, {});
  locks_.assign(threads, {});
  barrier();
}

void ThreadOrder::barrier() {
  block_start_ = ++clock_;
  std::fill(now_.begin(), now_.end(), clock_);
  if (!has_edges_) return;
  has_edges_ = false;
  for (Known& known : known_) known.clear();
  for (std::vector<std::uint64_t>& locks : locks_) locks.clear();
  released_.clear();
}

void ThreadOrder::warp_barrier(int warp, std::uint32_t lanes, std::uint32_t mask) {
  std::vector<Round>& rounds = rounds_[warp];
  auto round = std::find_if(
      rounds.begin(), rounds.end(), [&](const Round& known) { return known.mask == mask; });
  if (round == rounds.end()) round = rounds.insert(round, {mask, 0});
  // A lane that arrives again has passed the barrier, and so have all others.
  if ((round->came & lanes) != 0) round->came = 0;
  round->came |= lanes;
  join(warp, round->came);
  if (round->came == mask) rounds.erase(round);
}

void ThreadOrder::join(int warp, std::uint32_t lanes) {
  const int first = geometry_.thread_of(warp, 0);
  const int count = std::min<int>(geometry_.lanes, static_cast<int>(now_.size()) - first);
  const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
  lanes &= all;
  // If no lane has information about other warps, a single moment describes all.
  if (lanes == all && !has_edges_) {
    warp_start_[warp] = ++clock_;
    std::fill(now_.begin() + first, now_.begin() + first + count, clock_);
    return;
  }
  has_edges_ = true;
  Known together(now_.size(), 0);
  machine::for_each_lane(lanes, [&](int l) {
    const Known& known = known_[first + l];
    for (std::size_t t = 0; t < known.size(); ++t) together[t] = std::max(together[t], known[t]);
    together[first + l] = now_[first + l];
  });
  ++clock_;
  machine::for_each_lane(lanes, [&](int l) {
    learn(first + l, together);
    now_[first + l] = clock_;
  });
  if (lanes == all) warp_start_[warp] = clock_;
}

void ThreadOrder::learn(int thread, const Known& more) {
  Known& known = known_[thread];
  if (known.empty()) {
    known = more;
    return;
  }
  for (std::size_t t = 0; t < known.size(); ++t) known[t] = std::max(known[t], more[t]);
}

void ThreadOrder::fence(int thread) {
  fenced_[thread] = now_[thread];
  now_[thread] = ++clock_;
}

void ThreadOrder::atomic_store(int thread, std::uint64_t place) {
  if (fenced_[thread] < block_start_) return;
  has_edges_ = true;
  Known& released = released_[place];
  released.resize(now_.size(), 0);
  const Known& known = known_[thread];
  for (std::size_t t = 0; t < known.size(); ++t) released[t] = std::max(released[t], known[t]);
  // What the warp's last barrier ordered before this thread is also before the fence.
  const int warp = geometry_.warp_of(thread);
  const std::size_t first = geometry_.thread_of(warp, 0);
  const std::size_t end = std::min<std::size_t>(first + geometry_.lanes, now_.size());
  const Moment warp_start = warp_start_[warp];
  for (std::size_t t = first; t < end && warp_start > 0; ++t) {
    released[t] = std::max(released[t], warp_start - 1);
  }
  released[thread] = std::max(released[thread], fenced_[thread]);
}

void ThreadOrder::lock(int thread, std::uint64_t place) {
  has_edges_ = true;
  std::vector<std::uint64_t>& locks = locks_[thread];
  if (std::find(locks.begin(), locks.end(), place) == locks.end()) locks.push_back(place);
  fence(thread);  // a lock implies a fence, as far as we know
}

bool ThreadOrder::share_a_lock(int other, int thread) const {
  const std::vector<std::uint64_t>& locks = locks_[thread];
  return std::any_of(locks_[other].begin(), locks_[other].end(), [&](std::uint64_t place) {
    return std::find(locks.begin(), locks.end(), place) != locks.end();
  });
}

void ThreadOrder::atomic_load(int thread, std::uint64_t place) {
  if (!has_edges_) return;
  const auto released = released_.find(place);
  if (released != released_.end()) learn(thread, released->second);
}

}  // namespace trace
