#include "simulator/announce/pass.h"

#include <doctest/doctest.h>

#include <optional>
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
  std::string words = announcement.loads ? announcement.stores ? "change " : "load " : "store ";
  words += std::to_string(announcement.bytes) + (announcement.times_rcx ? " times %rcx" : "");
  const std::size_t begin = text.rfind("\tpushq\t%rdi\n", at);
  const std::size_t lea = text.find("\tleaq\t", begin);
  if (lea > at) return words;
  return words + " " + text.substr(lea + 6, text.find(", %rdi", lea) - lea - 6);
}

}  // namespace

TEST_CASE("accesses are read and announced as their golden file says") {
  std::string text;
  for (const std::string& line : testing::lines_of(
           "\tmovl\t(%rax), %ecx\n\tmovb\t%cl, 3(%rax)\n\tmovq\t$0, (%rax)\n"
           "\tmovss\t(%rax,%rdx,4), %xmm0\n\tmovsd\t%xmm0, (%rax)\n\tmovaps\t%xmm0, (%rax)\n"
           "\tmovdqu\t(%rax), %xmm0\n\tmovq\t%xmm0, (%rax)\n\tmovd\t(%rax), %xmm1\n"
           "\tmovzbl\t(%rax), %ecx\n\tmovzwl\t(%rax), %ecx\n\tmovslq\t(%rax), %rcx\n"
           "\tmovsbl\t(%rax), %ecx\n\tcvtsi2ssl\t(%rax), %xmm0\n\tcvtss2sd\t(%rax), %xmm0\n"
           "\tucomiss\t(%rax), %xmm0\n\taddl\t$1, (%rax)\n\taddl\t(%rax), %ecx\n"
           "\tcmpl\t$0, (%rax)\n\tcmpb\t%cl, (%rax)\n\tnegq\t(%rax)\n\txchgl\t%ecx, (%rax)\n"
           "\tlock addl\t$1, (%rax)\n\tsete\t(%rax)\n\tcmovne\t(%rax), %ecx\n"
           "\tcmovg\t(%rax), %r8\n\tpushq\t8(%rax)\n\tpopq\t(%rax)\n\tidivl\t(%rax)\n"
           "\tfldt\t(%rax)\n\tfstps\t(%rax)\n\tfildll\t(%rax)\n\tsqrtss\t(%rax), %xmm1\n"
           "\tpand\t(%rax), %xmm1\n\tvmystery\t(%rax)\n\tleaq\t8(%rax), %rcx\n"
           "\tmovl\t%eax, %ecx\n\tcall\t*(%rax)\n.L3:\n\t.loc 1 2 3\n# a comment\n")) {
    const auto instruction = instruction_in(line);
    const auto access = instruction ? access_of(*instruction) : std::nullopt;
    text += line + ": " + (!instruction ? "no instruction" : !access ? "no access" : "");
    if (access) {
      text += std::string(access->loads ? "loads " : "") + (access->stores ? "stores " : "") +
              std::to_string(access->bytes);
    }
    text += "\n";
  }
  const std::string four = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_read4@PLT\n",
                    twelve =
                        "\tmovl\t$12, %esi\n\tmovq\t%rbx, %rdi\n\tcall\t__tsan_write_range@PLT\n",
                    seven = "\tmovl\t$7, %esi\n\tcall\t__tsan_read_range@PLT\n",
                    store = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_write4@PLT\n";
  for (const std::string& code :
       {std::string("\tmovl\t(%rax), %ecx\n"),
        std::string("\tmovl\t%ecx, 8(%rax,%rdx,4)\n"),
        std::string("\taddl\t$1, (%rax)\n"),
        std::string("\tmovl\t%fs:tile@tpoff(,%rax,4), %ecx\n"),
        std::string("\tmovl\t%fs:tile@tpoff+8, %ecx\n"),
        std::string("\trep movsq\n"),
        four + "\tmovss\t(%rbx), %xmm0\n",
        four + "\tmovss\t(%rbx), %xmm0\n\tmovss\t8(%rbx), %xmm1\n",
        four + "\tmovss\t%xmm0, (%rbx)\n",
        four + "\tmovq\t(%rbx), %rax\n",
        twelve + "\tmovq\t%rax, (%rbx)\n\tmovl\t%ecx, 8(%rbx)\n",
        twelve + "\tmovq\t%rax, (%rbx)\n\tmovq\t%rcx, 8(%rbx)\n",
        seven + "\tmovl\t(%rbx), %eax\n\tmovl\t3(%rbx), %ecx\n",
        four + "\tcall\tf\n\tmovss\t(%rbx), %xmm0\n",
        four + ".L2:\n\tmovss\t(%rbx), %xmm0\n",
        store + "\tmovzwl\t(%rbx), %eax\n\tandw\t$-1017, %ax\n\tmovw\t%ax, (%rbx)\n",
        std::string("\tmovq\t(%rax), %rdx\n\tmovss\t8(%rax), %xmm1\n"),
        std::string("\tmovq\t(%rcx), %rax\n\tmovq\t%rax, (%rsp)\n\tmovq\t8(%rcx), %rdx\n"),
        std::string("\tmovq\t(%rax), %rax\n\tmovq\t8(%rax), %rdx\n"),
        std::string("\tmovq\t%rsp, %rbp\n\tmovl\t-8(%rbp), %eax\n"),
        std::string("\tmovl\t8(%rsp), %eax\n\tmovl\ttable(%rip), %eax\n\tmovl\ttable, %eax\n"),
        std::string("\tmovq\t%fs:40, %rax\n\tmovq\t%fs:0, %rax\n"),
        std::string("\tmovq\tthreadIdx@gottpoff(%rip), %rax\n\tmovl\t%fs:4(%rax), %eax\n"),
        std::string("\tmovl\t-8(%rbp), %eax\n"),
        std::string("\tmovq\ttile@gottpoff(%rip), %rax\n\tmovl\t%fs:4(%rax), %eax\n")}) {
    text += code + "announced: " + announced_in(code) + "\n";
  }
  testing::compare_with_golden("announced", {{"instructions, then code", text}});
}

TEST_CASE("every name of a register is known") {
  for (const char* name : {"%al", "%ah", "%ax", "%eax", "%rax"})
    CHECK(whole_register(name) == "%rax");
  for (const char* name : {"%sil", "%si", "%esi"}) CHECK(whole_register(name) == "%rsi");
  for (const char* name : {"%r8b", "%r8w", "%r8d", "%r8"}) CHECK(whole_register(name) == "%r8");
  CHECK(whole_register("%r15d") == "%r15");
}

}  // namespace announce
