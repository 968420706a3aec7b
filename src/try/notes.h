// What the user's calls of CUDA functions noted.
#pragma once

namespace attempt {

// Prints on stderr a note if nvcc does not compile the file, and the notes of host/call.h, each
// with the line of its call.
bool print_notes();

}  // namespace attempt
