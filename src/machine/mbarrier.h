// The state of an mbarrier: PTX ISA 9.0, "Parallel synchronization and communication: mbarrier".
#pragma once

#include <cstdint>

namespace machine {

class Mbarrier {
 public:
  static constexpr unsigned kMostArrivals = (1u << 20) - 1;
  static constexpr std::int64_t kMostBytes = (1 << 20) - 1;

  explicit Mbarrier(unsigned arrivals) : arrivals_(arrivals), missing_(arrivals) {}

  // Returns false, and does nothing, if all arrivals of the phase have come.
  bool arrive() {
    if (missing_ == 0) return false;
    --missing_;
    complete_phase();
    return true;
  }
  // One more arrival, in this phase only.
  void expect_arrival() { ++missing_; }
  // The phase also waits for that many bytes, or has received them. Returns false, and does
  // nothing, if the sum is more than an mbarrier can hold.
  bool expect(std::int64_t bytes) {
    if (bytes_ + bytes > kMostBytes || bytes_ + bytes < -kMostBytes) return false;
    bytes_ += bytes;
    return true;
  }
  bool receive(std::int64_t bytes) {
    if (!expect(-bytes)) return false;
    complete_phase();
    return true;
  }

  std::uint64_t phase() const { return phase_; }  // the one in progress, from 0
  // Whether the last phase with that parity is complete.
  bool is_complete(unsigned parity) const { return phase_ % 2 != parity % 2; }
  unsigned arrivals() const { return arrivals_; }
  unsigned missing_arrivals() const { return missing_; }
  std::int64_t missing_bytes() const { return bytes_; }  // below 0: received before announced

 private:
  void complete_phase() {
    if (missing_ != 0 || bytes_ != 0) return;
    ++phase_;
    missing_ = arrivals_;
  }

  unsigned arrivals_, missing_;
  std::int64_t bytes_ = 0;
  std::uint64_t phase_ = 0;
};

}  // namespace machine
