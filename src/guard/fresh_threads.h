// Threads that are made before a child is locked, for code that is to find thread-local memory as
// it was at the start.
#pragma once

#include <cstddef>

namespace guard {

// Of OpenMP's threads: as many as there would be, up to a limit.
int team_size();

// Gives this thread its team, with their signal stacks. In a locked child no team may grow.
void make_team(int size);

// Each waits, with a team, for on_fresh_thread() (guard/guard.h).
void make_fresh_threads(std::size_t count);

}  // namespace guard
