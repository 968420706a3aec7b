#include "cluster/figures.h"

#include "cluster/draw.h"
#include "cluster/timeline_file.h"

namespace cluster {

std::vector<pictures::Picture> draw_pictures() {
  constexpr Shape kShape{16384, 16384, 16384};
  constexpr int kStep = 1;  // its panel is neither narrow nor a whole part
  const RecordedTimelines recorded = recorded_timelines();
  return {
      draw_ownership(schedule(kShape, choose_grid(kShape, 4), usual_panel(kShape.K)), kStep),
      draw_timeline(recorded.model, recorded.measured, recorded.what)};
}

}  // namespace cluster
