// What a thread does at the barriers of its block: those in shared memory (mbarrier) and the named
// ones. `place` is a return address in the kernel, for messages. A barrier is given by its address.
#pragma once

#include <cstdint>

namespace machine {

void init_mbarrier(void* barrier, unsigned count, const void* place);
// Its memory may be used for other things.
void invalidate_mbarrier(void* barrier, const void* place);
// Returns the phase in which it arrived.
std::uint64_t arrive_at_mbarrier(void* barrier, unsigned count, const void* place);
// The same when the cp.async copies that this thread has issued so far have arrived. The phase
// waits for one more arrival if it `is_additional`.
void arrive_when_copied(void* barrier, bool is_additional, const void* place);
// The phase also waits for that many bytes of copies.
void expect_at_mbarrier(void* barrier, unsigned bytes, const void* place);
// Whether the phase with that parity is complete. If it is not, other threads run until it is, or
// until none can.
bool wait_for_mbarrier(void* barrier, unsigned parity, const void* place);

void fence_mbarriers(const void* place);
void fence_async_proxy(const void* place);

// Barrier `id` for `threads` threads.
void sync_named_barrier(int id, int threads, const void* place);
void arrive_at_named_barrier(int id, int threads, const void* place);

}  // namespace machine
