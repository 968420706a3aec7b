#include "trace/request_costs.h"

#include <bit>

#include "machine/lanes.h"
#include "trace/tally.h"

namespace trace {
namespace {

// The cost of a load or store depends on its address modulo these bytes (src/model/warp_access.h),
// on a real GPU and on one whose lines are shorter.
constexpr int kAlignment[] = {128, 128, 16, 16};

// Adds the cost that a load of one or two words per lane would have as a load of two or four.
void add_wider(const model::WarpAccess& access, RequestCost& cost) {
  const auto word = [&](int lane) { return access.address[lane] / 4 % 4; };
  const std::uint64_t first = word(std::countr_zero(access.active));
  bool aligned = true;
  machine::for_each_lane(access.active, [&](int l) { aligned &= word(l) == first; });
  cost.widenable = aligned && access.bytes == 4;
  if (!aligned) return;
  // The request for the first of two or four words counts as the wide one; the others count as
  // none.
  model::WarpAccess wide = access;
  wide.bytes = 8;
  if (first % 2 == 0 && access.bytes == 4) cost.wavefronts_64 = model::shared_load(wide).wavefronts;
  wide.bytes = 16;
  if (first == 0) cost.wavefronts_128 = model::shared_load(wide).wavefronts;
}

RequestCost compute(int traffic, const model::WarpAccess& access) {
  if (traffic == kGmemLoads || traffic == kGmemStores) {
    return {
        model::global_sectors(access), model::ideal_global_sectors(access), 0,
        model::uncoalesced_sectors(access), model::global_lines(access)};
  }
  const model::SharedCost cost =
      traffic == kSmemLoads ? model::shared_load(access) : model::shared_store(access);
  RequestCost result{cost.wavefronts, cost.groups, cost.bank_conflicts()};
  const bool may_widen = access.matrices == 0 && (access.bytes == 4 || access.bytes == 8);
  if (traffic == kSmemLoads && may_widen) add_wider(access, result);
  return result;
}

}  // namespace

const RequestCost& RequestCosts::of(int traffic, const model::WarpAccess& access) {
  // A loop repeats the distances between the lanes' addresses and, sooner or later, the alignment.
  const std::uint64_t base = access.address[std::countr_zero(access.active)];
  Request request{
      access.active,
      access.bytes,
      access.matrices,
      traffic,
      static_cast<int>(base % kAlignment[traffic]),
      {}};
  machine::for_each_lane(
      access.active, [&](int l) { request.distances[l] = access.address[l] - base; });

  const std::uint64_t last = request.distances[access.warp.lanes - 1];
  const std::uint64_t mixed = (request.distances[1] + last * 3 + request.alignment * 5 +
                               traffic * 1031 + access.active + access.matrices) *
                              0x9e3779b97f4a7c15u;
  Remembered& slot = remembered_[mixed >> 54];
  static_assert(kRemembered == 1 << (64 - 54));
  if (slot.request != request) slot = {request, compute(traffic, access)};
  return slot.cost;
}

}  // namespace trace
