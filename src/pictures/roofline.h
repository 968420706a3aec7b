// What a roofline shows, in numbers: the picture and the page draw the same.
#pragma once

#include <string>
#include <vector>

#include "lab/run.h"
#include "pictures/recorded_speeds.h"

namespace pictures {

// What a memory gives.
struct Roof {
  std::string name;
  double tb_per_s;
};

// What bounds the multiplications: FMA, and the tensor cores with the instructions that the stages
// use.
struct Peak {
  std::string name;
  double tflops;
};

// A stage that was measured. The intensity is in operations per byte asked of global memory, as
// traced.
struct Dot {
  const lab::Row* row;
  double intensity, tflops;
};

struct Roofline {
  std::vector<Roof> roofs;  // of L1, L2 and DRAM
  std::vector<Peak> peaks;
  std::vector<Dot> dots;
};

// `run` has the traced counts of every stage, a row each, with the variant that was measured.
Roofline roofline_of(const lab::Run& run, const RecordedLadder& measured);

// The peak of what the variant multiplies with.
Peak peak_of(const model::Gpu& gpu, const model::Variant& variant);

}  // namespace pictures
