// A student's file as lines.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/refusal.h"

namespace grade {

// Counted from 0; `end` is the line after the last.
struct LineRange {
  std::size_t first, end;
};

// Without their ends, also those of Windows.
std::vector<std::string> lines_of(const std::string& text);

// Without the spaces and tabs around it.
std::string trimmed(std::string_view text);

// Throws a Refusal that says which line of the file `name` it is about.
[[noreturn]] void refuse(const std::string& name, std::size_t line, const std::string& what);

// What a student answers in words and formulas, in addition to the kernel.

// The lines `answer NAME: TEXT` of a file, by their names; they may be in a comment. Lines without
// a text are left out. A long text is cut off, and a character that cannot be printed becomes a
// question mark.
std::map<std::string, std::string> answers_in(const std::string& file);

// The student's name, for an exercise that draws its numbers by it.

// The numbers are drawn from this key, which is equal for all spellings of one name. "Ada
// Lovelace", "LOVELACE, Ada" and "lovelaceada", as learning platforms write it, have one key, and
// so have "Jürgen" and "Juergen": it is the sorted letters without case, accents and e's, and then
// the numbers of a login. Two students whose names are anagrams draw the same numbers, which does
// no harm. Empty for a name without letters and digits.
std::string name_key(std::string_view name);

struct Student {
  std::string name;         // on one line, as it is shown; empty: no name
  bool is_another = false;  // than the one who was requested
};

// The line of an answer with the student for whom its numbers were drawn: `answer student: Ada
// Lovelace`. It goes with the file, so that a student gives STUDENT= only once.
inline constexpr std::string_view kStudentLine = "answer student:";

// The student whom an answer names, or else the one in STUDENT=, or the name under which the answer
// was handed in.
Student student_of(const std::string& answer, const std::string& asked_for);

// A name for a table of comma-separated values, quoted so that no spreadsheet reads it as a
// formula.
std::string for_table(std::string name);

// The part of a kernel file that is a student's own: cut out of their file, checked, and put into
// the grader's copy of the skeleton. Nothing else of their file is compiled.

// The lines before and after a region; spaces around them do not matter. A file may have several
// regions.
inline constexpr const char* kRegionBegins = "// ---- your code ----";
inline constexpr const char* kRegionEnds = "// ---- end of your code ----";

// What assembled() throws if all regions of an answer are empty.
struct NothingWritten : model::Refusal {
  using Refusal::Refusal;
};

// `skeleton` with the regions of `answer`, and with #line directives, so that the messages of a
// compiler or a debugger point into the file `answer_name`. Throws a Refusal that begins with that
// name and the line if the answer has other regions than the skeleton, or if a region contains
// something that a kernel may not have (grade/kernel_rules.h).
std::string assembled(
    const std::string& skeleton, const std::string& answer, const std::string& answer_name);

// `kernel` with nothing in its regions, as a skeleton has them.
std::string emptied(const std::string& kernel);

}  // namespace grade
