// Threads made before a child is locked, for code that must find thread-local memory in its initial
// state.
#pragma once

#include <cstddef>

namespace guard {

// The number of OpenMP threads: as many as usual, up to a limit.
int team_size();

// Gives this thread its OpenMP team, with signal stacks. In a locked child no team may grow.
void make_team(int size);

// Each fresh thread waits, with a team, for on_fresh_thread() (guard/guard.h).
void make_fresh_threads(std::size_t count);

}  // namespace guard
