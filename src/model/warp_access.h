// One access of one warp, its cost, and how it is split into sectors of global memory and
// wavefronts of shared memory, by rules measured on an H200 (src/model/data/*.csv). The rules scale
// with the warp's geometry; the sizes in comments are those of a real GPU. And the counts of a
// traced launch, which add up such costs: plain data, filled by trace/, printed by report/.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

  // The address of the lowest lane; 0 without any.
  std::uint64_t first() const { return active == 0 ? 0 : address[std::countr_zero(active)]; }
};

// Calls visit(lane) for each lane of the mask, lowest first.
template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

// What ldmatrix gives a lane of one of its matrices: the lane that names the row, and the word in
// this row. PTX ISA 9.0, ldmatrix.
struct MatrixWord {
  int lane, word;
};
constexpr MatrixWord matrix_word(int lane, int matrix) {
  return {8 * matrix + lane / 4, lane % 4};
}

// Calls visit(word) for each word (address / 4) that the lane accesses.
template <class Visit>
void for_each_word(const WarpAccess& access, int lane, Visit visit) {
  const std::uint64_t last = (access.address[lane] + access.bytes - 1) / kWordBytes;
  for (std::uint64_t word = access.address[lane] / kWordBytes; word <= last; ++word) visit(word);
}

// The cost of an access does not change when one constant is added to every lane's address:
//   sectors             a multiple of 32, a sector
//   global_lines        a multiple of 128, a line
//   wavefronts_of_load, wavefronts_of_store
//                       a multiple of max(bytes, 4): for aligned lanes only their relative offsets
//                       matter, because the constant only rotates the banks
//   split_async_copy    a multiple of 128, a line, on either side
// For another geometry, its own sector or line counts instead.

// Distinct 128-byte lines that the active lanes access: the L1 cache looks up one per cycle.
int global_lines(const WarpAccess& access);

// The fewest sectors that can hold the distinct bytes that the active lanes access: 4, 8, 16 for a
// full warp with 4, 8, 16 bytes per lane at distinct addresses, and 1 if all addresses are equal.
int ideal_global_sectors(const WarpAccess& access);

// Sectors beyond those of the same number of lanes at contiguous, distinct addresses: 0 for a
// coalesced access. Lanes that share addresses may access more sectors than the ideal and still be
// coalesced: two groups of 16 lanes that each load one float take two sectors; the ideal is one.
int uncoalesced_sectors(const WarpAccess& access);

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

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](int i) { return elements_[i]; }
  const T& operator[](int i) const { return elements_[i]; }
  T* begin() { return elements_.data(); }
  T* end() { return elements_.data() + size_; }
  const T* begin() const { return elements_.data(); }
  const T* end() const { return elements_.data() + size_; }

 private:
  std::array<T, most> elements_;  // the first size_ of them are used
  int size_ = 0;
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
  int bank_conflicts() const { return size() - groups; }
};

// Shared memory has 32 banks of 4 bytes. Lanes are served in groups that could read 128 bytes: all
// 32 lanes with up to 4 bytes, 16 lanes with 8, 8 lanes with 16. A group takes one wavefront for
// each distinct word in its fullest bank. For loads, neighbouring groups are served as one if lanes
// are equal in pairs: every active lane's neighbour l^1 is inactive or has the same address, or the
// same holds for every active lane's l^2. On a GPU of another geometry a group is as many lanes as
// fill all banks once, and no more than the warp has: WarpGeometry::lanes_a_group.
//
// A load with `matrices` is ldmatrix.x1, .x2 or .x4 (1, 2, 4): lanes 8i to 8i+7 hold the addresses
// of the eight 16-byte rows of matrix i, and each matrix is a group. `bytes` does not matter.
Wavefronts wavefronts_of_load(const WarpAccess& access);
Wavefronts wavefronts_of_store(const WarpAccess& access);

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
// and the 84 of h100_cpasync_tiles.csv. In stages 9 and 12 the counters differ at some edges, where
// predicate P0 says which lanes copy (data/README.md). They report no bank conflicts for 16 bytes.
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

// One count over all traced threads.
struct PerThread {
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t sum = 0;
};

// What a traced block's request takes on average: the least and the most of all blocks.
struct OfBlocks {
  std::optional<double> least, most;
  bool differ() const { return least != most; }
};

// Accesses of warps, and what they cost.
struct Requests {
  std::int64_t requests = 0;        // instructions of one warp
  std::int64_t pieces = 0;          // global: 32-byte sectors; shared: wavefronts
  std::int64_t ideal_pieces = 0;    // the fewest that the same lanes, or bytes, could take
  std::int64_t bank_conflicts = 0;  // shared only: wavefronts beyond one per group of lanes
  std::int64_t uncoalesced = 0;     // global only: sectors beyond those of a coalesced access
  std::int64_t lines = 0;           // global only: 128-byte lines, summed over the requests
};
inline constexpr std::array kOfRequests = {&Requests::requests,     &Requests::pieces,
                                           &Requests::ideal_pieces, &Requests::bank_conflicts,
                                           &Requests::uncoalesced,  &Requests::lines};

// One direction (loads or stores) of one memory space (global or shared).
struct Traffic : Requests {
  PerThread accesses;  // as written: one float4 is one access
  PerThread floats;    // bytes / 4
  PerThread bytes;
};

// What an optimizing compiler could make of a line's loads from shared memory.
struct Merging {
  // As loads of 8 and of 16 bytes per lane, if all lanes have the same alignment: the loads that
  // each would begin with, and its wavefronts.
  struct Wide {
    std::int64_t requests = 0;
    std::int64_t wavefronts = 0;
    int most = 0;  // of one request
  } by_64, by_128;

  // Of the loads that were watched, in some of the blocks, those whose word their warp had loaded
  // or stored since the last barrier, and those that are one of two or four aligned neighbours
  // that it loaded since then.
  std::int64_t watched = 0, repeated = 0, in_pairs = 0, in_fours = 0;
};

enum class Direction { load, store, copy };  // copy: one side of a cp.async

// The accesses of one source line to one array, counted in the traced blocks.
struct LineCounts : Requests {
  int line = 0;                  // of the kernel, from 1; 0 if unknown
  int helper_line = 0;           // if a function that `line` calls makes the access: its line
  std::string helper_file = {};  // of that line, unless it is the kernel's own
  std::string array;             // "A", "Bs"; "dynamic" for dynamic shared memory
  bool shared = false;           // else global
  Direction direction = Direction::load;
  int bytes = 0;                // bytes per lane
  std::int64_t executions = 0;  // lanes that took part, in total
  // The bytes that cp.async had in flight for the warp, not yet waited for: the sum over all of
  // these requests (loads from shared memory only), and the maximum at one of them.
  std::int64_t in_flight_bytes = 0;
  std::int64_t in_flight_most = 0;
  int worst_pieces = 0;  // sectors or wavefronts of the costliest request
  std::int64_t worst_block = 0;
  WarpAccess worst{};  // the first request with that cost; addresses relative to the array's start
  WarpAccess worst_other{};  // of a cp.async: its other side
  Merging merging;           // of loads from shared memory

  // The place in the program, outermost call first. src/simulator/trace/source_lines.h converts
  // these to lines.
  std::vector<std::uint32_t> places;
};

// The counts of a line that are added up, over blocks and over tiles of K.
template <class Line>
auto sums_of(Line& line) {
  auto& [by_64, by_128, watched, repeated, in_pairs, in_fours] = line.merging;
  return std::array{&line.executions, &line.in_flight_bytes,
                    &by_64.requests,  &by_64.wavefronts,
                    &by_128.requests, &by_128.wavefronts,
                    &watched,         &repeated,
                    &in_pairs,        &in_fours};
}

#define HAZARD(name, severity, symptom, place, sentence) name,
enum class HazardKind {
#include "model/hazards.inc"
};

// An entry of model/hazards.inc, which explains them.
struct HazardEntry {
  const char* name;
  enum Severity { fatal, wrong, note } severity;
  const char *symptom, *place, *sentence;
};
#define HAZARD(name, severity, symptom, place, sentence) \
  {#name, HazardEntry::severity, symptom, place, sentence},
inline constexpr HazardEntry kHazards[] = {
#include "model/hazards.inc"
};

constexpr const HazardEntry& entry_of(HazardKind kind) {
  return kHazards[static_cast<int>(kind)];
}
constexpr bool is_fatal(HazardKind kind) {
  return entry_of(kind).severity == HazardEntry::fatal;
}
constexpr bool is_note(HazardKind kind) {
  return entry_of(kind).severity == HazardEntry::note;
}

// What a race or a misaligned access needs.
#define REMEDY(name, text) name,
enum class Remedy {
#include "model/hazards.inc"
};

// Something that a kernel must not do, with the places of the one or two accesses.
struct Hazard {
  HazardKind kind;
  std::string array;  // out_of_bounds: the nearest array; empty if none is near
  // From the start of the array, or an address; before the start it wraps around.
  std::uint64_t byte;
  std::int64_t block;  // linear, like its threads
  struct Actor {
    std::int64_t thread = -1;  // -1: there is no second access
    int line = 0;              // as in LineCounts
    bool stores = false;
    std::vector<std::uint32_t> places;
    int helper_line = 0;                      // as in LineCounts
    std::string file = {}, helper_file = {};  // of the two lines, unless it is the user's own
  } first, second;
  std::int64_t other_block = -1;  // the second access's block, if it differs
  bool shared = false;            // for out_of_bounds: the array is in shared memory
  std::int64_t index = 0;         // as model/hazards.inc says
  std::int64_t extent = 0;        // index_out_of_range: elements of the dimension; out_of_bounds:
                            // elements of the array; never_written: the number of such elements;
                            // unwritten: bytes of the access, negative if a part is written
  Remedy remedy = Remedy::block_barrier;
  std::array<unsigned, 3> grid{}, block_size{};  // of its launch
  std::int64_t more = 0;  // the number of other pairs of accesses on the same lines
};

struct Counts {
  std::int64_t blocks = 0;         // of the launch
  std::int64_t blocks_traced = 0;  // the counts below are for these blocks only
  std::int64_t blocks_cut = 0;     // of these: only their beginning was traced
  bool along_part_of_K = false;    // the rest of K, and of a block's tiles, was extrapolated
  std::int64_t threads_traced = 0;
  std::int64_t barriers = 0;  // number of barriers that blocks reached
  // Instructions of the tensor cores, and the multiply-adds that they make. A wgmma counts once for
  // each of its four warps.
  std::int64_t mmas = 0, mma_products = 0;
  // The stack that a thread's active functions used, for the thread that used the most. The source
  // is compiled without optimization, so all its variables are on the stack.
  std::int64_t local_bytes = 0;
  Traffic gmem_loads;  // these include cp.async ...
  Traffic gmem_stores;
  Traffic smem_loads;
  Traffic smem_stores;  // ... and so do these;
  Traffic async_gmem;   // these count cp.async alone: its global side
  Traffic async_smem;   // and its shared side
  // Of async_smem: what ncu leaves out where predicate P0 says which lanes copy (data/README.md).
  std::int64_t wavefronts_beyond_fills = 0;
  // Of async_gmem: the boxes that the copy engine moves.
  std::int64_t box_requests = 0, box_sectors = 0;
  // Boxes that are outside of their matrix, and the sectors that ncu counts for all boxes
  // (BoxCost).
  std::int64_t boxes_outside = 0, box_sectors_delivered = 0;
  // The bytes of boxes that may be in flight when one starts, its own included, summed over all
  // starts: the thread that starts it cannot know that they have arrived. (Counted with hazards.)
  std::int64_t box_bytes_in_flight = 0;
  OfBlocks block_sectors;    // of a load from global memory
  OfBlocks block_conflicts;  // bank conflicts of a load from shared memory or a store to it
  // Of smem_loads: ldmatrix.
  std::int64_t ldmatrix_requests = 0, ldmatrix_wavefronts = 0;
  // Atomics on global memory, each of which is counted among both the loads and the stores.
  std::int64_t atomic_requests = 0, atomic_sectors = 0;
  std::vector<LineCounts> lines;
  WarpGeometry warp{};          // of the GPU whose requests these are
  std::vector<Hazard> hazards;  // and notes: the first for each kind, array and pair of places
};

// The parts of Counts that are added up over the traced blocks. In each, every tile of K adds the
// same number.
inline constexpr std::array kTraffic = {&Counts::gmem_loads, &Counts::gmem_stores,
                                        &Counts::smem_loads, &Counts::smem_stores,
                                        &Counts::async_gmem, &Counts::async_smem};
inline constexpr std::array kSums = {
    &Counts::wavefronts_beyond_fills,
    &Counts::box_bytes_in_flight,
    &Counts::blocks_traced,
    &Counts::threads_traced,
    &Counts::barriers,
    &Counts::mmas,
    &Counts::mma_products,
    &Counts::box_requests,
    &Counts::box_sectors,
    &Counts::boxes_outside,
    &Counts::box_sectors_delivered,
    &Counts::ldmatrix_requests,
    &Counts::ldmatrix_wavefronts,
    &Counts::atomic_requests,
    &Counts::atomic_sectors};

inline bool has_fatal(const Counts& counts) {
  for (const Hazard& hazard : counts.hazards) {
    if (is_fatal(hazard.kind)) return true;
  }
  return false;
}

// Whether there is anything besides notes.
inline bool has_hazard(const Counts& counts) {
  for (const Hazard& hazard : counts.hazards) {
    if (!is_note(hazard.kind)) return true;
  }
  return false;
}

// Adds one more thread's value.
void include(PerThread& figure, std::int64_t value, bool first);
// Adds another block's value, if it has one.
void include(OfBlocks& figure, std::optional<double> value);

// Adds a hazard. Of two hazards that differ only in the block, keeps the first.
void add(std::vector<Hazard>& hazards, const Hazard& more);

// Adds the counts of more blocks.
void add(Counts& to, const Counts& from);

// Whether the two count the same access of a source line.
bool is_same_access(const LineCounts& a, const LineCounts& b);

// Adds `more` to the entry for the same access, or as a new entry.
void add(std::vector<LineCounts>& lines, const LineCounts& more);

void add_requests(Requests& to, const Requests& from);

}  // namespace model
