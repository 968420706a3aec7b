// The counts of the blocks that run on one thread of the operating system.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/counts.h"
#include "model/warp_access.h"
#include "simulator/machine/async_copies.h"
#include "simulator/trace/source_lines.h"
#include "simulator/trace/thread_order.h"
#include "simulator/trace/warp_log.h"

namespace trace {

// Which words of shared memory a warp has accessed since the last barrier: a compiler may leave out
// a load of the same word, and may merge the loads of neighbouring ones.

class RepeatedWords {
 public:
  // Counts in `site.counts.merging`. The first lane's words stand for those of the warp. Accesses
  // to other memory are ignored.
  void request(Site& site, const model::WarpAccess& access, int warp);
  void barrier();

 private:
  // For each key a few bits, which are 0 at first and after clear().
  class Table {
   public:
    std::uint8_t& operator[](std::uint64_t key);
    void clear();

   private:
    struct Slot {
      std::uint64_t key = 0;
      std::uint32_t round = 0;  // the slot is empty if this is not round_
      std::uint8_t bits = 0;
    };
    Slot& find(std::uint64_t key);
    std::vector<Slot> slots_ = std::vector<Slot>(1024);
    std::uint32_t round_ = 1;
    std::size_t used_ = 0;
  };
  // The words that were accessed, of four aligned ones: by a warp, and by its loads of one site.
  Table of_warps_, of_sites_;
};

// A cache of the costs of a warp's requests: the loops of a kernel repeat a few patterns of
// addresses.

struct RequestCost {
  int pieces, ideal, bank_conflicts, uncoalesced = 0, lines = 0;
  bool widenable = false;  // see model::Widenable
  // As a load of 8 or 16 bytes per lane that begins with this one; 0: none does.
  int wavefronts_64 = 0, wavefronts_128 = 0;
};

class RequestCosts {
 public:
  RequestCosts() : remembered_(kRemembered) {}
  // The cost of a load or store; `traffic` is a TrafficIndex. Valid until the next call.
  const RequestCost& of(int traffic, const model::WarpAccess& access);

 private:
  static constexpr int kRemembered = 1024;
  struct RememberedRequest {
    std::uint32_t active;  // of one geometry only
    int bytes, matrices, traffic, alignment;
    std::array<std::uint64_t, model::kWarpSize> distances;
    bool operator==(const RememberedRequest&) const = default;
  };
  struct Remembered {
    RememberedRequest request{};
    RequestCost cost{};
  };
  std::vector<Remembered> remembered_;
};

class BlockCounts {
 public:
  explicit BlockCounts(model::WarpGeometry geometry) : geometry_(geometry), in_flight_(geometry) {}
  void begin_block(std::int64_t block, int threads);
  void end_block(bool is_cut);
  void barrier() {
    ++counts_.barriers;
    words_.barrier();
  }
  // One instruction of a warp: rows x columns sums of `depth` products.
  void mma(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    ++counts_.mmas;
    counts_.mma_products += rows * columns * depth;
  }

  // Counts a request at `site` by the lanes of `together`: all of them, except where a cp.async
  // fills with zeros. `other` is the other side of a cp.async.
  void request(
      Site& site, const model::WarpAccess& access, const RequestCost& cost, int warp,
      std::span<Party* const> together, const model::WarpAccess* other);
  // Counts one side of a box that the copy engine moves for `thread`: one request, of all its
  // bytes.
  void box(Site& site, const model::BoxCost& cost, int thread);
  // The copy of a box to shared memory starts; then so many bytes may be in flight.
  void box_starts(std::int64_t bytes) { counts_.box_bytes_in_flight += bytes; }
  // A box to load that is outside of its matrix.
  void box_outside(const model::BoxCost& cost);
  // Adds what the lanes of a party did together, when it is known.
  void add(int warp, const Party& party);

  CopiesInFlight& in_flight() { return in_flight_; }

  // All counts except hazards.
  model::Counts result(const Sites& sites) const;

 private:
  // The requests of the running block, and what they took.
  struct Requests {
    std::int64_t requests = 0, pieces = 0;
    void add(int of_request) { ++requests, pieces += of_request; }
    std::optional<double> mean() const;
  };
  const model::WarpGeometry geometry_;
  model::Counts counts_;          // without what the sites count
  std::vector<Tally> threads_;    // for the block
  Requests sectors_, conflicts_;  // for the block: loads from global memory, all of shared memory
  CopiesInFlight in_flight_;
  RepeatedWords words_;  // of the first block
  std::int64_t block_ = 0;
};

}  // namespace trace
