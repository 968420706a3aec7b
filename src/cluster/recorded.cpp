#include "cluster/recorded.h"

#include <algorithm>
#include <cmath>

#include "cluster/devices.h"
#include "model/error.h"
#include "show/pictures/recorded_gpus.h"
#include "text/numbers.h"

namespace cluster {

const std::vector<RecordedProduct>& recorded_products() {
  static const std::vector<RecordedProduct> products = {
#include "recorded_products.inc"
  };
  return products;
}

std::optional<double> predicted_ms(const RecordedProduct& p) {
  const Rate rate = measured_rate(p.tflops, p.grid.devices());
  const Link& link = find_link("nvlink");  // record-gpus does not choose another
  const Timeline timeline = predict(
      p.resident ? schedule(p.size, p.grid, p.panel)
                 : from_host(p.size, p.grid, p.panel, false, kUnlimited),
      link, rate);
  return timeline.is_told() ? std::optional(timeline.ms()) : std::nullopt;
}

namespace {

// Those of one GPU, with the whole product in one launch.
std::vector<RecordedProduct> ladders(const std::string& gpu, int stage) {
  std::vector<RecordedProduct> products;
  for (const pictures::RecordedGpu& recorded : pictures::recorded_gpus()) {
    if (recorded.gpu.name != gpu) continue;
    for (const pictures::RecordedLadder& ladder : recorded.ladders) {
      const ProblemSize cube{ladder.size, ladder.size, ladder.size};
      const double tflops = ladder.of(stage).tflops;
      if (tflops > 0) products.push_back({gpu, stage, cube, {1, 1}, true, 0, 0, tflops});
    }
  }
  return products;
}

// As in that of one GPU's products whose work is nearest; of equal ones, the first.
KnownSpeed nearest(
    const std::vector<RecordedProduct>& products, ProblemSize size, DeviceGrid grid) {
  // Of the largest part, in multiply-adds.
  const auto work = [](ProblemSize of, DeviceGrid parts) {
    return double(part_of(of.M, parts.rows, 0).size) * part_of(of.N, parts.columns, 0).size * of.K;
  };
  // Rows of A, B and C that are aligned let the stages run their faster kernels.
  const auto is_aligned = [](ProblemSize of) { return of.N % 4 == 0 && of.K % 4 == 0; };
  const RecordedProduct* best = nullptr;
  double least = kUnlimited;
  for (const RecordedProduct& product : products) {
    if (product.grid.devices() > 1 || !product.resident) continue;
    if (is_aligned(product.size) != is_aligned(size)) continue;
    const double distance =
        std::abs(std::log(work(product.size, {1, 1}) / std::max(work(size, grid), 1.0)));
    if (distance < least) best = &product, least = distance;
  }
  if (best == nullptr) return {0, ""};
  const auto [M, N, K] = best->size;
  return {best->tflops, text::printed("as recorded at %d x %d x %d", M, N, K)};
}

}  // namespace

KnownSpeed recorded_speed(
    const std::string& gpu, int stage, ProblemSize size, DeviceGrid grid, bool resident) {
  std::vector<RecordedProduct> products;
  for (const RecordedProduct& product : recorded_products()) {
    if (product.gpu != gpu || product.stage != stage) continue;
    if (product.size == size && product.grid == grid && product.resident == resident) {
      return {product.tflops, "as recorded for this product"};
    }
    products.push_back(product);
  }
  const std::vector<RecordedProduct> whole = ladders(gpu, stage);
  products.insert(products.end(), whole.begin(), whole.end());
  return nearest(products, size, grid);
}

const model::Stage& fastest_fp32_stage(
    const model::StageTable& table, const model::Gpu& gpu, ProblemSize size) {
  const auto is_of = [&](const pictures::RecordedGpu& recorded) {
    return recorded.gpu.name == gpu.name;
  };
  const auto& all = pictures::recorded_gpus();
  const std::string name = (std::ranges::any_of(all, is_of) ? gpu : all.front().gpu).name;
  const model::Stage* fastest = nullptr;
  double most = 0;
  for (const model::Stage& stage : table.stages) {
    const bool is_fp32 = stage.precision.of_all && stage.precision.u_in <= model::kSplitTf32.u_in;
    if (!is_fp32 || stage.variants.empty() || !model::why_not_run(stage, gpu).empty()) continue;
    const double tflops = nearest(ladders(name, stage.number), size, {1, 1}).tflops;
    if (tflops >= most) most = tflops, fastest = &stage;
  }
  return *fastest;
}

}  // namespace cluster
