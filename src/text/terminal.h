// What is known of the terminal: whether escape sequences may be written, and how wide lines may
// be.
#pragma once

#include <cstdio>

namespace text {

// Whether `out` is a terminal that understands escape sequences. TERM in the environment names the
// terminal; if it is unset, empty or "dumb", the terminal understands none.
bool is_terminal(std::FILE* out);

// Columns of a line of the report: those of the terminal behind stdout, or those that COLUMNS in
// the environment says, which comes first; at least 80 and at most kReportWidth. kReportWidth where
// neither says anything.
int report_width();

}  // namespace text
