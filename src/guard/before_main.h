// The time before main(), in which static initializers run, including those of a user's file that
// is linked into this program. No guard exists yet.
#pragma once

namespace guard {

// Call this at the start of main(). In a program with this call, static initializers that do not
// finish (within --limit S seconds, or 10), crash, or end the program are reported in one sentence,
// and the program exits with 1. This watch ends here: it does not apply to what runs afterwards.
void main_begins();

}  // namespace guard
