// The GPUs whose ladders are recorded in results/. The files travel in the program: pictures.mk
// finds them, so a file that is put there is known after the next make.
#pragma once

#include <string_view>
#include <vector>

#include "model/gpus.h"
#include "pictures/recorded_speeds.h"

namespace pictures {

struct RecordedGpu {
  model::Gpu gpu;
  std::vector<RecordedLadder> ladders;  // by size
};

// The H200, which the lesson is about, is first; the others follow by name. Throws a Refusal that
// names the file if one cannot be read.
const std::vector<RecordedGpu>& recorded_gpus();

// The same of other files: a name and a 0, contents and a 0, and so on. Runs that are not a ladder
// of square matrices are left out.
std::vector<RecordedGpu> recorded_gpus(std::string_view files);

// Those of an H200 at the sizes that the figures show.
std::vector<RecordedLadder> recorded_h200();

}  // namespace pictures
