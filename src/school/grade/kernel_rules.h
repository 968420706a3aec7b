// What a student's kernel may contain: only code that the tracer can see, and nothing that could
// attack the grader.
#pragma once

#include <cctype>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "school/grade/answer.h"

namespace grade {

// The part of C++ that the grader reads: names, numbers and signs.

struct Token {
  std::string text;
  std::size_t line;
  bool is(std::string_view what) const { return text == what; }
  bool is_name() const {
    return std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_';
  }
};

// The tokens of some lines of the file `name`; comments are left out. Refuses what could hide code
// from us: preprocessor lines except #pragma unroll, backslashes outside of comments and at the
// ends of lines, control characters, text in quotes.
std::vector<Token> tokens_of(
    const std::vector<std::string>& lines, LineRange range, const std::string& name);

// The names that a student's kernel may use, and those that it may not.

// Why a kernel may not use a name, as the end of a sentence; null if it may.
const char* why_refused(std::string_view name);

// Whether a name with two underscores, or one before a capital, is among those that CUDA gives to
// kernels. All others of this kind belong to the compiler.
bool is_cuda(std::string_view name);

// Whether a bracket may follow the name: a keyword, a type or a function of CUDA.
bool may_be_called(std::string_view name);

// Functions of a header, for the exercises that include it.
struct Instructions {
  std::string_view header;
  std::span<const std::string_view> functions;
};
std::span<const Instructions> instructions();

// Types that need no declaration: a name after one of them is declared there.
bool is_type(std::string_view name);

// Types that may be written with std:: before them.
bool is_standard_type(std::string_view name);

// Attributes that change nothing but a compiler's warnings and guesses.
bool is_harmless_attribute(std::string_view name);

// The functions that a skeleton defines, calls or includes, except kernels and host functions. And
// "name." for each object of a class of its own, which an answer may only use by calls of
// functions.
std::set<std::string> helpers_in(const std::vector<std::string>& skeleton);

// Refuses lines of the file `name` that a kernel may not have: preprocessor lines except #pragma
// unroll, inline PTX, attributes, names of the C++ library, calls of other functions than CUDA's,
// the skeleton's helpers and the code's own, text in quotes, static variables, and unmatched
// closing braces.
void check_kernel_code(
    const std::vector<std::string>& lines, LineRange range, const std::string& name,
    const std::set<std::string>& helpers);

}  // namespace grade
