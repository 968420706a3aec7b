// Numbers, columns and paragraphs as text. Widths are in code points: every character that the
// report prints is one column wide.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace text {

inline constexpr int kReportWidth = 100;  // columns at most; report_width() in text/terminal.h

// The text that printf would print.
[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

int display_width(std::string_view utf8);
std::string pad_left(std::string_view text, int width);   // right-aligned
std::string pad_right(std::string_view text, int width);  // left-aligned
std::string repeated(std::string_view text, int times);

std::string without_trailing_spaces(std::string text);

// At most `width` columns. A longer text ends with "…".
std::string shortened(std::string_view text, int width);

// The words of `text` in lines of at most `width` columns. A longer word is split.
std::vector<std::string> wrapped(std::string_view text, int width);

// A label of `width` columns with words beside it, in lines as wide as the report.
std::string labelled(std::string_view label, int width, std::string_view words);

std::string grouped(long long value);   // 196608 is "196,608"
std::string exact(double value);        // up to four decimals without trailing zeros; grouped
std::string shortest(double value);     // the fewest digits that read back as the same double
std::string significant(double value);  // three significant digits: 0.0213, 5.31, 387; "2,748"
std::string brief(double value);        // at most two decimals: 0.97, 98.6, 387; "131,072"
std::string scientific(double value);   // only the magnitude: "1e-6"

}  // namespace text
