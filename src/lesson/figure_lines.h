// The lines that show the figures: "![what it shows](figures/NAME.svg)".
#pragma once

#include <map>
#include <string>

#include "lesson/lesson.h"

namespace lesson {

// The finding of each figure, by its file: "figures/gpu.svg".
using Findings = std::map<std::string, std::string>;

// The <desc> of every SVG file in that folder.
Findings findings_in(const std::filesystem::path& folder);

// Updates the lines of `text` that show a figure to its present finding. Stages that share a figure
// have one file, "stage3-4-banks.svg"; a line that shows "stage3-banks.svg" then shows that one.
// Returns a sentence for each line that an author must handle: lines of figures that no longer
// exist or were shown before, and figures that no line shows.
Lines renew_figure_lines(Lines& text, const Findings& findings);

}  // namespace lesson
