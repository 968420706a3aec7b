// A program may call CUDA from several threads. Its calls and launches run one at a time.
#pragma once

namespace machine {

// While this object exists, no other thread of the host is in a call. A kernel's thread holds
// nothing, and neither does a copy.
class HostLock {
 public:
  HostLock();
  HostLock(const HostLock&) noexcept : held_(false) {}
  HostLock& operator=(const HostLock&) = delete;
  ~HostLock();

 private:
  bool held_;
};

}  // namespace machine
