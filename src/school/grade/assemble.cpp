// assemble SKELETON ANSWER: the file to compile, on stdout. Exit code 1: the answer's regions are
// still empty; 2: the answer is refused.
// assemble --empty KERNEL: the kernel with nothing in its regions.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "model/refusal.h"
#include "school/grade/answer.h"
#include "text/file.h"

namespace grade {

namespace {

std::string text_of(const char* path) {
  constexpr std::size_t kMostBytes = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw model::Refusal(std::string(path) + ": cannot be read");
  if (text.size() > kMostBytes)
    throw model::Refusal(std::string(path) + ": more than 1 MB, no kernel");
  if (text.find('\0') != text.npos) throw model::Refusal(std::string(path) + ": no text");
  return text;
}

int assemble_or_refuse(int argc, char** argv) {
  try {
    if (argc != 3)
      throw model::Refusal("usage: assemble SKELETON ANSWER, or assemble --empty KERNEL");
    const std::string text = std::string_view(argv[1]) == "--empty"
                                 ? emptied(text_of(argv[2]))
                                 : assembled(text_of(argv[1]), text_of(argv[2]), argv[2]);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  } catch (const NothingWritten& nothing) {
    std::fprintf(stderr, "%s\n", nothing.what());
    return 1;
  } catch (const model::Refusal& refusal) {
    std::fprintf(stderr, "%s\n", refusal.what());
  }
  return 2;
}

}  // namespace

}  // namespace grade

int main(int argc, char** argv) {
  text::open_standard_streams();
  return text::finished("assemble", grade::assemble_or_refuse(argc, argv));
}
