// What every part of a run on several devices needs to know.
#pragma once

#include "cluster/gpus.h"
#include "cluster/local.h"
#include "cluster/processes.h"
#include "cluster/schedule.h"
#include "cluster/summa.h"
#include "cluster/timeline.h"
#include "flags/flags.h"
#include "lab/problem.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace cluster {

struct Setting {
  const flags::Flags& flags;
  const model::StageTable& table;
  Processes& processes;
  bool on_gpu;
  bool is_computed;  // else there are only the formulas and the model
  model::Gpu gpu;
  Grid grid;
  const Link& link;
  lab::Problem& problem;
  Shape shape;
  Shape multiplied;  // the same, but K is 0 if alpha is: A and B are not read then
  HostMatrices matrices;
  Local local;

  int gpus() const { return grid.devices(); }
};

// Of A, B and C.
double bytes_of(Shape shape);

// The largest and the smallest value of all processes. All must call it.
double largest(Processes& processes, double value);
double smallest(Processes& processes, double value);

}  // namespace cluster
