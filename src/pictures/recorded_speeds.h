// The ladder's recorded speeds, read from a table in results/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pictures {

// One stage's speed, as recorded on a GPU.
struct RecordedSpeed {
  int number;  // -1: cuBLAS fp32
  double tflops;
  double cublas_percent;  // of the same run
  double times_before;    // the stage before it; 0 where there is none
};

struct RecordedLadder {
  int size;  // M = N = K
  std::vector<RecordedSpeed> speeds;
  std::string gpu = {};  // its name

  // Zeros where it was not recorded.
  RecordedSpeed of(int number) const;
};

// The speeds in a table that print_table wrote; the stages and cuBLAS fp32. Throws
// std::invalid_argument where it is no such table.
RecordedLadder recorded_run(std::string_view table);

// The one of these that the lesson is about: 4096.
const RecordedLadder& main_run(const std::vector<RecordedLadder>& runs);

}  // namespace pictures
