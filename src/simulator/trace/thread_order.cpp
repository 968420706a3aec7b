#include "simulator/trace/thread_order.h"

#include <algorithm>
#include <functional>
#include <map>

#include "simulator/machine/fault.h"

namespace trace {
namespace {

// Of fences that all threads know, the last includes the others.
template <class Fences>
void drop_old(Fences& fences) {
  const auto wide =
      std::find_if(fences.rbegin(), fences.rend(), [](const auto& fence) { return fence.wide; });
  if (fences.size() < 2) return;
  const auto from = wide == fences.rend() ? fences.end() - 1 : wide.base() - 1;
  fences.erase(fences.begin(), from);
  if (fences.size() > 2) fences.erase(fences.begin() + 1, fences.end() - 1);
}

void raise(std::vector<ThreadOrder::Moment>& to, const std::vector<ThreadOrder::Moment>& from) {
  if (to == from) return;  // most often
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

}  // namespace

Instant Fenced::latest() const {
  Instant latest = all;
  for (const auto& [thread, end] : later) latest = std::max(latest, end);
  return latest;
}

bool Fenced::has(int thread, Instant at) const {
  if (at < all) return true;
  const auto known = std::lower_bound(later.begin(), later.end(), std::pair(thread, Instant{0}));
  return known != later.end() && known->first == thread && at < known->second;
}

void Fenced::add(const Fenced& more) {
  all = std::max(all, more.all);
  std::map<int, Instant> both(later.begin(), later.end());
  for (const auto& [thread, end] : more.later) both[thread] = std::max(both[thread], end);
  std::erase_if(both, [&](const auto& known) { return known.second <= all; });
  later.assign(both.begin(), both.end());
}

void ThreadOrder::begin_block(int threads) {
  const std::size_t warps = geometry_.warps_of(threads);
  now_.assign(threads, 0);
  fenced_.assign(threads, 0);
  warp_start_.assign(warps, 0);
  rounds_.assign(warps, {});
  known_.assign(threads, {});
  locks_.assign(threads, {});
  proxy_fences_.assign(threads, {});
  known_actions_.assign(threads, {});
  released_actions_.clear();
  has_agents_ = false;
  fences_.assign(threads, {});
  has_fences_ = false;
  barrier();
  began_ = block_start_;
}

void ThreadOrder::barrier() {
  block_start_ = ++clock_;
  std::fill(now_.begin(), now_.end(), clock_);
  ++changes_;
  readers_.clear();
  for (std::size_t t = 0; has_fences_ && t < fences_.size(); ++t) drop_old(fences_[t]);
  if (has_agents_) {
    Known all;
    for (const Known& known : known_actions_) raise(all, known);
    for (Known& known : known_actions_) known = all;
  }
  if (!has_edges_) return;
  has_edges_ = false;
  for (Shared& known : known_) known.reset();
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
  ++changes_;
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
  const auto together = std::make_shared<Known>(now_.size(), 0);
  machine::for_each_lane(lanes, [&](int l) {
    if (known_[first + l] != nullptr) raise(*together, *known_[first + l]);
  });
  machine::for_each_lane(lanes, [&](int l) { (*together)[first + l] = now_[first + l]; });
  ++clock_;
  machine::for_each_lane(lanes, [&](int l) {
    known_[first + l] = together;
    now_[first + l] = clock_;
  });
  if (lanes == all) warp_start_[warp] = clock_;
}

void ThreadOrder::join_actions(int first, std::uint32_t lanes) {
  Known together;
  machine::for_each_lane(lanes, [&](int l) { raise(together, known_actions_[first + l]); });
  machine::for_each_lane(lanes, [&](int l) { known_actions_[first + l] = together; });
}

void ThreadOrder::learn(int thread, const Shared& more) {
  ++changes_;
  Shared& known = known_[thread];
  if (known == nullptr || std::ranges::equal(*known, *more, std::less_equal())) {
    known = more;
    return;
  }
  const auto both = std::make_shared<Known>(*known);
  raise(*both, *more);
  known = both;
}

void ThreadOrder::fence(int thread, bool wide) {
  fenced_[thread] = now_[thread];
  fences_[thread].push_back(
      {now_[thread], block_start_, warp_start_[geometry_.warp_of(thread)], wide, known_[thread]});
  has_fences_ = true;
  ++changes_;
  now_[thread] = ++clock_;
}

Fenced ThreadOrder::fenced_before(int thread, bool wide) const {
  std::vector<Instant> until(now_.size(), 0);
  Fenced fenced;
  const auto raise_to = [&](std::size_t t, Moment end) {
    until[t] = std::max(until[t], instant(end));
  };
  for (int other = 0; other < static_cast<int>(fences_.size()); ++other) {
    const auto& fences = fences_[other];
    const auto fence = std::find_if(fences.rbegin(), fences.rend(), [&](const Fence& made) {
      return (made.wide || !wide) && is_before(made.at, other, thread);
    });
    if (fence == fences.rend()) continue;
    fenced.all = std::max(fenced.all, instant(fence->block_start));
    raise_to(other, fence->at + 1);
    for (std::size_t t = 0; fence->known != nullptr && t < fence->known->size(); ++t) {
      raise_to(t, (*fence->known)[t] + 1);
    }
    const std::size_t first = geometry_.thread_of(geometry_.warp_of(other), 0);
    const std::size_t end = std::min<std::size_t>(first + geometry_.lanes, now_.size());
    for (std::size_t t = first; t < end; ++t) raise_to(t, fence->warp_start);
  }
  for (std::size_t t = 0; t < until.size(); ++t) {
    if (until[t] > fenced.all) fenced.later.push_back({static_cast<int>(t), until[t]});
  }
  return fenced;
}

void ThreadOrder::proxy_fence(int thread, bool only_barriers) {
  proxy_fences_[thread].push_back({now_[thread], only_barriers});
  now_[thread] = ++clock_;
}

bool ThreadOrder::is_fenced(Moment moment, int other, int thread, bool of_barrier) const {
  if (moment < began_) return true;
  // If the first fence after that moment does not come before the access, no later one does.
  const std::vector<ProxyFence>& fences = proxy_fences_[other];
  auto fence = std::ranges::lower_bound(fences, moment, {}, &ProxyFence::at);
  while (fence != fences.end() && fence->only_barriers && !of_barrier) ++fence;
  return fence != fences.end() && is_before(fence->at, other, thread);
}

void ThreadOrder::arrive(int thread, std::uint64_t place) {
  release(thread, place, now_[thread]);
  now_[thread] = ++clock_;
}

ThreadOrder::Moment ThreadOrder::act() {
  has_agents_ = true;
  return ++clock_;
}

void ThreadOrder::learn_action(int thread, AgentAction action) {
  Known& known = known_actions_[thread];
  const auto agent = static_cast<std::size_t>(action.agent);
  if (known.size() <= agent) known.resize(agent + 1, 0);
  known[agent] = std::max(known[agent], action.moment);
}

bool ThreadOrder::has_read(int thread, std::uint64_t place) const {
  const auto readers = readers_.find(place);
  return readers != readers_.end() && std::ranges::any_of(readers->second, [&](const auto& reader) {
           return is_before(reader.second, reader.first, thread);
         });
}

void ThreadOrder::atomic_store(int thread, std::uint64_t place, bool updates) {
  if (const auto readers = readers_.find(place); readers != readers_.end()) {
    readers->second.clear();
    if (updates) readers->second.emplace_back(thread, now_[thread]);
  }
  if (fenced_[thread] < block_start_) return;
  release(thread, place, fenced_[thread]);
}

// `own` is the thread's last moment that is released.
void ThreadOrder::release(int thread, std::uint64_t place, Moment own) {
  has_edges_ = true;
  if (!known_actions_[thread].empty()) raise(released_actions_[place], known_actions_[thread]);
  std::shared_ptr<Known>& shared = released_[place];
  if (shared == nullptr) shared = std::make_shared<Known>(now_.size(), 0);
  if (shared.use_count() > 1) shared = std::make_shared<Known>(*shared);
  Known& released = *shared;
  if (known_[thread] != nullptr) raise(released, *known_[thread]);
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
  ++changes_;
  std::vector<std::uint64_t>& locks = locks_[thread];
  if (std::find(locks.begin(), locks.end(), place) == locks.end()) locks.push_back(place);
  // Within its block, a lock implies a fence, as far as we know.
  fenced_[thread] = now_[thread];
  now_[thread] = ++clock_;
}

bool ThreadOrder::share_a_lock(int other, int thread, std::uint64_t not_at) const {
  const std::vector<std::uint64_t>& locks = locks_[thread];
  return std::any_of(locks_[other].begin(), locks_[other].end(), [&](std::uint64_t place) {
    return place != not_at && std::find(locks.begin(), locks.end(), place) != locks.end();
  });
}

void ThreadOrder::atomic_load(int thread, std::uint64_t place) {
  if (has_fences_) {
    std::vector<std::pair<int, Moment>>& readers = readers_[place];
    const std::pair reader(thread, now_[thread]);
    if (std::ranges::find(readers, reader) == readers.end()) readers.push_back(reader);
  }
  if (has_agents_) {
    const auto actions = released_actions_.find(place);
    if (actions != released_actions_.end()) raise(known_actions_[thread], actions->second);
  }
  if (!has_edges_) return;
  const auto released = released_.find(place);
  if (released != released_.end()) learn(thread, released->second);
}

}  // namespace trace
