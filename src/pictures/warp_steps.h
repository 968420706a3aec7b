// One warp's way along K, step by step: when it loads from shared memory, and when it multiplies.
#pragma once

#include <vector>

#include "pictures/pictures.h"

namespace pictures {

// What the warp loads for one step of k.
struct StepLoad {
  int k;           // of the whole product
  int epoch;       // barriers that the block has passed before
  int loads;       // instructions
  int wavefronts;  // of all of them
};

struct StepPlan {
  std::vector<StepLoad> steps;  // by k
  // The steps that a warp has loaded when it begins a tile. A tile begins with the copies of a
  // later one: what is loaded between the barrier and these copies is loaded ahead.
  int ahead;
};

// Of the block's first warp, in a stage that copies ahead.
StepPlan step_plan(const TracedStage& stage);

// Times in cycles.
struct StepTime {
  double load_begin, load_end;
  double multiply_begin, multiply_end;
};

// The warp has its scheduler to itself and issues in order: the loads of step k + plan.ahead, then
// the multiplications of step k, as soon as its operands are there. The first wavefront of a load
// takes `load_cycles`, and each further one a cycle.
std::vector<StepTime> step_times(const StepPlan& plan, double load_cycles, double multiply_cycles);

}  // namespace pictures
