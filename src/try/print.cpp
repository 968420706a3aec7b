#include "try/print.h"

#include "report/about.h"
#include "report/csv.h"
#include "report/explain/explain.h"
#include "report/json.h"
#include "report/table.h"

namespace attempt {

void print(
    std::FILE* out, const flags::Flags& flags, const lab::Run& run, const std::string& note,
    text::Style style) {
  if (flags.format == report::Format::json) return report::print_json(out, run);
  if (flags.format == report::Format::csv) return report::print_csv(out, run);
  if (flags.explain) {
    if (!run.program.empty()) std::fputs(report::about(run).c_str(), out);
    for (const lab::Row& row : run.rows)
      report::explain(out, run, row, style, flags::explaining(flags));
  } else {
    report::print_table(out, run, style, flags.wide);
  }
  if (!note.empty()) std::fprintf(out, "%s\n", note.c_str());
}

}  // namespace attempt
