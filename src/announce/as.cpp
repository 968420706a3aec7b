// as [OPTION...] [FILE]: what g++ starts for the assembler where -B names this program's folder. It
// announces what the compiler is silent about (pass.h), and hands the rest to the system's
// assembler, which is the next `as` of PATH.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "announce/pass.h"

namespace announce {
namespace {

std::string text_of(std::istream& stream) {
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Options whose value is the next argument.
bool takes_a_value(std::string_view option) {
  return option == "-o" || option == "-I" || option == "--MD" || option == "-march";
}

// Runs `as` with `arguments`, which read the assembly from standard input.
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
    execvp("as", words.data());
    std::perror("as");
    _exit(127);
  }
  close(ends[0]);
  for (std::size_t done = 0; done < assembly.size();) {
    const ssize_t written = write(ends[1], assembly.data() + done, assembly.size() - done);
    if (written < 0 && errno != EINTR) break;  // `as` has ended, and said why
    done += written > 0 ? written : 0;
  }
  close(ends[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace announce

int main(int argc, char** argv) {
  std::vector<std::string> arguments = {"as"};
  std::string file = "-";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") continue;
    if (argument.starts_with('-') && argument != "-") {
      arguments.emplace_back(argument);
      if (announce::takes_a_value(argument) && i + 1 < argc) arguments.emplace_back(argv[++i]);
    } else {
      file = argument;
    }
  }
  std::string assembly;
  if (file == "-") {
    assembly = announce::text_of(std::cin);
  } else {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "as: %s: cannot be read\n", file.c_str());
      return 1;
    }
    assembly = announce::text_of(stream);
  }
#if defined(__x86_64__)
  assembly = announce::announced(assembly);
#endif
  arguments.emplace_back("-");
  signal(SIGPIPE, SIG_IGN);
  return announce::assemble(arguments, assembly);
}
