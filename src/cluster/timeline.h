// When each device copies and when it multiplies: a model of a schedule, and what was measured, in
// the same form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/schedule.h"
#include "cluster/streams.h"

namespace cluster {

// What devices are connected by. A transfer takes the latency and its bytes divided by the rate.
struct Link {
  const char* name;
  double latency_us;
  double gb_per_s;       // into one device, while it also sends
  double host_gb_per_s;  // from the host's memory to a device, and at the same time back
  const char* source;    // of these rates
};

// nvlink, pcie4 or 100GbE. Throws a Refusal that lists them for any other name.
const Link& find_link(std::string_view name);

enum class Lane { arrive, multiply, leave };  // panels come, are multiplied, results go

struct Span {
  int device;
  Lane lane;
  int step;  // counted from 0, over all of the device's steps
  double begin_ms, end_ms;
};

struct Timeline {
  std::vector<Span> spans;
  double ms() const;  // until the last span's end
  // Of the time in which panels or results travel on some device, the part in which that device
  // also multiplies; 1 if nothing travels.
  double hidden() const;
};

// A device multiplies with `tflops`: 2 floating-point operations per multiply-add.
Timeline predict(const Schedule& schedule, const Link& link, double tflops);
Timeline predict(const Streams& streams, const Link& link, double tflops);

}  // namespace cluster
