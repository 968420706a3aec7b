// What several GPUs did with a product: how it is printed, and drawn.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cluster/devices.h"
#include "cluster/recorded.h"
#include "cluster/schedule.h"
#include "lab/run.h"
#include "model/error.h"
#include "show/pictures/svg.h"

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

// A width of panels, and the times with it.
struct Width {
  Schedule plan;
  Timeline model;
  std::optional<double> ms;  // measured
};
int fastest(const std::vector<Width>& widths);  // by the model

struct Report {
  Shape shape{};
  std::vector<std::string> about = {};  // lines that say what was run
  std::vector<Row> rows = {};
  std::vector<Width> widths = {};  // of those that fit, the widest first
  int chosen = 0;                  // of these
  // One GPU's speed with the same local product; 0: not measured.
  double one_gpu_tflops = 0;
  // For each GPU, by formula and as counted.
  std::vector<Load> predicted = {}, counted = {};
  Timeline model = {}, measured = {};  // measured: empty without times
  // Products that were recorded on such GPUs, for the model's error with each of them.
  std::vector<RecordedProduct> recorded = {};
};

double tflops(Shape shape, double ms);

// The section of the table about more than one GPU.
void print(std::FILE* out, const Report& report);

// A line of at most `width` characters for each lane of each device: when panels arrive, and when
// they are multiplied, each step by its number's last digit.
std::vector<std::string> drawn(const Timeline& timeline, int width);

// The walkthrough's picture of a product on a grid of 2 x 2: which device owns which parts of A, B
// and C, and where a step's panels travel. Beside it is the same product on 1 x 4.
pictures::Picture draw_ownership();

}  // namespace cluster
