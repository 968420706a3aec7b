// What interrupts the child: crashes, the end of its time, and exit() out of watched code. Each
// ends the child, which first tells its parent where it was.
#pragma once

namespace guard {

void install_handlers();

// What is broken may be a stack, so handlers have their own, on this thread and on those that
// OpenMP gives it and keeps for it.
void give_signal_stacks();

// The time is over so many seconds from now; 0: never.
void alarm_in(double seconds);

}  // namespace guard
