#include "rewrite/rewritten.h"

#include <doctest/doctest.h>

#include <sstream>
#include <stdexcept>
#include <string>

#include "rewrite/launches.h"
#include "rewrite/qualifiers.h"
#include "testing/fuzz.h"

namespace rewrite {
namespace {

// The kernel, the configuration and the arguments of the only launch: "k | g, b | p".
std::string launch_in(const std::string& source) {
  const std::string text = launches(source);
  const std::string begin = "::simt::launched([&](auto&... simt_arguments) { ";
  const std::string middle = "(simt_arguments...); }).configured(";
  const std::size_t at = text.find(begin), end = text.find(middle);
  if (at == text.npos || end == text.npos) return text;
  std::string kernel = text.substr(at + begin.size(), end - at - begin.size());
  if (const std::size_t otherwise = kernel.rfind("else "); otherwise != kernel.npos)
    kernel.erase(0, otherwise + 5);
  std::string rest = text.substr(end + middle.size());
  // The marks of arguments that are only names.
  const std::string mark = "::simt::argument(";
  for (std::size_t found; (found = rest.find(mark)) != rest.npos;) {
    rest.erase(rest.find(')', found), 1);
    rest.erase(found, mark.size());
  }
  return text.substr(0, at) + "[" + kernel + "](" + rest;
}

std::string refusal_of(const std::string& source) {
  try {
    return rewritten(source);
  } catch (const std::runtime_error& refusal) {
    return refusal.what();
  }
}

}  // namespace

TEST_CASE("a launch names its kernel in a call, whatever expression that is") {
  CHECK(launch_in("k<<<1, 2>>>(p);") == "[k](1, 2)(p);");
  CHECK(
      launch_in("x; ns::k<A, (x > y)><<<g, b, 0, s>>>();") ==
      "x; [ns::k<A, (x > y)>](g, b, 0, s)();");
  CHECK(launch_in("if (a) ::k<B<C<1>>><<<g,\n b>>>(p);") == "if (a) [::k<B<C<1>>>](g,\n b)(p);");
  CHECK(
      launch_in("T::template k<3><<<1 << 2, b >> 1>>>(p)") ==
      "[T::template k<3>](1 << 2, b >> 1)(p)");
  CHECK(launch_in("(*pointer)<<<1, 2>>>(p)") == "[(*pointer)](1, 2)(p)");
  CHECK(launch_in("return kernels[i]<<<1, 2>>>(p)") == "return [kernels[i]](1, 2)(p)");
  CHECK(launch_in("this->a.k<<<1, 2>>>(p)") == "[this->a.k](1, 2)(p)");
  CHECK(launch_in("choose(3)<<<dim3{1}, 2>>>(p)") == "[choose(3)](dim3{1}, 2)(p)");
  CHECK(launch_in("k<<<v<a>(), 2>>>(f(__null), __null)") == "[k](v<a>(), 2)(f(__null), nullptr)");
}

TEST_CASE(
    "an argument that is only a name is marked, because the kernel may take it by reference") {
  CHECK(launches("k<<<1, 2>>>(p, p + 1, *q)").ends_with(")(::simt::argument(p), p + 1, *q)"));
  CHECK(launches("k<<<1, 2>>>(f<a, b, c>(p))").ends_with("(f<a, b, c>(p))"));
}

TEST_CASE("cudaLaunchKernel gets the kernel without a cast that hides its type") {
  CHECK(launches("cudaLaunchKernel((void*)k<A>, 1)") == "cudaLaunchKernel(k<A>, 1)");
  CHECK(
      launches("cudaLaunchCooperativeKernel((const void *)&k, g)") ==
      "cudaLaunchCooperativeKernel(  &k, g)");
  CHECK(launches("cudaLaunchKernel(k, (void*)p)") == "cudaLaunchKernel(k, (void*)p)");
  CHECK(launches("f((void*)k)") == "f((void*)k)");
}

TEST_CASE("what only looks like a launch stays") {
  for (const char* source :
       {"// k<<<1, 2>>>(p)\n", "\"k<<<1, 2>>>(p)\"", "a << b", "a >> b > c",
        "friend o& operator<<<T>(o&, T);", "R\"(k<<<1>>>())\""}) {
    CHECK(launches(source) == source);
  }
}

TEST_CASE("a launch that is not closed is refused with its place") {
  CHECK(refusal_of("# 7 \"a.cu\"\n\nk<<<1, 2>>(p);") == "a.cu:8: this <<< is not closed by >>>");
  CHECK(
      refusal_of("k<<<1, 2>>>;") ==
      "line 1: after <<<...>>> stand the kernel's arguments in brackets, if only ()");
  CHECK(refusal_of("+ <<<1, 2>>>(p);") == "line 1: before <<< there is no name of a kernel");
}

TEST_CASE("a kernel says where it begins, and its declaration does not") {
  CHECK(
      qualifiers("__global__ void k(int a = {});") == "__attribute__((noipa)) void k(int a = {});");
  CHECK(
      qualifiers("template <class T> void __global__ k(T a) { f(); }") ==
      "template <class T> void __attribute__((noipa)) k(T a) { ::simt::kernel_begins(); f(); }");
}

TEST_CASE("a device variable exists once, and is registered") {
  const auto registered = [](const std::string& name, const char* kind) {
    return " static const ::simt::DeviceVariable simt_variable_" + name + "(\"" + name +
           "\", ::std::addressof( " + name + "), sizeof " + name +
           ", ::simt::VariableKind::" + kind + ");";
  };
  CHECK(
      qualifiers("__device__ int a[2], b = 1;") ==
      "inline int a[2], b = 1;" + registered("a", "device") + registered("b", "device"));
  CHECK(
      qualifiers("static __constant__ S<1, 2> c;") ==
      " inline S<1, 2> c;" + registered("c", "constant"));
  CHECK(
      qualifiers("__device__ float (*op)(float) = f;") ==
      "inline float (*op)(float) = f;" + registered("op", "device"));
  CHECK(
      qualifiers("namespace { __device__ int a; }").starts_with("inline namespace simt_unnamed_"));
  CHECK(qualifiers("extern __device__ int a;") == "extern  int a;");
  CHECK(
      qualifiers("static __device__ volatile int v;") ==
      " inline volatile int v;" + registered("v", "device"));
  CHECK(
      qualifiers("__device__ __managed__ int m;") ==
      "inline  __attribute__((aligned(4096))) int m;" + registered("m", "managed"));
}

TEST_CASE("a device function is a function") {
  CHECK(qualifiers("__device__ int f(int a) { return a; }") == " int f(int a) { return a; }");
  CHECK(qualifiers("__device__ S operator+(S a, S b);") == " S operator+(S a, S b);");
  CHECK(
      qualifiers("auto l = [=] __device__ (int i) { return i; };") ==
      "auto l = [=]  (int i) { return i; };");
  CHECK(
      qualifiers("struct S { __device__ int f() const; int a; };") ==
      "struct S {  int f() const; int a; };");
}

TEST_CASE("what is written for the user's words ends in their columns") {
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

TEST_CASE("a kernel knows the size of its cluster") {
  CHECK(
      qualifiers("__cluster_dims__(2, 1, 1) __global__ void k() {}") ==
      " __attribute__((noipa)) void k() { ::simt::kernel_begins(); ::simt::cluster_begins( 2 , 1 "
      ", 1 );}");
  CHECK(
      qualifiers("__global__ void __cluster_dims__(4) k() {}").find("cluster_begins( 4 )") !=
      std::string::npos);
}

TEST_CASE("an alignas comes before what __shared__ becomes") {
  const std::string shared = "__attribute__((aligned(128))) constinit thread_local";
  CHECK(qualifiers("{ __shared__ float s[2]; }") == "{ " + shared + " float s[2]; }");
  CHECK(
      qualifiers("{ __shared__ alignas(16) float s[2]; }") ==
      "{ alignas ( 16 ) " + shared + "  float s[2]; }");
  CHECK(qualifiers("{ extern __shared__ float s[]; }") == "{ extern " + shared + " float s[]; }");
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

}  // namespace rewrite
