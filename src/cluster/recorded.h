// What is recorded of GPUs in results/: the products that `make record-gpus` measured, and with the
// ladders the speed of one GPU at any size.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/schedule.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace cluster {

// A product that several GPUs, or one, computed by panels.
struct RecordedProduct {
  std::string gpu;  // "H200"
  int stage;        // that multiplies on each GPU, by the number that it has today
  ProblemSize size;
  DeviceGrid grid;
  bool resident;                                         // else from the host's memory
  int panel;                                             // how wide they were at most
  double ms;                                             // measured
  double tflops;                                         // of one GPU with its first panels
  std::vector<std::pair<int, double>> ms_of_width = {};  // with other panels, and with these
};

// All, as recorded_products.awk reads them from the reports.
const std::vector<RecordedProduct>& recorded_products();

// What the model says of it, with the speed that one GPU had then. Nothing if that is not told.
std::optional<double> predicted_ms(const RecordedProduct& product);

struct KnownSpeed {
  double tflops;       // 0: nothing is recorded
  std::string source;  // "as recorded at 1024 x 1024 x 1024"
};

// How fast one of those GPUs multiplies its part of a product.
//
// If that very product is recorded, with the speed that it had then. So the model says of it what
// it said beside the measured time. Otherwise with the speed in the recorded product of one GPU
// with the most similar work, by panels or in a ladder. Products with rows that are not 16-byte
// aligned run other kernels, so they have recordings of their own.
KnownSpeed recorded_speed(
    const std::string& gpu, int stage, ProblemSize size, DeviceGrid grid, bool resident);

// The stage that takes the shortest time for that product on one GPU, without panels, by the
// ladders that are recorded of it, or of the first GPU that is recorded: of those that round no
// worse than fp32 and run on `gpu`, as the first does; of equal ones the last.
const model::Stage& fastest_fp32_stage(
    const model::StageTable& table, const model::Gpu& gpu, ProblemSize size);

}  // namespace cluster
