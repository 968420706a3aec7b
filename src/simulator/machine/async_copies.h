// The effect of cp.async on memory: none until its thread waits for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace machine {

// The cp.async copies of one thread: issued, committed to a group, and complete when the group is
// waited for.

// `Copy` holds the data of one copy. Groups arrive in the order in which they were committed.
template <class Copy>
class AsyncGroups {
 public:
  void issue(Copy copy) {
    copies_.push_back(std::move(copy));
    ++uncommitted_;
    ++issued_;
  }
  std::uint64_t issued() const { return issued_; }  // in all
  const std::vector<Copy>& in_flight() const { return copies_; }
  // A group may be empty.
  void commit() { group_sizes_.push_back(std::exchange(uncommitted_, 0)); }

  // Waits until at most this many of the most recently committed groups are in flight. Calls
  // `arrived` for every copy that completes, oldest first.
  template <class Arrived>
  void wait(std::uint64_t groups_in_flight, Arrived arrived) {
    if (group_sizes_.size() <= groups_in_flight) return;
    const auto groups_end = group_sizes_.end() - static_cast<std::ptrdiff_t>(groups_in_flight);
    std::size_t count = 0;
    for (auto group = group_sizes_.begin(); group != groups_end; ++group) count += *group;
    take(count, arrived);
    group_sizes_.erase(group_sizes_.begin(), groups_end);
  }

  // Waits for the first `issued` copies, committed or not.
  template <class Arrived>
  void wait_for_first(std::uint64_t issued, Arrived arrived) {
    const std::uint64_t gone = issued_ - copies_.size();
    if (issued <= gone) return;
    std::size_t rest = issued - gone;
    take(rest, arrived);
    for (std::size_t& group : group_sizes_) {
      const std::size_t of_group = std::min(group, rest);
      group -= of_group;
      rest -= of_group;
    }
    uncommitted_ -= rest;
  }

  // There is nothing to wait for.
  bool is_idle() const { return copies_.empty() && group_sizes_.empty(); }

 private:
  template <class Arrived>
  void take(std::size_t count, Arrived arrived) {
    for (std::size_t i = 0; i < count; ++i) arrived(copies_[i]);
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  std::vector<Copy> copies_;              // not yet arrived, oldest first
  std::vector<std::size_t> group_sizes_;  // the number of committed copies among them
  std::size_t uncommitted_ = 0;           // the number of the others
  std::uint64_t issued_ = 0;
};

struct AsyncCopy {
  void* to;
  const void* from;
  std::size_t bytes;  // copied
  std::size_t zeros;  // bytes after them that are filled with zeros
};

void finish(const AsyncCopy& copy);

// What a thread does; `place` is a return address in the kernel. Of `size` bytes the last `zeros`
// are filled with zeros: by the instruction that copies, or, if there are no others, by one that
// only fills.
enum class Filling { together, apart };
void start_async_copy(
    void* shared, const void* global, std::size_t size, std::size_t zeros, const void* place,
    Filling filling = Filling::together);

using AsyncCopies = AsyncGroups<AsyncCopy>;

}  // namespace machine
