// What several GPUs did with a product, and how it is printed.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cluster/devices.h"
#include "cluster/schedule.h"
#include "cluster/timeline.h"
#include "lab/measurement.h"
#include "model/error.h"

namespace cluster {

// A way to compute the product.
struct Row {
  std::string name;
  int gpus = 1;
  std::string grid = {};
  std::optional<lab::Timing> time = {};
  std::optional<double> predicted_ms = {};
  std::optional<model::Error> error = {};  // against fp64
  std::string why_not = {};                // it did not run; empty: it did
};

struct Report {
  Shape shape{};
  std::vector<std::string> about = {};  // lines that say what was run
  std::vector<Row> rows = {};
  // One GPU's speed with the same local product; 0: not measured.
  double one_gpu_tflops = 0;
  // Of each GPU, by formula and as it was counted.
  std::vector<Load> predicted = {}, counted = {};
  Timeline model = {}, measured = {};  // measured: empty without times
};

double tflops(Shape shape, double ms);

// The section of the table about more than one GPU.
void print(std::FILE* out, const Report& report);

// A line of at most `width` characters for each lane of each device: when panels arrive, and when
// they are multiplied, each step by its number's last digit.
std::vector<std::string> drawn(const Timeline& timeline, int width);

}  // namespace cluster
