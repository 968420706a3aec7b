// Tensor cores: their arithmetic, the narrow numbers that they multiply, and how their operands lie
// in the lanes' registers and in shared memory.
#pragma once

#include <cstdint>
#include <span>

namespace model {

// A tensor core adds `products` products and the accumulator at once. It shifts every term to the
// largest exponent among them, cuts off what lies more than kTensorCorePlaces binary places below
// that exponent's 1, adds the rest exactly, and cuts the sum to 24 bits: it never rounds. A longer
// dot product takes several such steps. Measured bit by bit in "MMA-Sim: Bit-accurate reference
// model of tensor cores and matrix cores" (2025) and, for sm_90, on an H200 by
// src/simulator/trace/hopper_checks.cu.
struct TensorCore {
  int products;
};
inline constexpr int kTensorCorePlaces = 25;
inline constexpr TensorCore kHopperTensorCore{8};
// The same for f16 and bf16 numbers: twice as many products at once ("MMA-Sim"). On an H200, the
// sums of hopper_checks.cu equal this model bit by bit, with subnormal numbers, too.
inline constexpr TensorCore kHopperTensorCoreOfHalves{16};

// The tf32 number that a tensor core sees in these bits of a float: it ignores the last 13.
float tf32_seen(float value);

// What the copy engine makes of a float on its way to shared memory, if the tensor map says that
// the elements are tf32: it rounds to nearest, and to even if two are equally near. A NaN gets the
// bits 0x7fffe000. Measured on an H200 by src/simulator/trace/hopper_checks.cu.
float tf32_copied(float value);

// Floating-point numbers of 16, 19 and 32 bits, and how a result is rounded to one.

struct NarrowFormat {
  int exponent_bits, fraction_bits;
  bool operator==(const NarrowFormat&) const = default;
};
inline constexpr NarrowFormat kFp16{5, 10};        // IEEE 754 binary16: __half
inline constexpr NarrowFormat kBfloat16{8, 7};     // the upper half of a float: __nv_bfloat16
inline constexpr NarrowFormat kTf32Format{8, 10};  // the first 19 bits of a float
inline constexpr NarrowFormat kFp32Format{8, 23};

// Where a number between two others goes: to the nearest (of two, the even one, or the one that is
// farther from zero), or always one way.
enum class Toward { nearest, nearest_away, zero, above, below };

// The NaN that CUDA's operations on either format return.
inline constexpr std::uint16_t kNarrowNaN = 0x7fff;

// The number's bits. A NaN has no sign, and all bits of its fraction are set.
std::uint32_t rounded_to(NarrowFormat format, double value, Toward toward = Toward::nearest);
inline std::uint16_t narrowed(double value, NarrowFormat format, Toward toward = Toward::nearest) {
  return static_cast<std::uint16_t>(rounded_to(format, value, toward));
}

// The same for a + b, which need not fit a double. It is rounded once.
std::uint16_t narrowed_sum(double a, double b, NarrowFormat format);

// Exact. A NaN gets the bits 0x7fffffff.
float widened(std::uint16_t bits, NarrowFormat format);

std::uint16_t narrowed_add(std::uint16_t a, std::uint16_t b, NarrowFormat format);
// a * b + c with one rounding.
std::uint16_t narrowed_fma(std::uint16_t a, std::uint16_t b, std::uint16_t c, NarrowFormat format);

// A float as the sum of two tf32 numbers: its first 11 bits, cut off as a tensor core does it, and
// the rest, rounded to the nearest (of two, the one farther from zero). What is left is at most
// 2^-22 of x, unless the rest is below the normal numbers of fp32.
struct TwoTf32 {
  float high, low;
};
TwoTf32 split_into_tf32(float x);

// `value` as an integer.
double rounded_to_integer(double value, Toward toward);

// What a tensor core multiplies: up to 16 numbers along K, taken apart once to be used in many
// products. Those that are not set are zero.
struct TensorCoreFactors {
  static constexpr int kMost = 16;
  TensorCoreFactors();
  // A number of kFp16 or kBfloat16, or of kTf32Format the float whose last bits are ignored.
  void set(int k, std::uint32_t bits, NarrowFormat format);

  float values[kMost];
  // Each exponent is that of the significand's 1. Zero has a very small one, and an infinity or a
  // NaN a very large one.
  std::int16_t exponents[kMost];
};

// Eight columns of B, side by side for vector instructions.
struct TensorCoreColumns {
  static constexpr int kColumns = 8;
  explicit TensorCoreColumns(const TensorCoreFactors* columns);

  const TensorCoreFactors* each;  // not owned
  float values[TensorCoreFactors::kMost][kColumns];
  std::int16_t exponents[TensorCoreFactors::kMost][kColumns];
};

// Adds a[0] * b[0][j] + ... + a[depth - 1] * b[depth - 1][j] to c[j]. A NaN gets the bits
// 0x7fffffff.
void add_tensor_core_dots(
    const TensorCoreFactors& a, const TensorCoreColumns& b, int depth,
    std::span<float, TensorCoreColumns::kColumns> c, TensorCore core);
// One of them with an accumulator of 16 bits: the sum is rounded to the nearest f16 ("MMA-Sim"; not
// measured here).
std::uint16_t tensor_core_dot_f16(
    const TensorCoreFactors& a, const TensorCoreFactors& b, int depth, std::uint16_t c,
    TensorCore core);

// c + a[0] * b[0] + ..., for any number of products. `format` holds all numbers, or ignores the
// last bits of a float: kTf32Format.
float tensor_core_dot(
    std::span<const float> a, std::span<const float> b, float c, TensorCore core,
    NarrowFormat format = kTf32Format);

// Fragments: matrices that the 32 lanes of a warp hold together. PTX ISA 9.0, "Matrix fragments for
// mma.m16n8k8" and its neighbours: blocks of eight rows, of each of which four lanes hold a part.

struct FragmentPosition {
  int major, minor;
};

// Each lane holds `per` neighbouring elements of one row ("major") of every block, which is four
// times as wide. Factors have their rows along k: the major index is the row of A or the column of
// B. The major index of a sum is its row.
struct FragmentLayout {
  int majors, minors, per;

  constexpr int elements() const { return majors * minors / 32; }
  constexpr int blocks() const { return elements() / per; }
  // The first element of a block.
  constexpr FragmentPosition corner(int block) const {
    const int down = majors / 8;
    return {block % down * 8, block / down * 4 * per};
  }
  // Element i of a lane.
  constexpr FragmentPosition position(int lane, int i) const {
    const FragmentPosition first = corner(i / per);
    return {first.major + lane / 4, first.minor + lane % 4 * per + i % per};
  }
};

// d (rows x 8) += a (rows x depth) * b (depth x 8), for factors of that many bits.
struct MmaFragments {
  FragmentLayout a, b, d;
};
constexpr MmaFragments fragments_of_mma(int rows, int depth, int bits) {
  const int in_word = bits < 32 ? 32 / bits : 1;
  return {{rows, depth, in_word}, {8, depth, in_word}, {rows, 8, 2}};
}

// The swizzles of the copy engine (TMA) and of wgmma: which 16 bytes of shared memory hold which 16
// bytes of a tile. PTX ISA 9.0, "Swizzling modes" of tensors.

// The rows of a tile are as long as the swizzle's span. The numbers are those of the CUDA driver's
// CUtensorMapSwizzle.
enum class Swizzle { none, span_32, span_64, span_128 };

constexpr int span_of(Swizzle swizzle) {
  return 16 << static_cast<int>(swizzle);
}

// The bits of an address that number the 16 bytes within the span, XORed with as many bits from bit
// 7 on. So eight rows of 128 bytes have each column in eight different groups of four banks.
constexpr std::uint32_t swizzled(std::uint32_t address, Swizzle swizzle) {
  const std::uint32_t pieces_in_span = 1u << static_cast<int>(swizzle);
  return address ^ (address >> 7 & (pieces_in_span - 1)) << 4;
}

// wgmma's 64-bit descriptor of an operand in shared memory. PTX ISA 9.0, "Matrix descriptor
// format" of wgmma.

// What is contiguous in memory: in a "K-major" operand the elements of a row of A or a column of B,
// with neighbouring k; in an "MN-major" one those of a column of A or a row of B, with the same k.
enum class Major : bool { k, mn };

// All four are in bytes, and multiples of 16. The rows are those of A, or the columns of B.
struct MatrixDescriptor {
  std::uint32_t start;  // of the first row, for k = 0
  // K-major: without a swizzle, from one column of 16 bytes to the next. MN-major: from one span of
  // the swizzle to the next; without a swizzle, from eight k to the next eight.
  std::uint32_t leading;
  // K-major: from eight rows to the next eight. MN-major: from eight k to the next eight; without a
  // swizzle, from eight rows to the next eight.
  std::uint32_t stride;
  int base_offset;  // 0 if each eight rows start at a multiple of their size
  Swizzle swizzle;
};

constexpr MatrixDescriptor decoded(std::uint64_t descriptor) {
  const auto address = [&](int bit) {
    return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) << 4;
  };
  // 1, 2, 3 are spans of 128, 64 and 32 bytes.
  const auto mode = static_cast<int>(descriptor >> 62);
  return {
      address(0), address(16), address(32), static_cast<int>(descriptor >> 49 & 7),
      static_cast<Swizzle>(mode == 0 ? 0 : 4 - mode)};
}

constexpr std::uint64_t encoded(const MatrixDescriptor& matrix) {
  const auto field = [](std::uint32_t bytes, int bit) {
    return static_cast<std::uint64_t>(bytes >> 4 & 0x3fff) << bit;
  };
  const auto span = static_cast<int>(matrix.swizzle);
  return field(matrix.start, 0) | field(matrix.leading, 16) | field(matrix.stride, 32) |
         static_cast<std::uint64_t>(matrix.base_offset & 7) << 49 |
         static_cast<std::uint64_t>(span == 0 ? 0 : 4 - span) << 62;
}

// The shared address of byte `byte` (k times the element's size) of row `row`. The swizzle uses the
// bits of the address itself, so the start may lie anywhere within the first row.
constexpr std::uint32_t address_in(const MatrixDescriptor& matrix, int row, int byte) {
  const std::uint32_t eights = matrix.start + row / 8 * matrix.stride;
  if (matrix.swizzle == Swizzle::none) {
    return eights + row % 8 * 16 + byte / 16 * matrix.leading + byte % 16;
  }
  return swizzled(eights + row % 8 * span_of(matrix.swizzle) + byte, matrix.swizzle);
}

// The same in an MN-major operand, whose elements have 16 bits.
constexpr std::uint32_t address_in_transposed(const MatrixDescriptor& matrix, int row, int k) {
  const int byte = 2 * row;
  if (matrix.swizzle == Swizzle::none) {
    return matrix.start + byte / 16 * matrix.stride + k / 8 * matrix.leading + k % 8 * 16 +
           byte % 16;
  }
  const int span = span_of(matrix.swizzle);
  return swizzled(
      matrix.start + byte / span * matrix.leading + k / 8 * matrix.stride + k % 8 * span +
          byte % span,
      matrix.swizzle);
}

}  // namespace model
