// nvcuda::wmma: a warp multiplies small matrices on the tensor cores.
//
// The accesses of a load or a store are those of sm_80 and sm_90, as nvcc 13 compiles them (seen in
// the SASS of each type, shape and layout):
//   factors along their rows (A row_major, B col_major): 4 bytes per lane and block of 8 rows;
//     from shared memory, of __half and of bytes: ldmatrix, four blocks at once
//   factors across: the same for types of 16 bits, which MOVM then transposes; one element at a
//     time for others
//   accumulators along their rows: the lane's two elements at once; across: the same for __half,
//     with MOVM; one element at a time for others
// nvcc knows from which memory it loads if it sees where the pointer comes from; here that is
// always known. The arithmetic is that of Hopper's tensor cores (src/model/tensor_core.h).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "simulator/cuda/cpu.h"
#include "simulator/cuda/instructions.h"
#include "simulator/cuda/wmma_layout.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision
// Named so that a fragment of them is refused in a sentence.
namespace experimental::precision {
struct u4 {};
struct s4 {};
struct b1 {};
}  // namespace experimental::precision

}  // namespace nvcuda::wmma

namespace simt {

using namespace nvcuda;

// What a fragment stores for T, and how the tensor cores see it.
template <class T>
struct WmmaElement;
#define SIMT_WMMA_ELEMENT(T, Stored, type)            \
  template <>                                         \
  struct WmmaElement<T> {                             \
    using Type = Stored;                              \
    static constexpr WmmaType kType = WmmaType::type; \
  };
SIMT_WMMA_ELEMENT(__half, __half, f16)
SIMT_WMMA_ELEMENT(__nv_bfloat16, __nv_bfloat16, bf16)
SIMT_WMMA_ELEMENT(wmma::precision::tf32, float, tf32)
SIMT_WMMA_ELEMENT(float, float, f32)
SIMT_WMMA_ELEMENT(double, double, f64)
SIMT_WMMA_ELEMENT(signed char, signed char, s8)
SIMT_WMMA_ELEMENT(unsigned char, unsigned char, u8)
SIMT_WMMA_ELEMENT(int, int, s32)
#undef SIMT_WMMA_ELEMENT

template <class T>
concept WmmaFactor = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16> ||
    std::is_same_v<T, wmma::precision::tf32> || std::is_same_v<T, signed char> ||
    std::is_same_v<T, unsigned char> || std::is_same_v<T, double>;

template <class T>
constexpr bool is_wmma_shape(int m, int n, int k) {
  if (std::is_same_v<T, wmma::precision::tf32>) return m == 16 && n == 16 && k == 8;
  if (std::is_same_v<T, double>) return m == 8 && n == 8 && k == 4;
  return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}

template <class T>
inline constexpr bool kIsAccumulator = std::is_same_v<T, __half> || std::is_same_v<T, float> ||
                                       std::is_same_v<T, int> || std::is_same_v<T, double>;

// `stored`: on a GPU, factors of __half hold each element more than once.
template <class T, int stored>
struct FragmentStorage {
  using element_type = T;
  using storage_element_type = T;
  static constexpr int num_elements = stored, num_storage_elements = stored;
  alignas(16) T x[stored];
};

template <class T, int rows, int k, bool along>
struct Factor : FragmentStorage<
                    typename WmmaElement<T>::Type, std::is_same_v<T, __half> ? 16 : rows * k / 32> {
  static constexpr FragmentLayout kLayout = factor_layout(rows, k, WmmaElement<T>::kType);
  static constexpr bool kAlong = along;
  static constexpr bool kByLdmatrix = std::is_same_v<T, __half> || sizeof(T) == 1;
};

template <class T, int m, int n>
struct Accumulator : FragmentStorage<T, m * n / 32> {
  static constexpr FragmentLayout kLayout = accumulator_layout(m, n);
  static constexpr bool kByLdmatrix = false;
  static constexpr bool is_along(wmma::layout_t layout) {
    return has_columns_as_rows(m, n) == (layout == wmma::mem_col_major);
  }
};

}  // namespace simt

namespace nvcuda::wmma {

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
  static_assert(
      sizeof(Use) == 0,
      "wmma fragments here are of __half, __nv_bfloat16, signed char or unsigned char (16x16x16, "
      "32x8x16, 8x32x16), precision::tf32 (16x16x8) or double (8x8x4), and factors have a layout; "
      "experimental precisions (u4, s4, b1) are not traced");
};
template <int m, int n, int k, simt::WmmaFactor T, class Layout>
requires(
    simt::is_wmma_shape<T>(m, n, k) &&
    !std::is_void_v<Layout>) class fragment<matrix_a, m, n, k, T, Layout>
    : public simt::Factor<T, m, k, std::is_same_v<Layout, row_major>> {
};
template <int m, int n, int k, simt::WmmaFactor T, class Layout>
requires(
    simt::is_wmma_shape<T>(m, n, k) &&
    !std::is_void_v<Layout>) class fragment<matrix_b, m, n, k, T, Layout>
    : public simt::Factor<T, n, k, std::is_same_v<Layout, col_major>> {
};
template <int m, int n, int k, class T>
requires(simt::kIsAccumulator<T>) class fragment<accumulator, m, n, k, T, void>
    : public simt::Accumulator<T, m, n> {
};

}  // namespace nvcuda::wmma

namespace simt {

// The part of a block that a lane copies lies along its row or, for the types that are transposed
// afterwards, across.
template <class Fragment, class T>
SIMT_INLINE T* part_in_memory(T* p, unsigned pitch, bool along, int block) {
  const FragmentPosition corner = Fragment::kLayout.corner(block);
  const int row = along ? corner.major : corner.minor, column = along ? corner.minor : corner.major;
  const int lane = simt::lane();
  return p + std::size_t(row + lane / 4) * pitch + column + lane % 4 * Fragment::kLayout.per;
}

template <class T, int count>
SIMT_INLINE void copy_part(T* to, const T* from) {
  using Piece = typename Bits<count * sizeof(T)>::Type;
  *reinterpret_cast<Piece*>(to) = *reinterpret_cast<const Piece*>(from);
}

// ldmatrix: the lane gives the address of a row of one of four blocks, and gets its parts of all.
template <class Fragment, class T>
SIMT_INLINE void load_four_blocks(
    Fragment& fragment, int block, const T* p, unsigned pitch, bool along) {
  const int lane = simt::lane();
  const FragmentPosition corner = Fragment::kLayout.corner(block + lane / 8);
  const int row = along ? corner.major : corner.minor, column = along ? corner.minor : corner.major;
  unsigned words[4];
  ldmatrix_x4(words, p + std::size_t(row + lane % 8) * pitch + column);
  for (int i = 0; i < 4; ++i) {
    T* const part = &fragment.x[(block + i) * Fragment::kLayout.per];
    *reinterpret_cast<typename Bits<4>::Type*>(part) = words[i];
  }
}

template <class Fragment, class T>
SIMT_INLINE void load_fragment(Fragment& fragment, const T* p, unsigned pitch, bool along) {
  constexpr FragmentLayout kLayout = Fragment::kLayout;
  constexpr int kBlocks = kLayout.blocks(), kPer = kLayout.per;
  const bool as_parts = along || sizeof(T) == 2;
  int block = 0;
  if (Fragment::kByLdmatrix && as_parts && __isShared(p)) {
    if constexpr (kPer * sizeof(T) == 4) {
      for (; block + 4 <= kBlocks; block += 4) load_four_blocks(fragment, block, p, pitch, along);
    }
  }
  for (; block < kBlocks; ++block) {
    T* const to = &fragment.x[block * kPer];
    if (as_parts) {
      copy_part<T, kPer>(to, part_in_memory<Fragment>(p, pitch, along, block));
    } else {
      const FragmentPosition at = kLayout.position(simt::lane(), block * kPer);
      for (int i = 0; i < kPer; ++i) to[i] = p[std::size_t(at.minor + i) * pitch + at.major];
    }
  }
  const int transposed = as_parts && !along ? kBlocks : 0;
  wmma_transpose(reinterpret_cast<unsigned*>(fragment.x), transposed, Transposes::for_load);
  for (int i = kLayout.elements(); i < Fragment::num_elements; ++i) {
    fragment.x[i] = fragment.x[i - kLayout.elements()];
  }
}

template <class Fragment, class T>
SIMT_INLINE void store_fragment(T* p, const Fragment& fragment, unsigned pitch, bool along) {
  constexpr FragmentLayout kLayout = Fragment::kLayout;
  constexpr int kBlocks = kLayout.blocks(), kPer = kLayout.per;
  const bool as_parts = along || sizeof(T) == 2;
  Fragment moved = fragment;
  const int transposed = as_parts && !along ? kBlocks : 0;
  wmma_transpose(reinterpret_cast<unsigned*>(moved.x), transposed, Transposes::for_store);
  for (int block = 0; block < kBlocks; ++block) {
    const T* const from = &moved.x[block * kPer];
    if (as_parts) {
      copy_part<T, kPer>(part_in_memory<Fragment>(p, pitch, along, block), from);
    } else {
      const FragmentPosition at = kLayout.position(simt::lane(), block * kPer);
      for (int i = 0; i < kPer; ++i) p[std::size_t(at.minor + i) * pitch + at.major] = from[i];
    }
  }
}

}  // namespace simt

namespace nvcuda::wmma {

template <class Use, int m, int n, int k, class T, class Layout>
SIMT_INLINE void load_matrix_sync(
    fragment<Use, m, n, k, T, Layout>& to, const typename simt::WmmaElement<T>::Type* from,
    unsigned pitch) {
  static_assert(!std::is_same_v<Use, accumulator>, "an accumulator is loaded with a layout_t");
  simt::load_fragment(to, from, pitch, to.kAlong);
}
template <int m, int n, int k, class T>
SIMT_INLINE void load_matrix_sync(
    fragment<accumulator, m, n, k, T>& to, const T* from, unsigned pitch, layout_t layout) {
  simt::load_fragment(to, from, pitch, to.is_along(layout));
}
template <int m, int n, int k, class T>
SIMT_INLINE void store_matrix_sync(
    T* to, const fragment<accumulator, m, n, k, T>& from, unsigned pitch, layout_t layout) {
  simt::store_fragment(to, from, pitch, from.is_along(layout));
}

template <class Use, int m, int n, int k, class T, class Layout, class V>
SIMT_INLINE void fill_fragment(fragment<Use, m, n, k, T, Layout>& fragment, const V& value) {
  const typename simt::WmmaElement<T>::Type each(value);
  for (int i = 0; i < fragment.num_elements; ++i) fragment.x[i] = each;
}

// d = a * b + c. `saturates`: sums of integers stop at the largest and the smallest.
template <int m, int n, int k, class T, class LayoutA, class LayoutB, class C, class D>
SIMT_INLINE void mma_sync(
    fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
    const fragment<matrix_b, m, n, k, T, LayoutB>& b, const fragment<accumulator, m, n, k, C>& c,
    bool saturates = false) {
  using simt::WmmaElement;
  constexpr bool kIsByte = sizeof(T) == 1 && std::is_integral_v<T>;
  constexpr bool kFits =
      kIsByte                     ? std::is_same_v<C, int> && std::is_same_v<D, int>
      : std::is_same_v<T, double> ? std::is_same_v<C, double> && std::is_same_v<D, double>
      : std::is_same_v<T, __half> ? std::is_floating_point_v<C> + std::is_floating_point_v<D> +
                                            std::is_same_v<C, __half> + std::is_same_v<D, __half> ==
                                        2
                                  : std::is_same_v<C, float> && std::is_same_v<D, float>;
  static_assert(kFits, "wmma has no accumulators of this type for factors of that type");
  simt::wmma_multiply(
      {m, n, k, WmmaElement<T>::kType, WmmaElement<C>::kType, WmmaElement<D>::kType, saturates},
      d.x, a.x, b.x, c.x);
}

// To the nearest tf32, and away from zero if two are equally near.
SIMT_INLINE float __float_to_tf32(float value) {
  return __uint_as_float(cvt_rna_tf32(value));
}

}  // namespace nvcuda::wmma
