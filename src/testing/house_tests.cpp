// Checks the code against src/README.md, the map of the rooms.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "testing/pattern.h"
#include "testing/program.h"

namespace testing {
namespace {

namespace fs = std::filesystem;
using Rooms = std::set<std::string>;

// A room's path without its wing.
std::string name_of(const std::string& room) {
  return fs::path(room).filename().string();
}

struct Room {
  Rooms used;  // what it may use, and itself
  int most_lines;
};
// The rooms of the map, by their paths in src/.
using Map = std::map<std::string, Room>;

Map map_of_the_house() {
  Map map;
  const std::string row = "\n\\| `([a-z/]+)/` \\|.*\\|([a-z ]*)\\| ([0-9]+) \\|";
  for (const Match& found : all_matches(contents("src/README.md"), row)) {
    const std::vector<std::string> used = words_of(found[2]);
    Room& room = map[found[1]] = {{used.begin(), used.end()}, std::stoi(found[3])};
    room.used.insert(name_of(found[1]));
  }
  return map;
}

// The room that has this file of src/: the innermost folder that the map names. Empty if none has.
std::string room_of(const Map& map, fs::path file) {
  while (file.has_parent_path()) {
    file = file.parent_path();
    if (map.contains(file.string())) return file.string();
  }
  return "";
}

bool is_source(const fs::path& path) {
  return path.extension() == ".h" || path.extension() == ".cpp" || path.extension() == ".cu";
}

// Calls `visit` with every source file of src/ that is in a room, and with the room.
template <class Visit>
void for_each_source(const Map& map, Visit visit) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator("src")) {
    const std::string room = room_of(map, fs::relative(entry.path(), "src"));
    if (!room.empty() && is_source(entry.path())) visit(entry.path(), room);
  }
}

}  // namespace

TEST_CASE("the map names every folder with code, and every room uses rooms of the map") {
  const Map map = map_of_the_house();
  Rooms names;
  for (const auto& [path, room] : map) {
    CHECK_MESSAGE(fs::is_directory("src/" + path), path);
    CHECK_MESSAGE(names.insert(name_of(path)).second, path);
  }
  for (const auto& [path, room] : map) {
    for (const std::string& name : room.used) CHECK_MESSAGE(names.contains(name), name);
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator("src")) {
    const fs::path file = fs::relative(entry.path(), "src");
    if (!is_source(file) || !file.has_parent_path()) continue;
    CHECK_MESSAGE(!room_of(map, file).empty(), file.string());
  }
}

TEST_CASE("README's layout names every file at the top, except those that every repository has") {
  const std::set<std::string> common{
      ".gitignore", ".clang-format", "LICENSE", "Makefile", "README.md"};
  const std::string readme = contents("README.md");
  const std::string layout = readme.substr(readme.find("## Layout"));
  // Nothing is listed where the project is no checkout of git.
  for (const std::string& file : lines_of(run("git ls-files -- ':(glob)*' 2> /dev/null").out)) {
    const bool is_header = file.ends_with(".h");  // beside its .cpp
    const std::string named = is_header ? file.substr(0, file.size() - 1) + "cpp" : file;
    CHECK_MESSAGE((common.contains(file) || layout.find("\n" + named) != layout.npos), file);
  }
}

TEST_CASE("make help lists goals in lines of at most 100 characters") {
  const std::vector<std::string> lines = lines_of(run("make -s help NVCC=").out);
  CHECK(lines.size() > 40);
  for (const std::string& line : lines) CHECK_MESSAGE(line.size() <= 100, line);
}

TEST_CASE("a room includes only from rooms that the map allows") {
  const Map map = map_of_the_house();
  int includes = 0;
  for_each_source(map, [&](const fs::path& file, const std::string& room) {
    // Stand-alone programs and tests may use every room.
    if (file.string().ends_with("_tests.cpp") || file.filename() == "ladder.cpp") return;
    for (const Match& include : all_matches(contents(file), "#include \"([a-z/]+/[^\"]*)\"")) {
      const std::string used = room_of(map, include[1]);
      CHECK_MESSAGE(
          map.at(room).used.contains(name_of(used)), file.string(), " includes ", include[1]);
      ++includes;
    }
  });
  CHECK(includes > 300);
}

// A room that needs more gets them in the map, with a commit that says what it can do now.
TEST_CASE("no room has more lines than the map gives it") {
  const std::set<std::string> counted{".cpp", ".h",   ".cu",  ".js",   ".sh", ".mk",
                                      ".awk", ".lua", ".css", ".html", ".inc"};
  const Map map = map_of_the_house();
  std::map<std::string, std::ptrdiff_t> lines;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator("src")) {
    if (!counted.contains(entry.path().extension())) continue;
    if (entry.path().filename() == "compiled_kernels.inc") continue;
    const std::string text = contents(entry.path());
    lines[room_of(map, fs::relative(entry.path(), "src"))] += std::ranges::count(text, '\n');
  }
  for (const auto& [path, room] : map) {
    CHECK_MESSAGE(lines[path] <= room.most_lines, path, " has ", lines[path]);
  }
}

TEST_CASE("two rooms never use each other, nor two wings") {
  const Map map = map_of_the_house();
  const auto wing_of = [](const std::string& room) { return room.substr(0, room.find('/')); };
  std::set<std::pair<std::string, std::string>> arrows;
  for (const auto& [path, room] : map) {
    for (const auto& [other, used_there] : map) {
      if (!room.used.contains(name_of(other))) continue;
      arrows.insert({path, other});
      arrows.insert({wing_of(path), wing_of(other)});
    }
  }
  for (const auto& [from, to] : arrows) {
    CHECK_MESSAGE((from == to || !arrows.contains({to, from})), from, " and ", to);
  }
}

TEST_CASE("a room's declarations are in its namespace") {
  const std::map<std::string, std::string> named = {{"try", "attempt"}, {"cuda", "simt"}};
  // Hooks, entry points and what a student's kernel sees have fixed names.
  const std::string called_by_others =
      "\\bint main\\(|extern \"C\"|\\bcuda_main\\(|void run\\(Shape";
  for_each_source(map_of_the_house(), [&](const fs::path& file, const std::string& room) {
    if (file.extension() != ".cpp") return;
    const std::string name =
        named.contains(name_of(room)) ? named.at(name_of(room)) : name_of(room);
    const std::string text = contents(file);
    if (first_match(text, called_by_others)) return;
    CHECK_MESSAGE(first_match(text, "namespace " + name + "\\b|\\b" + name + "::"), file.string());
  });
}

}  // namespace testing
