// rewriter [OTHER...] < PREPROCESSED > REWRITTEN: see rewritten.h. src/try/try.sh runs it between
// g++ -E and g++. The others are the program's files as the user wrote them.
// rewriter --literals < SOURCE > SOURCE: spaced_literals(), before g++ -E.
#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "simulator/rewrite/rewritten.h"

int main(int argc, char** argv) {
  const std::string source{std::istreambuf_iterator<char>(std::cin), {}};
  try {
    const bool only_literals = argc == 2 && argv[1] == std::string("--literals");
    const bool has_main = std::any_of(argv + 1, argv + argc, [](const char* name) {
      std::ifstream other(name);
      return rewrite::defines_main(std::string{std::istreambuf_iterator<char>(other), {}});
    });
    const std::string text =
        only_literals ? rewrite::spaced_literals(source) : rewrite::rewritten(source, has_main);
    std::cout.write(text.data(), static_cast<std::streamsize>(text.size()));
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& refusal) {
    std::cerr << refusal.what() << '\n';
    return 1;
  }
}
