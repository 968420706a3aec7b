// architecture FLAGS...: prints the architecture that nvcc compiles a user's file for, of the GPU
// that these flags of make try name: "86". Prints nothing for flags that make try refuses.
#include <cstdio>

#include "lab/device.h"
#include "model/refusal.h"
#include "try/options.h"

int main(int argc, char** argv) {
  try {
    const model::Gpu gpu = lab::choose_model(attempt::parse_options(argc, argv).flags, false);
    std::puts(attempt::architecture_of(gpu).c_str());
  } catch (const model::Refusal&) {
  }
}
