#include "trace/repeated_words.h"

#include <bit>
#include <utility>

#include "trace/tally.h"

namespace trace {
namespace {

// Of the `fours`-th four words of memory.
std::uint64_t key_of(std::uint64_t fours, int warp, std::uint32_t site) {
  return (fours & 0xffffffff) | static_cast<std::uint64_t>(warp) << 32 |
         static_cast<std::uint64_t>(site) << 42;
}

}  // namespace

void RepeatedWords::request(Site& site, const model::WarpAccess& access, int warp) {
  const bool loads = site.traffic == kSmemLoads;
  if (!loads && site.traffic != kSmemStores) return;
  const std::uint64_t address = access.address[std::countr_zero(access.active)];
  const int first = static_cast<int>(address / 4 % 4), words = (access.bytes + 3) / 4;
  const auto wanted = static_cast<std::uint8_t>(((1u << words) - 1) << first);
  std::uint8_t& of_warp = of_warps_[key_of(address / 16, warp, 0)];
  const bool repeats = (of_warp & wanted) != 0;
  of_warp |= wanted;
  if (!loads) return;
  model::Merging& merging = site.counts.merging;
  merging.watched += 1;
  merging.repeated += repeats;
  if (repeats || words > 2) return;
  std::uint8_t& of_site = of_sites_[key_of(address / 16, warp, site.number + 1)];
  of_site |= wanted;
  const auto pair = static_cast<std::uint8_t>(first < 2 ? 0b0011 : 0b1100);
  if (words == 1 && (of_site & pair) == pair) merging.in_pairs += 2;
  if (of_site == 0b1111) merging.in_fours += 4 / words;
}

void RepeatedWords::barrier() {
  of_warps_.clear();
  of_sites_.clear();
}

std::uint8_t& RepeatedWords::Table::operator[](std::uint64_t key) {
  if (2 * used_ > slots_.size()) {
    std::vector<Slot> before(2 * slots_.size());
    std::swap(before, slots_);
    for (const Slot& slot : before) {
      if (slot.round == round_) find(slot.key) = slot;
    }
  }
  Slot& slot = find(key);
  if (slot.round != round_) {
    slot = {key, round_, 0};
    ++used_;
  }
  return slot.bits;
}

RepeatedWords::Table::Slot& RepeatedWords::Table::find(std::uint64_t key) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (key * 0x9e3779b97f4a7c15u >> 32) & mask;
  while (slots_[at].round == round_ && slots_[at].key != key) at = (at + 1) & mask;
  return slots_[at];
}

void RepeatedWords::Table::clear() {
  used_ = 0;
  ++round_;
}

}  // namespace trace
