// The parameters of a user's sgemm that is called by simt_sgemm (rewrite/rewritten.h), as declared
// in the user's file. It is included in that file.
#pragma once

namespace simt {

enum class Element : char { fp32, half, bf16 };

struct SgemmParameters {
  Element A, B, C;
  bool has_alpha, has_beta;
};

// The type of a matrix's elements, whatever name the file has for it.
template <class T>
consteval Element element_of() {
  const char* const name = __PRETTY_FUNCTION__;  // ends in "T = __half]"
  const int length = sizeof __PRETTY_FUNCTION__ - 1;
  const auto ends = [&](const char* type, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      if (name[length - 1 - bytes + i] != type[i]) return false;
    }
    return true;
  };
  constexpr int kFloat = 5, kHalf = 6, kBf16 = 13;
  static_assert(
      sizeof(T) == 4 || sizeof(T) == 2,
      "the matrices of sgemm must be of float, half or __nv_bfloat16");
  if (ends("float", kFloat)) return Element::fp32;
  if (ends("__half", kHalf)) return Element::half;
  if (ends("__nv_bfloat16", kBf16)) return Element::bf16;
  throw "the matrices of sgemm must be of float, half or __nv_bfloat16";
}

}  // namespace simt
