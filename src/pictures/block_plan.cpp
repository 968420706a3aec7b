#include "pictures/block_plan.h"

#include <algorithm>
#include <map>

namespace pictures {

int BlockPlan::most_ahead() const {
  std::ptrdiff_t most = 0;
  for (int span = 0; span < spans; ++span) {
    most = std::max(most, std::count_if(tiles.begin(), tiles.end(), [&](const Stay& s) {
                      return s.copied <= span && span < s.first_read;
                    }));
  }
  return static_cast<int>(most);
}

BlockPlan plan_of(const TracedStage& stage) {
  BlockPlan plan{{}, 0, 0, true};
  std::map<int, Stay> tiles;
  std::map<int, std::uint64_t> lowest;  // address of a tile
  const BlockRequests& block = stage.block;
  const int BK = stage.variant->BK;
  const auto copied = [&](int tile, const Request& to, int lane) {
    tiles.try_emplace(tile, Stay{0, to.epoch, 1 << 30, -1});
    const auto at = lowest.try_emplace(tile, ~std::uint64_t{0}).first;
    at->second = std::min(at->second, to.access.address[lane]);
  };
  for (const Moved& moved : elements_moved(block)) {
    const Request& request = block.requests[moved.request];
    const Element& e = moved.elements[0];
    if (e.matrix != 'A') continue;
    const int lane = block.warp.lane_of(moved.thread), tile = e.col / BK;
    if (request.direction == model::Direction::copy) {
      copied(tile, block.requests[moved.request - 1], lane);
      plan.copies_wait = false;
    } else if (request.shared && request.direction == model::Direction::store) {
      copied(tile, request, lane);
    } else if (request.shared) {
      Stay& stay = tiles.at(tile);
      stay.first_read = std::min(stay.first_read, request.epoch);
      stay.last_read = std::max(stay.last_read, request.epoch);
    }
  }
  std::map<std::uint64_t, int> places;  // by the lowest address of a tile there
  for (auto& [tile, stay] : tiles) {
    stay.place = places.try_emplace(lowest[tile], static_cast<int>(places.size())).first->second;
    plan.tiles.push_back(stay);
  }
  plan.places = static_cast<int>(places.size());
  for (const Request& request : block.requests) {
    plan.spans = std::max(plan.spans, request.epoch + 1);
  }
  return plan;
}

}  // namespace pictures
