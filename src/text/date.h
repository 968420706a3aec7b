// Dates as text.
#pragma once

#include <string>

namespace text {

std::string now_utc();  // "2026-01-01T00:00:00Z"

}  // namespace text
