// cp.async under its names for C. src/simulator/cuda/cpu.h, which is already included, has the
// others.
#pragma once

#include "simulator/cuda/async_copy.h"

using __mbarrier_t = std::uint64_t;
SIMT_INLINE void __pipeline_arrive_on(__mbarrier_t* barrier) {
  cp_async_mbarrier_arrive(barrier);
}
