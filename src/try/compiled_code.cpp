#include "try/compiled_code.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "machine/symbols.h"
#include "model/compiled_kernel.h"

namespace attempt {
namespace {

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

}  // namespace

std::string beside_the_program(const std::string& ending) {
  std::error_code no_link;
  return std::filesystem::read_symlink("/proc/self/exe", no_link).string() + ending;
}

std::string architecture_of(const model::Gpu& gpu) {
  // Hopper's own instructions need the suffix.
  return std::to_string(gpu.compute_capability) + (gpu.compute_capability == 90 ? "a" : "");
}

std::string why_not_compiled() {
  std::ifstream why(beside_the_program(".why_not_compiled"));
  std::string sentence;
  std::getline(why, sentence);
  return sentence.starts_with("nvcc does not compile") ? sentence : "";
}

std::optional<int> compiled_registers(const std::string& kernel, int compute_capability) {
  std::ifstream records(beside_the_program(".registers"));
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

lab::SharedLoads shared_loads_of(
    const lab::Measurement& measurement, const std::string& kernel, const model::Gpu& gpu) {
  lab::SharedLoads loads{"sm_" + architecture_of(gpu), std::nullopt, ""};
  const std::string code = beside_the_program("." + loads.architecture + ".sass");
  std::ifstream disassembly(code);
  if (!disassembly) {
    std::ifstream why(beside_the_program(".why_not_compiled"));
    std::getline(why, loads.why_unknown);
    if (loads.why_unknown.empty()) {
      loads.why_unknown = "Without nvcc, the code of " + loads.architecture + " is not known.";
    }
    return loads;
  }
  static std::string read_from;
  static std::vector<model::SassKernel> kernels;
  if (read_from != code) {
    kernels = model::read_sass(disassembly);
    read_from = code;
  }
  const std::string wanted = without_spaces(kernel);
  const auto found =
      std::find_if(kernels.begin(), kernels.end(), [&](const model::SassKernel& candidate) {
        return without_spaces(machine::function_name_of(candidate.name)) == wanted;
      });
  if (found == kernels.end()) {
    loads.why_unknown = "nvcc's code for " + loads.architecture + " has no kernel of that name.";
    return loads;
  }
  loads.compiled = model::compiled_loads(
      *measurement.counts, *found, measurement.source_file, measurement.source_first,
      measurement.source_last);
  return loads;
}

}  // namespace attempt
