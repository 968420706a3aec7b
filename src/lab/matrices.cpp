#include "lab/matrices.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <mutex>
#include <new>

namespace lab {

namespace {

struct Reservation {
  void* begin;
  std::size_t bytes;
};
std::mutex reservations_lock;
std::map<void*, Reservation> reservations;  // key: the memory that was handed out

std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

// The mixing function of SplitMix64 (Steele, Lea, Flood 2014): element i does not depend on i - 1.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

void* allocate_guarded(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  constexpr std::size_t kGuard = std::size_t{8} << 30, kSmallGuard = std::size_t{1} << 16;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t aligned = rounded_up(bytes, kAlignment), usable = rounded_up(aligned, page);
  if (usable < bytes) throw std::bad_alloc();
  // If address space is limited (ulimit -v), the rest of the program needs it more.
  rlimit limit{};
  const bool rationed = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  for (const std::size_t guard : {rationed ? kSmallGuard : kGuard, kSmallGuard}) {
    const Reservation all{
        mmap(
            nullptr, usable + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
            0),
        usable + 2 * guard};
    if (all.begin == MAP_FAILED) continue;
    char* const middle = static_cast<char*>(all.begin) + guard;
    if (mprotect(middle, usable, PROT_READ | PROT_WRITE) != 0) {
      munmap(all.begin, all.bytes);
      break;
    }
    char* const memory = middle + usable - aligned;
    const std::lock_guard lock(reservations_lock);
    reservations[memory] = all;
    return memory;
  }
  throw std::bad_alloc();
}

void free_guarded(void* memory) {
  const std::lock_guard lock(reservations_lock);
  const auto found = reservations.find(memory);
  munmap(found->second.begin, found->second.bytes);
  reservations.erase(found);
}

Floats random_floats(std::size_t count, std::uint64_t seed) {
  constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;
  const std::uint64_t start = mix(seed * kGoldenGamma);
  Floats values(count);
#pragma omp parallel for
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits24 = mix(start + i * kGoldenGamma) >> 40;
    values[i] = static_cast<float>(bits24) * 0x1p-23f - 1.0f;
  }
  return values;
}

double relative_difference(std::span<const float> a, std::span<const float> b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) && !std::isfinite(b[i])) continue;
    const double d = double{a[i]} - b[i];
    difference += d * d;
    norm += double{b[i]} * b[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

}  // namespace lab
