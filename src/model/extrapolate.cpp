#include "model/extrapolate.h"

namespace model {

namespace {

struct Line {
  std::int64_t steps;

  void operator()(std::int64_t& near, std::int64_t far) const { near += steps * (far - near); }
  void operator()(PerThread& near, const PerThread& far) const {
    (*this)(near.min, far.min);
    (*this)(near.max, far.max);
    (*this)(near.sum, far.sum);
  }
  void operator()(Traffic& near, const Traffic& far) const {
    (*this)(near.accesses, far.accesses);
    (*this)(near.floats, far.floats);
    (*this)(near.bytes, far.bytes);
    (*this)(near.requests, far.requests);
    (*this)(near.pieces, far.pieces);
    (*this)(near.ideal_pieces, far.ideal_pieces);
    (*this)(near.bank_conflicts, far.bank_conflicts);
    (*this)(near.uncoalesced, far.uncoalesced);
    (*this)(near.lines, far.lines);
  }
  void operator()(Widenable& near, const Widenable& far) const {
    (*this)(near.requests, far.requests);
    (*this)(near.wavefronts_64, far.wavefronts_64);
    (*this)(near.wavefronts_128, far.wavefronts_128);
  }
};

}  // namespace

Counts extrapolated(const Counts& near, const Counts& far, std::int64_t steps) {
  Counts counts = near;
  const Line extend{steps};
  for (Traffic Counts::*member : kTraffic) extend(counts.*member, far.*member);
  for (std::int64_t Counts::*member : kSums) extend(counts.*member, far.*member);
  for (std::size_t i = 0; i < counts.widenable.size(); ++i) {
    extend(counts.widenable[i], far.widenable[i]);
  }
  counts.lines.clear();
  counts.hazards = far.hazards;
  return counts;
}

}  // namespace model
