// What a thread has the copy engine do. `place` is a return address in the kernel, for messages.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/tensor_map.h"

namespace machine {

inline constexpr int kMostDimensions = 5;  // of a tensor map

// Copies of the box that begins at these coordinates, the column first.
void load_box_async(
    void* shared, const CUtensorMap* map, std::span<const int> at, void* barrier,
    const void* place);
void store_box_async(
    const void* shared, const CUtensorMap* map, std::span<const int> at, const void* place);
// Copies of bytes that lie together.
void load_bytes_async(
    void* shared, const void* global, std::uint32_t bytes, void* barrier, const void* place);
void store_bytes_async(void* global, const void* shared, std::uint32_t bytes, const void* place);
void commit_bulk_stores();
void wait_for_bulk_stores(int groups_in_flight, bool only_read, const void* place);

class BlockObserver;
struct Thread;

// Stores that were not waited for are made now. It is a hazard if one of them has not read shared
// memory, which the block gives back.
void end_bulk_stores(Thread& thread, BlockObserver* observer);

}  // namespace machine
