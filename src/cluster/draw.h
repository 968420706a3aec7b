// The schedule of several devices in pictures.
#pragma once

#include <string>

#include "cluster/schedule.h"
#include "cluster/timeline.h"
#include "pictures/svg.h"

namespace cluster {

// Who owns which parts of A, B and C, and where the panels of this step travel. Beside it the same
// product on another grid of as many devices, with the bytes that travel on both: on 1 x P, or, if
// this is that grid, on the one in which the fewest travel.
pictures::Picture draw_ownership(const Schedule& schedule, int step);

// The model's timeline above the measured one, on one axis. Only one of them if the other has no
// spans. `what` says what was multiplied where.
pictures::Picture draw_timeline(
    const Timeline& model, const Timeline& measured, const std::string& what);

}  // namespace cluster
