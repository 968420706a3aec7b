// examples/gemm_steps.ipynb is a valid notebook, and its cells work in a checkout.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "testing/program.h"
#include "testing/strict_json.h"

namespace lesson {
namespace {

namespace fs = std::filesystem;

const char* const kNotebook = "examples/gemm_steps.ipynb";
const char* const kFirst = "01-index-and-guard";

struct Cell {
  std::string type;
  std::string source;
  bool is_clean;  // no output and no execution counts
};

std::string unescaped(const std::string& json) {
  std::string text;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] != '\\') {
      text += json[i];
      continue;
    }
    const char next = json.at(++i);
    REQUIRE(std::string("\"\\/n").find(next) != std::string::npos);
    text += next == 'n' ? '\n' : next;
  }
  return text;
}

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
      read.source += unescaped(values.at(cell + ".source." + std::to_string(i)));
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
  std::istringstream lines(cell);
  for (std::string line; std::getline(lines, line);) {
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
for part in grader.o assemble cpu.h.gch environment; do old+=(-o "$BUILT/grade/$part"); done
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

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
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
  const std::regex head("__global__ void multiply[^{]*\\{\n");
  std::smatch of_notebook, of_exercise;
  REQUIRE(std::regex_search(code, of_notebook, head));
  REQUIRE(std::regex_search(kernel, of_exercise, head));
  CHECK(of_notebook.str() == of_exercise.str());
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
  check_what_it_prints(std::regex_replace(output.out, std::regex("\r\n"), "\n"));
}

}  // namespace lesson
