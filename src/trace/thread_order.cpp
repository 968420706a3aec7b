#include "trace/thread_order.h"

#include <algorithm>

#include "machine/lanes.h"

namespace trace {
namespace {

void raise(std::vector<ThreadOrder::Moment>& to, const std::vector<ThreadOrder::Moment>& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

}  // namespace

void ThreadOrder::begin_block(int threads) {
  const std::size_t warps = geometry_.warps_of(threads);
  now_.assign(threads, 0);
  fenced_.assign(threads, 0);
  warp_start_.assign(warps, 0);
  rounds_.assign(warps, {});
  known_.assign(threads, {});
  locks_.assign(threads, {});
  proxy_fences_.assign(threads, {});
  barrier_fences_.assign(threads, {});
  known_actions_.assign(threads, {});
  released_actions_.clear();
  has_agents_ = false;
  barrier();
  began_ = block_start_;
}

void ThreadOrder::barrier() {
  block_start_ = ++clock_;
  std::fill(now_.begin(), now_.end(), clock_);
  if (has_agents_) {
    Known all;
    for (const Known& known : known_actions_) raise(all, known);
    for (Known& known : known_actions_) known = all;
  }
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
  if (has_agents_) join_actions(first, lanes);
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

void ThreadOrder::join_actions(int first, std::uint32_t lanes) {
  Known together;
  machine::for_each_lane(lanes, [&](int l) { raise(together, known_actions_[first + l]); });
  machine::for_each_lane(lanes, [&](int l) { known_actions_[first + l] = together; });
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

void ThreadOrder::proxy_fence(int thread) {
  proxy_fences_[thread].push_back(now_[thread]);
  now_[thread] = ++clock_;
}

void ThreadOrder::barrier_fence(int thread) {
  barrier_fences_[thread].push_back(now_[thread]);
  now_[thread] = ++clock_;
}

bool ThreadOrder::is_fenced(Moment moment, int other, int thread, bool or_barrier_fence) const {
  if (moment < began_) return true;
  // If the first fence after that moment does not come before, no later one does.
  const auto one_of = [&](const std::vector<Moment>& fences) {
    const auto fence = std::lower_bound(fences.begin(), fences.end(), moment);
    return fence != fences.end() && is_before(*fence, other, thread);
  };
  return one_of(proxy_fences_[other]) || (or_barrier_fence && one_of(barrier_fences_[other]));
}

void ThreadOrder::arrive(int thread, std::uint64_t place) {
  release(thread, place, now_[thread]);
  now_[thread] = ++clock_;
}

void ThreadOrder::pass(int thread, std::uint64_t place) {
  atomic_load(thread, place);
}

ThreadOrder::Moment ThreadOrder::act(int) {
  has_agents_ = true;
  return ++clock_;
}

void ThreadOrder::learn_action(int thread, int agent, Moment action) {
  Known& known = known_actions_[thread];
  if (known.size() <= static_cast<std::size_t>(agent)) known.resize(agent + 1, 0);
  known[agent] = std::max(known[agent], action);
}

void ThreadOrder::atomic_store(int thread, std::uint64_t place) {
  if (fenced_[thread] < block_start_) return;
  release(thread, place, fenced_[thread]);
}

// `own` is the thread's last moment that is released.
void ThreadOrder::release(int thread, std::uint64_t place, Moment own) {
  has_edges_ = true;
  if (!known_actions_[thread].empty()) raise(released_actions_[place], known_actions_[thread]);
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
  released[thread] = std::max(released[thread], own);
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
  if (has_agents_) {
    const auto actions = released_actions_.find(place);
    if (actions != released_actions_.end()) raise(known_actions_[thread], actions->second);
  }
  if (!has_edges_) return;
  const auto released = released_.find(place);
  if (released != released_.end()) learn(thread, released->second);
}

}  // namespace trace
