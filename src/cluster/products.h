// One product in several ways: each adds a row to the report.
#pragma once

#include "cluster/report.h"
#include "cluster/setting.h"

namespace cluster {

// These fill the report's first row, and what it says of loads and timelines.
void distribute(const Setting& setting, Report& report);  // A, B and C stay on the devices
void stream(const Setting& setting, Report& report);      // they pass through them, from the host

// What one GPU alone and NVIDIA's own library for several take.
void add_yardsticks(const Setting& setting, Report& report);

}  // namespace cluster
