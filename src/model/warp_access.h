// One access of one warp, its cost, and how it is split into sectors of global memory and
// wavefronts of shared memory, by rules measured on an H200 (src/model/data/*.csv). The rules scale
// with the warp's geometry; the sizes in comments are those of a real GPU.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace model {

// The sizes of the hardware's units, with which every rule of the model scales.
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

// The lanes of a real warp, which no other geometry exceeds.
inline constexpr int kWarpSize = 32;

// One instruction of one warp: every active lane accesses `bytes` bytes at its address. Addresses
// are multiples of `bytes`, as the hardware requires; other addresses are tolerated here.
struct WarpAccess {
  std::uint32_t active;  // bit l: lane l takes part
  int bytes;             // per lane: 1, 2, 4, 8 or 16
  std::array<std::uint64_t, kWarpSize> address;
  WarpGeometry warp{};  // of the GPU that makes the access
  // Of an ldmatrix: the lanes give the addresses of the rows of this many matrices, 16 bytes each,
  // and receive words of all rows. 0: every lane loads or stores at its own address.
  int matrices = 0;
  // Of the source of a cp.async: the lanes that read nothing, because the instruction fills their
  // part with zeros. They are not in `active`, but have an address.
  std::uint32_t filling = 0;
};

// Calls visit(lane) for each lane of the mask, lowest first.
template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

// Calls visit(word) for each word (address / 4) that the lane accesses.
template <class Visit>
void for_each_word(const WarpAccess& access, int lane, Visit visit) {
  const std::uint64_t last = (access.address[lane] + access.bytes - 1) / kWordBytes;
  for (std::uint64_t word = access.address[lane] / kWordBytes; word <= last; ++word) visit(word);
}

struct SharedCost {
  int wavefronts;
  int groups;  // the fewest wavefronts these lanes could take
  int bank_conflicts() const { return wavefronts - groups; }
};

// The cost of an access does not change when one constant is added to every lane's address:
//   global_sectors      a multiple of 32, a sector
//   global_lines        a multiple of 128, a line
//   shared_load, shared_store, ldmatrix
//                       a multiple of max(bytes, 4): for aligned lanes only their relative offsets
//                       matter, because the constant only rotates the banks
//   async_copy          a multiple of 128, a line, on either side
// For another geometry, its own sector or line counts instead.

// Distinct 32-byte sectors that the active lanes access. The same for loads and stores.
int global_sectors(const WarpAccess& access);

// Distinct 128-byte lines that the active lanes access: the L1 cache looks up one per cycle.
int global_lines(const WarpAccess& access);

// The fewest sectors that can hold the distinct bytes that the active lanes access: 4, 8, 16 for a
// full warp with 4, 8, 16 bytes per lane at distinct addresses, and 1 if all addresses are equal.
int ideal_global_sectors(const WarpAccess& access);

// Sectors beyond those of the same number of lanes at contiguous, distinct addresses: 0 for a
// coalesced access. Lanes that share addresses may access more sectors than the ideal and still be
// coalesced: two groups of 16 lanes that each load one float take two sectors; the ideal is one.
int uncoalesced_sectors(const WarpAccess& access);

SharedCost shared_load(const WarpAccess& access);
SharedCost shared_store(const WarpAccess& access);
SharedCost ldmatrix(const WarpAccess& access, int matrices);

struct AsyncCopyCost {
  int sectors;
  SharedCost shared;
};

// cp.async: see split_async_copy() below.
AsyncCopyCost async_copy(const WarpAccess& to, const WarpAccess& from);

// A list of at most `most` elements, stored in place: splitting a request must not allocate,
// because a trace does it for every request.
template <class T, std::size_t most>
class ShortList {
 public:
  ShortList() {}  // the elements stay uninitialized

  void push_back(const T& element) { elements_[size_++] = element; }
  void insert(T* before, const T& element) {
    for (T* at = end(); at != before; --at) *at = at[-1];
    *before = element;
    ++size_;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return elements_[i]; }
  const T& operator[](std::size_t i) const { return elements_[i]; }
  T* begin() { return elements_.data(); }
  T* end() { return elements_.data() + size_; }
  const T* begin() const { return elements_.data(); }
  const T* end() const { return elements_.data() + size_; }

 private:
  std::array<T, most> elements_;  // the first size_ of them are used
  std::size_t size_ = 0;
};

// How a request to global memory is split into sectors, with the lanes of each. The counts are the
// lengths of these lists, and pictures draw the same lists, so that the two always agree.

// Of a real GPU, which no other geometry exceeds.
inline constexpr int kSectorBytes = 32;
inline constexpr int kSectorWords = kSectorBytes / kWordBytes;

struct Sector {
  std::uint64_t number;  // address / bytes of a sector
  std::uint32_t lanes;   // that access it
};

// A lane accesses at most two sectors, and the second only if its address is misaligned.
using Sectors = ShortList<Sector, 2 * kWarpSize>;

// The sectors that the active lanes access, in ascending order. The same for loads and stores.
Sectors sectors(const WarpAccess& access);

// For each word of a sector, the lanes that access it.
ShortList<std::uint32_t, kSectorWords> lanes_at_words(
    const WarpAccess& access, const Sector& sector);

// How a request to shared memory is split into wavefronts, with the lanes of each. The counts are
// the lengths of these lists, and pictures draw the same lists, so that the two always agree.

inline constexpr int kBanks = 32;  // of a real GPU, which no other geometry exceeds

// One cycle of shared memory, in which each bank reads or writes one word.
struct Wavefront {
  std::uint32_t lanes;  // the lanes that it serves
  int group;            // the group of lanes, from 0; the second wavefront of a group is a conflict
};

struct Wavefronts : ShortList<Wavefront, kWarpSize> {
  int groups = 0;  // the fewest wavefronts that these lanes could take
};

// Shared memory has 32 banks of 4 bytes. Lanes are served in groups that could read 128 bytes: all
// 32 lanes with up to 4 bytes, 16 lanes with 8, 8 lanes with 16. A group takes one wavefront for
// each distinct word in its fullest bank. For loads, neighbouring groups are served as one if lanes
// are equal in pairs: every active lane's neighbour l^1 is inactive or has the same address, or the
// same holds for every active lane's l^2. On a GPU of another geometry a group is as many lanes as
// fill all banks once, and no more than the warp has: WarpGeometry::lanes_a_group.
// A load with `matrices` is an ldmatrix, see below.
Wavefronts wavefronts_of_load(const WarpAccess& access);
Wavefronts wavefronts_of_store(const WarpAccess& access);

// ldmatrix.x1, .x2, .x4 (`matrices` is 1, 2, 4): lanes 8i to 8i+7 hold the addresses of the eight
// 16-byte rows of matrix i, and each matrix is a group. `access.bytes` does not matter.
Wavefronts wavefronts_of_ldmatrix(const WarpAccess& access, int matrices);

// For each bank, those of `lanes` that access a word in it.
ShortList<std::uint32_t, kBanks> lanes_at_banks(const WarpAccess& access, std::uint32_t lanes);

// How one warp's cp.async is split on its global side and on its shared side.

struct AsyncCopySplit {
  Sectors sectors;  // in ascending order; one that is fetched n times is listed n times
  Wavefronts wavefronts;
};

// cp.async (LDGSTS) of 4, 8 or 16 bytes per lane, from global memory to shared memory.
//
// 4 and 8 bytes: the lanes form groups of 32 and 16. The words are read from the L1 cache, whose
// lines have the same 32 banks. So a lane waits for all lanes of its group that read from its bank
// or write to its bank, even if they read the same word. A group takes as many wavefronts as the
// largest number of lanes, including the lane itself, that any of its lanes shares a bank with.
//
// 16 bytes: see the comments in the .cpp file. Eight lanes that copy a line to a line take one
// wavefront, in any order that keeps the two lanes of a sector together.
//
// A lane that only fills with zeros reads nothing, so it has no sector. The counter of the sectors
// that arrive from the L2 cache (l1tex__m_xbar2l1tex_read_sectors) says so, too. With 4 and 8 bytes
// it takes part in the shared side like the others, by the bank that it writes to, if the same
// instruction copies and fills (from.filling). With 16 bytes, or if another instruction fills, that
// is a store of its own: the lane is active in `to`, and in `from` it is not. nvcc makes two
// instructions of __pipeline_memcpy_async where some lanes fill.
//
// Exact for the 873 measured copies of h200_cpasync_strided.csv, the 232 of h200_cpasync_filled.csv
// and the 84 of h100_cpasync_tiles.csv. Not exact: in stages 9 to 11 the counters have lanes of 16
// bytes that fill as if they copied, and in stage 12 misaligned rows of some shapes take fewer
// wavefronts (results/h200-ncu-shapes.txt). The counters report no bank conflicts for 16 bytes.
// They also count lanes that a predicate switches off: of a copy in an `if` they are no measure.
//
// On a GPU of another geometry a "line" is what all banks give in one cycle, groups are as for
// other accesses, and a 16-byte copy whose sectors are no larger moves a whole one.
//
// The assignment of lanes to wavefronts is our choice where the counters tell only the number of
// wavefronts.
AsyncCopySplit split_async_copy(const WarpAccess& to, const WarpAccess& from);

// What a box that the copy engine (TMA) moves costs in global memory.
struct BoxCost {
  std::int64_t bytes;
  std::int64_t sectors;        // distinct 32-byte pieces of its rows
  std::int64_t ideal_sectors;  // the fewest that hold as many bytes
  std::int64_t lines;          // 128-byte lines, summed over its rows
  std::int64_t delivered;      // the sectors that ncu counts, with zeros for what is outside
};

struct Box {
  // The part that is inside of the matrix: rows of `row_bytes`, `pitch_bytes` apart.
  std::uint64_t address;
  std::int64_t rows, row_bytes;
  std::uint64_t pitch_bytes;
  // What is outside: to the left and to the right of each of these rows, and in other rows.
  std::int64_t bytes_before = 0, bytes_after = 0, bytes_of_other_rows = 0;
};

// Rows that share a sector count it once among `sectors`. That it is read only once is assumed, not
// measured. `delivered` is what ncu counts as read into L1 by the copy engine
// (l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld), measured on an H200
// (data/h200_tma_boxes.csv, boxes of 128 bytes per row): each row counts the sectors that its inner
// part touches, and for what is outside on either side one per 32 bytes, rounded up. A piece of 16
// bytes that is partly inside counts as inside (rows of 127 and of 509 floats,
// results/h200-ncu-251x509x127.txt).
BoxCost box_cost(const Box& box);

}  // namespace model
