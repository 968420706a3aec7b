#include "try/registers.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace attempt {

namespace {

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

}  // namespace

std::optional<int> compiled_registers(const std::string& kernel, int compute_capability) {
  std::error_code no_link;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", no_link);
  std::ifstream records(program.string() + ".registers");
  std::optional<int> registers;
  int nearest = 0;
  for (std::string line; std::getline(records, line);) {
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    int capability = 0, used = 0;
    if (begin == end || std::sscanf(line.c_str() + end, "\", %d, %d", &capability, &used) != 2 ||
        without_spaces(line.substr(begin + 1, end - begin - 1)) != without_spaces(kernel) ||
        capability > compute_capability || capability < nearest) {
      continue;
    }
    nearest = capability;
    registers = used;
  }
  return registers;
}

}  // namespace attempt
