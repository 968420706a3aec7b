// How the sections of an explanation put their words.
#pragma once

#include <string>
#include <string_view>

#include "text/numbers.h"

namespace report {

inline constexpr int kIndent = 2;
inline constexpr int kLabel = 16;  // columns of what stands left of a section's facts

// With the blank line before it.
std::string heading(const std::string& text, text::Style style);

// A label and its fact. A long fact goes on below, under where it began.
std::string fact(std::string_view label, std::string_view words);

// What a line of a table means, under it.
std::string verdict(std::string_view words);

std::string paragraph(std::string_view words);

}  // namespace report
