#include "simulator/announce/pass.h"

#include <doctest/doctest.h>

#include <string>

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

TEST_CASE("an instruction's memory accesses are read from its text") {
  struct Known {
    const char* line;
    bool loads, stores;
    int bytes;
  };
  const Known known[] = {
      {"\tmovl\t(%rax), %ecx", true, false, 4},
      {"\tmovb\t%cl, 3(%rax)", false, true, 1},
      {"\tmovq\t$0, (%rax)", false, true, 8},
      {"\tmovss\t(%rax,%rdx,4), %xmm0", true, false, 4},
      {"\tmovsd\t%xmm0, (%rax)", false, true, 8},
      {"\tmovaps\t%xmm0, (%rax)", false, true, 16},
      {"\tmovdqu\t(%rax), %xmm0", true, false, 16},
      {"\tmovq\t%xmm0, (%rax)", false, true, 8},
      {"\tmovd\t(%rax), %xmm1", true, false, 4},
      {"\tmovzbl\t(%rax), %ecx", true, false, 1},
      {"\tmovzwl\t(%rax), %ecx", true, false, 2},
      {"\tmovslq\t(%rax), %rcx", true, false, 4},
      {"\tmovsbl\t(%rax), %ecx", true, false, 1},
      {"\tcvtsi2ssl\t(%rax), %xmm0", true, false, 4},
      {"\tcvtss2sd\t(%rax), %xmm0", true, false, 4},
      {"\tucomiss\t(%rax), %xmm0", true, false, 4},
      {"\taddl\t$1, (%rax)", true, true, 4},
      {"\taddl\t(%rax), %ecx", true, false, 4},
      {"\tcmpl\t$0, (%rax)", true, false, 4},
      {"\tcmpb\t%cl, (%rax)", true, false, 1},
      {"\tnegq\t(%rax)", true, true, 8},
      {"\txchgl\t%ecx, (%rax)", true, true, 4},
      {"\tlock addl\t$1, (%rax)", true, true, 4},
      {"\tsete\t(%rax)", false, true, 1},
      {"\tcmovne\t(%rax), %ecx", true, false, 4},
      {"\tcmovg\t(%rax), %r8", true, false, 8},
      {"\tpushq\t8(%rax)", true, false, 8},
      {"\tpopq\t(%rax)", false, true, 8},
      {"\tidivl\t(%rax)", true, false, 4},
      {"\tfldt\t(%rax)", true, false, 10},
      {"\tfstps\t(%rax)", false, true, 4},
      {"\tfildll\t(%rax)", true, false, 8},
      {"\tsqrtss\t(%rax), %xmm1", true, false, 4},
      {"\tpand\t(%rax), %xmm1", true, false, 16},
      {"\tvmystery\t(%rax)", true, false, 0},
  };
  for (const Known& one : known) {
    CAPTURE(one.line);
    const auto instruction = instruction_in(one.line);
    REQUIRE(instruction);
    const auto access = access_of(*instruction);
    REQUIRE(access);
    CHECK(access->loads == one.loads);
    CHECK(access->stores == one.stores);
    CHECK(access->bytes == one.bytes);
  }
  for (const char* line : {"\tleaq\t8(%rax), %rcx", "\tmovl\t%eax, %ecx", "\tcall\t*(%rax)"}) {
    CAPTURE(line);
    CHECK(!access_of(*instruction_in(line)));
  }
  for (const char* line : {".L3:", "\t.loc 1 2 3", "# a comment", ""}) {
    CAPTURE(line);
    CHECK(!instruction_in(line));
  }
}

TEST_CASE("every name of a register is known") {
  for (const char* name : {"%al", "%ah", "%ax", "%eax", "%rax"})
    CHECK(whole_register(name) == "%rax");
  for (const char* name : {"%sil", "%si", "%esi"}) CHECK(whole_register(name) == "%rsi");
  for (const char* name : {"%r8b", "%r8w", "%r8d", "%r8"}) CHECK(whole_register(name) == "%r8");
  CHECK(whole_register("%r15d") == "%r15");
}

TEST_CASE("the pass announces an access that the compiler does not announce") {
  CHECK(announced_in("\tmovl\t(%rax), %ecx\n") == "load 4 (%rax)");
  CHECK(announced_in("\tmovl\t%ecx, 8(%rax,%rdx,4)\n") == "store 4 8(%rax,%rdx,4)");
  CHECK(announced_in("\taddl\t$1, (%rax)\n") == "change 4 (%rax)");
  CHECK(announced_in("\tmovl\t%fs:tile@tpoff(,%rax,4), %ecx\n") == "load 4 tile@tpoff(,%rax,4)");
  CHECK(announced_in("\tmovl\t%fs:tile@tpoff+8, %ecx\n") == "load 4 tile@tpoff+8(%rdi)");
  CHECK(announced_in("\trep movsq\n") == "store 8 times %rcx");
}

TEST_CASE("the pass does not announce an access that the compiler has announced") {
  const std::string four = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_read4@PLT\n";
  CHECK(announced_in(four + "\tmovss\t(%rbx), %xmm0\n") == "");
  CHECK(
      announced_in(four + "\tmovss\t(%rbx), %xmm0\n\tmovss\t8(%rbx), %xmm1\n") == "load 4 8(%rbx)");
  CHECK(announced_in(four + "\tmovss\t%xmm0, (%rbx)\n") == "store 4 (%rbx)");
  CHECK(announced_in(four + "\tmovq\t(%rbx), %rax\n") == "load 8 (%rbx)");
  const std::string range =
      "\tmovl\t$12, %esi\n\tmovq\t%rbx, %rdi\n\tcall\t__tsan_write_range@PLT\n";
  CHECK(announced_in(range + "\tmovq\t%rax, (%rbx)\n\tmovl\t%ecx, 8(%rbx)\n") == "");
  CHECK(announced_in(range + "\tmovq\t%rax, (%rbx)\n\tmovq\t%rcx, 8(%rbx)\n") == "store 8 8(%rbx)");
  // Seven bytes may be moved as two words that overlap.
  const std::string seven = "\tmovl\t$7, %esi\n\tcall\t__tsan_read_range@PLT\n";
  CHECK(announced_in(seven + "\tmovl\t(%rbx), %eax\n\tmovl\t3(%rbx), %ecx\n") == "");
  // After a call or a jump, the code belongs to another statement.
  CHECK(announced_in(four + "\tcall\tf\n\tmovss\t(%rbx), %xmm0\n") == "load 4 (%rbx)");
  CHECK(announced_in(four + ".L2:\n\tmovss\t(%rbx), %xmm0\n") == "load 4 (%rbx)");
}

TEST_CASE("the pass announces the load within the store of a bit-field") {
  const std::string store = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_write4@PLT\n";
  CHECK(
      announced_in(store + "\tmovzwl\t(%rbx), %eax\n\tandw\t$-1017, %ax\n\tmovw\t%ax, (%rbx)\n") ==
      "load 2 (%rbx)");
}

TEST_CASE("the pieces of a class are announced as one") {
  CHECK(announced_in("\tmovq\t(%rax), %rdx\n\tmovss\t8(%rax), %xmm1\n") == "load 12 (%rax)");
  CHECK(
      announced_in("\tmovq\t(%rcx), %rax\n\tmovq\t%rax, (%rsp)\n\tmovq\t8(%rcx), %rdx\n") ==
      "load 16 (%rcx)");
  // By then the register points elsewhere.
  CHECK(announced_in("\tmovq\t(%rax), %rax\n\tmovq\t8(%rax), %rdx\n") == "load 8 8(%rax)");
}

TEST_CASE("the stack, static data and threadIdx are not announced") {
  CHECK(announced_in("\tmovq\t%rsp, %rbp\n\tmovl\t-8(%rbp), %eax\n") == "");
  CHECK(
      announced_in("\tmovl\t8(%rsp), %eax\n\tmovl\ttable(%rip), %eax\n\tmovl\ttable, %eax\n") ==
      "");
  CHECK(announced_in("\tmovq\t%fs:40, %rax\n\tmovq\t%fs:0, %rax\n") == "");
  CHECK(announced_in("\tmovq\tthreadIdx@gottpoff(%rip), %rax\n\tmovl\t%fs:4(%rax), %eax\n") == "");
  // If %rbp is not a frame pointer, it may point anywhere.
  CHECK(announced_in("\tmovl\t-8(%rbp), %eax\n") == "load 4 -8(%rbp)");
  CHECK(
      announced_in("\tmovq\ttile@gottpoff(%rip), %rax\n\tmovl\t%fs:4(%rax), %eax\n") ==
      "load 4 4(%rax)");
}

}  // namespace announce
