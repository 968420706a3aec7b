// The cp.async of one thread: issued, committed to a group, and there once the group is waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace machine {

// `Copy` is what there is to know of one. Groups arrive in the order in which they were committed.
template <class Copy>
class AsyncGroups {
 public:
  void issue(Copy copy) {
    copies_.push_back(std::move(copy));
    ++uncommitted_;
  }
  // An empty group is a group, too.
  void commit() { group_sizes_.push_back(std::exchange(uncommitted_, 0)); }

  // Calls `arrived` for every copy that is there, oldest first, when no more than so many of the
  // groups last committed are still on their way.
  template <class Arrived>
  void wait(std::uint64_t groups_in_flight, Arrived arrived) {
    if (group_sizes_.size() <= groups_in_flight) return;
    const auto groups_end = group_sizes_.end() - static_cast<std::ptrdiff_t>(groups_in_flight);
    std::size_t count = 0;
    for (auto group = group_sizes_.begin(); group != groups_end; ++group) count += *group;
    for (std::size_t i = 0; i < count; ++i) arrived(copies_[i]);
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(count));
    group_sizes_.erase(group_sizes_.begin(), groups_end);
  }

  void clear() {
    copies_.clear();
    group_sizes_.clear();
    uncommitted_ = 0;
  }

 private:
  std::vector<Copy> copies_;              // that have not arrived, oldest first
  std::vector<std::size_t> group_sizes_;  // of the committed among them
  std::size_t uncommitted_ = 0;           // the others
};

}  // namespace machine
