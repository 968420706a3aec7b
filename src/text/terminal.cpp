#include "text/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace text {

bool is_terminal(std::FILE* out) {
  const char* name = std::getenv("TERM");
  const std::string_view kind = name != nullptr ? name : "";
  return !kind.empty() && kind != "dumb" && isatty(fileno(out));
}

}  // namespace text
