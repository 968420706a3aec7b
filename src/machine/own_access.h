// Accesses that the machine makes for a kernel, such as those of an atomic or a completed cp.async.
#pragma once

#include <atomic>

namespace machine {

extern __thread bool makes_own_access;  // signal handlers read it

struct OwnAccess {
  OwnAccess() {
    makes_own_access = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~OwnAccess() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    makes_own_access = false;
  }
  OwnAccess(const OwnAccess&) = delete;
  OwnAccess& operator=(const OwnAccess&) = delete;
};

}  // namespace machine
