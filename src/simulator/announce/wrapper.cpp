// wrapper PROGRAM ARGUMENT...: g++ -wrapper starts this in place of each of its programs. The
// assembler receives an assembly with added announcements (pass.h). All other programs run
// unchanged.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/announce/pass.h"

namespace announce {
namespace {

std::string text_of(std::istream& stream) {
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Options whose value is the next argument.
bool takes_a_value(std::string_view option) {
  return option == "-o" || option == "-I" || option == "--MD" || option == "-march";
}

// Runs the assembler with `arguments` (its own name first). It reads the assembly from standard
// input.
int assemble(const std::vector<std::string>& arguments, const std::string& assembly) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::vector<char*> words;
    for (const std::string& argument : arguments)
      words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    std::perror(words[0]);
    _exit(127);
  }
  close(ends[0]);
  for (std::size_t done = 0; done < assembly.size();) {
    const ssize_t written = write(ends[1], assembly.data() + done, assembly.size() - done);
    if (written < 0 && errno != EINTR) break;  // it has ended and reported why
    done += written > 0 ? written : 0;
  }
  close(ends[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

bool is_assembler(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "as" || name.ends_with("-as");
}

int assemble_announced(int argc, char** argv) {
  std::vector<std::string> arguments = {argv[1]};
  std::string file = "-";
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") continue;
    if (argument.starts_with('-') && argument != "-") {
      arguments.emplace_back(argument);
      if (takes_a_value(argument) && i + 1 < argc) arguments.emplace_back(argv[++i]);
    } else {
      file = argument;
    }
  }
  std::string assembly;
  if (file == "-") {
    assembly = text_of(std::cin);
  } else {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
      return 1;
    }
    assembly = text_of(stream);
  }
  arguments.emplace_back("-");
  signal(SIGPIPE, SIG_IGN);
  return assemble(arguments, announced(assembly));
}

}  // namespace
}  // namespace announce

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: wrapper PROGRAM ARGUMENT...\n");
    return 2;
  }
#if defined(__x86_64__)
  if (announce::is_assembler(argv[1])) return announce::assemble_announced(argc, argv);
#endif
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}
