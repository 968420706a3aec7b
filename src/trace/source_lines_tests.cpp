#include "trace/source_lines.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace trace {

TEST_CASE("a user's gemm_steps.cu is read from its file, ours from the compiled text") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("gemm_steps_source_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const char* name : {"gemm_steps.cu", "my_gemm_steps.cu"}) {
    CAPTURE(std::string(name));
    std::ofstream(folder / name) << "// a student's own\n";
    CHECK(source_text(folder / name) == "// a student's own\n");
  }
  std::filesystem::remove_all(folder);

  const std::string ours = source_text("gemm_steps.cu");
  CHECK(ours.find("stage_table") != std::string::npos);
  CHECK(source_text(folder / "gemm_steps.cu") == ours);  // the file no longer exists
}

}  // namespace trace
