#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "school/lesson/quoted.h"
#include "testing/browser.h"
#include "testing/pattern.h"
#include "testing/program.h"

using lesson::FencedBlock, lesson::Chapter, lesson::Command, lesson::joined, lesson::Lines;

namespace {

const std::vector<Chapter>& walkthrough() {
  static const std::vector<Chapter> all = lesson::chapters(lesson::read_lines("walkthrough.md"));
  return all;
}

// What make built beside the tests.
const lesson::Built& built() {
  static const lesson::Built here{testing::program(), testing::built()};
  return here;
}

int occurrences(const std::string& text, const std::string& of) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(of, at)) != std::string::npos; at += of.size()) ++count;
  return count;
}

}  // namespace

TEST_CASE("the texts quote what commands print, what the source has and what was recorded") {
  const Lines texts = lesson::quoting_texts();
  CHECK(texts.size() > 20);
  for (const std::string& file : texts) {
    CAPTURE(file);
    const lesson::Renewed now = lesson::renewed(file, built());
    const std::string text = testing::contents(file);
    const auto differs = std::ranges::mismatch(now.text, text).in2;
    CHECK_MESSAGE(
        now.text == text, "make walkthrough updates it, from line ",
        1 + std::count(text.begin(), differs, '\n'));
    CHECK_MESSAGE(now.left.empty(), joined(now.left));
  }
  for (const std::string& source : lesson::read_lines(lesson::kSources)) {
    if (source.starts_with("# ")) CHECK(std::ranges::count(texts, source.substr(2)) == 1);
  }
}

TEST_CASE("every block of the walkthrough names its kind") {
  for (const Chapter& chapter : walkthrough()) {
    for (const FencedBlock& block : chapter.blocks) {
      CAPTURE(block.line);
      CHECK(testing::whole_match(block.info, R"(console|console gpu|c\+\+ [\w/.]+|diff|text)"));
    }
  }
}

TEST_CASE("the walkthrough's links lead to files, and to functions by their names") {
  const std::string pattern = R"(\[([^\]]*)\]\(([^)#]*)(#[^)]*)?\))";
  int links = 0;
  for (const Chapter& chapter : walkthrough()) {
    for (const testing::Match& link : testing::all_matches(joined(chapter.prose), pattern)) {
      const std::string shown = link[1], target = link[2];
      if (target.starts_with("http")) continue;
      CAPTURE(shown);
      CAPTURE(target);
      CHECK(link[3] == "");
      REQUIRE(std::filesystem::exists(target));
      if (!shown.starts_with("`")) continue;
      const std::string name = shown.substr(1, shown.size() - 2);
      CHECK(testing::first_match(joined(lesson::read_lines(target)), "[^\\w]" + name + "\\("));
      ++links;
    }
  }
  CHECK(links >= 10);
}

TEST_CASE("the walkthrough has a chapter with the same parts for every stage") {
  for (const model::Stage& stage : stage_table_plain.stages) {
    const std::string title = "Stage " + std::to_string(stage.number) + ": " + stage.name;
    CAPTURE(title);
    const auto found = std::find_if(
        walkthrough().begin(), walkthrough().end(),
        [&](const Chapter& c) { return c.title == title; });
    REQUIRE(found != walkthrough().end());
    CHECK(found->words() <= 1500);
    const std::string text = joined(found->prose);
    CHECK(testing::first_match(text, "[0-9]+ minutes"));
    CHECK(occurrences(text, "<details>") == occurrences(text, "</details>"));
    CHECK(occurrences(text, "**Predict.**") >= 1);
    for (const char* part : {"**The idea.**", "**On paper.**", "**Measured.**"}) {
      CAPTURE(std::string(part));
      CHECK(occurrences(text, part) == 1);
    }
    CHECK(occurrences(text, "<summary>Question: ") >= 2);
    CHECK((stage.number < 4 || occurrences(text, "**The ceiling.**") == 1));
    const auto has = [&](const std::string& info) {
      return std::any_of(found->blocks.begin(), found->blocks.end(), [&](const FencedBlock& b) {
        return b.info == info;
      });
    };
    CHECK(has("console"));
    if (stage.number == 0) continue;
    for (const char* part :
         {"**The bottleneck.**", "**Occupancy.**", "**What surprises.**",
          "<summary>What the trace cannot see"}) {
      CAPTURE(std::string(part));
      CHECK(occurrences(text, part) == 1);
    }
    CHECK(has("console gpu"));
    CHECK(has("diff"));
  }
}

TEST_CASE("the walkthrough has at most 17,300 words, and commands print 4,500, outside of folds") {
  std::size_t words = 0, printed = 0;
  int folds = 0;
  bool is_console = false;
  for (const std::string& line : lesson::read_lines("walkthrough.md")) {
    folds += occurrences(line, "<details>");
    if (line.starts_with("```")) is_console = line.starts_with("```console");
    if (folds == 0) (is_console ? printed : words) += testing::words_of(line).size();
    folds -= occurrences(line, "</details>");
  }
  CHECK(folds == 0);
  CHECK(words > 1000);
  CHECK(words <= 17300);
  CHECK(printed <= 4500);
}

TEST_CASE("the walkthrough's whole programs run on a CPU, and nvcc compiles them unchanged") {
  CHECK(
      lesson::run("build/examples/vector_add", built()).lines ==
      Lines{
          "4 blocks of 256 threads: 1024 threads for 1000 elements",
          "z[0] = 0, z[1] = 3, z[999] = 2997"});
  CHECK(lesson::run("build/examples/standalone", built()).exit_code == 0);
  const std::string path = "PATH=$PATH:/usr/local/cuda/bin ";
  if (lesson::run(path + "command -v nvcc", built()).exit_code != 0) return;
  for (const char* program : {"vector_add", "standalone"}) {
    CAPTURE(std::string(program));
    CHECK(
        lesson::run(
            path + "nvcc -std=c++20 -arch=sm_80 -ptx -Werror all-warnings examples/" + program +
                ".cu -o /dev/null",
            built())
            .exit_code == 0);
  }
}

TEST_CASE("a quoted output is compared line by line, except for omissions and marks") {
  const Lines real{"one 1", "two 2.5 ms", "three 3", "four 4"};
  CHECK(lesson::difference(real, real) == "");
  CHECK(lesson::difference({"one 1", "...", "four 4"}, real) == "");
  CHECK(lesson::difference({"...", "two   <time> ms", "..."}, real) == "");
  CHECK(lesson::difference({"...", "four 4"}, real) == "");
  CHECK(lesson::difference({"one 1", "..."}, real) == "");

  CHECK(lesson::difference({"one 1"}, real) != "");                           // incomplete
  CHECK(lesson::difference({"two 2.5 ms", "..."}, real) != "");               // wrong beginning
  CHECK(lesson::difference({"...", "three 3"}, real) != "");                  // wrong end
  CHECK(lesson::difference({"one 1", "...", "four 5"}, real) != "");          // another number
  CHECK(lesson::difference({"...", "one 1", "three 3", "..."}, real) != "");  // not consecutive
  CHECK(lesson::difference({"...", "three 3", "...", "one 1", "..."}, real) != "");  // wrong order
  CHECK(lesson::difference({"...", "two <time> s", "..."}, real) != "");
}

TEST_CASE("a quoted output is updated where numbers have changed, and nowhere else") {
  const Lines real{"loads 1,024 per thread", "kernel <32, 32>", "error 1.5e-7, 12 ms", "end"};
  CHECK(
      lesson::mended(
          {"...", "loads 512 per thread", "...", "error 1e-6, <time> ms", "..."}, real) ==
      Lines{"...", "loads 1,024 per thread", "...", "error 1.5e-7, <time> ms", "..."});
  const Lines gone{"...", "stores 512 per thread", "..."};
  CHECK(lesson::mended(gone, real) == gone);
}

TEST_CASE("markdown falls into chapters, blocks and commands") {
  const Lines text = testing::lines_of(
      "# t\ntwo words\n## First\none `make  x` and `./gemm_steps --list`\n<!-- a\ncomment -->\n"
      "```console\n$ echo a \\\n  b\na b\n$ true\n```\n![two (2) words](a.svg)");
  const std::vector<Chapter> all = lesson::chapters(text);
  REQUIRE(all.size() == 2);
  CHECK(all[1].title == "First");
  CHECK(all[1].words() == 6);
  CHECK(lesson::inline_commands(all[1]).size() == 2);
  REQUIRE(all[1].figures.size() == 1);
  CHECK(all[1].figures[0].line == 13);
  CHECK(all[1].figures[0].finding == "two (2) words");
  CHECK(all[1].figures[0].file == "a.svg");
  REQUIRE(all[1].blocks.size() == 1);
  const std::vector<Command> commands = lesson::commands(all[1].blocks[0]);
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].line == 8);
  CHECK(commands[0].text == "echo a \\\n  b");
  CHECK(commands[0].quoted == Lines{"a b"});
  CHECK(commands[1].quoted.empty());
}

namespace lesson {

TEST_CASE("a line that shows a figure is updated to its finding") {
  Lines text{"# t", "![old](figures/gpu.svg)", "words", "![same](figures/b.svg)"};
  const Findings findings{{"figures/gpu.svg", "new"}, {"figures/b.svg", "same"}};
  CHECK(renew_figure_lines(text, findings).empty());
  CHECK(text == Lines{"# t", "![new](figures/gpu.svg)", "words", "![same](figures/b.svg)"});
}

TEST_CASE("a figure that does not exist, is shown twice or not at all is left to the author") {
  const Lines lines{"![a](figures/a.svg)", "![a](figures/a.svg)", "![b](figures/b.svg)"};
  Lines text = lines;
  CHECK(
      renew_figure_lines(text, {{"figures/a.svg", "a"}, {"figures/new.svg", "fresh"}}) ==
      Lines{
          "line 2: figures/a.svg is shown in line 1; remove this line",
          "line 3: figures/b.svg no longer exists; show another figure, or remove the line",
          "no line shows this figure: ![fresh](figures/new.svg)"});
  CHECK(text == lines);
}

TEST_CASE("a figure's finding is read from its description") {
  const testing::Folder folder;
  std::ofstream(folder.path() / "a.svg") << "<svg>\n<desc>it&#39;s &lt; &amp;lt; it</desc>\n";
  std::ofstream(folder.path() / "b.txt") << "<desc>no figure</desc>\n";
  const Findings findings = findings_in(folder.path());
  REQUIRE(findings.size() == 1);
  CHECK(findings.at((folder.path() / "a.svg").string()) == "it's < &lt; it");
}

// exercises/TEACHING.md: its commands, timetables and questions, and the slides made from
// it.

namespace {

const Lines& teaching() {
  static const Lines all = read_lines("exercises/TEACHING.md");
  return all;
}

// A line of the page, with its position.
struct PageLine {
  std::string line, session, part;  // the headings above it
  bool hidden, fenced;              // between <details> and </details>, in a block of code
};
std::vector<PageLine> places() {
  std::vector<PageLine> all;
  PageLine at{"", "", "", false, false};
  for (const std::string& line : teaching()) {
    const bool fence = line.starts_with("```");
    if (!at.fenced && line.starts_with("## ")) at.session = line.substr(3), at.part = "";
    if (!at.fenced && line.starts_with("### ")) at.part = line.substr(4);
    if (line.starts_with("<details>")) at.hidden = true;
    at.line = line;
    if (fence) at.fenced = true;
    all.push_back(at);
    if (fence && all.size() > 1 && all[all.size() - 2].fenced) at.fenced = false;
    if (line == "</details>") at.hidden = false;
  }
  return all;
}

struct Question {
  Lines asked;  // text and options
  std::map<char, std::string> options;
  Lines answer;
};
// By their headings.
std::map<std::string, Question> questions() {
  std::map<std::string, Question> all;
  for (const PageLine& place : places()) {
    if (!place.part.starts_with("Question ") || place.line.empty() || place.line[0] == '#')
      continue;
    Question& question = all[place.part];
    if (place.hidden) {
      if (!place.line.starts_with("<")) question.answer.push_back(place.line);
      continue;
    }
    question.asked.push_back(place.line);
    const testing::Match option = testing::whole_match(place.line, R"(- \*\*([A-Z])\.\*\* (.+))");
    if (option) question.options[place.line[4]] = option[2];
  }
  return all;
}

Lines slides(const std::string& answers) {
  const testing::Output output = testing::run(
      "awk -v answers=" + answers + " -f src/school/lesson/slides.awk exercises/TEACHING.md");
  CHECK(output.exit_code == 0);
  return testing::lines_of(output.out);
}

bool has(const Lines& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

}  // namespace

TEST_CASE("each session's timetable fills 90 minutes, with ten for each of three questions") {
  std::map<std::string, int> until;
  std::map<std::string, std::set<std::string>> planned, there;
  for (const PageLine& place : places()) {
    if (!place.session.starts_with("Session ")) continue;
    if (place.part.starts_with("Question ")) there[place.session].insert(place.part);
    const testing::Match row =
        testing::whole_match(place.line, "\\| ([0-9]+)–([0-9]+) \\| (.*) \\|");
    if (!row) continue;
    CAPTURE(place.line);
    const int begin = std::stoi(row[1]), end = std::stoi(row[2]);
    const std::string what = row[3];
    CHECK(begin == until[place.session]);
    CHECK(end > begin);
    until[place.session] = end;
    if (!testing::whole_match(what, "Question [0-9.]+")) continue;
    CHECK(end - begin >= 10);
    planned[place.session].insert(what);
  }
  CHECK(until.size() == 7);
  for (const auto& [session, minutes] : until) {
    CAPTURE(session);
    CHECK(minutes == 90);
    CHECK(there[session].size() == 3);
    CHECK(planned[session] == there[session]);
  }
}

TEST_CASE("each question has options A to D, and an answer that explains each of them") {
  const std::map<std::string, Question> all = questions();
  CHECK(all.size() == 21);
  std::map<char, int> right;
  for (const auto& [name, question] : all) {
    CAPTURE(name);
    CHECK(question.options.size() == 4);
    REQUIRE(!question.answer.empty());
    const std::string& first = question.answer[0];
    REQUIRE(testing::first_match(first, R"(^\*\*[A-D]\.\*\* )"));
    ++right[first[2]];
    for (const auto& [letter, option] : question.options) {
      CAPTURE(letter);
      CHECK('A' <= letter);
      CHECK(letter <= 'D');
      const std::string about = std::string(R"(\n- \*\*)") + letter + R"((\*\*|:\*\*) )";
      CHECK(bool(testing::first_match(joined(question.answer), about)) == (letter != first[2]));
    }
  }
  // No letter is a better guess than the others.
  for (const auto& [letter, times] : right) CHECK(times < 9);
  CHECK(right.size() == 4);
}

TEST_CASE("the slides have all questions, commands and figures, but no answers") {
  const Lines text = slides("0"), with_answers = slides("1");
  for (const auto& [name, question] : questions()) {
    CAPTURE(name);
    for (const Lines& lines : {text, with_answers}) {
      CHECK(has(lines, "# " + name));
      for (const std::string& line : question.asked) CHECK_MESSAGE(has(lines, line), line);
    }
  }
  std::set<std::string> shown;
  for (const PageLine& place : places()) {
    if (!place.hidden) shown.insert(place.line);
  }
  int hidden = 0, commands_shown = 0;
  for (const PageLine& place : places()) {
    if (!place.session.starts_with("Session ") || place.line.empty()) continue;
    CAPTURE(place.line);
    const bool marks = place.line[0] == '#' || place.line[0] == '<' || place.line[0] == '!';
    if (!marks) CHECK(has(with_answers, place.line));
    if (place.hidden && !marks && !shown.contains(place.line)) {
      CHECK(!has(text, place.line));
      ++hidden;
    } else if (place.fenced && !place.hidden && place.line.starts_with("$ ")) {
      CHECK(has(text, place.line));
      ++commands_shown;
    }
  }
  CHECK(hidden > 100);
  CHECK(commands_shown > 20);
  // A command does not stand under the question that it answers.
  std::string title;
  for (const std::string& line : text) {
    if (line.starts_with("# ")) title = line;
    if (line.starts_with("$ ")) CHECK_MESSAGE(!title.starts_with("# Question"), title);
  }
  // Nor any output of the commands.
  CHECK(joined(with_answers).find("GMEM loads  ") != std::string::npos);
  CHECK(joined(text).find("GMEM loads  ") == std::string::npos);

  const auto figures = [](const Lines& lines) {
    std::set<std::string> files;
    for (const std::string& line : lines) {
      const testing::Match figure = testing::whole_match(line, R"(!\[[^\]]+\]\(([^)]*)\))");
      if (figure) files.insert(figure[1]);
    }
    return files;
  };
  const std::set<std::string> all = figures(with_answers), first = figures(text);
  for (const std::string& file : all) CHECK_MESSAGE(std::filesystem::exists(file), file);
  CHECK(first.size() >= 8);
  CHECK(all.size() > first.size());
  CHECK(std::includes(all.begin(), all.end(), first.begin(), first.end()));
}

TEST_CASE("the slides are one HTML file if pandoc is installed, and otherwise one sentence") {
  const testing::Folder folder;
  const std::string out = folder / "slides.html";
  const testing::Output without =
      testing::run("PATH=/nonexistent /bin/bash src/school/lesson/slides.sh '" + out + "'");
  CHECK(without.exit_code == 2);
  CHECK(
      without.err ==
      "slides: pandoc, which writes the HTML, is missing; install it, for example by: apt install "
      "pandoc\n");
  const testing::Output odd = testing::run("src/school/lesson/slides.sh '" + out + "' yes");
  CHECK(odd.exit_code == 2);
  CHECK(odd.err == "slides: ANSWERS=yes: give 1 for the slides with answers, or nothing\n");
  CHECK(!std::filesystem::exists(out));

  if (testing::run("command -v pandoc").exit_code != 0) {
    MESSAGE("skipped: there is no pandoc to write the slides");
    return;
  }
  for (const std::string answers : {"", "1"}) {
    CAPTURE(answers);
    const testing::Output output =
        testing::run("src/school/lesson/slides.sh '" + out + "' " + answers);
    CAPTURE(output.err);
    REQUIRE(output.exit_code == 0);
    CHECK(output.err == "");
    const std::string html = testing::contents(out);
    for (const auto& [name, question] : questions()) {
      CHECK_MESSAGE(html.find(">" + name + "</h1>") != std::string::npos, name);
    }
    CHECK(html.find("src=\"data:image/svg+xml;base64,") != std::string::npos);
    CHECK(!testing::first_match(html.substr(html.find("<body>")), "(src|href)=\"[^d#]"));
    CHECK((html.find(" answer\"") != std::string::npos) == (answers == "1"));
  }
}

namespace {

// What is wrong with slides in the browser's window, one sentence each.
constexpr const char* kFaults = R"js((async () => {
  await Promise.all([...document.images].map(img => img.decode()));
  return slides().flatMap(slide => {
    const window = slide.getBoundingClientRect(), faults = [];
    const is = (fault, sentence) => fault && faults.push(slide.firstElementChild.textContent + sentence);
    is(window.width > innerWidth || window.height > innerHeight, ' is larger than the window');
    for (const part of slide.querySelectorAll('*')) {
      const box = part.getBoundingClientRect();
      if (box.width === 0) continue;  // not shown
      is(box.left < window.left || box.right > window.right || box.top < window.top ||
         box.bottom > window.bottom, ' leaves the window: ' + part.tagName);
      const small = parseFloat(getComputedStyle(part).fontSize) < 16 / 1280 * innerWidth;
      is(small && part.matches('p, li, th, td, pre'), ' has small type: ' + part.tagName);
      is(part.tagName === 'PRE' && part.scrollWidth > part.clientWidth, ' cuts a line');
    }
    for (const img of slide.querySelectorAll('img')) {
      const ratio = img.naturalWidth / img.naturalHeight;
      const wide = Math.min(img.clientWidth, img.clientHeight * ratio);
      is(wide < .95 * innerWidth && wide / ratio < .95 * innerHeight, ' has a small figure');
    }
    return faults;
  }).join('\n');
})())js";

}  // namespace

TEST_CASE("slides fit the window, figures fill it, and keys turn the slides and their colours") {
  if (testing::find_browser().empty() || testing::run("command -v pandoc").exit_code != 0) {
    MESSAGE("skipped: there is no browser, or no pandoc to write the slides");
    return;
  }
  const testing::Folder folder;
  const std::string out = folder / "slides.html";
  testing::Browser& browser = testing::shared_browser();
  browser.media(false, false, false);
  for (const std::string answers : {"1", "0"}) {
    REQUIRE(testing::run("src/school/lesson/slides.sh '" + out + "' " + answers).exit_code == 0);
    for (const auto& [width, height] : {std::pair(1280, 720), std::pair(1920, 1080)}) {
      CAPTURE(width);
      browser.open(out, width, height);
      CHECK(browser.text(kFaults) == "");
      CHECK(browser.complaints() == std::vector<std::string>{});
    }
  }
  const auto shown = [&] {
    return browser.evaluate("slides().findIndex(s => Math.abs(s.getBoundingClientRect().top) < 1)");
  };
  CHECK(shown() == "0");
  for (const auto& [key, slide] : std::vector<std::pair<std::string, std::string>>{
           {" ", "1"},
           {"ArrowRight", "2"},
           {"Shift+ ", "1"},
           {"ArrowLeft", "0"},
           {"ArrowDown", "1"},
           {"ArrowDown", "2"},
           {"ArrowUp", "1"}}) {
    browser.press(key);
    CHECK(shown() == slide);
  }
  // The colours of the page and of a figure.
  const auto colours = [&] {
    return browser.text(
        "(async () => {"
        "  const img = document.images[0], canvas = document.createElement('canvas');"
        "  await img.decode();"
        "  const drawing = canvas.getContext('2d');"
        "  drawing.drawImage(img, 0, 0);"
        "  const figure = drawing.getImageData(100, 8, 1, 1).data.slice(0, 3).join(', ');"
        "  return getComputedStyle(document.body).backgroundColor + ' rgb(' + figure + ')';"
        "})()");
  };
  const std::string light = "rgb(255, 255, 255) rgb(255, 255, 255)";
  const std::string dark = "rgb(13, 17, 23) rgb(13, 17, 23)";
  CHECK(colours() == light);
  browser.press("d");
  CHECK(colours() == dark);
  browser.media(true, false, false);
  browser.open(out);
  CHECK(colours() == dark);
  browser.press("d");
  CHECK(colours() == light);
  browser.media(false, false, false);
}

}  // namespace lesson
