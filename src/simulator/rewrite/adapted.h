// The parameters of a user's sgemm that is called by simt_sgemm (rewrite/rewritten.h), as declared
// in the user's file. It is included in that file.
#pragma once

namespace simt {

enum class Element : char { fp32, half, bf16 };

struct SgemmParameters {
  Element A, B, C;
  bool has_alpha, has_beta;
};

// The type of a matrix's elements, whatever name the file has for it; -1 for another.
template <class T>
consteval int number_of_element() {
  const char* const name = __PRETTY_FUNCTION__;  // ends in "T = __half]"
  const int length = sizeof __PRETTY_FUNCTION__ - 1;
  const auto ends = [&](const char* type, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      if (name[length - 1 - bytes + i] != type[i]) return false;
    }
    return true;
  };
  constexpr int kFloat = 5, kHalf = 6, kBf16 = 13;
  return ends("float", kFloat)          ? 0
         : ends("__half", kHalf)        ? 1
         : ends("__nv_bfloat16", kBf16) ? 2
                                        : -1;
}
template <class T>
consteval Element element_of() {
  constexpr int kNumber = number_of_element<T>();
  static_assert(kNumber >= 0, "the matrices of sgemm must be of float, half or __nv_bfloat16");
  return Element{kNumber};
}

}  // namespace simt
