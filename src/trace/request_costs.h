// A cache of the costs of a warp's requests: the loops of a kernel repeat a few patterns of
// addresses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/warp_access.h"

namespace trace {

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
  struct Request {
    std::uint32_t active;  // of one geometry only
    int bytes, matrices, traffic, alignment;
    std::array<std::uint64_t, model::kWarpSize> distances;
    bool operator==(const Request&) const = default;
  };
  struct Remembered {
    Request request{};
    RequestCost cost{};
  };
  std::vector<Remembered> remembered_;
};

}  // namespace trace
