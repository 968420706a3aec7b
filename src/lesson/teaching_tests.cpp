// exercises/TEACHING.md: its commands, timetables and questions, and the slides made from
// it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "lesson/lesson.h"
#include "testing/program.h"

namespace lesson {
namespace {

const Lines& teaching() {
  static const Lines all = read_lines("exercises/TEACHING.md");
  return all;
}

// A line of the page, with its position.
struct Place {
  std::string line, session, part;  // the headings above it
  bool hidden, fenced;              // between <details> and </details>, in a block of code
};
std::vector<Place> places() {
  std::vector<Place> all;
  Place at{"", "", "", false, false};
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
  static const std::regex option(R"(- \*\*([A-Z])\.\*\* (.+))");
  std::map<std::string, Question> all;
  std::smatch found;
  for (const Place& place : places()) {
    if (!place.part.starts_with("Question ") || place.line.empty() || place.line[0] == '#')
      continue;
    Question& question = all[place.part];
    if (place.hidden) {
      if (!place.line.starts_with("<")) question.answer.push_back(place.line);
      continue;
    }
    question.asked.push_back(place.line);
    if (std::regex_match(place.line, found, option)) question.options[place.line[4]] = found[2];
  }
  return all;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Lines slides(const std::string& answers) {
  const testing::Output output =
      testing::run("awk -v answers=" + answers + " -f src/lesson/slides.awk exercises/TEACHING.md");
  CHECK(output.exit_code == 0);
  Lines lines;
  std::istringstream in(output.out);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has(const Lines& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

}  // namespace

TEST_CASE("the commands of the lecturer's page work, and print what it quotes") {
  const Built built{testing::program(), testing::built()};
  std::set<std::string> done;
  for (const Chapter& chapter : chapters(teaching())) {
    CAPTURE(chapter.title);
    std::vector<Command> all = inline_commands(chapter);
    for (const Block& block : chapter.blocks) {
      if (block.info != "console") continue;
      for (const Command& command : commands(block)) all.push_back(command);
    }
    for (const Command& command : all) {
      if (command.quoted.empty() && !done.insert(command.text).second) continue;
      CAPTURE(command.text);
      const Output output = run(command.text, built);
      CHECK(output.exit_code == 0);
      if (!command.quoted.empty()) CHECK(difference(command.quoted, output.lines) == "");
    }
  }
  CHECK(done.size() > 40);
}

TEST_CASE("each session's timetable fills 90 minutes, with ten for each of three questions") {
  const std::regex row("\\| ([0-9]+)–([0-9]+) \\| (.*) \\|"), asked("Question [0-9.]+");
  std::map<std::string, int> until;
  std::map<std::string, std::set<std::string>> planned, there;
  std::smatch found;
  for (const Place& place : places()) {
    if (!place.session.starts_with("Session ")) continue;
    if (place.part.starts_with("Question ")) there[place.session].insert(place.part);
    if (!std::regex_match(place.line, found, row)) continue;
    CAPTURE(place.line);
    const int begin = std::stoi(found[1]), end = std::stoi(found[2]);
    const std::string what = found[3];
    CHECK(begin == until[place.session]);
    CHECK(end > begin);
    until[place.session] = end;
    if (!std::regex_match(what, asked)) continue;
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
    REQUIRE(std::regex_search(first, std::regex(R"(^\*\*[A-D]\.\*\* )")));
    ++right[first[2]];
    for (const auto& [letter, option] : question.options) {
      CAPTURE(letter);
      CHECK('A' <= letter);
      CHECK(letter <= 'D');
      const std::regex about(std::string(R"(\n- \*\*)") + letter + R"((\*\*|:\*\*) )");
      CHECK(std::regex_search(joined(question.answer), about) == (letter != first[2]));
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
  for (const Place& place : places()) {
    if (!place.hidden) shown.insert(place.line);
  }
  int hidden = 0, commands_shown = 0;
  for (const Place& place : places()) {
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
  // Nor any output of the commands.
  CHECK(joined(with_answers).find("GMEM loads  ") != std::string::npos);
  CHECK(joined(text).find("GMEM loads  ") == std::string::npos);

  const std::regex figure(R"(!\[[^\]]+\]\(([^)]*)\))");
  const auto figures = [&](const Lines& lines) {
    std::set<std::string> files;
    std::smatch found;
    for (const std::string& line : lines) {
      if (std::regex_match(line, found, figure)) files.insert(found[1]);
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
      testing::run("PATH=/nonexistent /bin/bash src/lesson/slides.sh '" + out + "'");
  CHECK(without.exit_code == 2);
  CHECK(
      without.err ==
      "slides: pandoc, which writes the HTML, is missing; install it, for example by: apt install "
      "pandoc\n");
  const testing::Output odd = testing::run("src/lesson/slides.sh '" + out + "' yes");
  CHECK(odd.exit_code == 2);
  CHECK(odd.err == "slides: ANSWERS=yes: give 1 for the slides with answers, or nothing\n");
  CHECK(!std::filesystem::exists(out));

  if (testing::run("command -v pandoc").exit_code != 0) {
    MESSAGE("skipped: there is no pandoc to write the slides");
    return;
  }
  for (const std::string answers : {"", "1"}) {
    CAPTURE(answers);
    const testing::Output output = testing::run("src/lesson/slides.sh '" + out + "' " + answers);
    CAPTURE(output.err);
    REQUIRE(output.exit_code == 0);
    CHECK(output.err == "");
    const std::string html = testing::contents(out);
    for (const auto& [name, question] : questions()) {
      CHECK_MESSAGE(html.find(">" + name + "</h1>") != std::string::npos, name);
    }
    CHECK(html.find("src=\"data:image/svg+xml;base64,") != std::string::npos);
    CHECK(!std::regex_search(html.substr(html.find("<body>")), std::regex("(src|href)=\"[^d#]")));
    CHECK((html.find("class=\"answer\"") != std::string::npos) == (answers == "1"));
  }
}

}  // namespace lesson
