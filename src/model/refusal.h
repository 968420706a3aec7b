// A request that cannot be met, explained in one sentence: main prints it and exits with 2.
#pragma once

#include <stdexcept>

namespace model {

struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace model
