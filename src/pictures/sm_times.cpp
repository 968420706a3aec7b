#include "pictures/sm_times.h"

#include <algorithm>

namespace pictures {

std::vector<SmTime> sm_times(const model::ShareOut& shares, int tiles, int k_tiles, int sms) {
  std::vector<int> free(sms);  // when each SM is
  std::vector<SmTime> times;
  const int cut = tiles - shares.whole;
  for (int block = 0; block < model::blocks_of(shares, tiles); ++block) {
    const auto first = std::min_element(free.begin(), free.end());
    SmTime one{static_cast<int>(first - free.begin()), block, 1, 0, *first, *first + k_tiles};
    if (block >= shares.whole) {
      one.tile = shares.whole + (block - shares.whole) % cut;
      one.parts = shares.parts;
      one.part = (block - shares.whole) / cut;
      const int left = k_tiles - one.part * shares.depth;
      one.end = one.begin + std::min(shares.depth, left);
    }
    *first = one.end;
    times.push_back(one);
  }
  return times;
}

int end_of(const std::vector<SmTime>& times) {
  int end = 0;
  for (const SmTime& one : times) end = std::max(end, one.end);
  return end;
}

int busy_sms(const std::vector<SmTime>& times, int when) {
  return static_cast<int>(std::count_if(times.begin(), times.end(), [&](const SmTime& one) {
    return one.begin <= when && when < one.end;
  }));
}

}  // namespace pictures
