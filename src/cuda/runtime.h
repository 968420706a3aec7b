// What CUDA's vocabulary needs from the machine that runs it. These functions are only declared
// here; machine/ defines them. (The namespace is simt, because namespace cuda is NVIDIA's own.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

struct Extent {
  unsigned x, y, z;
  std::int64_t volume() const { return std::int64_t{x} * y * z; }
};

// launch() calls this. It calls `thread(context)`, which calls `kernel`, once for every thread of
// the chosen blocks. `shared_bytes` is dynamic shared memory. The kernel's arguments are in the
// `context_bytes` bytes of the context, and the threads need no other memory of their caller.
void run_grid(
    const void* kernel, Extent grid, Extent block, int shared_bytes, void (*thread)(void*),
    void* context, std::size_t context_bytes);

// The number of threads of the block that reached the barrier, and of their votes.
struct BlockVote {
  int threads, votes;
};
BlockVote block_barrier(bool vote = false);

// Each of these waits for the lanes of `mask` that have not left the kernel, including the caller's
// own.
void warp_barrier(std::uint32_t mask);
std::uint32_t warp_ballot(std::uint32_t mask, bool vote);
// The value that lane `source` gives; all bits are set if it gives none. The caller used `width` to
// compute `source`.
std::uint64_t warp_shuffle(std::uint32_t mask, std::uint64_t value, int source, int width);

// The lanes that are at `place` at the moment when no lane of the warp can continue without them.
std::uint32_t warp_active(const void* place);

int lane();        // the lane of the running thread
int warp_lanes();  // the lanes of its warp, including those without a thread

void fence();           // __threadfence and its variants
void let_others_run();  // __nanosleep
// In a traced kernel: the next load of these bytes is an __ldg.
void read_only_load(const void* pointer, std::size_t bytes);
// Waits for all threads of the launch. It is a fault if not all blocks run, or more than fit.
void grid_barrier();

}  // namespace simt
