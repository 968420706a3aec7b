// make walkthrough: updates what the texts quote (quoted.h), and says what is left to the author.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "school/lesson/quoted.h"
#include "text/file.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: update PROGRAM BUILD_FOLDER, in the folder of walkthrough.md\n", stderr);
    return 2;
  }
  lesson::Lines moved;
  bool is_done = true;
  try {
    for (const std::string& file : lesson::quoting_texts()) {
      const lesson::Renewed now = lesson::renewed(file, {argv[1], argv[2]});
      if (now.text != lesson::joined(lesson::read_lines(file))) {
        const std::string problem = text::write_file(file, {now.text});
        if (!problem.empty()) throw std::runtime_error(file + ": " + problem);
      }
      for (const std::string& what : now.moved) moved.push_back(file + ":" + what);
      for (const std::string& what : now.left)
        std::fprintf(stderr, "%s:%s\n", file.c_str(), what.c_str());
      is_done = is_done && now.left.empty();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "update: %s\n", error.what());
    return 2;
  }
  if (!moved.empty()) std::puts("Changed by more than 3 %; are these sentences still true?");
  for (const std::string& what : moved) std::puts(what.c_str());
  return is_done ? 0 : 1;
}
