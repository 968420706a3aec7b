#include "simulator/machine/device_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

#include "simulator/machine/fault.h"
#include "simulator/machine/observer.h"

namespace machine {
namespace {

constexpr std::size_t kAlignment = 16;

struct Piece {
  std::size_t bytes;
  std::size_t room;  // more than the bytes, so that the next piece does not follow at once
  const void* place;
  bool freed = false;
};

std::mutex lock;  // blocks run in parallel
char* heap = nullptr;
std::size_t size = 0, used = 0;  // used: from the heap's beginning
std::map<char*, Piece> pieces;   // in `used`, without gaps between their rooms

void forget_contents(char* from, std::size_t room) {
  const OwnAccess own;
  std::fill_n(reinterpret_cast<std::uint32_t*>(from), room / 4, kUnwritten);
}

}  // namespace

void make_heap() {
  if (heap != nullptr && array_at(heap)) return;
  pieces.clear();  // cudaDeviceReset has freed them
  used = 0;
  size = heap_bytes;
  heap = static_cast<char*>(allocate_array(size, "heap", MemoryKind::device));
  // Pages that nobody uses cost nothing, also if an audit closes and opens them.
  if (heap != nullptr) madvise(heap, size, MADV_DONTNEED);
}

void* allocate_in_kernel(std::size_t bytes, const void* place) {
  const std::lock_guard guard(lock);
  if (heap == nullptr || bytes == 0 || bytes > size) return nullptr;
  const std::size_t room = (bytes / kAlignment + 2) * kAlignment;
  if (room <= size - used) {
    char* const memory = heap + used;
    used += room;
    forget_contents(memory, room);
    pieces[memory] = {bytes, room, place};
    return memory;
  }
  const auto free = std::ranges::find_if(
      pieces, [&](const auto& entry) { return entry.second.freed && entry.second.room >= room; });
  if (free == pieces.end()) return nullptr;
  free->second = {bytes, free->second.room, place};
  return free->first;
}

void free_in_kernel(void* memory, const void* place) {
  if (memory == nullptr) return;
  std::unique_lock guard(lock);
  const auto found = pieces.find(static_cast<char*>(memory));
  if (found == pieces.end() || found->second.freed) {
    const char* const what = found == pieces.end()
                                 ? "it frees memory that no kernel has got from malloc or new"
                                 : "it frees memory that was freed before";
    guard.unlock();  // a fault does not return
    fault(what, place);
  }
  found->second.freed = true;
  forget_contents(found->first, found->second.room);
}

std::optional<KernelArray> piece_missed(
    const KernelArray& array, std::uintptr_t address, std::size_t bytes) {
  if (heap == nullptr || array.begin != reinterpret_cast<std::uintptr_t>(heap)) return {};
  const std::lock_guard guard(lock);
  auto next = pieces.upper_bound(reinterpret_cast<char*>(address));
  if (next != pieces.begin()) --next;
  if (next == pieces.end()) return {};
  KernelArray piece = array;
  piece.name = "memory of malloc or new";
  piece.begin = reinterpret_cast<std::uintptr_t>(next->first);
  piece.bytes = next->second.bytes;
  if (piece.holds(address, bytes)) return {};
  return piece;
}

NeverFreed never_freed() {
  NeverFreed all;
  for (const auto& [memory, piece] : pieces) {
    if (piece.freed) continue;
    if (all.pieces++ == 0) all.place = piece.place;
    all.bytes += piece.bytes;
  }
  return all;
}

}  // namespace machine
