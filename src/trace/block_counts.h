// The counts of the blocks that run on one thread of the operating system.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/counts.h"
#include "model/warp_access.h"
#include "trace/copies_in_flight.h"
#include "trace/merge.h"
#include "trace/repeated_words.h"
#include "trace/request_costs.h"
#include "trace/sites.h"
#include "trace/tally.h"

namespace trace {

class BlockCounts {
 public:
  explicit BlockCounts(model::WarpGeometry geometry) : geometry_(geometry), in_flight_(geometry) {}
  void begin_block(std::int64_t block, int threads);
  void end_block();
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
  // fills with zeros.
  void request(
      Site& site, const model::WarpAccess& access, const RequestCost& cost, int warp,
      std::span<Party* const> together);
  // Counts one side of a box that the copy engine moves for `thread`: one request, of all its
  // bytes.
  void box(Site& site, const model::BoxCost& cost, int thread);
  // A box to load that is outside of its matrix.
  void box_outside(const model::BoxCost& cost);
  // Adds what the lanes of a party did together, when it is known.
  void add(int warp, const Party& party);

  CopiesInFlight& in_flight() { return in_flight_; }

  // All counts except hazards.
  model::Counts result(const Sites& sites) const;

 private:
  const model::WarpGeometry geometry_;
  model::Counts counts_;        // without what the sites count
  std::vector<Tally> threads_;  // for the block
  CopiesInFlight in_flight_;
  RepeatedWords words_;  // of the first block
  std::int64_t block_ = 0;
};

}  // namespace trace
