#include "flags/flags.h"

#include <cstdlib>

#include "text/numbers.h"

namespace flags {

bool wants_colour(const Flags& flags, std::FILE* out) {
  if (flags.format == report::Format::markdown) return false;
  const char* no_color = std::getenv("NO_COLOR");
  return !flags.no_color && !(no_color && *no_color) && text::is_terminal(out);
}

report::Explaining explaining(const Flags& flags) {
  return {flags.sections, flags.format == report::Format::markdown, flags.ask ? stdin : nullptr};
}

}  // namespace flags
