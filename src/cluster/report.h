// What several GPUs did with a product: how it is printed, and drawn.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cluster/recorded.h"
#include "cluster/schedule.h"
#include "lab/run.h"
#include "model/error.h"
#include "show/pictures/svg.h"

namespace cluster {

// A way to compute the product.
struct Way {
  std::string name;
  int gpus = 1;
  std::string grid = {};
  std::optional<lab::Timing> time = {};
  std::optional<model::Error> error = {};  // against fp64
  std::string why_not = {};                // it did not run; empty: it did
};

// A width of panels, and the times with it.
struct Width {
  Schedule schedule;
  Timeline model;
  std::optional<double> ms;  // measured
};

struct Report {
  ProblemSize size{};
  std::string gpu = {};                 // its name
  std::vector<std::string> about = {};  // lines that say what was run
  std::vector<Way> ways = {};           // on these devices first
  std::vector<Width> widths = {};       // of those that fit, the widest first
  int chosen = 0;                       // of these: it ran in the first way
  // One GPU's speed with the same local product; 0: not measured.
  double one_gpu_tflops = 0;
  // For each GPU, by formula and as counted.
  std::vector<Load> predicted = {}, counted = {};
  Timeline measured = {};  // empty without times
};

double tflops(ProblemSize size, double ms);

// The section of the table about more than one GPU.
void print(std::FILE* out, const Report& report);

// The walkthrough's picture of a product on a grid of 2 x 2: which device owns which parts of A, B
// and C, and where a step's panels travel. Beside it is the same product on 1 x 4.
pictures::Picture draw_ownership();

}  // namespace cluster
