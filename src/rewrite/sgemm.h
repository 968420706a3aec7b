// A user's sgemm whose parameters are not those that make try calls.
#pragma once

#include <string>
#include <string_view>

namespace rewrite {

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
