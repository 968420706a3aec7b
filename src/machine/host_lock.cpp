#include "machine/host_lock.h"

#include <mutex>

#include "machine/runners.h"

namespace machine {
namespace {

// A callback, or a thread that a launch has ended, may call again.
std::recursive_mutex one_at_a_time;

}  // namespace

HostLock::HostLock() : held_(!in_kernel()) {
  if (held_) one_at_a_time.lock();
}

HostLock::~HostLock() {
  if (held_) one_at_a_time.unlock();
}

}  // namespace machine
