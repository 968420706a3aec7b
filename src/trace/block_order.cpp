#include "trace/block_order.h"

#include <algorithm>

namespace trace {

std::uint32_t BlockOrder::release(
    std::int64_t block, int thread, std::uint64_t state, std::uint64_t address) {
  used_ = true;
  const std::lock_guard guard(lock_);
  const auto number = static_cast<std::uint32_t>(places_.size());
  const auto [entry, is_new] = numbers_.try_emplace(address, number);
  if (is_new) places_.emplace_back();
  Place& place = places_[entry->second];
  auto& [last_state, last] =
      place.last.try_emplace({block, thread}, ~std::uint64_t{0}, 0).first->second;
  if (last_state == state) return last;
  last_state = state;
  last = static_cast<std::uint32_t>(releases_.size());
  releases_.push_back({block, {}, {}});
  place.of_block[block].push_back(static_cast<std::uint32_t>(place.releases.size()));
  place.releases.push_back(last);
  return last;
}

void BlockOrder::add(std::uint32_t release, const Fenced& wide, const Fenced& any) {
  const std::lock_guard guard(lock_);
  releases_[release].wide.add(wide);
  releases_[release].any.add(any);
}

BlockOrder::Read BlockOrder::read(std::uint64_t address) {
  if (!is_used()) return {};
  const std::lock_guard guard(lock_);
  const auto number = numbers_.find(address);
  if (number == numbers_.end()) return {};
  return {number->second, static_cast<std::uint32_t>(places_[number->second].releases.size())};
}

void BlockOrder::end_block(
    std::int64_t block, std::vector<Acquired> acquired,
    std::vector<std::vector<std::uint32_t>> known) {
  const std::lock_guard guard(lock_);
  blocks_[block] = {std::move(acquired), std::move(known)};
}

std::vector<BlockOrder::Read> BlockOrder::reads_of(const Access& access, Asked asked) const {
  std::vector<Read> reads;
  const auto block = blocks_.find(access.block);
  if (block == blocks_.end()) return reads;
  const auto& [acquired, known] = block->second;
  if (asked == Asked::any_thread) {
    for (const Acquired& some : acquired) {
      if (some.at <= access.at) reads.push_back(some.read);
    }
  } else if (access.knows > 0) {
    for (const std::uint32_t number : known[access.knows - 1]) {
      reads.push_back(acquired[number].read);
    }
  }
  return reads;
}

bool BlockOrder::is_before(
    const Access& first, int thread, const Access& second, Asked asked) const {
  const auto fenced = [&](const Release& release) -> const Fenced& {
    return asked == Asked::any_scope ? release.any : release.wide;
  };
  const auto has_first = [&](const Release& release) {
    if (release.block != first.block) return false;
    const Fenced& before = fenced(release);
    return thread == kAnyThread || asked == Asked::any_thread ? first.at < before.latest()
                                                              : before.has(thread, first.at);
  };
  std::vector<Read> reads = reads_of(second, asked);
  for (const Read& read : reads) {
    const Place& place = places_[read.place];
    const auto releases = place.of_block.find(first.block);
    if (releases == place.of_block.end()) continue;
    for (const std::uint32_t position : releases->second) {
      if (position < read.count && has_first(releases_[place.releases[position]])) return true;
    }
  }
  // Through other blocks. A read of more stores to a place has what a read of fewer has.
  std::unordered_map<std::uint32_t, std::uint32_t> seen;  // by place
  while (!reads.empty()) {
    const Read read = reads.back();
    reads.pop_back();
    for (std::uint32_t& next = seen[read.place]; next < read.count; ++next) {
      const Release& release = releases_[places_[read.place].releases[next]];
      if (has_first(release)) return true;
      const auto other = blocks_.find(release.block);
      if (other == blocks_.end()) continue;
      for (const Acquired& some : other->second.acquired) {
        if (fenced(release).has(some.thread, some.at)) reads.push_back(some.read);
      }
    }
  }
  return false;
}

}  // namespace trace
