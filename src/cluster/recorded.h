// What is recorded of GPUs in results/: the products that `make record-gpus` measured, and with the
// ladders the speed of one GPU at any size.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/schedule.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace cluster {

// What multiplies on each GPU, as reports name it.
inline constexpr const char* kCublas = "cuBLAS fp32";
std::string name_of(const model::Stage& stage);  // "stage 17"
// What reports say before the width of panels, and before the speed of one GPU.
inline constexpr const char* kPanelsOf = "panels of ";
inline constexpr const char* kMeasuredAlone = "one GPU alone with its first panels, TFLOP/s: ";

// A product that several GPUs, or one, computed by panels.
struct RecordedProduct {
  std::string gpu;    // "H200"
  std::string local;  // "stage 17", the number that it has today, or kCublas
  Shape shape;
  Grid grid;
  bool resident;  // else from the host's memory
  int panel;      // how wide they were at most
  double ms;      // measured
  double tflops;  // of one GPU with its first panels
};

// The product in a report that `print` (cluster/report.h) wrote. Throws std::invalid_argument for
// any other text.
RecordedProduct recorded_product(std::string_view report);

// What the model says of it, with the speed that one GPU had then. Nothing if that is not told.
std::optional<double> predicted_ms(const RecordedProduct& product);

// Those that are embedded in the program, of these GPUs. Without `local`: whatever multiplied.
std::vector<RecordedProduct> recorded_products(
    const std::string& gpu, const std::string& local = "");

struct Speed {
  double tflops;       // 0: nothing is recorded
  std::string source;  // "as recorded at 1024 x 1024 x 1024"
};

// How fast one of those GPUs multiplies its part of a product.
//
// If that very product is recorded, with the speed that it had then. So the model says of it what
// it said beside the measured time. Otherwise with the speed in the recorded product of one GPU
// with the most similar work, by panels or in a ladder. Products with rows that are not 16-byte
// aligned run other kernels, so they have recordings of their own.
Speed recorded_speed(
    const std::string& gpu, const std::string& local, Shape shape, Grid grid, bool resident);

// The time that a stage takes on one GPU, without panels, by the recorded ladders. On a GPU of
// which nothing is recorded: on the first that is. Infinite if that stage is not recorded on it.
double recorded_ms(const model::Gpu& gpu, const model::Stage& stage, Shape shape);

// The stage with the shortest time, of those that round no worse than fp32 and run on `gpu`; of
// equal ones the last. Null if none does.
const model::Stage* fastest_fp32_stage(
    const model::StageTable& table, const model::Gpu& gpu,
    const std::function<double(const model::Stage&)>& ms_of);

}  // namespace cluster
