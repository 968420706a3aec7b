#include "trace/launch_touches.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace trace {
namespace {

using Way = Touch::Way;

bool stores(const Touch& touch) {
  return touch.way >= Way::store;
}

bool is_atomic(const Touch& touch) {
  return touch.way == Way::atomic_load || touch.way == Way::atomic_store;
}

bool is_read_only_and_stored(const Touch& a, const Touch& b) {
  return (a.way == Way::read_only_load && stores(b)) || (b.way == Way::read_only_load && stores(a));
}

bool may_not_both(const Touch& a, const Touch& b, const BlockOrder& order) {
  if (!stores(a) && !stores(b)) return false;
  if (is_read_only_and_stored(a, b)) return true;
  if (a.block == b.block || (is_atomic(a) && is_atomic(b))) return false;
  return !order.is_before(a.block, a.epoch, b.block, b.epoch) &&
         !order.is_before(b.block, b.epoch, a.block, a.epoch);
}

model::Hazard::Actor actor(const Touch& touch, const std::vector<std::uint32_t>& places) {
  return {-1, 0, stores(touch), places};
}

// The touches of one place and way that reach furthest. If nothing orders blocks, those of two
// different blocks are enough.
class Reaching {
 public:
  explicit Reaching(bool keeps_all) : keeps_all_(keeps_all) {}
  const std::vector<Touch>& touches() const { return touches_; }

  void drop_before(std::uint64_t byte) {
    std::erase_if(touches_, [&](const Touch& touch) { return touch.end <= byte; });
  }
  void add(const Touch& touch) {
    const auto same = std::find_if(touches_.begin(), touches_.end(), [&](const Touch& known) {
      return known.block == touch.block;
    });
    if (keeps_all_ || (same == touches_.end() && touches_.size() < 2)) {
      touches_.push_back(touch);
    } else if (same != touches_.end()) {
      if (touch.end > same->end) *same = touch;
    } else {
      Touch& shorter = touches_[touches_[1].end < touches_[0].end];
      if (touch.end > shorter.end) shorter = touch;
    }
  }

 private:
  bool keeps_all_;
  std::vector<Touch> touches_;
};

}  // namespace

void compact(std::vector<Touch>& touches) {
  const auto what = [](const Touch& t) {
    return std::tie(t.array, t.block, t.epoch, t.way, t.place);
  };
  std::sort(touches.begin(), touches.end(), [&](const Touch& a, const Touch& b) {
    return std::tuple_cat(what(a), std::tie(a.begin, a.end)) <
           std::tuple_cat(what(b), std::tie(b.begin, b.end));
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < touches.size(); ++i) {
    if (what(touches[i]) == what(touches[kept]) && touches[i].begin <= touches[kept].end) {
      touches[kept].end = std::max(touches[kept].end, touches[i].end);
    } else {
      touches[++kept] = touches[i];
    }
  }
  if (!touches.empty()) touches.resize(kept + 1);
}

std::uint32_t LaunchTouches::number_of(const std::vector<std::uint32_t>& places) {
  const std::lock_guard guard(lock_);
  return numbers_.try_emplace(places, numbers_.size()).first->second;
}

void LaunchTouches::add(std::span<const Touch> touches) {
  const std::lock_guard guard(lock_);
  touches_.insert(touches_.end(), touches.begin(), touches.end());
}

std::vector<machine::Touched> LaunchTouches::all(
    std::span<const machine::KernelArray> arrays) const {
  std::vector<Touch> touches = touches_;
  for (Touch& touch : touches) {
    touch.block = touch.epoch = touch.place = 0;
    if (touch.way == Way::read_only_load) touch.way = Way::load;
  }
  compact(touches);
  std::vector<machine::Touched> all;
  for (const Touch& touch : touches) {
    const std::uintptr_t begin = arrays[touch.array].begin;
    all.push_back({begin + touch.begin, begin + touch.end, stores(touch), is_atomic(touch)});
  }
  return all;
}

std::vector<model::Hazard> LaunchTouches::hazards(
    const BlockOrder& order, std::span<const machine::KernelArray> arrays) {
  // The numbers of places depend on which block ran first; the places do not.
  std::vector<std::uint32_t> ranks(numbers_.size());
  std::vector<std::vector<std::uint32_t>> places;
  for (const auto& [place, number] : numbers_) {
    ranks[number] = static_cast<std::uint32_t>(places.size());
    places.push_back(place);
  }
  for (Touch& touch : touches_) touch.place = ranks[touch.place];
  std::sort(touches_.begin(), touches_.end(), [](const Touch& a, const Touch& b) {
    const auto key = [](const Touch& t) {
      return std::tuple(t.array, t.begin, t.end, t.block, t.epoch, t.way, t.place);
    };
    return key(a) < key(b);
  });

  std::vector<model::Hazard> found;
  std::set<std::tuple<std::uint32_t, bool, std::uint32_t, std::uint32_t>> known;
  std::map<std::pair<std::uint32_t, Way>, Reaching> reaching;
  const auto report = [&](const Touch& before, const Touch& touch) {
    const bool read_only = is_read_only_and_stored(before, touch);
    // The lower block is named first, and within one block the load.
    const bool swap =
        std::pair(touch.block, stores(touch)) < std::pair(before.block, stores(before));
    const Touch &first = swap ? touch : before, &second = swap ? before : touch;
    if (!known.emplace(touch.array, read_only, first.place, second.place).second) return;
    const machine::KernelArray& array = arrays[touch.array];
    const auto kind = read_only ? model::HazardKind::read_only_is_stored
                      : stores(before) && stores(touch) && array.result
                          ? model::HazardKind::race_on_result
                          : model::HazardKind::race_between_blocks;
    found.push_back(
        {kind, array.name, touch.begin, first.block, actor(first, places[first.place]),
         actor(second, places[second.place])});
    found.back().other_block = second.block;
  };
  for (std::size_t i = 0; i < touches_.size(); ++i) {
    const Touch& touch = touches_[i];
    if (i == 0 || touches_[i - 1].array != touch.array) reaching.clear();
    for (auto& [unused, others] : reaching) {
      others.drop_before(touch.begin);
      const auto other = std::find_if(
          others.touches().begin(), others.touches().end(),
          [&](const Touch& before) { return may_not_both(before, touch, order); });
      if (other != others.touches().end()) report(*other, touch);
    }
    reaching.try_emplace({touch.place, touch.way}, Reaching(order.is_used()))
        .first->second.add(touch);
  }
  return found;
}

}  // namespace trace
