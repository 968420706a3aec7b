#include <doctest/doctest.h>

#include <string>

#include "lesson/lesson.h"
#include "testing/program.h"

namespace grade {

TEST_CASE("the commands of the lecturer's sessions work, and print what is quoted") {
  const lesson::Built built{testing::program(), testing::built()};
  int sessions = 0, commands = 0;
  for (const lesson::Chapter& chapter :
       lesson::chapters(lesson::read_lines("exercises/TEACHING.md"))) {
    CAPTURE(chapter.title);
    sessions += chapter.title.starts_with("Session ");
    std::vector<lesson::Command> all = lesson::inline_commands(chapter);
    for (const lesson::Block& block : chapter.blocks) {
      if (block.info != "console") continue;
      for (const lesson::Command& command : lesson::commands(block)) all.push_back(command);
    }
    for (const lesson::Command& command : all) {
      CAPTURE(command.text);
      const lesson::Output output = lesson::run(command.text, built);
      CHECK(output.exit_code == 0);
      if (!command.quoted.empty()) CHECK(lesson::difference(command.quoted, output.lines) == "");
      ++commands;
    }
  }
  CHECK(sessions == 6);
  CHECK(commands > 40);
}

}  // namespace grade
