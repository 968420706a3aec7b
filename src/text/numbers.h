// Numbers, columns, paragraphs, colours and dates as text, and the width of the terminal. Widths
// are in code points: every character that the report prints is one column wide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace text {

inline constexpr int kReportWidth = 100;  // columns at most; see report_width()

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

// "5", "0–7", "0, 16"; and the same of the bits that are set, such as the lanes of a mask.
std::string ranges_of(const std::set<int>& numbers);
std::string numbers_of_bits(std::uint32_t bits);

// How the report looks on a terminal. Colour only repeats what words or signs already say.
struct Style {
  bool colour = false;
};

enum class Colour {
  bold = 1,
  red = 31,
  green = 32,
  yellow = 33
};  // ECMA-48, select graphic rendition

inline std::string coloured(const std::string& text, Colour colour, Style style) {
  if (!style.colour || text.empty()) return text;
  return "\033[" + std::to_string(static_cast<int>(colour)) + "m" + text + "\033[0m";
}

// Whether `out` is a terminal that understands escape sequences. TERM in the environment names the
// terminal; if it is unset, empty or "dumb", the terminal understands none.
bool is_terminal(std::FILE* out);

// Columns of a line of the report: those of the terminal behind stdout, or those that COLUMNS in
// the environment says, which comes first; at least 80 and at most kReportWidth. kReportWidth where
// neither says anything.
int report_width();

std::string now_utc();  // "2026-01-01T00:00:00Z"

// A number that identifies data almost certainly: FNV-1a (G. Fowler, L. Noll, P. Vo).
inline constexpr std::uint64_t kNoFingerprint = 0xcbf29ce484222325;  // of nothing yet

// The fingerprint of data with the fingerprint `so_far` followed by `piece`.
constexpr std::uint64_t fingerprint(std::uint64_t so_far, std::uint64_t piece) {
  return (so_far ^ piece) * 0x100000001b3;
}

// A table as text: the cells of its lines, in columns.

using Cells = std::vector<std::string>;  // of a line

// The widths of the columns, each that of its widest cell. Those of the first `left` columns, which
// are left-aligned, are negative.
std::vector<int> widths_of(const std::vector<Cells>& lines, std::size_t left = 1);

// A line of cells in columns of these widths, with `gap` blanks between them and none at the end.
std::string in_columns(const Cells& cells, const std::vector<int>& widths, int gap = 1);

}  // namespace text
