// What the user's calls of CUDA functions noted.
#pragma once

namespace attempt {

// Prints on stderr the notes of host/call.h, each with the line of its call.
void print_notes();

}  // namespace attempt
