// Which blocks of traced launches to record, and the recordings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/recording.h"

namespace model {

struct Recorder {
  std::vector<std::int64_t> blocks;      // linear indices; the launch must trace them
  std::size_t most_events = 1'000'000;   // per launch, at about 300 bytes each
  std::vector<Recording> launches = {};  // one per launch; after a KernelFault, those so far

  bool records(std::int64_t block) const {
    return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
  }
};

}  // namespace model
