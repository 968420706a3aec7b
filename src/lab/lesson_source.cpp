#include <filesystem>
#include <string>
#include <system_error>

#include "lab/problem.h"
#include "simulator/simulator.h"

// The text of gemm_steps.cu (the Makefile recompiles this file whenever it changes).
asm(".pushsection .rodata\n"
    "lesson_source_begin: .incbin \"gemm_steps.cu\"\n"
    "lesson_source_end: .byte 0\n"
    ".popsection\n");
extern "C" const char lesson_source_begin[] __attribute__((visibility("hidden")));
extern "C" const char lesson_source_end[] __attribute__((visibility("hidden")));

namespace lab {
namespace {

// A user's file may have the same name. Ours is the one with this source file below its folder, or
// one that no longer exists.
bool is_lesson(const std::string& name) {
  const std::filesystem::path file = name;
  std::error_code unknown;
  return file.filename() == "gemm_steps.cu" &&
         (!std::filesystem::exists(file, unknown) ||
          std::filesystem::exists(file.parent_path() / __FILE__, unknown));
}

}  // namespace

void embed_lesson() {
  trace::embedded_source = {is_lesson, {lesson_source_begin, lesson_source_end}};
}

}  // namespace lab
