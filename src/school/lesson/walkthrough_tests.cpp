// Compares each kernel with the previous one: a teacher shows these diffs on a slide.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "school/lesson/lesson.h"
#include "show/report/explain/explain.h"
#include "testing/pattern.h"
#include "testing/program.h"
#include "text/json.h"
#include "text/numbers.h"

using lesson::Lines;

namespace {

struct Kernel {
  std::string name;
  std::string work;   // the function to which it leaves its work; else the same
  int comment_lines;  // above it, with the heading
  Lines helpers;      // what stands between the stage's kernel before and this one, with comments
  Lines text;         // from its template head to its closing brace
  Lines contrast;     // the last kernel of a variant before it
  Lines caller;       // the kernel, if `text` is a function to which it leaves its work
};

const lesson::Built kBuilt{"./gemm_steps", "build"};

// A line of src/text/declarations.awk.
struct Declaration {
  std::string kind, stage;
  int above, first, line, last;
  std::string name;
};
std::vector<Declaration> declarations() {
  std::vector<Declaration> all;
  for (const std::string& row :
       lesson::run("awk -f src/text/declarations.awk gemm_steps.cu", kBuilt).lines) {
    std::istringstream words(row);
    Declaration& d = all.emplace_back();
    words >> d.kind >> d.stage >> d.above >> d.first >> d.line >> d.last >> std::ws;
    std::getline(words, d.name);
  }
  return all;
}

// Without the paragraphs that have a kernel's tiles and its launch.
Lines without_launches(const Lines& lines) {
  Lines kept;
  bool is_launch = false;
  for (const std::string& line : lines) {
    is_launch = !line.empty() && (is_launch || line.starts_with("constexpr Tile ") ||
                                  line.starts_with("template <Tile "));
    if (!is_launch) kept.push_back(line);
  }
  return kept;
}

// In the order of gemm_steps.cu: the stages' own kernels.
const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = [] {
    const Lines file = lesson::read_lines("gemm_steps.cu");
    const auto lines = [&](int first, int last) {
      return Lines(file.begin() + first - 1, file.begin() + last);
    };
    std::vector<Kernel> found;
    Lines helpers, contrast;
    int end = 0;  // of the kernel before
    for (const Declaration& d : declarations()) {
      // A kernel right below a function with a stage's heading only calls that.
      if (d.kind == "kernel" && end > 0 && d.first == end + 1)
        found.back().name = d.name, found.back().caller = lines(d.first, end = d.last);
      if (d.stage == "-" || (d.kind != "kernel" && d.kind != "device")) continue;
      const Lines between = without_launches(lines(end + 1, d.above - 1));
      helpers.insert(helpers.end(), between.begin(), between.end());
      end = d.last;
      if (d.stage.find(':') != std::string::npos) {
        contrast = lines(d.first, d.last);
        continue;
      }
      found.push_back(
          {d.name, d.name, d.first - d.above, helpers, lines(d.first, d.last), contrast, {}});
      helpers.clear();
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

// The stage with a variant that launches that kernel.
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

// The first stage that multiplies on tensor cores.
int first_on_tensor_cores() {
  for (const model::Stage& stage : stage_table_plain.stages) {
    if (stage.needs.instructions > 0) return stage.number;
  }
  return 0;
}

template <class Visit>
void for_each_step(Visit visit) {
  for (std::size_t i = 1; i < kernels().size(); ++i) {
    const Kernel &before = kernels()[i - 1], &after = kernels()[i];
    CAPTURE(before.name);
    CAPTURE(after.name);
    visit(before, after, changed(before.text, after.text));
  }
}

std::string without_comment(const std::string& line) {
  const std::string code = line.substr(0, line.find("//"));
  return code.substr(0, code.find_last_not_of(' ') + 1);
}

// Without comments and blank lines.
Lines code_of(const Lines& lines) {
  Lines code;
  for (const std::string& line : lines) {
    if (const std::string text = without_comment(line); !text.empty()) code.push_back(text);
  }
  return code;
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

TEST_CASE("README and the walkthrough say how many stages there are") {
  const std::size_t stages = stage_table_plain.stages.size();
  const std::string readme = testing::contents("README.md");
  CHECK(readme.find("through " + std::to_string(stages) + " stages") != std::string::npos);
  CHECK(readme.find("run all " + std::to_string(stages) + " stages") != std::string::npos);
  CHECK(
      testing::contents("walkthrough.md")
          .find(" stages, 0 to " + std::to_string(stages - 1) + ",") != std::string::npos);
}

TEST_CASE("the table's entries, and each kernel with its stage or variant, are declarations") {
  std::vector<std::string> expected, stages, found;
  for (const model::Stage& stage : stage_table_plain.stages) {
    const std::string number = std::to_string(stage.number);
    stages.push_back(number + " " + stage.name);
    if (!stage.variants.empty()) expected.push_back(number);
    for (const model::Variant& variant : stage.variants) {
      if (variant.contrast && !variant.for_few_results) {
        expected.push_back(number + ":" + variant.name);
      }
    }
  }
  std::vector<std::string> entries;
  for (const Declaration& d : declarations()) {
    CAPTURE(d.name);
    CHECK(d.above <= d.first);
    CHECK(d.first <= d.line);
    CHECK(d.line <= d.last);
    if (d.kind != "stage" && d.stage != "-") found.push_back(d.stage);
    if (d.kind == "stage") entries.push_back(d.stage + " " + d.name);
  }
  CHECK(found == expected);
  CHECK(entries == stages);
}

TEST_CASE("every kernel fits on two screens, and three to six lines above it explain its idea") {
  for (const Kernel& kernel : kernels()) {
    CAPTURE(kernel.name);
    CHECK(kernel.text.size() <= 120);
    CHECK(kernel.comment_lines >= 3);
    CHECK(kernel.comment_lines <= 6);
  }
}

TEST_CASE("between kernels of the fp32 units at most 30 lines are new, and most change up to 25") {
  for_each_step([](const Kernel&, const Kernel& after, const Changed& lines) {
    if (stage_of(after).number >= first_on_tensor_cores()) return;
    const std::map<std::string, std::size_t> exceptions = {
        // Threads and elements of a tile are no longer one to one, so both copies become loops.
        {"thread_coarsening_1d", 29},
        // Every line that moves data now moves four floats.
        {"vectorized", 38},
        // Loads become copies, in a function that starts them ahead.
        {"async_pipeline", 44},
        // Loads and multiplications become functions, and the copies move to a helper.
        {"register_pipeline", 59}};
    CHECK(lines.added.size() <= 30);
    // Or the recorded number for a kernel that cannot keep the limit.
    const std::size_t changed = lines.added.size() + lines.removed.size();
    const auto exception = exceptions.find(after.name);
    CHECK((exception == exceptions.end() ? changed <= 25 : changed == exception->second));
  });
}

std::size_t lines_added(const Lines& before, const Lines& after) {
  std::size_t added = 0;
  for (const report::DiffLine& line : report::line_diff(code_of(before), code_of(after))) {
    added += line.before == 0;
  }
  return added;
}

// A stage goes on from the kernel before it, or from the variant's kernel that stands above, and
// what it launches before its own kernel from what the stage before launches there.
TEST_CASE("from tensor cores on, a stage adds at most 45 lines of code, with its helpers") {
  const std::map<std::string, std::size_t> exceptions = {
      // Six lines are the kernel around the function that the kernel of stage 21 calls, too.
      {"scaled_parts", 48}};
  Lines launched_before;
  for_each_step([&](const Kernel& before, const Kernel& after, const Changed&) {
    if (stage_of(after).number < first_on_tensor_cores()) return;
    std::size_t of_kernel = lines_added(before.text, after.text);
    if (!after.contrast.empty()) {
      of_kernel = std::min(of_kernel, lines_added(after.contrast, after.text));
    }
    const bool launches_more = std::ranges::any_of(
        after.helpers, [](const std::string& line) { return line.starts_with("__global__"); });
    const std::size_t added = of_kernel + code_of(after.caller).size() +
                              lines_added(launches_more ? launched_before : Lines{}, after.helpers);
    const auto exception = exceptions.find(after.name);
    CHECK((exception == exceptions.end() ? added <= 45 : added == exception->second));
    if (launches_more) launched_before = after.helpers;
  });
}

TEST_CASE("launches take at most 140 lines below the kernels, and 163 beside them") {
  const Lines source = lesson::read_lines("gemm_steps.cu");
  const auto below = std::find_if(source.begin(), source.end(), [](const std::string& line) {
    return line.starts_with("#ifndef KERNELS_ALONE");
  });
  REQUIRE(below != source.end());
  const Lines above(source.begin(), below);
  CHECK(code_of({below, source.end()}).size() <= 140);
  CHECK(code_of(above).size() - code_of(without_launches(above)).size() <= 163);
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
  for (const Kernel& kernel : kernels()) {
    CAPTURE(kernel.name);
    const model::Variant& variant = stage_of(kernel).variants[0];
    // A and B can be hidden behind what the copy engine needs, and that behind their units.
    const std::string maps = variant.has_units ? "UnitMaps" : "Maps";
    const std::string operands =
        variant.has_maps ? "const " + maps + " maps" : "const float* A, const float* B";
    const std::string parameters =
        "    int M, int N, int K, float alpha, " + operands + ", float beta, float* C";
    const std::string written = testing::replaced(
        testing::replaced(kernel.text.at(2), "__grid_constant__ ", ""), "& maps", " maps");
    // A kernel that cuts tiles along K also receives how they are shared out.
    if (variant.share_out != nullptr && !variant.has_maps) {
      CHECK(written == parameters + ",");
      CHECK(kernel.text.at(3) == "    Shares shares) {");
    } else {
      CHECK(written == parameters + ") {");
    }
    for (const std::string& line : kernel.text) {
      CHECK(line.find("static_assert") == std::string::npos);
    }
  }
}

TEST_CASE("diff.sh shows the lines that changed between two kernels") {
  for_each_step([&](const Kernel& before, const Kernel& after, const Changed& lines) {
    const lesson::Output output =
        lesson::run("src/school/lesson/diff.sh " + before.work + " " + after.work, kBuilt);
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

namespace lesson {

// examples/gemm_steps.ipynb is a valid notebook, and its cells work in a checkout.

namespace {

namespace fs = std::filesystem;
using testing::contains;

const char* const kNotebook = "examples/gemm_steps.ipynb";
const char* const kFirst = "01-index-and-guard";

struct Cell {
  std::string type;
  std::string source;
  bool is_clean;  // no output and no execution counts
};

std::vector<Cell> cells() {
  const testing::StrictJson json(testing::contents(kNotebook));
  const auto& values = json.values;
  CHECK(values.at("nbformat") == "4");
  // From 4.5 on, each cell needs a unique id.
  CHECK(values.at("nbformat_minor") == "4");
  std::vector<Cell> all;
  for (;;) {
    const std::string cell = "cells." + std::to_string(all.size());
    if (!values.contains(cell)) return all;
    Cell read{values.at(cell + ".cell_type"), "", true};
    CHECK(values.contains(cell + ".metadata"));
    for (int i = 0; values.contains(cell + ".source." + std::to_string(i)); ++i) {
      read.source += text::json_text('"' + values.at(cell + ".source." + std::to_string(i)) + '"');
    }
    CHECK(!read.source.empty());
    if (read.type == "code") {
      read.is_clean = values.at(cell + ".execution_count") == "null" &&
                      values.at(cell + ".outputs") == "[]" && !values.contains(cell + ".outputs.0");
    } else {
      CHECK(read.type == "markdown");
    }
    all.push_back(read);
  }
}

// The part of a cell that bash can run: lines that begin with !, and the file that the cell writes.
// Only Python understands the rest.
std::string for_bash(const std::string& cell) {
  const std::string magic = "%%writefile ";
  if (cell.starts_with(magic)) {
    const std::size_t end = cell.find('\n');
    return "cat > '" + cell.substr(magic.size(), end - magic.size()) + "' <<'END OF CELL'\n" +
           cell.substr(end + 1) + "\nEND OF CELL\n";
  }
  std::string script;
  for (const std::string& line : testing::lines_of(cell)) {
    if (line.starts_with("!")) script += line.substr(1) + "\n";
  }
  return script;
}

// A checkout with links to this one and an empty answers/. Its make builds nothing: the contents of
// the build folder count as up to date. `make run` uses a small size.
std::string checkout(const testing::Folder& folder) {
  const std::string build = fs::relative(testing::built()).string();
  const fs::path program = fs::absolute(testing::program());
  folder.write("bin/make", R"(#!/bin/bash
old=(-o gemm_steps -o "$BUILT/gemm_steps" -o "$BUILT/announce/wrapper")
for part in grader.o inspect.o assemble cpu.h.gch environment; do old+=(-o "$BUILT/grade/$part"); done
for exercise in exercises/[0-9]*; do old+=(-o "$BUILT/$exercise/exercise.o"); done
[[ " $* " != *" run "* ]] || old+=(FLAGS="--size 64")
exec -a make "$REAL_MAKE" "${old[@]}" BUILD="$BUILT" NVCC= "$@"
)");
  return "export REAL_MAKE=$(command -v make) BUILT='" + build + "' CUDA_VISIBLE_DEVICES=-1\n" +
         "chmod +x '" + folder / "bin/make" + "'; export PATH='" + folder / "bin" + "':$PATH\n" +
         "here=$PWD; mkdir '" + folder / "checkout" + "' && cd '" + folder / "checkout" +
         "' && ln -s \"$here\"/* . && rm -f answers gemm_steps && ln -s '" + program.string() +
         "' gemm_steps || exit 9\nexec 2>&1\n";
}

void check_what_it_prints(const std::string& out) {
  CHECK(contains(out, "9 async pipeline"));                // make run
  CHECK(contains(out, "sectors"));                         // --explain
  CHECK(contains(out, "01-index-and-guard.cu is yours"));  // the first make grade
  CHECK(contains(out, "\nFAILED"));                        // the second
}

}  // namespace

TEST_CASE("the notebook is valid, contains no output, and writes an answer to exercise 1") {
  std::string code;
  for (const Cell& cell : cells()) {
    CAPTURE(cell.source);
    CHECK(cell.is_clean);
    if (cell.type == "code") code += cell.source + "\n";
  }
  for (const char* step :
       {"git clone", "!make run\n", "!./gemm_steps --stage 2", "!make grade EX=1\n",
        "%%writefile answers/01-index-and-guard.cu\n", "!make grade EX=1 HINT=1"}) {
    CHECK_MESSAGE(contains(code, step), step);
  }
  // The kernel's head is the exercise's.
  const std::string kernel = testing::contents("exercises/" + std::string(kFirst) + "/kernel.cu");
  const std::string head = "__global__ void multiply[^{]*\\{\n";
  const testing::Match of_notebook = testing::first_match(code, head);
  REQUIRE(of_notebook);
  CHECK(of_notebook.groups == testing::first_match(kernel, head).groups);
}

TEST_CASE("the notebook's commands run in a checkout, and its answer fails until it is fixed") {
  const testing::Folder folder;
  std::string script;
  for (const Cell& cell : cells()) {
    if (cell.type == "code") script += for_bash(cell.source);
  }
  // As a student would fix the cell, and run the next one again.
  const std::string solution = "exercises/solutions/" + std::string(kFirst) + ".cu";
  const bool is_solved = fs::exists(solution);
  if (is_solved) {
    script += "cp " + solution + " answers/; SEED=5 make grade EX=1 HINT=1\n";
  }
  const testing::Output output = testing::run(checkout(folder) + script);
  CAPTURE(output.out);
  check_what_it_prints(output.out);
  CHECK(!contains(output.out, "Cloning into"));
  CHECK(!contains(output.out, "g++ "));
  CHECK(contains(output.out, "\nPASSED") == is_solved);
}

TEST_CASE("the notebook runs cell by cell where nbclient is installed") {
  const testing::Folder folder;
  if (testing::run("python3 -c 'import nbclient, nbformat, ipykernel'").exit_code != 0) {
    MESSAGE("skipped: python3 has no nbclient, nbformat and ipykernel here");
    return;
  }
  folder.write("run.py", R"(
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
nbclient.NotebookClient(
    notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        print(output.get("text", ""), end="")
)");
  const testing::Output output =
      testing::run(checkout(folder) + "python3 '" + folder / "run.py" + "' " + kNotebook);
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  check_what_it_prints(testing::replaced(output.out, "\r\n", "\n"));
}

// Checks the numbers that walkthrough.md works out "on paper" against the paper GPU.

namespace {

// The output of --explain for each kernel of examples/eight.cu, by the kernel's name, with single
// blanks.
std::map<std::string, std::string> explained() {
  const testing::Output output = testing::run(
      (testing::built() / "try" / "eight").string() +
      " --size 8 --gpu paper --explain --section kernel,counts,occupancy,ceiling");
  CHECK(output.exit_code == 0);
  std::map<std::string, std::string> kernels;
  const std::vector<std::string> lines = testing::lines_of(output.out);
  std::string name;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const bool is_name = lines[i + 1].starts_with("────") && !lines[i].starts_with(" ");
    if (is_name) name = lines[i];
    kernels[name] += testing::replaced(lines[i], " +", " ") + "\n";
  }
  return kernels;
}

struct OnPaper {
  int chapter;
  const char* kernel;
  std::vector<const char*> counted;
};
const std::vector<OnPaper> kOnPaper = {
    {1,
     "naive<4, 4>",
     {"GMEM load A 4 B, 8.00 per thread, 4.00 sectors",
      "GMEM load B 4 B, 8.00 per thread, 1.00 sectors", "GMEM loads 256 640 2.50",
      "2 blocks x 4 warps = 8 of the 8 warps that an SM can hold: 100.00 %"}},
    {2,
     "coalesced<4, 4>",
     {"GMEM load A 4 B, 8.00 per thread, 1.00 sectors",
      "GMEM load B 4 B, 8.00 per thread, 1.00 sectors", "GMEM loads 256 256 1.00"}},
    {3,
     "shared_memory_tiling<4, 4, 4>",
     {"GMEM loads accesses 4 4 4 ", "SMEM loads accesses 16 16 16 ", "GMEM loads 64 64 1.00"}},
    {4,
     "thread_coarsening_1d<4, 4, 4, 2>",
     {"GMEM loads accesses 8 8 8 ", "SMEM loads accesses 24 24 24 "}},
    {5,
     "thread_tiling_2d<4, 4, 4, 2, 2>",
     {"GMEM loads accesses 16 16 16 ", "SMEM load As 4 B, 16.0 per thread, 2.00 wavefronts",
      "SMEM load Bs 4 B, 16.0 per thread, 1.00 wavefronts"}},
    {6,
     "vectorized<8, 8, 4, 4, 4, 4>",
     {"GMEM load A 16 B, 4.00 per thread, 4.00 sectors", "GMEM loads accesses 8 8 8 ",
      "SMEM load As 16 B, 8.00 per thread, 1.00 wavefronts", "SMEM loads accesses 16 16 16 ",
      "4 blocks x 1 warps = 4 of the 8 warps that an SM can hold: 50.00 %"}},
    // Rows of 8 and of 12 conflict, a float4 after four rows helps.
    {7,
     "vectorized<8, 8, 8, 4, 4, 4>",
     {"SMEM store As 4 B, 4.00 per thread, 2.00 wavefronts", "SMEM stores 20 40 2.00"}},
    {7,
     "conflict_free<8, 8, 8, 4, 4, 4>",
     {"SMEM store As 4 B, 4.00 per thread, 2.00 wavefronts", "SMEM stores 20 40 2.00"}},
    {7,
     "padded_by_four_rows",
     {"SMEM store As 4 B, 4.00 per thread, 1.00 wavefronts", "SMEM stores 20 24 1.20",
      "SMEM load As 16 B, 8.00 per thread, 1.00 wavefronts",
      "SMEM load Bs 16 B, 8.00 per thread, 1.00 wavefronts"}},
    // Lanes in a column: 20 loads by 4 lanes in 8 steps are 10 floats per step. In the square of
    // chapter 5 it is 16 loads, 8 floats.
    {8, "thread_tiling_2d<8, 2, 4, 2, 2>", {"GMEM loads accesses 20 20 20 "}},
    // Two neighbouring lanes load the same float4.
    {8,
     "warp_tiling<8, 8, 4, 8, 8, 4, 4, 4>",
     {"SMEM load As 16 B, 8.00 per thread, 1.00 wavefronts",
      "SMEM load Bs 16 B, 8.00 per thread, 1.00 wavefronts"}},
    {9,
     "async_pipeline<8, 8, 4, 8, 8, 4, 4, 3, 4>",
     {"GMEM copy A 4 B, 16.0 per thread, 1.00 sectors",
      "GMEM copy B 16 B, 4.00 per thread, 4.00 sectors", "SMEM loads 16 16 1.00"}}};

}  // namespace

TEST_CASE("what chapters 1 to 9 work out on paper is what the paper GPU counts") {
  std::map<std::string, std::string> all = explained();
  for (const auto& [chapter, kernel, counted] : kOnPaper) {
    CAPTURE(chapter);
    CAPTURE(all[kernel]);
    for (const std::string line : counted)
      CHECK_MESSAGE(testing::contains(all[kernel], line), line);
  }
}

TEST_CASE("the paper GPU has no clock, and explanations and JSON say so") {
  const testing::Output explained =
      testing::gemm_steps("--gpu paper --size 32 --stage 2 --explain");
  CHECK(testing::contains(explained.out, "there are no times and no ceilings"));
  CHECK_FALSE(testing::contains(explained.out, "TFLOP/s,"));
  CHECK_FALSE(testing::contains(explained.out, "32 neighbours"));
  const testing::Output json =
      testing::gemm_steps("--gpu paper --size 32 --stage 1-3 --format json");
  CHECK(testing::contains(json.out, "\"boost_ghz\": null"));
  CHECK(testing::contains(json.out, "\"compiled_tflops\": null"));
  CHECK(testing::contains(json.out, "\"warp_lanes\": 4"));
}

TEST_CASE("the paper GPU is traced, even if a GPU is requested") {
  const testing::Output refused = testing::gemm_steps("--gpu paper --device gpu");
  CHECK(refused.exit_code == 2);
  CHECK(testing::contains(refused.err, "the paper GPU is only traced"));
}

TEST_CASE("a step on the paper GPU shows its four lanes, sectors and banks") {
  const std::string step = "--gpu paper --size 16 --step --print ";
  const std::string banks = testing::gemm_steps(step + "--stage 6 --frame 3").out;
  CHECK(testing::contains(banks, "warp 0, 4 lanes store 4 B to As"));
  CHECK(testing::contains(banks, "\n  bank           0\n"));
  const std::string wavefront = testing::line_with(banks, "wavefront   1");
  CHECK(text::display_width(wavefront) == 17 + 8);
  const std::string sectors = testing::gemm_steps(step + "--stage 1 --frame 1").out;
  CHECK(testing::contains(sectors, "4 sectors, ideal 1"));
  CHECK(testing::contains(sectors, "[0...]"));
}

TEST_CASE("kernels that divide by 32 themselves are right on the paper GPU") {
  const testing::Output output = testing::gemm_steps("--gpu paper --size 70 --stage 8-9");
  CHECK(output.exit_code == 0);
  CHECK(testing::contains(testing::line_with(output.out, "warp tiling"), "ok"));
  CHECK(testing::contains(testing::line_with(output.out, "async pipeline"), "ok"));
}

}  // namespace lesson
