// The kernels of a user's file, with the counts of their launches added up.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "lab/run.h"
#include "machine/grid.h"
#include "model/counts.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace attempt {

// A launch's kernel as a report needs it, and the counts of all its launches.
struct Kernels {
  struct Entry {
    const void* function;
    std::string name;
    model::Variant variant;
    lab::LaunchShape shape;
    model::Counts counts;
  };
  std::deque<Entry> entries;  // in the order of their first launches; never moved

  void add_launch(const machine::Launch& launch, const model::Counts& counts, int M, int N);
  // Adds a launch of the other copy of a kernel, which has the same name.
  void add_hazards(const machine::Launch& launch, const model::Counts& counts);
  // Of a launch of the kernel whose traced copy is `function`.
  void add_hazard(const void* function, const model::Hazard& hazard);

  bool any_abandoned() const;  // in case of a fatal hazard
  bool several_launches() const;
  bool all_traced() const;  // every block
};

// Points into `entry`. `registers` are per thread; none: as nvcc compiled it, if known.
lab::Row row_of(
    const model::Gpu& model, const Kernels::Entry& entry, std::optional<int> registers, int number);

}  // namespace attempt
