// The lines that show the figures: "![what it shows](figures/NAME.svg)".
#pragma once

#include <map>
#include <string>

#include "lesson/lesson.h"

namespace lesson {

// What a figure shows, by its file: "figures/gpu.svg".
using Findings = std::map<std::string, std::string>;

// Of every SVG file in that folder, what its <desc> says.
Findings findings_in(const std::filesystem::path& folder);

// Writes into the lines of `text` that show a figure what it shows now. Stages that share a figure
// have one file, "stage3-4-banks.svg": a line that shows "stage3-banks.svg" shows that one instead.
// What is left for an author is said in a sentence each: lines of figures that are gone or shown
// before, and figures that no line shows.
Lines renew_figure_lines(Lines& text, const Findings& findings);

}  // namespace lesson
