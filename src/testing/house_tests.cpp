// Checks the code against src/README.md, the map of the rooms.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "testing/program.h"

namespace testing {
namespace {

namespace fs = std::filesystem;
using Rooms = std::set<std::string>;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// For each room of the map, the rooms that it may use.
std::map<std::string, Rooms> map_of_the_house() {
  std::map<std::string, Rooms> map;
  std::istringstream lines(text_of("src/README.md"));
  const std::regex room("\\| `([a-z]+)/` \\|.*\\|([a-z ]*)\\|");
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, found, room)) continue;
    std::istringstream used(found[2]);
    for (std::string name; used >> name;) map[found[1]].insert(name);
    map[found[1]].insert(found[1]);
  }
  return map;
}

// Stand-alone programs and tests may use every room.
bool is_free(const fs::path& path) {
  return path.filename().string().ends_with("_tests.cpp") ||
         path.filename() == "bench_tracer.cpp" || path.filename() == "ladder.cpp";
}

bool is_source(const fs::path& path) {
  return path.extension() == ".h" || path.extension() == ".cpp" || path.extension() == ".cu";
}

}  // namespace

TEST_CASE("the map names every room and no others") {
  Rooms mapped, there;
  for (const auto& [room, used] : map_of_the_house()) {
    mapped.insert(room);
    for (const std::string& name : used) CHECK_MESSAGE(fs::is_directory("src/" + name), name);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator("src")) {
    if (entry.is_directory()) there.insert(entry.path().filename().string());
  }
  CHECK(mapped == there);
}

TEST_CASE("README's layout names every file at the top, but for what every repository has") {
  const std::set<std::string> common{
      ".gitignore", ".clang-format", "LICENSE", "Makefile", "README.md"};
  const std::string readme = text_of("README.md");
  const std::string layout = readme.substr(readme.find("## Layout"));
  // Nothing is listed where the project is no checkout of git.
  std::istringstream files(run("git ls-files -- ':(top,glob)*' 2> /dev/null").out);
  for (std::string file; std::getline(files, file);) {
    const bool is_header = file.ends_with(".h");  // beside its .cpp
    const std::string named = is_header ? file.substr(0, file.size() - 1) + "cpp" : file;
    CHECK_MESSAGE((common.contains(file) || layout.find("\n" + named) != layout.npos), file);
  }
}

TEST_CASE("a room includes only from rooms that the map allows") {
  const std::map<std::string, Rooms> map = map_of_the_house();
  const std::regex include("#include \"([a-z]+)/[^\"]*\"");
  int includes = 0;
  for (const auto& [room, used] : map) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator("src/" + room)) {
      if (!is_source(entry.path()) || is_free(entry.path())) continue;
      const std::string text = text_of(entry.path());
      for (std::sregex_iterator at(text.begin(), text.end(), include), end; at != end; ++at) {
        const std::string name = (*at)[1];
        CHECK_MESSAGE(used.contains(name), entry.path().string(), " includes ", at->str());
        ++includes;
      }
    }
  }
  CHECK(includes > 300);
}

TEST_CASE("two rooms never use each other") {
  const std::map<std::string, Rooms> map = map_of_the_house();
  for (const auto& [room, used] : map) {
    for (const std::string& name : used) {
      if (name != room) CHECK_MESSAGE(!map.at(name).contains(room), room, " and ", name);
    }
  }
}

TEST_CASE("a room's declarations are in its namespace") {
  const std::map<std::string, std::string> named = {{"try", "attempt"}, {"cuda", "simt"}};
  // Hooks, entry points and what a student's kernel sees have fixed names.
  const std::regex called_by_others("\\bint main\\(|extern \"C\"|\\bcuda_main\\(|void run\\(Shape");
  for (const auto& [room, used] : map_of_the_house()) {
    const std::string name = named.contains(room) ? named.at(room) : room;
    const std::regex in_namespace("namespace " + name + "\\b|\\b" + name + "::");
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator("src/" + room)) {
      if (entry.path().extension() != ".cpp") continue;
      const std::string text = text_of(entry.path());
      if (std::regex_search(text, called_by_others)) continue;
      CHECK_MESSAGE(std::regex_search(text, in_namespace), entry.path().string());
    }
  }
}

}  // namespace testing
