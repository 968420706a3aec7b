// What a thread does together with the other threads of its warpgroup. `place` is a return address
// in the kernel.
#pragma once

#include "machine/warpgroup.h"

namespace machine {

// d += a * b or, if it does not add, d = a * b.
void start_wgmma(Multiply multiply);
void wait_for_wgmma(int groups_in_flight, const void* place);
void set_registers(int count, bool more, const void* place);

}  // namespace machine
