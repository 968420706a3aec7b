#include "rewrite/inline_ptx.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "testing/fuzz.h"

namespace rewrite {

TEST_CASE("an asm statement becomes a call with its operands") {
  CHECK(
      inline_ptx(
          "asm volatile(\"a %0, %1;\" : \"=r\"(x) : \"r\"(y[2]), \"n\"(16) : \"memory\");") ==
      "::simt::ptx(\"a %0, %1;\" , { ::simt::ptx_output(\"=r\", (x)),  "
      "::simt::ptx_input(\"r\", (y[2])), ::simt::ptx_input(\"n\", (16)),  });");
  CHECK(inline_ptx("asm(\"bar.sync 0;\");") == "::simt::ptx(\"bar.sync 0;\", {});");
  CHECK(inline_ptx("__asm__ __volatile__(\"\" ::: \"memory\");") == "::simt::ptx(\"\" , { });");
  CHECK(
      inline_ptx("asm(\"a\" \"b\" :: \"l\"(f(p, q)));") ==
      "::simt::ptx(\"a\" \"b\" , { ::simt::ptx_input(\"l\", (f(p, q))),});");
  CHECK(
      inline_ptx("asm(\"x %[a];\" : [a] \"+f\"(v.x));") ==
      "::simt::ptx(\"x %[a];\" , {  ::simt::ptx_output(\"[a]\" \"+f\", (v.x)),});");
}

TEST_CASE("instructions by which blocks may wait for each other have another call") {
  CHECK(
      inline_ptx("asm(\"red.global.add.s32 [%0], 1;\" :: \"l\"(p));").find("between") !=
      std::string::npos);
  CHECK(
      inline_ptx("asm(\"ld.acquire.gpu.u32 %0, [%1];\" : \"=r\"(x) : \"l\"(p));").find("between") !=
      std::string::npos);
  CHECK(inline_ptx("asm(\"ld.shared.global_.f32;\");").find("between") == std::string::npos);
}

TEST_CASE("lines stay where they are") {
  const std::string source =
      "# 1 \"a.cu\"\nvoid f() {\n  if (x)\n    asm volatile (\"a\\n\"\n      \"b\"\n      : "
      "\"=r\"(x),\n"
      "        \"=r\"(y)\n      :\n      : \"memory\"\n    );\n}\nint z;\n";
  const std::string result = inline_ptx(source);
  // Line markers say where the text after them stands.
  const std::size_t end = result.find("int z;"), marker = result.rfind("# ", end);
  const std::size_t text = result.find('\n', marker) + 1;
  const auto line = std::stol(result.substr(marker + 2)) +
                    std::count(result.begin() + text, result.begin() + end, '\n');
  CHECK(line == 11);
  CHECK(result.find("simt::ptx") != std::string::npos);
}

TEST_CASE("asm labels, system headers and names with asm in them stay as they are") {
  for (const char* source :
       {"int f(int) asm(\"g\");", "extern int v __asm__(\"w\");", "int asm_count = 1;",
        "# 1 \"/usr/include/x.h\" 1 3\nvoid f() { asm volatile(\"nop\"); }\n"}) {
    CHECK(inline_ptx(source) == source);
  }
  CHECK(
      inline_ptx("void f() { if (x) asm(\"a;\"); }") ==
      "void f() { if (x) ::simt::ptx(\"a;\", {}); }");
}

TEST_CASE("an asm statement that cannot be read is refused with its line") {
  CHECK_THROWS_WITH(
      inline_ptx("\n\nvoid f() { asm volatile(\"a\" : x); }"),
      doctest::Contains("this operand of inline PTX cannot be read"));
  CHECK_THROWS_AS(inline_ptx("asm volatile(\"a\" : \"=r\"(x)"), std::runtime_error);
}

TEST_CASE("any asm statement is rewritten or refused with a sentence") {
  testing::Fuzz fuzz(
      {"asm volatile(\"a %0;\" : \"=r\"(x) : [b] \"r\"(y) : \"memory\");",
       "if (x) asm(\"bar.sync 0;\"); else __asm__ __volatile__(\"\" ::: \"memory\");",
       "int f() asm(\"g\");"},
      {"asm", "volatile", "(", ")", "::", ":", "\"r\"", "[a]", "{", "}"});
  testing::fuzz<std::runtime_error>(
      [&] { return fuzz.next(); }, [](const std::string& source) { inline_ptx(source); });
}

}  // namespace rewrite
