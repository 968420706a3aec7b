// The help text: what the program does, the flags from their table, and examples.
#include <algorithm>
#include <string>

#include "flags/flags.h"
#include "flags/table.h"
#include "text/numbers.h"

namespace flags {

namespace {

constexpr const char* kAbout =
    R"(gemm_steps: how a matrix multiplication becomes fast on a GPU, one stage at a time

Computes C = alpha*A*B + beta*C in fp32 with every stage of the ladder, checks each result, counts
the loads and stores of each kernel, and times it if there is an NVIDIA GPU. Without a GPU the same
kernels run on the CPU, which traces every access.

usage: gemm_steps [flags]

)";

constexpr const char* kExamples =
    R"(A value may also be given as --flag=value. Whole numbers may be written as 1e4. If a flag is
repeated, its last value counts.

Examples
  gemm_steps                                       run all stages
  gemm_steps --stage 5 --explain                   one stage in depth
  gemm_steps --stage 3-6 --size 1000               four stages at a size that no tile divides
  gemm_steps --stage 4 --variant 16x16x16-tm8 --trace all
  gemm_steps --gpu "A100 SXM 80GB" --format json   occupancy for another GPU, as JSON
  gemm_steps --stage 9 --a A.npy --b B.npy --out C.npy

Exit code: 0; 1 if a result fails its check or a hazard is found; 2 if the program cannot do what
was asked or cannot write its output. A result beyond the range of fp32 is not a failure: it
overflows.
)";

constexpr int kMargin = 23;  // columns before the description of a flag

// The names on the left, on a line of their own if they need the room, and the description beside
// them.
std::string beside(const std::string& names, const std::string& does) {
  std::string label = "  " + names, text;
  if (does.empty()) return label + "\n";
  if (text::display_width(label) >= kMargin) {
    text = label + "\n";
    label.clear();
  }
  for (std::size_t begin = 0; begin < does.size();) {
    const std::size_t end = std::min(does.find('\n', begin), does.size());
    text += text::labelled(label, kMargin, does.substr(begin, end - begin));
    label.clear();
    begin = end + 1;
  }
  return text;
}

std::string made() {
  std::string text = kAbout;
  for (const Section& section : sections()) {
    text += std::string(section.heading) + "\n";
    std::string names;
    for (const Flag& flag : section.flags) {
      names += flag.name;
      if (flag.value) names += std::string(" ") + flag.value;
      if (flag.then) {
        names += flag.then;
        continue;
      }
      text += beside(names, flag.help);
      names.clear();
    }
    text += "\n";
  }
  return text + kExamples;
}

}  // namespace

const char* help_text() {
  static const std::string text = made();
  return text.c_str();
}

}  // namespace flags
