#include "flags/flags.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace flags {

bool wants_colour(const Flags& flags, std::FILE* out) {
  if (flags.format == report::Format::markdown) return false;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return !flags.no_color && !(no_color && *no_color) && terminal &&
         std::string_view(terminal) != "dumb" && isatty(fileno(out));
}

report::Explaining explaining(const Flags& flags) {
  return {flags.sections, flags.format == report::Format::markdown, flags.ask ? stdin : nullptr};
}

}  // namespace flags
