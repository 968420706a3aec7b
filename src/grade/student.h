// Whose answer it is, where an exercise draws its numbers by a student's name.
#pragma once

#include <string>
#include <string_view>

namespace grade {

// What is drawn by: equal for all spellings of one name. "Ada Lovelace", "LOVELACE, Ada" and
// "lovelaceada", as learning platforms write it, have one key, and so have "Jürgen" and "Juergen":
// it is the sorted letters without case, accents and e's, and then the numbers of a login. Two
// students whose names are anagrams draw the same numbers, which does no harm. Empty for a name
// without letters and digits.
std::string name_key(std::string_view name);

struct Student {
  std::string name;         // on one line, as it is shown; empty: nobody's
  bool is_another = false;  // than the one who was asked for
};

// The line of an answer that says for whom its numbers were drawn: `answer student: Ada Lovelace`.
// It goes with the file, so that a student gives STUDENT= only once.
inline constexpr std::string_view kStudentLine = "answer student:";

// The student whom an answer names, or else the one who is asked for by STUDENT=, or by the name
// under which the answer was handed in.
Student student_of(const std::string& answer, const std::string& asked_for);

// A name as it stands in a table of comma-separated values, where a spreadsheet takes it for
// nothing but a name.
std::string for_table(std::string name);

}  // namespace grade
