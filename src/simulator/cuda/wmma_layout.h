// Which lane holds which elements of a wmma fragment. CUDA leaves that open. Here it is as in the
// mma instructions that the fragments become.
#pragma once

#include "model/tensor_core.h"

namespace simt {

using model::FragmentLayout;
using model::FragmentPosition;

enum class WmmaType { f16, bf16, tf32, f32, f64, s8, u8, s32 };
constexpr int bits_of(WmmaType type) {
  constexpr int kBits[] = {16, 16, 32, 32, 64, 8, 8, 32};
  return kBits[static_cast<int>(type)];
}

// d = a * b + c, m x k times k x n.
struct WmmaOperation {
  int m, n, k;
  WmmaType factors, c, d;
  bool saturates;  // sums of integers
};

constexpr FragmentLayout factor_layout(int rows, int k, WmmaType type) {
  return {rows, k, bits_of(type) < 32 ? 32 / bits_of(type) : 1};
}
constexpr bool has_columns_as_rows(int m, int n) {
  return m == 8 && n == 32;
}
// The major index of an accumulator is its row, except in 8 x 32, where it is the column.
constexpr FragmentLayout accumulator_layout(int m, int n) {
  return has_columns_as_rows(m, n) ? FragmentLayout{n, m, 2} : FragmentLayout{m, n, 2};
}

// All 32 lanes come together, and transpose `count` matrices of 8 x 8 elements of 16 bits, of which
// each lane holds two in each of its words. All lanes do it for the same purpose.
enum class Transposes { for_movmatrix, for_load, for_store };
void wmma_transpose(unsigned* words, int count, Transposes purpose);
void wmma_multiply(
    const WmmaOperation& operation, void* d, const void* a, const void* b, const void* c);

}  // namespace simt
