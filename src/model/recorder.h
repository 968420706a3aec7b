// Which blocks of traced launches are to be recorded, and what was.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/recording.h"

namespace model {

struct Recorder {
  std::vector<std::int64_t> blocks;      // to record, linear; of those that the launch traces
  std::size_t most_events = 1'000'000;   // of one launch: some 300 bytes each
  std::vector<Recording> launches = {};  // one a launch; what there is where a KernelFault ends it

  bool records(std::int64_t block) const {
    return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
  }
};

}  // namespace model
