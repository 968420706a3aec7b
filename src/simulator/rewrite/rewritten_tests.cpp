#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>

#include "simulator/rewrite/rewritten.h"
#include "simulator/rewrite/tokens.h"
#include "testing/fuzz.h"
#include "testing/golden.h"

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
  CHECK(joined("na\\U000000efve<<<\\u03c0>>>") == "na\\U000000efve | <<< | \\u03c0 | > | > | >");
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
  const auto tokens = tokens_of(
      "# 1 \"a3.cu\"\na\n# 1 \"/usr/b.h\" 1 3 4\nb\n# 2 \"a3.cu\" 2\nc\n# 1 \"/usr/cub/d.h\" 1 "
      "3\nd");
  const auto users = are_users(tokens);
  REQUIRE(tokens.size() == 8);
  CHECK(users[1]);
  CHECK(!users[3]);
  CHECK(users[7]);  // CUB's assembly is for GPUs
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
      const bool is_in_order =
          token.at >= end && !token.text.empty() && token.end() <= source.size();
      if (!is_in_order) FAIL("the token at ", token.at, " of ", source);
      end = token.end();
    }
  }
}

namespace {

std::string refusal_of(const std::string& source) {
  try {
    return rewritten(source);
  } catch (const std::runtime_error& refusal) {
    return refusal.what();
  }
}

}  // namespace

TEST_CASE("launches, qualifiers and inline PTX become what their golden file has") {
  std::string text;
  const auto add = [&](const char* source, const std::string& becomes) {
    text += std::string(source) + "\n  " + becomes + "\n";
  };
  // A kernel is any expression. An argument that is only a name may be taken by reference; one that
  // is 0 or NULL stands in the kernel's call, where it may be a pointer.
  for (const char* source :
       {"k<<<1, 2>>>(p);", "x; ns::k<A, (x > y)><<<g, b, 0, s>>>();",
        "if (a) ::k<B<C<1>>><<<g,\n b>>>(p);", "T::template k<3><<<1 << 2, b >> 1>>>(p)",
        "(*pointer)<<<1, 2>>>(p)", "return kernels[i]<<<1, 2>>>(p)", "this->a.k<<<1, 2>>>(p)",
        "choose(3)<<<dim3{1}, 2>>>(p)", "k << <1, 2 >> >(p)", "k<A> << <g, b >> 1 >> >(p)",
        "k<a><<<v<b>(), 2>>>(f(__null, p), 0, __null)", "k<<<1, 2>>>(i, {q, 1})",
        "k<<<1, 2>>>(f<a, b>(p), __null)", "k<<<1, 2>>>(p, p + 1, *q)",
        "k<<<1, 2>>>(f<a, b, c>(p))", "cudaLaunchKernel((void*)k<A>, 1)",
        "cudaLaunchCooperativeKernel((const void *)&k, g)", "cudaLaunchKernel(k, (void*)p)",
        "f((void*)k)"}) {
    add(source, launches(source));
  }
  for (const char* source :
       {"# 7 \"a.cu\"\n\nk<<<1, 2>>(p);", "k << <1, 2 > >>(p);", "k<<<1, 2>>>;",
        "+ <<<1, 2>>>(p);"}) {
    add(source, refusal_of(source));
  }
  for (const char* source :
       {"__global__ void k(int a = {});", "template <class T> void __global__ k(T a) { f(); }",
        "__device__ int a[2], b = 1;", "static __constant__ S<1, 2> c;",
        "__device__ float (*op)(float) = f;", "__device__ float (*const table[2])(float) = {f, g};",
        "namespace { __device__ int a; }", "extern __device__ int a;",
        "static __device__ volatile int v;", "__device__ __managed__ int m;",
        "__device__ int f(int a) { return a; }", "__device__ S operator+(S a, S b);",
        "auto l = [=] __device__ (int i) { return i; };",
        "struct S { __device__ int f() const; int a; };",
        "__cluster_dims__(2, 1, 1) __global__ void k() {}",
        "__global__ void __cluster_dims__(4) k() {}", "{ __shared__ float s[2]; }",
        "{ __shared__ alignas(16) float s[2]; }", "{ extern __shared__ float s[]; }"}) {
    add(source, qualifiers(source));
  }
  for (const char* source :
       {"struct A { void launch(); }; void f() { launch(k, 1, 2, 0, p); }",
        "template <class K> void launch(K k); void f() { launch(k); std::launch::async; }",
        "struct launch { int x; }; launch l;"}) {
    add(source, own_launch(source));
  }
  // By acquire.gpu blocks may wait for each other.
  for (const char* source :
       {"asm volatile(\"a %0, %1;\" : \"=r\"(x) : \"r\"(y[2]), \"n\"(16) : \"memory\");",
        "asm(\"bar.sync 0;\");", "__asm__ __volatile__(\"\" ::: \"memory\");",
        "asm(\"a\" \"b\" :: \"l\"(f(p, q)));", "asm(\"x %[a];\" : [a] \"+f\"(v.x));",
        "asm(\"ld.acquire.gpu.u32 %0, [%1];\" : \"=r\"(x) : \"l\"(p));",
        "asm(\"ld.shared.global_.f32;\");"}) {
    add(source, inline_ptx(source));
  }
  testing::compare_with_golden("rewritten", {{"each with what it becomes", text}});
}

TEST_CASE("what only looks like a launch stays") {
  for (const char* source :
       {"// k<<<1, 2>>>(p)\n", "\"k<<<1, 2>>>(p)\"", "a << b", "a >> b > c",
        "friend o& operator<<<T>(o&, T);", "friend o& operator<< <T>(o&, T);",
        "R\"(k<<<1>>>())\""}) {
    CHECK(launches(source) == source);
  }
}

TEST_CASE("replacements of the user's words end in the columns of those words") {
  const std::string line = "__device__ nosuch m;";
  std::istringstream text(rewritten("# 7 \"my.cu\"\n" + line + "\n"));
  int names = 0;
  for (std::string part; std::getline(text, part);) {
    if (!part.ends_with(" m), ")) continue;
    ++names;
    CHECK(part.size() <= line.size() + 1);
  }
  CHECK(names == 1);
}

TEST_CASE("any source is rewritten or refused in a sentence") {
  testing::Fuzz fuzz(
      {"__global__ void k(int* p) { p[0] = 1; }\nvoid f() { k<<<1, 32>>>(p); }\n",
       "namespace { static __device__ float a[4], b = {}; }\n",
       "{ extern volatile __shared__ alignas(16) float s[]; }"},
      {"<<<", ">>>", "__global__", "__device__", "__shared__", "alignas(", "(", ")", "{", "}",
       "namespace", "template", "<", ">", "::"});
  testing::fuzz<std::runtime_error>(
      [&] { return fuzz.next(); }, [](const std::string& source) { rewritten(source); });
}

TEST_CASE("a #pragma that a macro leaves is removed, and no other") {
  CHECK(pragmas("f();\n  #pragma unroll\n  for") == "f();\n                \n  for");
  for (const char* source :
       {"#pragma unroll\nfor", "  \"x #pragma unroll\"", "f();\n  #pragma omp"}) {
    CHECK(pragmas(source) == source);
  }
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

// How the sgemm of a source is called, or why it is not.
TEST_CASE("an sgemm is called with its parameters, or refused, as its golden file has it") {
  std::string text;
  const auto add = [&](const std::string& source) {
    std::string becomes = "is called as it is";
    try {
      const std::string all = sgemm(source);
      const std::size_t call = all.find("{ sgemm(", source.size());
      if (all != source) becomes = all.substr(call, all.find('}', call) + 1 - call);
    } catch (const std::runtime_error& refusal) {
      becomes = refusal.what();
    }
    text += source + "\n  " + becomes + "\n";
  };
  const std::string expected =
      "void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, "
      "float* C) {}";
  // Those that make try calls, and none that it could call. One that is static or extern "C" is not
  // found by its name.
  for (const std::string& source :
       {expected, "static " + expected, "extern \"C\" " + expected,
        "extern \"C\" {\n" + expected + "\n}"}) {
    add(source);
  }
  for (const char* source :
       {"void sgemm(int M, int N, int K, float alpha, const float* __restrict__ A, float const* B, "
        "float beta, float* C) {}",
        "void sgemm(int, int, int, float, const float*, const float*, float, float*) {}",
        "void sgemm(float* A, float* B, float* C); int x;",
        "struct S { void sgemm(float* a, int m) {} };",
        "namespace mine { void sgemm(float* a, int m) {} }", "int f() { return sgemm(1); }",
        "void sgemm(float* x, int p) {}\nint main() {}",
        // Other orders and types.
        "void sgemm(float *d_A, float *d_B, float *d_C, int m, int k, int n) {}",
        "int f() { return 1; }\nvoid sgemm(size_t M, size_t N, size_t K, float alpha = 1,\n"
        "const __half* A, int lda, const __half* B, int ldb, float beta, float C[], int ldc, "
        "cudaStream_t stream) {}",
        "void sgemm(int M, int K, int N, float alpha, const float* A, const float* B, float beta, "
        "float* C) {}",
        "void sgemm(int x, int y, int z, float p, float* q, float* r, float s, float* t) {}",
        // It is not clear which is which. No part of it is the line that g++ -fpch-preprocess
        // leaves of a precompiled header.
        "# 1 \"a.cu\"\nint x;\nvoid sgemm(float *x, float *y,\n    float *z, int p) {}",
        "#pragma GCC pch_preprocess \"a.gch\"\nvoid sgemm(float* x) {}",
        "void sgemm(int M, int N, int K, float* A, float* C) {}",
        "void sgemm(int M, int N, int K, float* A, float* d_A, float* B, float* C) {}",
        "void sgemm(int* M, int N, int K, float* A, float* B, float* C) {}",
        "void sgemm(int M, int N, int K, float* A, float* B, float* C) {}\n"
        "void sgemm(int M, int N, int K, half* A, half* B, half* C) {}"}) {
    add(source);
  }
  testing::compare_with_golden("sgemm", {{"each with the call of it", text}});
}

TEST_CASE("a program with a main is one, also if that is in another file") {
  CHECK(defines_main("#define N 4\nint main(int argc, char** argv) {\n#if 1\n}\n"));
  CHECK(!defines_main("int main();  // int main() {\nstruct A { void main() {} };"));
  const std::string unclear = "void sgemm(float* x, int p) {}";
  CHECK(rewritten(unclear, true) == unclear);
}

TEST_CASE("a string is separated from the macro's parameter behind it, and from nothing else") {
  const char* text =
      "#define A(x, s) f(\"a\"x\"b\" L\"c\"s, \"d\"y, \"e\"s)\n#define B (\"x\"x)\nauto c = "
      "\"a\"x;\n";
  CHECK(
      spaced_literals(text) ==
      "#define A(x, s) f(\"a\" x\"b\" L\"c\" s, \"d\"y, \"e\" s)\n#define B (\"x\"x)\nauto c = "
      "\"a\"x;\n");
}

TEST_CASE("a constant member that is no integer becomes constexpr, and nothing else does") {
  const auto is_kept = [](const std::string& text) { return qualifiers(text) == text; };
  for (const char* member :
       {"static const T x = T(0);", "const static float x = 1;", "static const A<int, 2> x{1};",
        "static const int x[] = {1};", "static T const* x = nullptr;"}) {
    CAPTURE(std::string(member));
    for (const char* head : {"struct A {", "template <class T> class A : public B<T> {"}) {
      CHECK(
          qualifiers(std::string(head) + member + "};").find("static constexpr") !=
          std::string::npos);
    }
    CHECK(is_kept("void f() {" + std::string(member) + "}"));
    CHECK(is_kept("template <class T> struct A f(int) {" + std::string(member) + "}"));
  }
  for (const char* member :
       {"static const int x = 1;", "static const float x;", "static const T f() { return 1; }",
        "static constexpr const T x = 1;", "static T x;", "static inline const T x = 1;"}) {
    CAPTURE(std::string(member));
    CHECK(is_kept("struct A {" + std::string(member) + "};"));
  }
}

}  // namespace rewrite
