#include "report/explain/sections.h"

#include "report/annotated.h"
#include "report/explain/words.h"

namespace report {

std::vector<Part> explain_kernel(const Explained& explained) {
  const auto& [run, row, style, whole, format] = explained;
  if (!row.variant || !row.counts) return {};
  const std::string title = heading(
      std::string("What each line asks of memory (in the traced blocks)") +
          (whole ? "; other lines are left out" : ""),
      style);
  const std::string annotated = annotated_source(row, style, whole);
  if (annotated.empty()) {
    return {
        {title + verdict("The lines are unknown, because addr2line (of binutils) is missing.")}};
  }
  constexpr int kRows = 8, kRowsOfWhole = 2;  // of a picture
  const std::string picture = worst_request(row, style, whole ? kRowsOfWhole : kRows);
  return {
      {title + annotated + (picture.empty() ? "" : "\n" + picture)}, {shared_loads_of(row, style)}};
}

}  // namespace report
