// wrapper PROGRAM ARGUMENT...: g++ -wrapper starts this in place of each of its programs. The
// assembler reads an assembly with added announcements (pass.h). All other programs run unchanged.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "simulator/announce/pass.h"

namespace {

bool is_assembler(std::string_view program) {
#if !defined(__x86_64__)
  return false;  // the pass knows no other instructions
#endif
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "as" || name.ends_with("-as");
}

// Standard input becomes this text.
bool provide(const std::string& text) {
  const int descriptor = memfd_create("announced.s", 0);
  std::FILE* const file = fdopen(descriptor, "w");
  return file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
         std::fflush(file) == 0 && lseek(descriptor, 0, SEEK_SET) == 0 &&
         dup2(descriptor, STDIN_FILENO) == STDIN_FILENO;
}

// The assembler's last argument is the file that it reads; with g++ -pipe it reads standard input.
bool announce_accesses(int argc, char** argv) {
  char*& last = argv[argc - 1];
  std::ostringstream assembly;
  if (std::string_view(last).ends_with(".s")) {
    if (!(assembly << std::ifstream(last, std::ios::binary).rdbuf())) return false;
    last = nullptr;
  } else {
    assembly << std::cin.rdbuf();
  }
  return provide(announce::announced(assembly.str()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: wrapper PROGRAM ARGUMENT...\n");
    return 2;
  }
  if (!is_assembler(argv[1]) || announce_accesses(argc, argv)) execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}
