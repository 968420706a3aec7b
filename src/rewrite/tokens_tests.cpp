#include "rewrite/tokens.h"

#include <doctest/doctest.h>

#include <string>

#include "rewrite/edits.h"
#include "testing/fuzz.h"

namespace rewrite {
namespace {

// "k | <<< | 1 | , | 2"
std::string joined(std::string_view source) {
  std::string words;
  for (const Token& token : tokens_of(source)) {
    if (!words.empty()) words += " | ";
    words += token.text;
  }
  return words;
}

}  // namespace

TEST_CASE("a launch is read as tokens, and a >> stays apart") {
  CHECK(
      joined("k<A, (x>y)><<<g, 1>>>(p);") ==
      "k | < | A | , | ( | x | > | y | ) | > | <<< | g | , | 1 | > | > | > | ( | p | ) | ;");
  CHECK(
      joined("std::vector<std::vector<int>> v; p->q; a << b") ==
      "std | :: | vector | < | std | :: | vector | < | int | > | > | v | ; | p | -> | q | ; | a "
      "| << | b");
  CHECK(joined("operator<<<T>(o)") == "operator | << | < | T | > | ( | o | )");
}

TEST_CASE("comments are skipped, and quoted text is one token, whatever is in it") {
  CHECK(joined("a /* k<<<1, \n 2>>>() */ b // <<< \\\n still\nc") == "a | b | c");
  CHECK(
      joined(R"x(f("k<<<1>>>\"()" L"//", '"', '\'', 'a'))x") ==
      R"x(f | ( | "k<<<1>>>\"()" | L"//" | , | '"' | , | '\'' | , | 'a' | ))x");
  CHECK(joined("R\"-(a \" )\" <<< )-\"s + R") == "R\"-(a \" )\" <<< )-\"s | + | R");
  CHECK(joined("1'000 + 0x1p-3f + .5e+7 - 1.f") == "1'000 | + | 0x1p-3f | + | .5e+7 | - | 1.f");
}

TEST_CASE("a line of the preprocessor is one token with the lines that continue it") {
  const auto tokens = tokens_of("  #define A(x) k<<<x, \\\n 1>>>() /* \n */ \n  a # b");
  REQUIRE(tokens.size() == 4);
  CHECK(tokens[0].kind == Kind::directive);
  CHECK(tokens[0].text == "#define A(x) k<<<x, \\\n 1>>>() /* \n */ ");
  CHECK(tokens[2].kind == Kind::sign);
}

TEST_CASE("line markers tell the user's tokens from the system's") {
  const auto tokens = tokens_of("# 1 \"a3.cu\"\na\n# 1 \"/usr/b.h\" 1 3 4\nb\n# 2 \"a3.cu\" 2\nc");
  const auto users = are_users(tokens);
  REQUIRE(tokens.size() == 6);
  CHECK(users[1]);
  CHECK(!users[3]);
  CHECK(users[5]);
  CHECK(
      code_of("# 1 \"a.cu\"\nf(\n# 2 \"x.h\" 3 4\n__null\n# 1 \"a.cu\"\n)\n#pragma unroll\n")
          .size() == 5);
}

TEST_CASE("brackets find their partners in both directions") {
  const auto tokens = tokens_of("f(a[1], {2}) )");
  CHECK(closing(tokens, 1) == 10);
  CHECK(opening(tokens, 10) == 1);
  CHECK(closing(tokens, 3) == 5);
  CHECK(opening(tokens, 11) == tokens.size());
}

TEST_CASE("edits leave every later token on its line") {
  const std::string_view source = "a (b\n,\nc) d\ne";
  const auto tokens = tokens_of(source);
  Edits edits(source);
  edits.replace(tokens[1], tokens[5], "!");
  edits.insert(tokens[6].at, "<");
  edits.insert(tokens[6].end(), ">");
  CHECK(edits.applied() == "a !\n\n <d>\ne");

  const std::string_view marked = "# 7 \"a.cu\"\n\n\tb c";
  Edits in_file(marked);
  in_file.insert(tokens_of(marked)[2].at, "more ");
  CHECK(in_file.applied() == "# 7 \"a.cu\"\n\n\tb \n# 8 \"a.cu\"\nmore \n# 8 \"a.cu\"\n\t  c");
}

TEST_CASE("any text has tokens that are in order and within it") {
  testing::Fuzz fuzz(
      {"k<<<g, b>>>(a)", "R\"x(a)x\" f", "'\\''", "#define A \\\n b\n", "/* */ // \n 1e+5"},
      {"<<<", ">", "\"", "'", "R\"(", "/*", "//", "\\\n", "\n#", "1e", "::"});
  for (int i = 0; i < testing::fuzz_count(); ++i) {
    const std::string source = fuzz.next();
    INFO("input ", i);
    std::size_t end = 0;
    for (const Token& token : tokens_of(source)) {
      REQUIRE(token.at >= end);
      REQUIRE(!token.text.empty());
      REQUIRE(token.end() <= source.size());
      end = token.end();
    }
  }
}

}  // namespace rewrite
