#include "cluster/timeline.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "model/refusal.h"
#include "text/echoed.h"

namespace cluster {

namespace {

// The latencies of pcie4 and 100GbE are assumed, and so is the host's rate beside nvlink: 16 lanes
// of PCIe 5.0 (63 GB/s) less what headers take. All else has its source beside it.
constexpr std::array kLinks = {
    Link{
        "nvlink", 8, 370, 55,
        "ncclBroadcast between two H200, measured: 1 MB in 11.5 us, 256 MB in 740 us"},
    Link{"pcie4", 10, 22, 22, "16 lanes of PCIe 4.0: 31.5 GB/s less what headers take"},
    Link{"100GbE", 30, 11, 22, "100 Gbit/s Ethernet: 12.5 GB/s less what headers take"}};

// An empty product takes no time, even if the speed was measured with it and is 0.
double multiply_ms(double M, double N, double K, double tflops) {
  const double operations = 2 * M * N * K;
  return operations == 0 ? 0 : operations / (1e9 * tflops);
}

double transfer_ms(double latency_us, double gb_per_s, double floats) {
  return floats == 0 ? 0 : 1e-3 * latency_us + sizeof(float) * floats / (1e6 * gb_per_s);
}

// The total length of what both sets of spans cover. Each set's spans follow one another.
double overlap(const std::vector<Span>& one, const std::vector<Span>& other) {
  double sum = 0;
  for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    const Span &a = one[i], &b = other[j];
    sum += std::max(0.0, std::min(a.end_ms, b.end_ms) - std::max(a.begin_ms, b.begin_ms));
    ++(a.end_ms < b.end_ms ? i : j);
  }
  return sum;
}

}  // namespace

const Link& find_link(std::string_view name) {
  for (const Link& link : kLinks) {
    if (name == link.name) return link;
  }
  throw model::Refusal(
      "--link " + text::echoed(std::string(name)) + ": not a link; give nvlink, pcie4 or 100GbE");
}

double Timeline::ms() const {
  double last = 0;
  for (const Span& span : spans) last = std::max(last, span.end_ms);
  return last;
}

double Timeline::hidden() const {
  int devices = 0;
  for (const Span& span : spans) devices = std::max(devices, span.device + 1);
  std::vector<std::array<std::vector<Span>, 3>> lanes(devices);
  for (const Span& span : spans) {
    lanes[span.device][static_cast<int>(span.lane)].push_back(span);
  }
  double travels = 0, covered = 0;
  for (const auto& [arrive, multiply, leave] : lanes) {
    for (const auto* lane : {&arrive, &leave}) {
      for (const Span& span : *lane) travels += span.end_ms - span.begin_ms;
      covered += overlap(*lane, multiply);
    }
  }
  return travels == 0 ? 1 : covered / travels;
}

Timeline predict(const Schedule& s, const Link& link, double tflops) {
  const int devices = s.grid.devices(), steps = static_cast<int>(s.steps.size());
  // When each device's last panel came, and its products of the last step and of the one before it
  // were done.
  std::vector<double> arrived(devices), multiplied(devices), multiplied_before(devices);
  Timeline timeline;
  for (int i = 0; i < steps; ++i) {
    const Step& step = s.steps[i];
    // A broadcast begins when all devices of its row or column have a free buffer.
    const auto is_free = [&](int device) {
      return std::max(arrived[device], multiplied_before[device]);
    };
    std::vector<double> begin(devices);
    for (int device = 0; device < devices; ++device) {
      for (int other = 0; other < devices; ++other) {
        const bool together =
            s.row_of(other) == s.row_of(device) || s.column_of(other) == s.column_of(device);
        if (together) begin[device] = std::max(begin[device], is_free(other));
      }
    }
    multiplied_before = multiplied;
    for (int device = 0; device < devices; ++device) {
      const double m = s.M_of(device).size, n = s.N_of(device).size, k = step.k.size;
      // A device that sends is as long busy as one that receives.
      const double floats = k * ((s.grid.columns > 1 ? m : 0) + (s.grid.rows > 1 ? n : 0));
      arrived[device] = begin[device] + transfer_ms(link.latency_us, link.gb_per_s, floats);
      if (floats > 0) {
        timeline.spans.push_back({device, Lane::arrive, i, begin[device], arrived[device]});
      }
      const double from = std::max(arrived[device], multiplied[device]);
      multiplied[device] = from + multiply_ms(m, n, k, tflops);
      timeline.spans.push_back({device, Lane::multiply, i, from, multiplied[device]});
    }
  }
  return timeline;
}

Timeline predict(const Streams& s, const Link& link, double tflops) {
  Timeline timeline;
  for (int device = 0; device < s.grid.devices(); ++device) {
    const std::vector<StreamStep>& steps = s.steps[device];
    std::vector<double> multiplied(steps.size());
    std::vector<double> left(steps.empty() ? 0 : steps.back().block + 1);
    double arrived = 0, last_left = 0;
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
      const StreamStep& step = steps[i];
      const double m = step.rows.size, n = step.columns.size, k = step.k.size;
      // A panel of A needs the place of the one before the last, ...
      double begin = std::max(arrived, i >= 2 ? multiplied[i - 2] : 0);
      // ... B's columns of another pass that of those before, ...
      if (step.first && step.B_arrives && i >= 1) begin = std::max(begin, multiplied[i - 1]);
      // ... and a block of C the place of the one before the last.
      if (step.first && step.block >= 2) begin = std::max(begin, left[step.block - 2]);
      const double floats =
          m * k + (step.B_arrives ? k * n : 0) + (step.first && s.reads_C ? m * n : 0);
      arrived = begin + transfer_ms(link.latency_us, link.host_gb_per_s, floats);
      timeline.spans.push_back({device, Lane::arrive, i, begin, arrived});
      const double from = std::max(arrived, i >= 1 ? multiplied[i - 1] : 0);
      multiplied[i] = from + multiply_ms(m, n, k, tflops);
      timeline.spans.push_back({device, Lane::multiply, i, from, multiplied[i]});
      if (!step.last) continue;
      const double leaves = std::max(multiplied[i], last_left);
      last_left = left[step.block] =
          leaves + transfer_ms(link.latency_us, link.host_gb_per_s, m * n);
      timeline.spans.push_back({device, Lane::leave, i, leaves, last_left});
    }
  }
  return timeline;
}

}  // namespace cluster
