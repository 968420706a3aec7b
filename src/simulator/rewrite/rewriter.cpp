// rewriter < PREPROCESSED > REWRITTEN: see rewritten.h. src/try/try.sh runs it between g++ -E
// and g++.
#include <exception>
#include <iostream>
#include <iterator>
#include <string>

#include "simulator/rewrite/rewritten.h"

int main() {
  const std::string source{std::istreambuf_iterator<char>(std::cin), {}};
  try {
    const std::string text = rewrite::rewritten(source);
    std::cout.write(text.data(), static_cast<std::streamsize>(text.size()));
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& refusal) {
    std::cerr << refusal.what() << '\n';
    return 1;
  }
}
