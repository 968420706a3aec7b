// How one step's request is split, for its pictures.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/warp_access.h"
#include "step/scene.h"

namespace step {

// Calls visit(word) for each word that these lanes access.
template <class Visit>
void for_each_word(const model::WarpAccess& access, std::uint32_t lanes, Visit visit) {
  model::for_each_lane(lanes, [&](int lane) { model::for_each_word(access, lane, visit); });
}

// The wavefronts of the request to shared memory at that step. The shared side of a cp.async is
// split together with its global side, which is the next step.
model::Wavefronts wavefronts_at(const StepScene& scene, std::size_t at);

}  // namespace step
