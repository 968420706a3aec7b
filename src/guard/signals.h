// What interrupts the child: crashes, time limits, and exit() called by watched code. Each ends the
// child, which first tells its parent where it was.
#pragma once

namespace guard {

void install_handlers();

// A stack may be what is broken, so handlers have stacks of their own, on this thread and on the
// threads that OpenMP keeps for it.
void give_signal_stacks();

// The time limit is reached this many seconds from now; 0: never.
void alarm_in(double seconds);

}  // namespace guard
