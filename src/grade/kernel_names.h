// The names that the code of a student's kernel may use, and those that it may not.
#pragma once

#include <span>
#include <string_view>

namespace grade {

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

}  // namespace grade
