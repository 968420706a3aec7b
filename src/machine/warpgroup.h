// wgmma: what one thread of a warpgroup has given to the tensor cores, and how they multiply.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/async_groups.h"

namespace machine {

inline constexpr int kWarpgroupThreads = 128;

// The elements of a and b.
enum class WgmmaElement { tf32, f16, bf16 };

struct Multiply {
  float* d;
  int registers;
  const unsigned* a;  // null: the thread gave values, which cannot change
  std::array<unsigned, 4> a_when_issued;
  std::uint64_t b;
  bool adds;
  const void* place;
  WgmmaElement element = WgmmaElement::tf32;
  std::optional<std::uint64_t> a_tile = std::nullopt;  // a descriptor in place of registers
};

// From the issue until the wait, the results are here and the thread's registers are poisoned.
class Accumulators {
 public:
  // Takes the values of a thread's registers away.
  Accumulators(float* d, int registers);
  bool are_untouched() const;
  void give_back() const;

  float* d;
  std::vector<float> values;
  int multiplies = 0;  // that are not complete
};

class WgmmaOfThread {
 public:
  // It has not multiplied since it was cleared.
  bool is_idle() const { return !fenced_ && groups_.is_idle(); }
  void clear();
  // The thread's stack as it is at a wgmma_fence: the tensor cores may use registers that have not
  // changed since. Empty: any registers.
  void fence(std::span<const char> stack);
  // Returns a clause about what is wrong; empty: nothing.
  std::string issue(const Multiply& multiply, bool checks);
  void commit() { groups_.commit(); }

  // The multiplications that a wait completes, oldest first. Returns what is wrong with one.
  struct Wrong {
    std::string what;
    const void* place;
  };
  std::optional<Wrong> complete(int groups_in_flight, bool checks);
  std::span<const Multiply> completing() const { return completing_; }
  std::span<float> results_of(const Multiply& multiply);
  // Their results are in the thread's registers from now on.
  void give_back();
  std::uint64_t completed() const { return completed_; }

 private:
  Accumulators* find(const float* d);
  bool has_changed_since_fence(const void* registers, std::size_t bytes) const;

  AsyncGroups<Multiply> groups_;
  std::vector<Multiply> completing_;
  std::vector<Accumulators> accumulators_;
  bool fenced_ = false;
  const char* stack_ = nullptr;  // at the last fence ...
  std::vector<char> held_;       // ... held this
  std::uint64_t completed_ = 0;
};

// Completes the same multiplication of all threads of a warpgroup. `shared` is dynamic shared
// memory.
void multiply_together(
    std::span<WgmmaOfThread* const> threads, std::size_t number, const char* shared);

// The first shared address after the operand of N rows, and an alignment that it must have.
std::uint32_t end_of_operand(std::uint64_t descriptor, int N);

}  // namespace machine
