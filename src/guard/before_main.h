// The time before main(), in which static initializers run: also those of somebody else's file that
// is linked to this program. No guard is there yet.
#pragma once

namespace guard {

// To be called at the start of main(). In a program that has this call, static initializers that do
// not come to an end (--limit S seconds, or 10), crash, or end the program are told in a sentence,
// and the program ends with 1. What runs from here on is the program's own business.
void main_begins();

}  // namespace guard
