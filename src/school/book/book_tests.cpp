// `make book`: its pages, what they link to, and what is not in them. The pages to play with are
// stand-ins here.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "testing/pattern.h"
#include "testing/program.h"

namespace book {
namespace {

namespace fs = std::filesystem;
using testing::contents;

// Stands in for `gemm_steps --page FILE [--stage N]`.
constexpr const char* kProgram =
    "#!/bin/bash\n"
    "[ $1 = --page ] && echo \"<h1>Page $3 $4</h1>\" > \"$2\"\n";

constexpr const char* kTooOld = "book: this pandoc is too old; install pandoc 2.17 or newer\n";

bool skipped(const std::string& program, const std::string& why) {
  if (testing::run("command -v " + program).exit_code == 0) return false;
  MESSAGE("skipped: there is no " << program << why);
  return true;
}

// A folder with such a program, where a book can be written.
struct Book {
  testing::Folder folder;
  std::string out = folder / "book";
  Book() { write_program("program", kProgram); }
  void write_program(const std::string& name, const std::string& text) const {
    folder.write(name, text);
    fs::permissions(folder / name, fs::perms::owner_all);
  }
  // With another pandoc, if `path` is a folder that has one.
  testing::Output write(const std::string& answers = "", const std::string& path = "") const {
    return testing::run(
        "PATH='" + path + "':$PATH src/school/book/book.sh '" + out + "' '" + folder / "program" +
        "' '" + answers + "'");
  }
  std::string page(const std::string& name) const { return contents(fs::path(out) / name); }
};

// One book for all cases of this process, without answers; empty if there is no pandoc.
const Book* written() {
  static const Book place;
  if (skipped("pandoc", " to write the book")) return nullptr;
  static const testing::Output output = place.write();
  if (output.err == kTooOld) {
    MESSAGE("skipped: " << kTooOld);
    return nullptr;
  }
  CHECK(output.err == "");
  CHECK(output.out == place.out + "/index.html\n");
  return output.exit_code == 0 ? &place : nullptr;
}

// What follows `before` up to the next quotation mark, for each place in the text. (A pattern's
// stack is short for long lines.)
std::vector<std::string> values(const std::string& text, const std::string& before) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
    at += before.size();
    found.push_back(text.substr(at, text.find('"', at) - at));
  }
  return found;
}

std::map<fs::path, std::string> files_of(const fs::path& folder) {
  std::map<fs::path, std::string> files;
  if (!fs::exists(folder)) return files;  // as exercises/solutions, where a class gets none
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[entry.path()] = contents(entry.path());
  }
  return files;
}

std::string without_spaces(std::string text) {
  std::erase_if(text, [](unsigned char letter) { return std::isspace(letter); });
  return text;
}

// The lines of TEACHING.md between <details> and </details> that stand nowhere else in the lesson.
std::set<std::string> folded_answers() {
  std::string elsewhere = contents("walkthrough.md");
  for (const auto& entry : fs::recursive_directory_iterator("exercises")) {
    if (entry.path().filename() == "README.md") elsewhere += contents(entry.path());
  }
  std::set<std::string> answers;
  bool hidden = false;
  for (const std::string& line : testing::lines_of(contents("exercises/TEACHING.md"))) {
    if (line.starts_with("</details>")) hidden = false;
    // Words without marks, as a page and the index have them.
    const bool plain = line.find_first_of("*`<>&\"'[\\|") == std::string::npos;
    if (hidden && plain && line.size() > 30 && elsewhere.find(line) == std::string::npos) {
      answers.insert(without_spaces(line));
    }
    if (line.starts_with("<details>")) hidden = true;
  }
  return answers;
}

// What a browser makes of the page after its script, and `script`, have run.
std::string in_browser(const Book& place, const std::string& script, const std::string& flags) {
  const testing::Folder folder;
  fs::copy(place.out, folder.path(), fs::copy_options::recursive);
  std::string html = place.page("stage-5.html");
  html.insert(html.find("</body>"), "<script>" + script + "</script>");
  folder.write("tried.html", html);
  const testing::Output output = testing::run(
      "HOME='" + folder.path().string() +
      "' timeout 300 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=3000 " +
      flags + " --dump-dom 'file://" + folder / "tried.html" + "'");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  return output.out;
}

}  // namespace

TEST_CASE("the book has a page for each chapter, each exercise and the sessions") {
  const Book* book = written();
  if (book == nullptr) return;
  const std::string index = book->page("index.html"), text = contents("walkthrough.md");
  int chapters = 0, players = 0;
  for (const testing::Match& heading : testing::all_matches(text, "\n## ([^\n]+)")) {
    const std::string& title = heading[1];
    CAPTURE(title);
    CHECK(index.find(">" + title + "</a></li>") != std::string::npos);
    ++chapters;
  }
  CHECK(chapters > 20);
  for (const auto& entry : fs::directory_iterator("exercises")) {
    const std::string name = entry.path().filename();
    if (!std::isdigit(static_cast<unsigned char>(name[0]))) continue;
    CHECK_MESSAGE(fs::exists(book->out + "/exercise-" + name + ".html"), name);
  }
  CHECK(index.find("href=\"lesson.html\"") != std::string::npos);
  CHECK(book->page("lesson.html").starts_with("<h1>Page"));
  for (int stage = 1; stage <= 14; ++stage, ++players) {
    const std::string number = std::to_string(stage);
    CHECK(
        book->page("stage-" + number + ".html")
            .find("<iframe src=\"players/stage-" + number + ".html\" title=\"") !=
        std::string::npos);
    CHECK(
        book->page("players/stage-" + number + ".html") ==
        "<h1>Page --stage " + number + "</h1>\n");
  }
}

TEST_CASE("every link of the book leads to something in the book") {
  const Book* book = written();
  if (book == nullptr) return;
  const std::map<fs::path, std::string> files = files_of(book->out);
  std::map<fs::path, std::set<std::string>> ids;
  for (const auto& [path, text] : files) {
    if (path.extension() != ".html") continue;
    for (const std::string& id : values(text, " id=\"")) {
      CHECK_MESSAGE(ids[path].insert(id).second, path.string(), " has id ", id, " twice");
    }
  }
  int links = 0;
  for (const auto& [path, text] : files) {
    if (path.extension() != ".html") continue;
    std::vector<std::string> targets = values(text, " src=\"");
    for (const char* before : {" href=\"", "\nhref=\""}) {
      for (const std::string& target : values(text, before)) targets.push_back(target);
    }
    for (const std::string& target : targets) {
      const std::string file = target.substr(0, target.find('#'));
      const fs::path to = file.empty() ? path : (path.parent_path() / file).lexically_normal();
      const std::string fragment =
          target.find('#') == std::string::npos ? "" : target.substr(target.find('#') + 1);
      // A player reads a fragment such as stage=5.
      const bool found = files.contains(to) && (fragment.empty() || ids[to].contains(fragment) ||
                                                fragment.starts_with("stage="));
      if (!found) FAIL_CHECK(path.string(), " links to ", target);
      ++links;
    }
  }
  CHECK(links > 5000);
}

TEST_CASE("a chapter of the book shows the source that it names") {
  const Book* book = written();
  if (book == nullptr) return;
  const std::vector<std::string> lines = testing::lines_of("\n" + contents("gemm_steps.cu"));
  int named = 0;
  for (int stage = 1; stage <= 14; ++stage) {
    CAPTURE(stage);
    const std::string html = book->page("stage-" + std::to_string(stage) + ".html");
    CHECK(html.find("<summary>Source: <code>") != std::string::npos);
    CHECK(html.find("// Stage " + std::to_string(stage) + ": ") != std::string::npos);
    for (const std::string& link : values(html, "href=\"gemm_steps.cu.html#L-")) {
      const std::size_t number = std::stoul(link);
      const std::size_t at = html.find("#L-" + link + "\"><code>");
      if (at == std::string::npos) continue;  // "gemm_steps.cu, line 233"
      const std::size_t begin = html.find("<code>", at) + 6;
      const std::string name = html.substr(begin, html.find('<', begin) - begin);
      CHECK_MESSAGE(lines.at(number).find(name) != std::string::npos, name, " in ", lines[number]);
      ++named;
    }
  }
  CHECK(named > 30);
  // An excerpt leads to its first line: "__global__ void add(int n, ...".
  const std::string preface = book->page("preface-cuda-in-ten-minutes.html");
  std::istringstream example(contents("examples/vector_add.cu"));
  int number = 1;
  for (std::string line; std::getline(example, line) && !line.starts_with("__global__");) ++number;
  CHECK(
      preface.find("href=\"examples-vector_add.cu.html#L-" + std::to_string(number) + "\"") !=
      std::string::npos);
}

TEST_CASE("answers for lecturers are in the book only on request, and solutions never") {
  const Book* book = written();
  if (book == nullptr) return;
  const std::set<std::string> answers = folded_answers();
  CHECK(answers.size() > 20);
  const auto found_in = [&](const std::string& folder) {
    std::string all;
    for (const auto& [path, text] : files_of(folder)) all += without_spaces(text);
    for (const auto& [path, text] : files_of("exercises/solutions")) {
      CHECK_MESSAGE(all.find(without_spaces(text)) == std::string::npos, path.string());
    }
    int found = 0;
    for (const std::string& answer : answers) found += all.find(answer) != std::string::npos;
    return found;
  };
  CHECK(found_in(book->out) == 0);
  CHECK(book->page("teaching.html").find("edits of exercises/solutions") == std::string::npos);
  const Book with_answers;
  CHECK(with_answers.write("1").exit_code == 0);
  CHECK(found_in(with_answers.out) == static_cast<int>(answers.size()));
}

TEST_CASE("a book replaces a book, and nothing else") {
  const Book place;
  place.write_program("bin/pandoc", "#!/bin/bash\necho new > \"$BOOK/index.html\"\n");
  const auto written = [&] {
    const testing::Output output = place.write("", place.folder / "bin");
    CHECK((output.err == "") == (output.exit_code == 0));
    if (output.exit_code != 0) CHECK(output.exit_code == 2);
    return output.err;
  };
  const std::string refused = "book: " + place.out + ": ",
                    another = "so give another folder, for example BOOK=build/book\n";
  place.folder.write("book/thesis.txt", "mine");
  CHECK(
      written() ==
      refused + "has thesis.txt, which make book did not write; nothing was replaced, " + another);
  fs::remove(place.folder / "book/thesis.txt");
  CHECK(written() == "");  // an empty folder
  CHECK(place.page("index.html") == "new\n");

  place.folder.write("book/CNAME", "example.org");
  CHECK(
      written() ==
      refused + "has CNAME, which make book did not write; nothing was replaced, " + another);
  fs::remove(place.folder / "book/CNAME");
  place.folder.write("book/index.html", "old\n");
  place.folder.write("program", "#!/bin/bash\necho 'no such stage' >&2\nexit 2\n");
  CHECK(
      written() ==
      "book: " + place.folder / "program" + " --page lesson.html: wrote no page: no such stage\n");
  place.folder.write("program", "#!/bin/bash\n");  // says nothing, and writes nothing
  CHECK(written() == "book: " + place.folder / "program" + " --page lesson.html: wrote no page\n");
  place.folder.write("program", kProgram);
  place.folder.write("bin/pandoc", "#!/bin/bash\necho 'book: no' >&2\nexit 2\n");
  CHECK(written() == "book: no\n");
  CHECK(place.page("index.html") == "old\n");
  place.folder.write("bin/pandoc", "#!/bin/bash\necho new > \"$BOOK/index.html\"\n");
  CHECK(written() == "");
  CHECK(place.page("index.html") == "new\n");

  fs::remove_all(place.out);
  place.folder.write("book", "mine");
  CHECK(written() == refused + "is not a folder; give another one, for example BOOK=build/book\n");
  CHECK(contents(place.out) == "mine");
  // Nothing is left beside it: there are the program, bin and book.
  CHECK(std::distance(fs::directory_iterator(place.folder.path()), {}) == 3);
}

TEST_CASE("a book that cannot be written is refused in one sentence") {
  const Book place;
  const testing::Output without = testing::run(
      "PATH=/nonexistent /bin/bash src/school/book/book.sh '" + place.out + "' " +
      place.folder / "program");
  CHECK(without.exit_code == 2);
  CHECK(
      without.err ==
      "book: pandoc, which writes the HTML, is missing; install it, for example by: apt install "
      "pandoc\n");
  const testing::Output odd = place.write("yes");
  CHECK(odd.exit_code == 2);
  CHECK(odd.err == "book: ANSWERS=yes: give 1 for the book with answers, or nothing\n");
  if (skipped("pandoc", " to write the book")) return;
  place.folder.write("file", "");
  const std::string out = place.folder / "file/book";
  const testing::Output nowhere =
      testing::run("src/school/book/book.sh '" + out + "' '" + place.folder / "program" + "'");
  CHECK(nowhere.exit_code == 2);
  CHECK(nowhere.err == "book: " + out + ": cannot be written\n");
}

TEST_CASE("a text that a book cannot show is refused, with its place") {
  if (written() == nullptr) return;
  // A lesson of a few lines, with one sentence in the text or on the lecturers' page.
  const auto refusal_of = [](const std::string& text, const std::string& teaching) {
    const Book place;
    fs::create_directories(place.folder / "lesson/src/school");
    fs::copy("src/school/book", place.folder / "lesson/src/school/book");
    place.folder.write(
        "lesson/walkthrough.md", "# All\n\n" + text + "\n\n## Stage 1: one\n\nOne.\n");
    place.folder.write("lesson/exercises/README.md", "# Exercises\n\nNone.\n");
    place.folder.write("lesson/exercises/TEACHING.md", "# Sessions\n\n" + teaching + "\n\nLast.\n");
    place.folder.write("lesson/exercises/solutions/one.cu", "secret");
    const testing::Output output = testing::run(
        "cd '" + place.folder / "lesson" + "' && src/school/book/book.sh book '" +
        place.folder / "program" + "'");
    CHECK(output.exit_code == (output.err.empty() ? 0 : 2));
    CHECK(fs::exists(place.folder / "lesson/book") == output.err.empty());
    return output.err + contents(place.folder / "lesson/book/teaching.html");
  };
  CHECK(
      refusal_of("[A](a.txt)", "") == "book: walkthrough.md links to a.txt, which is not a file\n");
  CHECK(
      refusal_of("[A](exercises/solutions/one.cu)", "") ==
      "book: walkthrough.md links to exercises/solutions/one.cu, which a book must not show\n");
  CHECK(
      refusal_of("- A list.", "") ==
      "book: walkthrough.md: \"All\" does not begin with a paragraph\n");
  const std::string own_line =
      "book: exercises/TEACHING.md:3: a folded answer must begin and end a line of its own\n";
  CHECK(refusal_of("Text.", "Why? <details>secret</details>") == own_line);
  CHECK(refusal_of("Text.", " <details>\nsecret\n</details>") == own_line);
  CHECK(
      refusal_of("Text.", "<details>\nsecret\n\n<details>\nsecret\n</details>") ==
      "book: exercises/TEACHING.md:6: a folded answer begins in another one\n");
  CHECK(
      refusal_of("Text.", "<details>secret</details>") ==
      "book: exercises/TEACHING.md: its last folded answer or fence does not end\n");
  const std::string hidden =
      refusal_of("Text.", "<details>\n\n```\n</details>\nsecret\n```\n\n</details>");
  CHECK(hidden.find("secret") == std::string::npos);
  CHECK(hidden.find("The answer is left out") < hidden.find("Last."));
}

TEST_CASE("the book's search finds by keyboard, and its colours change where nothing is stored") {
  const Book* book = written();
  if (book == nullptr || skipped("chromium", " to try the book's search and colours")) return;
  const std::string script = R"(
    addEventListener('error', event => document.title = event.message);
    setTimeout(() => {
      const press = key => document.activeElement.dispatchEvent(
        new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
      press('/');
      const input = document.activeElement;
      input.value = 'three bits swizzle bank';
      input.dispatchEvent(new Event('input'));
      setTimeout(() => {
        press('ArrowDown');
        press('ArrowDown');
        press('ArrowUp');
        document.querySelector('button.theme').click();
        try { document.body.id = 'kept-' + localStorage.bookTheme; } catch { }
      }, 500);
    }, 200);
  )";
  for (const bool stored : {true, false}) {
    CAPTURE(stored);
    const std::string dom = in_browser(
        *book, script,
        std::string("--blink-settings=preferredColorScheme=1,localStorageEnabled=") +
            (stored ? "true" : "false"));
    CHECK(dom.find("<title>Stage 5: 2D thread tiling") != std::string::npos);
    CHECK(dom.find("aria-activedescendant=\"found-0\"") != std::string::npos);
    CHECK(dom.find("<mark>swizzle</mark>") != std::string::npos);
    CHECK(dom.find("data-theme=\"dark\"") != std::string::npos);
    CHECK(dom.find(">Light</button>") != std::string::npos);
    CHECK((dom.find("id=\"kept-dark\"") != std::string::npos) == stored);
  }
}

}  // namespace book
