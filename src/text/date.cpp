#include "text/date.h"

#include <ctime>

namespace text {

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  char text[sizeof "2026-01-01T00:00:00Z"];
  std::strftime(text, sizeof text, "%FT%TZ", std::gmtime(&now));
  return text;
}

}  // namespace text
