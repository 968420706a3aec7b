// The sizes of the hardware's units, with which every rule of the model scales.
#pragma once

#include <algorithm>
#include <cstdint>

namespace model {

inline constexpr int kWordBytes = 4;  // the width of a bank

// All are powers of two, and small, because every access of a warp carries them.
struct WarpGeometry {
  std::uint8_t lanes = 32;         // of a warp: 32 at most
  std::uint8_t sector_bytes = 32;  // the least that global memory moves
  std::uint8_t line_bytes = 128;   // of L1: four sectors
  std::uint8_t banks = 32;         // of shared memory, each a word wide

  bool operator==(const WarpGeometry&) const = default;

  // The bytes that all banks give in one cycle.
  constexpr int row_bytes() const { return banks * kWordBytes; }
  // How many lanes with this many bytes each (a word or more) shared memory serves at a time: as
  // many as fill all banks once.
  constexpr int lanes_a_group(int bytes) const { return std::min<int>(lanes, row_bytes() / bytes); }
  constexpr int sector_words() const { return sector_bytes / kWordBytes; }
  constexpr int sectors_a_line() const { return line_bytes / sector_bytes; }

  // The threads of a block are assigned to its warps in order.
  constexpr int warp_of(int thread) const { return thread >> lane_bits(); }
  constexpr int lane_of(int thread) const { return thread & (lanes - 1); }
  constexpr int thread_of(int warp, int lane) const { return (warp << lane_bits()) + lane; }
  constexpr int warps_of(int threads) const { return ((threads - 1) >> lane_bits()) + 1; }

 private:
  // Called for every watched access; std::countr_zero would also check for 0.
  constexpr int lane_bits() const { return __builtin_ctz(lanes); }
};

inline constexpr WarpGeometry kGpuWarp{};                // of every NVIDIA GPU to date
inline constexpr WarpGeometry kPaperWarp{4, 16, 64, 8};  // of the walkthrough's worked examples

}  // namespace model
