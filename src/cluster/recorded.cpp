#include "cluster/recorded.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "model/error.h"
#include "show/pictures/recorded_gpus.h"
#include "text/numbers.h"

// The reports, each with a 0 at its end. cluster.mk finds them.
asm(".pushsection .rodata\n"
    "recorded_reports:\n"
#include "recorded_reports.inc"
    "recorded_reports_end:\n"
    ".popsection\n");
extern "C" const char recorded_reports[] __attribute__((visibility("hidden")));
extern "C" const char recorded_reports_end[] __attribute__((visibility("hidden")));

namespace cluster {

std::string name_of(const model::Stage& stage) {
  return text::printed("stage %d", stage.number);
}

namespace {

// What follows `label` in `report`, up to one of the characters `end`.
std::string after(std::string_view report, std::string_view label, const char* end) {
  const std::size_t at = report.find(label);
  if (at == report.npos) {
    throw std::invalid_argument("not a report of several GPUs: no \"" + std::string(label) + "\"");
  }
  report.remove_prefix(at + label.size());
  return std::string(report.substr(0, report.find_first_of(end)));
}

// Of a report: "2,765" is 2765.
double number(std::string word) {
  std::erase(word, ',');
  return std::stod(word);
}

}  // namespace

RecordedProduct recorded_product(std::string_view report) {
  RecordedProduct product{
      .gpu = after(report, "GPU      ", ","),
      .local = after(report, "multiplies by ", ",\n"),
      .shape = {},
      .grid = {},
      .resident = report.find("\ndistributed ") != report.npos,
      .panel = 0,
      .ms = 0,
      .tflops = 0};
  auto& [M, N, K] = product.shape;
  const std::string sides = after(report, "problem  C (", "\n");
  const std::string row =
      after(report, product.resident ? "\ndistributed " : "\nfrom the host ", "\n");
  char ms[32];
  if (std::sscanf(sides.c_str(), "%d x %d) = %*f * A (%*d x %d)", &M, &N, &K) != 3 ||
      std::sscanf(row.c_str(), "%*d %d x %d %31s", &product.grid.rows, &product.grid.columns, ms) !=
          3) {
    throw std::invalid_argument("not a report of several GPUs: " + sides + row);
  }
  product.ms = number(ms);
  // The lines about it, which are wrapped anywhere.
  std::string about = after(report, "\nschedule: ", "");
  about = about.substr(0, about.find("\n\n"));
  std::replace(about.begin(), about.end(), '\n', ' ');
  product.panel = static_cast<int>(number(after(about, kPanelsOf, ",; ")));
  product.tflops = number(after(about, kMeasuredAlone, " "));
  return product;
}

std::optional<double> predicted_ms(const RecordedProduct& p) {
  const Rate rate = measured_rate(p.tflops, p.grid.devices());
  const Link& link = find_link("nvlink");  // record-gpus does not choose another
  constexpr double kMemory = std::numeric_limits<double>::infinity();
  const Timeline timeline =
      p.resident ? predict(schedule(p.shape, p.grid, p.panel), link, rate)
                 : predict(streams(p.shape, p.grid, p.panel, false, kMemory), link, rate);
  return timeline.is_told() ? std::optional(timeline.ms()) : std::nullopt;
}

std::vector<RecordedProduct> recorded_products(const std::string& gpu, const std::string& local) {
  std::vector<RecordedProduct> products;
  for (const char* report = recorded_reports; report != recorded_reports_end;) {
    const std::string_view text = report;
    report += text.size() + 1;
    try {
      const RecordedProduct product = recorded_product(text);
      if (product.gpu != gpu || (!local.empty() && product.local != local)) continue;
      products.push_back(product);
    } catch (const std::invalid_argument&) {
      // It has no times, for example because there was no NCCL.
    }
  }
  return products;
}

namespace {

// The speed of each GPU in a product.
struct Point {
  Shape shape;
  Grid grid;
  bool resident;
  double tflops;

  // Of the largest part, in multiply-adds.
  double work() const {
    return double(part_of(shape.M, grid.rows, 0).size) * part_of(shape.N, grid.columns, 0).size *
           shape.K;
  }
  // Whether rows of A, B and C are, so that the stages run their faster kernels.
  bool is_aligned() const { return shape.N % 4 == 0 && shape.K % 4 == 0; }
  bool is(const Point& other) const {
    const auto [M, N, K] = shape;
    return M == other.shape.M && N == other.shape.N && K == other.shape.K && grid == other.grid &&
           resident == other.resident;
  }
  std::string words() const { return text::printed("%d x %d x %d", shape.M, shape.N, shape.K); }
};

// One GPU, with the whole product in one launch.
std::vector<Point> ladders(const std::string& gpu, const std::string& local) {
  int stage = -1;  // cuBLAS, in pictures/recorded_gpus.h
  std::sscanf(local.c_str(), "stage %d", &stage);
  std::vector<Point> points;
  for (const pictures::RecordedGpu& recorded : pictures::recorded_gpus()) {
    if (recorded.gpu.name != gpu) continue;
    for (const pictures::RecordedLadder& ladder : recorded.ladders) {
      const Shape cube{ladder.size, ladder.size, ladder.size};
      const double tflops = ladder.of(stage).tflops;
      if (tflops > 0) points.push_back({cube, {1, 1}, true, tflops});
    }
  }
  return points;
}

// As at that of one GPU's points whose work is nearest; of equal ones, the first.
Speed nearest(const std::vector<Point>& points, const Point& wanted) {
  const Point* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Point& point : points) {
    if (point.grid.devices() > 1 || !point.resident) continue;
    if (point.is_aligned() != wanted.is_aligned()) continue;
    const double distance = std::abs(std::log(point.work() / std::max(wanted.work(), 1.0)));
    if (distance < least) best = &point, least = distance;
  }
  if (best == nullptr) return {0, ""};
  return {best->tflops, "as recorded at " + best->words()};
}

}  // namespace

Speed recorded_speed(
    const std::string& gpu, const std::string& local, Shape shape, Grid grid, bool resident) {
  const Point wanted{shape, grid, resident, 0};
  std::vector<Point> points;
  for (const RecordedProduct& product : recorded_products(gpu, local)) {
    points.push_back({product.shape, product.grid, product.resident, product.tflops});
    if (points.back().is(wanted)) return {points.back().tflops, "as recorded for this product"};
  }
  const std::vector<Point> whole = ladders(gpu, local);
  points.insert(points.end(), whole.begin(), whole.end());
  return nearest(points, wanted);
}

double recorded_ms(const model::Gpu& gpu, const model::Stage& stage, Shape shape) {
  const std::vector<pictures::RecordedGpu>& all = pictures::recorded_gpus();
  const bool is_recorded = std::any_of(
      all.begin(), all.end(), [&](const auto& recorded) { return recorded.gpu.name == gpu.name; });
  const std::string& name = is_recorded ? gpu.name : all.front().gpu.name;
  const double tflops = nearest(ladders(name, name_of(stage)), {shape, {1, 1}, true, 0}).tflops;
  return 2e-9 * shape.M * shape.N * shape.K / tflops;
}

const model::Stage* fastest_fp32_stage(
    const model::StageTable& table, const model::Gpu& gpu,
    const std::function<double(const model::Stage&)>& ms_of) {
  const model::Stage* fastest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const model::Stage& stage : table.stages) {
    const bool is_fp32 = stage.precision.of_all && stage.precision.u_in <= model::kSplitTf32.u_in;
    if (!is_fp32 || stage.variants.empty() || !model::why_not_run(stage, gpu).empty()) continue;
    if (const double ms = ms_of(stage); ms <= least) {
      least = ms;
      fastest = &stage;
    }
  }
  return fastest;
}

}  // namespace cluster
