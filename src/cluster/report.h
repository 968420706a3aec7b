// What several GPUs did with a product: how it is printed, recorded in a file, and drawn.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
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

struct Report {
  Shape shape{};
  std::vector<std::string> about = {};  // lines that say what was run
  std::vector<Row> rows = {};
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

// Timelines in a file: what a run recorded, from which its picture can be drawn again.

struct RecordedTimelines {
  std::string what;  // "16384 x 16384 x 16384 on 2 H200, stage 17"
  Timeline model, measured;
};

// CSV: a line "# " with `what`, a heading, and a line for each span.
std::string timelines_csv(const RecordedTimelines& timelines);

// Throws std::invalid_argument for anything else.
RecordedTimelines read_timelines(std::string_view csv);

// The timeline of two H100 that is embedded in the program.
RecordedTimelines recorded_timelines();

// Which device owns which parts of A, B and C, and where the panels of this step travel. Beside it
// is the same product on another grid of as many devices, with the bytes that travel on both. The
// other grid is 1 x P, or, if this is that grid, the one with the fewest bytes.
pictures::Picture draw_ownership(const Schedule& schedule, int step);

// The model's timeline above the measured one, on one axis. Only one of them if the other has no
// spans. `what` names the product and the devices.
pictures::Picture draw_timeline(
    const Timeline& model, const Timeline& measured, const std::string& what);

// The walkthrough's pictures: the owners of the parts, and the recorded timeline of two H100 below
// the model's.
std::vector<pictures::Picture> draw_pictures();

}  // namespace cluster
