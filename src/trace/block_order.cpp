#include "trace/block_order.h"

#include <algorithm>

namespace trace {
namespace {

template <class Known>
void learn(Known& known, const Known& more) {
  for (const auto& [block, epoch] : more) {
    std::uint32_t& latest = known.try_emplace(block, epoch).first->second;
    latest = std::max(latest, epoch);
  }
}

}  // namespace

void BlockOrder::release(std::int64_t block, std::uint32_t epoch, std::uint64_t address) {
  used_ = true;
  const std::lock_guard guard(lock_);
  Known& released = released_[address];
  learn(released, {{block, epoch}});
  const auto learned = learned_.find(block);
  if (learned == learned_.end()) return;
  for (const Learned& before : learned->second) learn(released, before.blocks);
}

void BlockOrder::acquire(std::int64_t block, std::uint32_t epoch, std::uint64_t address) {
  if (!is_used()) return;
  const std::lock_guard guard(lock_);
  const auto released = released_.find(address);
  if (released == released_.end()) return;
  std::vector<Learned>& learned = learned_[block];
  if (learned.empty() || learned.back().in_epoch != epoch) learned.push_back({epoch, {}});
  learn(learned.back().blocks, released->second);
}

bool BlockOrder::is_before(
    std::int64_t block, std::uint32_t last_epoch, std::int64_t other,
    std::uint32_t first_epoch) const {
  const auto learned = learned_.find(other);
  if (learned == learned_.end()) return false;
  return std::any_of(learned->second.begin(), learned->second.end(), [&](const Learned& known) {
    const auto entry = known.blocks.find(block);
    return known.in_epoch <= first_epoch && entry != known.blocks.end() &&
           entry->second >= last_epoch;
  });
}

}  // namespace trace
