#include "machine/async_proxy.h"

#include <algorithm>
#include <utility>

#include "machine/kernel_memory.h"

namespace machine {

void BlockBarrier::receive_copies() {
  const std::uint64_t phase = state.phase();
  if (state.missing_arrivals() == arrivals_on_the_way.size()) {
    for (const ArrivalOfCopies& arrival : std::exchange(arrivals_on_the_way, {})) {
      arrival.copies->wait_for_first(arrival.issued, finish);
      state.arrive();
    }
  }
  while (state.phase() == phase && state.missing_arrivals() == 0 && !on_the_way.empty()) {
    const BulkLoad load = on_the_way.front();
    on_the_way.pop_front();
    const auto at =
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(load.shared) & 0xffff);
    ++copies;
    load_box(load.map, load.x, load.y, at, load.shared);
    state.receive(static_cast<std::int64_t>(load.map.box_bytes()));
  }
}

bool BlockBarrier::may_pass(unsigned parity) {
  if (!state.is_complete(parity)) receive_copies();
  return state.is_complete(parity);
}

BlockBarrier* AsyncProxy::find(const void* shared) {
  const auto found = std::find_if(barriers_.begin(), barriers_.end(), [&](const BlockBarrier& b) {
    return b.shared == shared;
  });
  return found == barriers_.end() ? nullptr : &*found;
}

BlockBarrier& AsyncProxy::add(void* shared, unsigned arrivals) {
  const auto number = static_cast<std::uint32_t>(barriers_.size());
  return barriers_.emplace_back(
      BlockBarrier{Mbarrier(arrivals), number, static_cast<char*>(shared)});
}

BlockBarrier& AsyncProxy::named(int id, unsigned arrivals) {
  for (BlockBarrier& barrier : barriers_) {
    if (barrier.id == id) return barrier;
  }
  BlockBarrier& barrier = add(nullptr, arrivals);
  barrier.id = id;
  return barrier;
}

const BlockBarrier* AsyncProxy::in(const void* shared, std::size_t bytes) const {
  const char* const begin = static_cast<const char*>(shared);
  const auto found = std::find_if(barriers_.begin(), barriers_.end(), [&](const BlockBarrier& b) {
    return b.shared != nullptr && b.shared + sizeof(std::uint64_t) > begin &&
           b.shared < begin + bytes;
  });
  return found == barriers_.end() ? nullptr : &*found;
}

std::string missing_in(const Mbarrier& barrier) {
  const auto missing = barrier.missing_arrivals();
  const std::int64_t bytes = barrier.missing_bytes();
  std::string text;
  if (missing > 0) {
    text = std::to_string(missing) + " of " + std::to_string(barrier.arrivals()) +
           (missing == 1 ? " arrivals is missing" : " arrivals are missing");
  }
  if (bytes == 0) return text;
  if (!text.empty()) text += ", and ";
  if (bytes > 0) return text + std::to_string(bytes) + " bytes of copies are missing";
  return text + std::to_string(-bytes) + " bytes were copied that no thread announced";
}

}  // namespace machine
