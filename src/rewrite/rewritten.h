// A user's CUDA source as C++ that g++ compiles against src/cuda.
#pragma once

#include <string>
#include <string_view>

namespace rewrite {

// `source` is what `g++ -E` prints. Every line keeps its number. Throws a std::runtime_error whose
// text names the file and the line, if something cannot be translated.
std::string rewritten(std::string_view source);

}  // namespace rewrite
