#include "text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "text/numbers.h"

namespace text {

bool is_terminal(std::FILE* out) {
  const char* name = std::getenv("TERM");
  const std::string_view kind = name != nullptr ? name : "";
  return !kind.empty() && kind != "dumb" && isatty(fileno(out));
}

int report_width() {
  constexpr int kLeast = 80;
  const char* typed = std::getenv("COLUMNS");
  int columns = typed != nullptr ? std::atoi(typed) : 0;
  winsize window{};
  if (columns <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) columns = window.ws_col;
  return columns > 0 ? std::clamp(columns, kLeast, kReportWidth) : kReportWidth;
}

}  // namespace text
