// A user's CUDA source as C++ that g++ compiles against src/simulator/cuda.
#pragma once

#include <string>
#include <string_view>

namespace rewrite {

// `source` is what `g++ -E` prints. Every line keeps its number. Throws a std::runtime_error whose
// text names the file and the line, if something cannot be translated. `has_main`: another file of
// the program defines main, which runs unless an sgemm is exactly what make try calls.
std::string rewritten(std::string_view source, bool has_main = false);
bool defines_main(std::string_view source);

// __global__, __device__, __constant__, __managed__ and __shared__ as C++.

// - A kernel says where it begins, so that a launch learns which kernel it calls, and the compiler
//   neither inlines nor merges it.
// - A device variable becomes inline: the linker then keeps one of it, for the traced and the plain
//   copy of the file. It is registered under its name. A namespace without a name would give each
//   copy its own, so it gets a name if it holds a device variable.
// - A static const member with a value that is no integer becomes constexpr: nvcc does not ask for
//   that in a class template.
// - __shared__ becomes thread_local, for its block's thread of the operating system. An alignas
//   beside it comes first, as C++ demands.
std::string qualifiers(std::string_view source);

// kernel<<<grid, block, shared_bytes, stream>>>(arguments...) as C++.

// A launch becomes
//
//   ::simt::launched([&](auto&... simt_arguments) { kernel(simt_arguments...); })
//       .configured(grid, block, shared_bytes, stream)(arguments...)
//
// where an argument that is only a name stands as ::simt::argument(name), and one that is 0 or NULL
// also in the call of the kernel. So the kernel is named in a call and means what it means in C++:
// deduced template arguments, overloads and default arguments work. What may be a variable that
// holds a kernel's address gets a second form of the call, for the copy of the kernel that is to
// run. (cuda/launched.h)
std::string launches(std::string_view source);

// A #pragma unroll that a macro leaves, which nvcc accepts, becomes white space.
std::string pragmas(std::string_view source);

// A file that declares a `launch` of its own, outside of all braces, does not mean the function of
// cuda/launch.h: the file's gets another name.
std::string own_launch(std::string_view source);

// A text that is not preprocessed, with a space before a parameter that a macro has behind a
// string:
// "%d"x is one token for C++, and two for nvcc, which warns.
std::string spaced_literals(std::string_view source);

// Inline PTX as calls.

// asm volatile("text" : "=r"(a) : "r"(b), [n] "n"(c) : "memory"); becomes
//
//   ::simt::ptx("text", {::simt::ptx_output("=r", (a)), ::simt::ptx_input("r", (b)),
//                        ::simt::ptx_input("[n]" "n", (c))});
//
// (cuda/ptx.h). The text is interpreted when a thread reaches it. The name of a variable or
// function in an asm label stays as it is, and so does all assembly in a system's header.
std::string inline_ptx(std::string_view source);

// A user's sgemm whose parameters are not those that make try calls.

inline constexpr std::string_view kSgemm =
    "void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, "
    "float* C)";

// Adds to the source of a file without a main
//   void simt_sgemm(...), with the parameters of kSgemm, which calls the file's sgemm,
// if that is static or extern "C", or if its parameters have other types or another order. Their
// names say which is which (M, N, K, alpha, A, B, beta, C in upper or lower case, also d_A and the
// like); alpha, beta, leading dimensions and a stream may be there or not. For parameters with
// other names, kinds in the order of kSgemm are enough. Throws a std::runtime_error with both
// signatures if that does not decide it.
std::string sgemm(std::string_view source);

}  // namespace rewrite
