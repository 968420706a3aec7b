// A number that other data would hardly have: FNV-1a (G. Fowler, L. Noll, P. Vo).
#pragma once

#include <cstdint>

namespace text {

inline constexpr std::uint64_t kNoFingerprint = 0xcbf29ce484222325;  // of nothing yet

// That of what `so_far` is the fingerprint of, and then of `piece`.
constexpr std::uint64_t fingerprint(std::uint64_t so_far, std::uint64_t piece) {
  return (so_far ^ piece) * 0x100000001b3;
}

}  // namespace text
