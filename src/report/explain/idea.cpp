#include "report/explain/sections.h"

#include "report/explain/words.h"

namespace report {

std::vector<Part> explain_idea(const Explained& explained) {
  const lab::Row& row = explained.row;
  const auto prose = [](std::string_view words) {
    return std::vector<Part>{{paragraph(words), Part::prose}};
  };
  if (row.launch) return {};
  if (row.variant && row.variant->contrast) return prose(row.variant->contrast->idea);
  if (row.stage) {
    std::vector<Part> parts = prose(row.stage->idea);
    if (std::string split = split_of(explained); !split.empty())
      parts.push_back({std::move(split)});
    return parts;
  }
  if (row.number == 0) {
    return prose(
        "The triple loop as everyone first writes it, on one CPU core: i over the rows of C, j "
        "over "
        "its columns, k along the sum. The later stages run on a GPU and are measured against it.");
  }
  return prose("A yardstick, not a stage: the lesson has its time and its error, not its code.");
}

}  // namespace report
