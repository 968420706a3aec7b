// What the texts quote: measurements, output of commands, source, and what figures show. The tests
// compare all of it with what it comes from, and `make walkthrough` updates it.
//
// Where a measurement comes from, quoted.txt says, unseen by the reader.
// quoted.txt has a line "# FILE" for each text, and below it fragments of the text, in its order.
// In a fragment, each {...} stands for a number, and the rest for the same words in the text:
//   H200: **{[4096 | 2]} TFLOP/s, {[4096 | 2] / [4096 | 1] : 1} times** stage 1.
// Between the braces is a formula (model/stage.h) of numbers and references, then after a colon the
// number of decimals: -2 rounds to hundreds, and e1 makes "4.9e-4". A reference alone, without a
// colon, stands for what the file has, to the letter.
//
// A reference is [FILE | ROW | COLUMN]. The file is results/FILE, or results/h200-FILE.txt if FILE
// has no ending. ROW is how a line begins, or "..." and words anywhere, also on two lines; with
// "A > B" the search for B begins after A. COLUMN is a heading above, TFLOP/s if none is given; of
// equal headings in a line, the last counts. Or it is a count: 2 is the second number after ROW in
// its line, or after the words.
//
// A number from elsewhere has no braces. After its fragment stands where it comes from:
//   A6000: 2.98 to 8.47. <- Boehm 2022
#pragma once

#include <filesystem>
#include <string>

#include "school/lesson/lesson.h"

namespace lesson {

inline constexpr const char* kSources = "src/school/lesson/quoted.txt";

// The files that quote.
Lines quoting_texts();

struct Quoted {
  std::string text;  // with all numbers as their sources have them
  Lines outdated;    // "12: 384 is 386: **Measured.** ..." for each number that was not
  Lines moved;       // those of them that changed by more than 3 %: read their sentences again
  Lines unsourced;   // the words around each measurement that has no source
};

// Compares `text`, which quoted.txt calls `name`, with the sources. Throws std::runtime_error if a
// fragment is not in the text, or if its source does not exist.
Quoted quoted(
    const std::string& name, const std::string& text, const Lines& sources,
    const std::filesystem::path& results);

// A text as `make walkthrough` writes it.
struct Renewed {
  std::string text;
  Lines moved;  // as in Quoted
  Lines left;   // to the author: "12: COMMAND", or " ", and what is wrong
};

// One of these files. Where only numbers have changed, it is updated: the output of the commands
// that walkthrough.md and exercises/TEACHING.md quote, what figures show, and measurements. The
// tables of README.md and results/README.md are replaced as a whole.
Renewed renewed(const std::string& file, const Built& built);

}  // namespace lesson
