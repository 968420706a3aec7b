// What CUDA's vocabulary asks of the machine that runs it: what is only declared here, machine/
// defines. (The namespace is simt, because namespace cuda is NVIDIA's own.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace simt {

struct Extent {
  unsigned x, y, z;
  std::int64_t volume() const { return std::int64_t{x} * y * z; }
};

// What launch() calls: `thread(context)`, which calls `kernel`, once for every thread of the chosen
// blocks. `shared_bytes` is dynamic shared memory.
void run_grid(
    const void* kernel, Extent grid, Extent block, int shared_bytes, void (*thread)(void*),
    void* context);

// Of the threads of the block that came to the barrier.
struct BlockVote {
  int threads, votes;
};
BlockVote block_barrier(bool vote = false);

// Each waits for the lanes of `mask`, the caller's own among them, that have not left the kernel.
void warp_barrier(std::uint32_t mask);
std::uint32_t warp_ballot(std::uint32_t mask, bool vote);
// The value that lane `source` gives; all bits are set where it gives none. `width` is what the
// caller worked `source` out with.
std::uint64_t warp_shuffle(std::uint32_t mask, std::uint64_t value, int source, int width);

// The lanes that are at `place` when none of the warp can go on without them.
std::uint32_t warp_active(const void* place);

int lane();        // of the thread that runs
int warp_lanes();  // of its warp, with those that have no thread

void fence();           // __threadfence and its kin
void let_others_run();  // __nanosleep
// Of a traced kernel: the load of these bytes that follows is one of __ldg.
void read_only_load(const void* pointer, std::size_t bytes);
// Each waits for all threads of the launch. Where not all blocks run, or too many, it is a fault.
void grid_barrier();

// `bytes` bytes at a multiple of 256, as cudaMalloc gives them, all of them 0xff (floats: NaN), so
// that what is read before it is written shows. `argument` is how the pointer was handed over,
// "(void**)&partial": its last name is the array's. Null where there is not so much memory, or
// where 0 bytes are asked for. Called by a kernel it is a fault.
void* device_malloc(std::size_t bytes, std::string_view argument);

// False where `memory` is not of device_malloc; null is, as in free().
bool device_free(void* memory);

}  // namespace simt
