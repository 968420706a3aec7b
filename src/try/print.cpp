#include "try/print.h"

#include <sstream>

#include "profile/profile.h"
#include "report/explain/explain.h"
#include "report/facts.h"
#include "report/table.h"
#include "report/words.h"

namespace attempt {

bool print(
    std::FILE* out, const flags::Flags& flags, const lab::Run& run, const std::string& note,
    text::Style style) {
  if (!flags.ncu.empty()) {
    std::istringstream csv(profile::read_ncu_file("--ncu", flags.ncu));
    return profile::print_profile(out, csv, run);
  }
  if (flags.format == report::Format::json) {
    report::print_json(out, run);
    return true;
  }
  if (flags.format == report::Format::csv) {
    report::print_csv(out, run);
    return true;
  }
  if (flags.explain) {
    if (!run.program.empty()) std::fputs(report::about(run).c_str(), out);
    for (const lab::Row& row : run.rows)
      report::explain(out, run, row, style, flags::explaining(flags));
  } else {
    report::print_table(out, run, style, flags.wide);
  }
  if (!note.empty()) std::fprintf(out, "%s\n", note.c_str());
  return true;
}

}  // namespace attempt
