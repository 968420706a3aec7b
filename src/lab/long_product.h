// Counts of products that are too long to trace.
#pragma once

#include <map>

#include "lab/problem.h"
#include "model/counts.h"
#include "model/stage.h"
#include "simulator/machine/grid.h"

namespace lab {

// Counts the accesses of products that are too long to trace and to compute. A and B are random.
// Not thread-safe.
class LongProduct {
 public:
  // Throws a Refusal if there is not enough memory.
  LongProduct(const Request& request, ProblemSize sides);
  static double bytes_needed(ProblemSize sides);

  // The counts of that variant in `traced`. If C consists of many whole tiles, all blocks do the
  // same, and the first is traced; otherwise those that machine.blocks chooses. If A and B are
  // split before, it is the first of a C of two tiles.
  model::Counts count(
      const model::StageTable& traced, const model::Variant& variant, machine::Machine machine);

  // A product with this K, on which a kernel can be traced. C is moved to it from the last one.
  const Problem& with_K(int K);

 private:
  const Request request_;
  const ProblemSize sides_;
  std::map<int, Problem> problems_;  // key: K
  Problem* latest_;                  // has C
  Floats result_;
};

}  // namespace lab
