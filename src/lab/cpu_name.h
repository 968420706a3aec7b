// The name of this machine's CPU.
#pragma once

#include <string>

namespace lab {

// As Linux tells it; empty if it does not (aarch64).
std::string cpu_name();

}  // namespace lab
