#include "try/notes.h"

#include <cstdio>
#include <set>
#include <string>

#include "host/call.h"
#include "try/compiled_code.h"
#include "try/guarded_kernel.h"

namespace attempt {

bool print_notes() {
  if (const std::string why = why_not_compiled(); !why.empty()) {
    std::fprintf(stderr, "try: note: %s; so its registers are not known\n", why.c_str());
  }
  std::set<std::string> printed;  // the copies of a file make the same calls
  bool any_hazard = false;
  for (const host::Note& note : host::notes()) {
    any_hazard |= note.is_hazard;
    const std::string line = note.place != nullptr ? line_of_user({note.place}) : "";
    const std::string other = note.other != nullptr ? line_of_user({note.other}) : "";
    const std::string text = line + (line.empty() ? "" : ": ") + note.sentence +
                             (other.empty() ? "" : "; the other is asked for at " + other);
    if (!printed.insert(text).second) continue;
    std::fprintf(stderr, "try: %s%s\n", note.is_hazard ? "" : "note: ", text.c_str());
  }
  return any_hazard;
}

}  // namespace attempt
