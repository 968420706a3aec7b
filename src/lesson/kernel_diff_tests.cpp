// Compares each kernel with the previous one: a teacher shows these diffs on a slide.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "lab/stage_tables.h"
#include "lesson/lesson.h"
#include "report/source.h"

using lesson::Lines;

namespace {

struct Kernel {
  std::string name;
  int comment_lines;  // above it, with the heading
  Lines text;         // from its template head to its closing brace
};

// In the order of gemm_steps.cu: the kernels below each heading "// Stage N: name".
const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = [] {
    const Lines file = lesson::read_lines("gemm_steps.cu");
    std::vector<Kernel> found;
    for (auto line = file.begin(); line != file.end(); ++line) {
      if (!line->starts_with("// Stage ")) continue;
      const auto head = std::find_if(
          line, file.end(), [](const std::string& text) { return !text.starts_with("//"); });
      const auto brace = std::find(head, file.end(), "}");
      REQUIRE(brace != file.end());
      const auto opened = std::find_if(
          head, brace, [](const std::string& text) { return text.starts_with("__global__"); });
      REQUIRE(opened != brace);
      const std::size_t parenthesis = opened->rfind('(');
      const std::size_t before_name = opened->rfind(' ', parenthesis);
      found.push_back(
          {opened->substr(before_name + 1, parenthesis - before_name - 1),
           static_cast<int>(head - line), Lines(head, brace + 1)});
    }
    return found;
  }();
  return all;
}

struct Changed {
  Lines removed, added;
};

// As `git diff` shows it: unlike in a report, a line that is only indented further has changed.
Changed changed(const Lines& before, const Lines& after) {
  const auto with_blanks = [](Lines lines) {
    for (std::string& line : lines) line.insert(0, "|");
    return lines;
  };
  Changed lines;
  for (const report::DiffLine& line : report::line_diff(with_blanks(before), with_blanks(after))) {
    if (line.after == 0) lines.removed.push_back(line.text.substr(1));
    if (line.before == 0) lines.added.push_back(line.text.substr(1));
  }
  return lines;
}

// The stage whose variants launch that kernel.
const model::Stage& stage_of(const Kernel& kernel) {
  for (const model::Stage& stage : stage_table_plain.stages) {
    for (const model::Variant& variant : stage.variants) {
      const std::string name = variant.kernel.name;
      if (name.substr(0, name.find('<')) == kernel.name) return stage;
    }
  }
  FAIL("no stage launches ", kernel.name);
  std::abort();
}

// A kernel of tensor cores has little in common with the one before. What such kernels share is the
// order of their phases.
bool has_phases(const Kernel& kernel) {
  return stage_of(kernel).runs_from > 0;
}

template <class Visit>
void for_each_step(Visit visit) {
  for (std::size_t i = 1; i < kernels().size(); ++i) {
    const Kernel &before = kernels()[i - 1], &after = kernels()[i];
    if (has_phases(after)) continue;
    CAPTURE(before.name);
    CAPTURE(after.name);
    visit(before, after, changed(before.text, after.text));
  }
}

// Checks the limit, or the recorded number for a kernel that cannot keep it.
void check_at_most(
    std::size_t limit, std::size_t lines, const std::map<std::string, std::size_t>& exceptions,
    const std::string& kernel) {
  const auto exception = exceptions.find(kernel);
  if (exception == exceptions.end()) {
    CHECK(lines <= limit);
  } else {
    CHECK(lines == exception->second);
  }
}

std::string without_comment(const std::string& line) {
  const std::string code = line.substr(0, line.find("//"));
  return code.substr(0, code.find_last_not_of(' ') + 1);
}

}  // namespace

TEST_CASE("every stage that launches a kernel has one under its heading") {
  std::set<std::string> launched, found;
  for (const model::Stage& stage : stage_table_plain.stages) {
    for (const model::Variant& variant : stage.variants) {
      const std::string name = variant.kernel.name;
      if (!variant.contrast) launched.insert(name.substr(0, name.find('<')));
    }
  }
  for (const Kernel& kernel : kernels()) found.insert(kernel.name);
  CHECK(found == launched);
  CHECK(kernels().size() == launched.size());
}

// src/trace/mutants.awk finds the kernel by this heading.
TEST_CASE("a kernel that is a contrast has a heading that names its variant and stage") {
  const Lines file = lesson::read_lines("gemm_steps.cu");
  int contrasts = 0;
  for (const model::Stage& stage : stage_table_plain.stages) {
    for (const model::Variant& variant : stage.variants) {
      if (!variant.contrast) continue;
      ++contrasts;
      const std::string heading = "// Variant " + std::string(variant.name) + " of stage " +
                                  std::to_string(stage.number) + ": ";
      CAPTURE(heading);
      const auto begins = [&](const std::string& line) { return line.starts_with(heading); };
      CHECK(std::count_if(file.begin(), file.end(), begins) == 1);
    }
  }
  CHECK(contrasts > 0);
}

TEST_CASE("the kernels of tensor cores are built from the same phases in the same order") {
  for (const Kernel& kernel : kernels()) {
    if (!has_phases(kernel)) continue;
    CAPTURE(kernel.name);
    CHECK(kernel.text.size() <= 120);  // two screens
    auto line = kernel.text.begin();
    for (const char* phase : {"// Copy: ", "// Fragments: ", "// Multiply: ", "// Epilogue: "}) {
      CAPTURE(std::string(phase));
      line = std::find_if(line, kernel.text.end(), [&](const std::string& text) {
        return text.substr(std::min(text.find_first_not_of(' '), text.size())).starts_with(phase);
      });
      REQUIRE(line != kernel.text.end());
    }
  }
}

TEST_CASE("between neighbouring kernels at most 25 lines are added") {
  for_each_step([](const Kernel&, const Kernel& after, const Changed& lines) {
    check_at_most(25, lines.added.size(), {}, after.name);
  });
}

TEST_CASE("between neighbouring kernels at most 25 lines change") {
  for_each_step([](const Kernel&, const Kernel& after, const Changed& lines) {
    const std::map<std::string, std::size_t> exceptions = {
        // Threads and elements of a tile are no longer one to one, so both copies become loops.
        {"thread_coarsening_1d", 29},
        // Every line that moves data now moves four floats.
        {"vectorized", 38},
        // The copies move to a helper, and the loop over the tiles becomes three.
        {"async_pipeline", 44},
        // Loads and multiplications, which were one loop, become two functions.
        {"register_pipeline", 40}};
    check_at_most(25, lines.added.size() + lines.removed.size(), exceptions, after.name);
  });
}

TEST_CASE("the lines of neighbouring kernels never differ in a comment alone") {
  for_each_step([](const Kernel&, const Kernel&, const Changed& lines) {
    for (const std::string& removed : lines.removed) {
      for (const std::string& added : lines.added) {
        if (without_comment(removed).empty()) continue;
        CAPTURE(removed);
        CHECK((removed == added || without_comment(removed) != without_comment(added)));
      }
    }
  });
}

TEST_CASE("kernels take the same parameters on the same line, and contain no assertions") {
  const std::string parameters =
      "    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C";
  for (const Kernel& kernel : kernels()) {
    CAPTURE(kernel.name);
    const model::Sharing sharing = stage_of(kernel).variants[0].sharing;
    if (sharing == model::Sharing::persistent) {
      // A and B are hidden behind what the copy engine needs.
      CHECK(
          kernel.text.at(2) ==
          "    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, "
          "float* C) {");
      continue;
    }
    // A kernel whose blocks have an order of their own also receives how tiles are shared out.
    const bool more = kernel.text.at(2) == parameters + ",";
    if (more)
      CHECK(kernel.text.at(3) == "    Shares shares) {");
    else
      CHECK(kernel.text.at(2) == parameters + ") {");
    CHECK(more == (sharing != model::Sharing::grid));
    for (const std::string& line : kernel.text) {
      CHECK(line.find("static_assert") == std::string::npos);
    }
  }
}

TEST_CASE("three to six lines above every kernel explain its idea") {
  for (const Kernel& kernel : kernels()) {
    CAPTURE(kernel.name);
    CHECK(kernel.comment_lines >= 3);
    CHECK(kernel.comment_lines <= 6);
  }
}

TEST_CASE("diff.sh shows the lines that changed between two kernels") {
  const lesson::Built built{"./gemm_steps", std::filesystem::path("build")};
  for_each_step([&](const Kernel& before, const Kernel& after, const Changed& lines) {
    const lesson::Output output =
        lesson::run("src/lesson/diff.sh " + before.name + " " + after.name, built);
    REQUIRE(output.exit_code == 0);
    REQUIRE(output.lines.size() > 3);
    const auto beginning_with = [&](char sign) {
      return std::count_if(
          output.lines.begin() + 2, output.lines.end(),
          [&](const std::string& line) { return line.starts_with(sign); });
    };
    CHECK(beginning_with('-') == static_cast<long>(lines.removed.size()));
    CHECK(beginning_with('+') == static_cast<long>(lines.added.size()));
  });
}
