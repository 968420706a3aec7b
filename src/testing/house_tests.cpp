// Checks the code against src/README.md, the map of the rooms; and the wording of all texts:
// comments, messages and pages use the field's phrases.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
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
  // Those of the simulator that others include, apart from its public headers.
  const std::set<std::string> for_kernels{
      "launch.h", "instructions.h", "hopper_instructions.h", "aligned_copies.h"};
  int includes = 0;
  for_each_source(map, [&](const fs::path& file, const std::string& room) {
    // Stand-alone programs and tests may use every room.
    if (file.string().ends_with("_tests.cpp") || file.filename() == "ladder.cpp") return;
    for (const Match& include : all_matches(contents(file), "#include \"([a-z/]+/[^\"]*)\"")) {
      const std::string used = room_of(map, include[1]);
      CHECK_MESSAGE(
          map.at(room).used.contains(name_of(used)), file.string(), " includes ", include[1]);
      ++includes;
      if (room.starts_with("simulator") || !used.starts_with("simulator/")) continue;
      const bool is_for_kernels =
          used == "simulator/cuda" && for_kernels.contains(name_of(include[1]));
      CHECK_MESSAGE(is_for_kernels, file.string(), " includes ", include[1]);
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

namespace {

// A phrase to avoid: a row of words.txt.
struct Rule {
  std::string sign, pattern, instead;
};

// A unit after a number of things, at the end of its phrase: "4 sectors a request." In "registers a
// thread uses" the phrase goes on, and that is English.
const std::string kAUnit =
    " an? (thread|request|warp|block|SM|lane|cycle|result|store|load|second|tile|element)"
    "([.,;:)|<]|$| (and|or|on|in|at|for|instead|is|are|than|to|from|as|with|of)( |$))";

std::vector<Rule> all_rules() {
  std::vector<Rule> rules;
  for (const Match& row : all_matches(
           contents("src/testing/words.txt"), "\n([^#\t\n][^\t\n]*)\t([^\t\n]*)\t([^\n]*)")) {
    rules.push_back({row[1], replaced(row[2], "\\{a unit\\}", kAUnit), row[3]});
  }
  return rules;
}

struct Text {
  std::string words;
  std::vector<std::size_t> starts;  // of each line of the file, in words
};

// The file as running text: without the ends of lines and what only marks a line as comment or
// string, so that a phrase may be on two lines.
Text running_text(const fs::path& path) {
  Text text;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    text.starts.push_back(text.words.size());
    const std::size_t begin = line.find_first_not_of("/#>*\" \t");
    const std::size_t end = line.find_last_not_of("\" \\");
    text.words +=
        end == line.npos || begin > end ? "\n" : line.substr(begin, end + 1 - begin) + " ";
  }
  return text;
}

std::vector<fs::path> all_files() {
  const std::set<std::string> kinds{".md", ".h", ".cpp", ".cu", ".mk", ".sh", ".awk", ".txt"};
  std::vector<fs::path> files = {"README.md",         "walkthrough.md",
                                 "gemm_steps.cu",     "tests.cpp",
                                 "Makefile",          ".ci/run",
                                 "cpu_reference.h",   "cpu_reference.cpp",
                                 "results/README.md", "src/model/hazards.inc"};
  for (const char* folder : {"src", "exercises", "examples"}) {
    for (const fs::path& path : fs::recursive_directory_iterator(folder)) {
      const std::string name = path.filename();
      const bool has_phrases = name == "words.txt" || name == "house_tests.cpp";
      if (kinds.contains(path.extension()) && !has_phrases) files.push_back(path);
    }
  }
  std::ranges::sort(files);
  return files;
}

// "README.md:12: ...phrase...; write: per" for each match.
std::string violations(const std::string& name, const Text& text) {
  static const std::vector<Rule> rules = all_rules();
  static constexpr std::size_t kBefore = 40, kAfter = 60;
  std::string found;
  for (const auto& [sign, pattern, instead] : rules) {
    std::size_t searched = 0;
    for (std::size_t at = 0; (at = text.words.find(sign, at)) != std::string::npos; ++at) {
      const std::size_t begin = std::max(searched, at > kBefore ? at - kBefore : 0);
      const Match match = first_match(text.words.substr(begin, at + kAfter - begin), pattern);
      if (!match) continue;
      const std::size_t place = begin + match.position;
      searched = place + match[0].size();
      const auto line = std::ranges::upper_bound(text.starts, place);
      found += name + ":" + std::to_string(line - text.starts.begin()) + ": \"" + match[0] +
               "\"; write: " + instead + "\n";
    }
  }
  return found;
}

}  // namespace

TEST_CASE("all texts use the field's phrases") {
  std::string found;
  for (const fs::path& path : all_files()) found += violations(path.string(), running_text(path));
  INFO(found);
  CHECK(found.empty());
}

TEST_CASE("a phrase to avoid is found across lines, and its right form is not") {
  const auto of = [](const std::string& words) { return violations("t", Text{words, {0}}); };
  CHECK(
      of("It makes 32 sectors a request. ") ==
      "t:1: \"sectors a request.\"; write: per: 4 sectors per request\n");
  for (const char* wrong :
       {"2 blocks an SM and ", "512 loads a thread, 3 stores a thread", "it waits for ever",
        "Issue has most to do, as before"}) {
    CHECK_MESSAGE(!of(wrong).empty(), wrong);
  }
  for (const char* right :
       {"It makes 32 sectors per request. ", "registers a thread uses",
        "a thread loads a tile, then stores a result.",
        "which line has most to do with a target"}) {
    CHECK_MESSAGE(of(right).empty(), right);
  }
}

}  // namespace testing
