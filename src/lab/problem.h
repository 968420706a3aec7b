// What a run is about, as it is asked for: matrices, reference, device.
#pragma once

#include <bit>
#include <string>
#include <vector>

#include "lab/matrices.h"
#include "lab/request.h"
#include "lab/run.h"
#include "model/gpus.h"

namespace lab {

// A NaN that no computation gives, unless one is already among what it reads.
inline const float kCanary = std::bit_cast<float>(0x7fc0c0deu);

struct Problem {
  int M, N, K;
  float alpha, beta;
  Floats A, B;
  Floats
      C;  // before the product; all kCanary where beta is 0, so that a kernel that reads it shows

  // A product that leaves C as it is need not write it.
  bool must_be_written() const { return beta != 1 || (alpha != 0 && K > 0); }
  std::size_t results() const { return static_cast<std::size_t>(M) * N; }
};

struct Reference {
  std::vector<double> exact, magnitude;  // see src/model/error.h
};

// A and B as asked for, random or from files, and the old C. Throws Refusal where there is not
// enough memory, on the GPU either if `on_gpu`, or where files do not fit together.
Problem load_problem(const Request& request, bool on_gpu);

Reference compute_reference(const Problem& p);

// Whether the kernels run on the GPU: where there is one, unless --device cpu says otherwise.
bool choose_device(const Request& request);

// The GPU that occupancy and limits are those of.
model::Gpu choose_model(const Request& request, bool on_gpu);

// Says of each traced access of `row`, and of each hazard, on which line of `kernel` it stands, the
// function whose calls were traced.
void annotate(Row& row, const void* kernel);

// Adds a hazard where elements of `result` are as they were before, in a row of which only a part
// was traced: as far as it can be told, which is where beta is 0 and no line of the kernels loads
// C.
void note_never_written(const Problem& p, const Floats& result, Row& row);

// How many blocks of `kernel` an SM of the run's GPU holds: by the registers that the compiler says
// where that GPU is here, else by those that are recorded; none where they are not.
std::optional<model::Occupancy> occupancy_of(
    const Request& request, const Run& run, const model::Variant& variant,
    const model::KernelRef& kernel);

std::string now_utc();                      // "2026-01-01T00:00:00Z"
std::string joined(int argc, char** argv);  // the command as typed

// Of at least one time.
Timing summary(std::vector<double> times_ms);

}  // namespace lab
