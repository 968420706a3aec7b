#include "trace/sites.h"

#include <algorithm>

namespace trace {

Site* Sites::find_or_make(Token path, Token token, std::uintptr_t address) {
  const auto known = std::find_if(sites_.begin(), sites_.end(), [&](const Site& site) {
    return is_site(site, path, token, address);
  });
  if (known != sites_.end()) return &*known;
  const auto array = std::find_if(
      arrays_.begin(), arrays_.end(),
      [&](const machine::KernelArray& a) { return a.holds(address); });
  if (array == arrays_.end()) return nullptr;
  if (array->owner != 0 && !paths_.has_entered(array->owner, array->owner_bytes)) return nullptr;

  const Kind kind = kind_of(token);
  const bool loads = is_load(kind);
  const bool shared = array->shared;
  Site site{path, token, &*array, 0, static_cast<std::uint32_t>(sites_.size()), {}};
  site.traffic = kind == Kind::kAsyncCopy ? (shared ? kAsyncSmem : kAsyncGmem)
                 : loads                  ? (shared ? kSmemLoads : kGmemLoads)
                                          : (shared ? kSmemStores : kGmemStores);
  site.counts.array = array->name;
  site.counts.shared = shared;
  site.counts.direction = kind == Kind::kAsyncCopy ? model::Direction::copy
                          : loads                  ? model::Direction::load
                                                   : model::Direction::store;
  site.counts.bytes = bytes_of(token);
  return &sites_.emplace_back(site);
}

}  // namespace trace
