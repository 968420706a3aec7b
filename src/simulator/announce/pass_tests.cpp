#include "simulator/announce/pass.h"

#include <doctest/doctest.h>

#include <string>

#include "testing/golden.h"

namespace announce {
namespace {

// What is announced before the last instruction: "load 8 (%rax)"; "" if nothing.
std::string announced_in(const std::string& assembly) {
  const std::string text = announced(assembly);
  const std::size_t at = text.rfind("\tpushq\t$");
  if (at == text.npos) return "";
  const auto announcement = Announcement::unpacked(std::stol(text.substr(at + 8)));
  std::string words = announcement.stores ? "store " : "load ";
  words += std::to_string(announcement.bytes) + (announcement.times_rcx ? " times %rcx" : "");
  const std::size_t begin = text.rfind("\tpushq\t%rdi\n", at);
  const std::size_t lea = text.find("\tleaq\t", begin);
  if (lea > at) return words;
  return words + " " + text.substr(lea + 6, text.find(", %rdi", lea) - lea - 6);
}

}  // namespace

TEST_CASE("accesses are announced as their golden file says") {
  std::string text;
  const std::string four = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_read4@PLT\n",
                    twelve =
                        "\tmovl\t$12, %esi\n\tmovq\t%rbx, %rdi\n\tcall\t__tsan_write_range@PLT\n",
                    seven = "\tmovl\t$7, %esi\n\tcall\t__tsan_read_range@PLT\n",
                    store = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_write4@PLT\n",
                    local =
                        "\tleaq\t-16(%rbp), %rax\n\taddq\t$8, %rax\n\tmovq\t%rax, %rdi\n"
                        "\tcall\t__tsan_read4@PLT\n\tmovl\t-8(%rbp), %eax\n";
  for (const std::string& code :
       {std::string("\tmovl\t(%rax), %ecx\n"),
        std::string("\tmovl\t%ecx, 8(%rax,%rdx,4)\n"),
        std::string("\tmovzwl\t(%rax), %ecx\n"),
        std::string("\tmovups\t(%rax), %xmm0\n"),
        std::string("\tleaq\t8(%rax), %rcx\n\tvmystery\t(%rax)\n\tcall\t*(%rax)\n"),
        std::string("\tmovl\t%fs:tile@tpoff(,%rax,4), %ecx\n"),
        std::string("\tmovl\t%fs:tile@tpoff+8, %ecx\n"),
        std::string("\trep movsq\n"),
        four + "\tmovss\t(%rbx), %xmm0\n",
        four + "\tmovss\t(%rbx), %xmm0\n\tmovss\t8(%rbx), %xmm1\n",
        four + "\tmovss\t%xmm0, (%rbx)\n",
        four + "\tmovq\t(%rbx), %rax\n",
        twelve + "\tmovq\t%rax, (%rbx)\n\tmovl\t%ecx, 8(%rbx)\n",
        seven + "\tmovl\t(%rbx), %eax\n\tmovl\t3(%rbx), %ecx\n",
        local + "\tmovss\t(%rbx), %xmm0\n",
        four + "\tmovl\t-16(%rbp,%rax,4), %eax\n\tmovss\t(%rbx), %xmm0\n",
        std::string("\tleaq\t-16(%rbp), %rax\n\tmovaps\t%xmm0, (%rax)\n"),
        std::string("\tpushq\t8(%rax)\n"),
        four + "\tcall\tf\n\tmovss\t(%rbx), %xmm0\n",
        four + ".L2:\n\tmovss\t(%rbx), %xmm0\n",
        store + "\tmovzwl\t(%rbx), %eax\n\tandw\t$-1017, %ax\n\tmovw\t%ax, (%rbx)\n",
        std::string("\tmovq\t(%rax), %rdx\n\tmovss\t8(%rax), %xmm1\n"),
        std::string("\tmovq\t(%rcx), %rax\n\tmovq\t%rax, (%rsp)\n\tmovq\t8(%rcx), %rdx\n"),
        std::string("\tmovq\t(%rax), %rax\n\tmovq\t8(%rax), %rdx\n"),
        std::string("\tmovl\t-8(%rbp), %eax\n\tmovl\t8(%rsp), %eax\n\tmovl\ttable(%rip), "
                    "%eax\n\tmovl\ttable, %eax\n"),
        std::string("\tmovq\t%fs:40, %rax\n\tmovq\t%fs:0, %rax\n"),
        std::string("\tmovq\tthreadIdx@gottpoff(%rip), %rax\n\tmovl\t%fs:4(%rax), %eax\n"),
        std::string("\tmovq\ttile@gottpoff(%rip), %rax\n\tmovl\t%fs:4(%rax), %eax\n")}) {
    text += code + "announced: " + announced_in(code) + "\n";
  }
  testing::compare_with_golden("announced", {{"code", text}});
}

}  // namespace announce
