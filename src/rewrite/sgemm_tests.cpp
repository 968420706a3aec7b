#include "rewrite/sgemm.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

namespace rewrite {
namespace {

// How simt_sgemm calls the sgemm of that source; empty if it is called as it is.
std::string call_in(const std::string& source) {
  const std::string text = sgemm(source);
  if (text == source) return "";
  const std::size_t begin = text.find("{ sgemm(", source.size()) + 8;
  return text.substr(begin, text.find("); }", begin) - begin);
}

std::string refusal_of(const std::string& source) {
  try {
    return "not refused: " + sgemm(source);
  } catch (const std::runtime_error& refusal) {
    return refusal.what();
  }
}

}  // namespace

TEST_CASE("an sgemm with the expected parameters is called as it is") {
  CHECK(
      call_in("void sgemm(int M, int N, int K, float alpha, const float* __restrict__ A, float "
              "const* B, float beta, float* C) {}") == "");
  CHECK(
      call_in("void sgemm(int, int, int, float, const float*, const float*, float, float*) {}") ==
      "");
  CHECK(call_in("void sgemm(float* A, float* B, float* C); int x;") == "");  // no definition
  CHECK(call_in("struct S { void sgemm(float* a, int m) {} };") == "");
  CHECK(call_in("namespace mine { void sgemm(float* a, int m) {} }") == "");
  CHECK(call_in("int f() { return sgemm(1); }") == "");
}

TEST_CASE("names say which parameter is which, in any order and of any type") {
  CHECK(
      call_in("void sgemm(float *d_A, float *d_B, float *d_C, int m, int k, int n) {}") ==
      "(float*)A, (float*)B, (float*)C, M, K, N");
  CHECK(
      call_in("int f() { return 1; }\nvoid sgemm(size_t M, size_t N, size_t K, float alpha = 1,\n"
              "const __half* A, int lda, const __half* B, int ldb, float beta, float C[], int ldc, "
              "cudaStream_t stream) {}") ==
      "M, N, K, alpha, (__half*)A, K, (__half*)B, N, beta, (float*)C, N, 0");
  CHECK(
      call_in("void sgemm(int M, int K, int N, float alpha, const float* A, const float* B, float "
              "beta, float* C) {}") == "M, K, N, alpha, (float*)A, (float*)B, beta, (float*)C");
  CHECK(
      call_in(
          "void sgemm(int x, int y, int z, float p, float* q, float* r, float s, float* t) {}") ==
      "M, N, K, alpha, (float*)A, (float*)B, beta, (float*)C");
}

TEST_CASE("an sgemm that other files cannot call by its name is called in its own file") {
  const std::string parameters =
      "void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, "
      "float* C) {}";
  const std::string call = "M, N, K, alpha, (float*)A, (float*)B, beta, (float*)C";
  CHECK(call_in(parameters) == "");
  CHECK(call_in("static " + parameters) == call);
  CHECK(call_in("extern \"C\" " + parameters) == call);
  CHECK(call_in("extern \"C\" {\n" + parameters + "\n}") == call);
}

TEST_CASE("a file with a main is a program, whatever its sgemm is like") {
  CHECK(call_in("void sgemm(float* x, int p) {}\nint main() {}") == "");
}

TEST_CASE("parameters that cannot be told apart are shown beside those that make try calls") {
  const std::string text =
      refusal_of("# 1 \"a.cu\"\nint x;\nvoid sgemm(float *x, float *y,\n    float *z, int p) {}");
  CHECK(
      text.starts_with("a.cu:2: it is not clear which parameter of sgemm is which. Here it is\n"
                       "  void sgemm(float *x, float *y, float *z, int p)\n"
                       "and make try calls\n  void sgemm(int M, int N, int K, float alpha, "));
  // A matrix is missing, one is twice there, a pointer where a size is expected.
  CHECK(
      refusal_of("void sgemm(int M, int N, int K, float* A, float* C) {}").starts_with("line 1: "));
  CHECK(refusal_of("void sgemm(int M, int N, int K, float* A, float* d_A, float* B, float* C) {}")
            .starts_with("line 1: "));
  CHECK(refusal_of("void sgemm(int* M, int N, int K, float* A, float* B, float* C) {}")
            .starts_with("line 1: "));
  CHECK(refusal_of("void sgemm(int M, int N, int K, float* A, float* B, float* C) {}\n"
                   "void sgemm(int M, int N, int K, half* A, half* B, half* C) {}")
            .starts_with("line 1: there is more than one sgemm"));
}

}  // namespace rewrite
