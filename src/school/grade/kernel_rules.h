// What the code of a student's kernel may hold: what the tracer can see, and nothing that reaches
// for the grader around it.
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

// C++ as far as the grader reads it: names, numbers and signs.

struct Token {
  std::string text;
  std::size_t line;
  bool is(std::string_view what) const { return text == what; }
  bool is_name() const {
    return std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_';
  }
};

// The tokens of some lines of the file `name`; comments are left out. Refuses what could hide
// something from us: preprocessor lines but #pragma unroll, backslashes outside of comments and at
// the ends of lines, control characters, text in quotes.
std::vector<Token> tokens_of(
    const std::vector<std::string>& lines, Range range, const std::string& name);

// The names that the code of a student's kernel may use, and those that it may not.

// Why a name may not stand in a kernel, as the end of a sentence; null where it may.
const char* why_refused(std::string_view name);

// Whether a name with two underscores, or one before a capital, is among those that CUDA gives to
// kernels. All others of this kind belong to the compiler.
bool is_cuda(std::string_view name);

// Whether a bracket may follow the name: a keyword, a type or a function of CUDA.
bool may_be_called(std::string_view name);

// Functions of cuda/instructions.h, for the exercises that include it.
std::span<const std::string_view> instructions();

// Types that need no declaration: a name behind one of them is declared there.
bool is_type(std::string_view name);

// Types that may be written with std:: before them.
bool is_standard_type(std::string_view name);

// Attributes that change nothing but a compiler's warnings and guesses.
bool is_harmless_attribute(std::string_view name);

// The functions that a skeleton defines, calls or includes, but for kernels and the host's.
std::set<std::string> helpers_in(const std::vector<std::string>& skeleton);

// Refuses the lines of the file `name` where they hold what is not for kernels: preprocessor lines
// but #pragma unroll, inline PTX, attributes, names of the C++ library, calls of anything but
// CUDA's functions, the skeleton's helpers and what the code itself declares, text in quotes,
// static variables, a brace that closes more than was opened.
void check_kernel_code(
    const std::vector<std::string>& lines, Range range, const std::string& name,
    const std::set<std::string>& helpers);

}  // namespace grade
