#include "simulator/machine/tensor_cores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <vector>

#include "model/tensor_core.h"
#include "simulator/cuda/instructions.h"
#include "simulator/cuda/wmma_layout.h"
#include "simulator/machine/collectives.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/worker.h"

namespace machine {
namespace {

using Operands = std::array<void*, model::kWarpSize>;

constexpr int kRows = 8, kWords = 4;  // of a matrix in shared memory

// A lane's part in loading, storing or transposing.
struct Rows {
  char* row;
  std::uint32_t* words;
  int matrices;
  bool transposed;
};

// Calls visit(lane, word, matrix, byte, bytes) for each piece of a word; `byte` is its place in the
// matrix.
template <class Visit>
void for_each_piece(const Rows& rows, Visit visit) {
  constexpr int kRowBytes = 16, kElement = 2;
  for (int l = 0; l < model::kWarpSize; ++l) {
    for (int m = 0; m < rows.matrices; ++m) {
      if (!rows.transposed) {
        visit(l, m, l / kWords * kRowBytes + l % kWords * 4, 0, 4);
        continue;
      }
      for (int half = 0; half < 2; ++half) {
        visit(
            l, m, (l % kWords * 2 + half) * kRowBytes + l / kWords * kElement, half * kElement,
            kElement);
      }
    }
  }
}

using Image = char[4][kRows * 16];  // of four matrices

// Moves the rows to the lanes' words, or from there to memory.
template <bool stores>
void execute_move(const Operands& operands) {
  const auto of = [&](int lane) -> const Rows& {
    return *static_cast<const Rows*>(operands[lane]);
  };
  const auto move = [](void* here, void* there, int bytes) {
    stores ? std::memcpy(there, here, bytes) : std::memcpy(here, there, bytes);
  };
  Image image;
  const auto move_rows = [&] {
    const OwnAccess own;
    for (int m = 0; m < of(0).matrices; ++m) {
      for (int r = 0; r < kRows; ++r) move(image[m] + r * 16, of(m * kRows + r).row, 16);
    }
  };
  if (!stores) move_rows();
  for_each_piece(of(0), [&](int lane, int matrix, int byte, int in_word, int bytes) {
    char* const word = reinterpret_cast<char*>(&of(lane).words[matrix]);
    move(word + in_word, image[matrix] + byte, bytes);
  });
  if (stores) move_rows();
}

// One element of a matrix.
std::uint64_t element(std::uint64_t word, int bits, int number) {
  return bits == 64 ? word : word >> bits * number & ((std::uint64_t{1} << bits) - 1);
}

model::NarrowFormat format_of(Factor kind) {
  return kind == Factor::f16    ? model::kFp16
         : kind == Factor::bf16 ? model::kBfloat16
                                : model::kTf32Format;
}

constexpr int kMostRows = 16, kColumns = 8;
template <class Row>
struct Factors {
  Row a[kMostRows], b[kColumns];
};
template <class T>
using Numbers = std::array<T, 32>;  // along K

// Calls visit(lane, word, element in the word, major, minor) for each element of a matrix.
template <class Visit>
void for_each_element(
    const Operands& operands, const model::FragmentLayout& layout, int in_word, Visit visit) {
  for (int i = 0; i < layout.elements(); ++i) {
    const model::FragmentPosition first = layout.position(0, i);
    const int word = i / in_word, e = i % in_word;
    for (int l = 0; l < model::kWarpSize; ++l) {
      const int major = first.major + l / 4, minor = first.minor + l % 4 * layout.per;
      visit(*static_cast<MmaOperands*>(operands[l]), word, e, major, minor);
    }
  }
}

// The factors of all lanes as matrices; put(row, k, kind, bits) puts one into its row of a or
// column of b.
template <class Row, class Put>
void take_factors(const Operands& operands, const MmaShape& shape, Factors<Row>& factors, Put put) {
  const int bits = shape.bits();
  const auto [of_a, of_b, of_d] = shape.fragments();
  for_each_element(operands, of_a, of_a.per, [&](auto& lane, int word, int e, int row, int k) {
    put(factors.a[row], k, shape.a, element(lane.a[word], bits, e));
  });
  for_each_element(operands, of_b, of_b.per, [&](auto& lane, int word, int e, int column, int k) {
    put(factors.b[column], k, shape.b, element(lane.b[word], bits, e));
  });
}

// Calls visit(word, row, column, element in the word) for each element of d that a lane has.
template <class Visit>
void for_each_result(const Operands& operands, const MmaShape& shape, Visit visit) {
  const int in_word = shape.d == Accumulator::f16 ? 2 : 1;
  const auto give = [&](MmaOperands& lane, int word, int e, int row, int column) {
    visit(lane.d[word], row, column, e);
  };
  for_each_element(operands, shape.fragments().d, in_word, give);
}

void multiply_reals(const Operands& operands, const MmaShape& shape) {
  using Row = model::TensorCoreFactors;
  Factors<Row> factors;
  take_factors(operands, shape, factors, [](Row& row, int k, Factor kind, std::uint64_t bits) {
    row.set(k, static_cast<std::uint32_t>(bits), format_of(kind));
  });
  const model::TensorCore core =
      shape.a == Factor::tf32 ? model::kHopperTensorCore : model::kHopperTensorCoreOfHalves;
  if (shape.d == Accumulator::f16) {
    return for_each_result(operands, shape, [&](std::uint64_t& word, int row, int column, int e) {
      const Row &a = factors.a[row], &b = factors.b[column];
      const std::uint64_t half = std::uint64_t{0xffff} << 16 * e;
      const auto before = static_cast<std::uint16_t>(word >> 16 * e);
      const std::uint64_t after = model::tensor_core_dot_f16(a, b, shape.depth, before, core);
      word = (word & ~half) | after << 16 * e;
    });
  }
  std::array<float, kColumns> sums[kMostRows] = {};
  for_each_result(operands, shape, [&](std::uint64_t& word, int row, int column, int) {
    sums[row][column] = std::bit_cast<float>(static_cast<std::uint32_t>(word));
  });
  const model::TensorCoreColumns b(factors.b);
  for (int row = 0; row < shape.fragments().d.majors; ++row) {
    model::add_tensor_core_dots(factors.a[row], b, shape.depth, sums[row], core);
  }
  for_each_result(operands, shape, [&](std::uint64_t& word, int row, int column, int) {
    word = std::bit_cast<std::uint32_t>(sums[row][column]);
  });
}

void multiply_integers(const Operands& operands, const MmaShape& shape) {
  using Row = Numbers<std::int32_t>;
  Factors<Row> factors;
  take_factors(operands, shape, factors, [](Row& row, int k, Factor kind, std::uint64_t bits) {
    row[k] = kind == Factor::s8 ? static_cast<std::int8_t>(bits) : static_cast<std::int32_t>(bits);
  });
  for_each_result(operands, shape, [&](std::uint64_t& word, int row, int column, int) {
    std::int64_t sum = static_cast<std::int32_t>(word);
    for (int k = 0; k < shape.depth; ++k) sum += factors.a[row][k] * factors.b[column][k];
    if (shape.saturates) {
      using Limits = std::numeric_limits<std::int32_t>;
      sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
    }
    word = static_cast<std::uint32_t>(sum);
  });
}

// Products of doubles are added one after the other, and each sum is rounded.
void multiply_doubles(const Operands& operands, const MmaShape& shape) {
  using Row = Numbers<double>;
  Factors<Row> factors;
  take_factors(operands, shape, factors, [](Row& row, int k, Factor, std::uint64_t bits) {
    row[k] = std::bit_cast<double>(bits);
  });
  for_each_result(operands, shape, [&](std::uint64_t& word, int row, int column, int) {
    double sum = std::bit_cast<double>(word);
    for (int k = 0; k < shape.depth; ++k) {
      sum = std::fma(factors.a[row][k], factors.b[column][k], sum);
    }
    word = std::bit_cast<std::uint64_t>(sum);
  });
}

void execute_mma(const Operands& operands) {
  const MmaShape& shape = *static_cast<const MmaOperands*>(operands[0])->shape;
  switch (shape.d) {
    case Accumulator::s32:
      return multiply_integers(operands, shape);
    case Accumulator::f64:
      return multiply_doubles(operands, shape);
    default:
      return multiply_reals(operands, shape);
  }
}

constexpr WarpInstruction kLoad{"ldmatrix", execute_move<false>};
constexpr WarpInstruction kStore{"stmatrix", execute_move<true>};
constexpr WarpInstruction kMma{"mma", execute_mma};

}  // namespace

int MmaShape::bits() const {
  switch (a) {
    case Factor::tf32:
      return 32;
    case Factor::f16:
    case Factor::bf16:
      return 16;
    case Factor::s8:
    case Factor::u8:
      return 8;
    case Factor::f64:
      break;
  }
  return 64;
}
int MmaShape::a_words() const {
  return fragments().a.blocks();
}
int MmaShape::b_words() const {
  return fragments().b.blocks();
}
int MmaShape::d_words() const {
  return fragments().d.elements() / (d == Accumulator::f16 ? 2 : 1);
}
model::MmaFragments MmaShape::fragments() const {
  return model::fragments_of_mma(rows, depth, bits());
}

void move_matrices(
    std::span<std::uint32_t> words, bool transposed, void* row, bool stores, const void* place) {
  const WarpInstruction& instruction = stores ? kStore : kLoad;
  const int matrices = static_cast<int>(words.size());
  const bool gives = running_worker->lane() < kRows * matrices;
  if (gives && !is_shared_memory(row)) {
    const std::string name = instruction.name;
    fault("it gives " + name + " an address that is not in shared memory", place);
  }
  if (BlockObserver* observer = running_worker->observer()) {
    observer->matrix_row(gives ? row : nullptr, matrices, stores, place);
  }
  Rows rows{static_cast<char*>(row), words.data(), matrices, transposed};
  execute_together(instruction, &rows);
}

void multiply_matrices(MmaOperands& operands) {
  Worker& worker = *running_worker;
  if (worker.observer() != nullptr && worker.lane() == 0) {
    worker.observer()->mma(operands.shape->rows, 8, operands.shape->depth);
  }
  execute_together(kMma, &operands);
}

}  // namespace machine

// The instructions of cuda/instructions.h.
void ldmatrix_x4(unsigned (&d)[4], const void* row) {
  machine::move_matrices(d, false, const_cast<void*>(row), false, __builtin_return_address(0));
}

void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  static constexpr machine::MmaShape kShape{
      16, 8, machine::Factor::tf32, machine::Factor::tf32, machine::Accumulator::f32};
  machine::MmaOperands operands{&kShape, {a[0], a[1], a[2], a[3]}, {b[0], b[1]}, {}};
  for (int i = 0; i < 4; ++i) operands.d[i] = std::bit_cast<std::uint32_t>(d[i]);
  machine::multiply_matrices(operands);
  for (int i = 0; i < 4; ++i)
    d[i] = std::bit_cast<float>(static_cast<std::uint32_t>(operands.d[i]));
}

unsigned cvt_rna_tf32(float value) {
  constexpr std::uint32_t kIgnored = (1u << 13) - 1, kHalf = 1u << 12, kNaN = 0x7fffffffu;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return kNaN;
  return std::isinf(value) ? bits : (bits + kHalf) & ~kIgnored;
}

namespace machine {
namespace {

// The multiplication of wmma fragments on a CPU.

using simt::FragmentLayout;
using simt::FragmentPosition;
using simt::WmmaOperation;
using simt::WmmaType;
using Operands = std::array<void*, model::kWarpSize>;

// Larger than what any fragment needs.
constexpr int kFragmentBytes = 64;

struct Transposed {
  unsigned words[kFragmentBytes / sizeof(unsigned)];
  int count;
};

void execute_fragment_transpose(const Operands& operands) {
  constexpr int kSide = 8;
  const auto words_of = [&](int lane) { return static_cast<Transposed*>(operands[lane])->words; };
  const int count = static_cast<Transposed*>(operands[0])->count;
  for (int i = 0; i < count; ++i) {
    std::uint16_t matrix[kSide][kSide];
    for (int l = 0; l < model::kWarpSize; ++l) {
      matrix[l / 4][l % 4 * 2] = static_cast<std::uint16_t>(words_of(l)[i]);
      matrix[l / 4][l % 4 * 2 + 1] = static_cast<std::uint16_t>(words_of(l)[i] >> 16);
    }
    for (int l = 0; l < model::kWarpSize; ++l) {
      const unsigned low = matrix[l % 4 * 2][l / 4], high = matrix[l % 4 * 2 + 1][l / 4];
      words_of(l)[i] = low | high << 16;
    }
  }
}

struct Multiplied {
  alignas(16) std::byte d[kFragmentBytes], a[kFragmentBytes], b[kFragmentBytes];
  WmmaOperation operation;
};

int bytes_of(WmmaType type) {
  switch (type) {
    case WmmaType::s8:
    case WmmaType::u8:
      return 1;
    case WmmaType::f16:
    case WmmaType::bf16:
      return 2;
    case WmmaType::f64:
      return 8;
    default:
      return 4;
  }
}

// One element of a fragment as the tensor core sees it. Every narrow type fits into a float.
template <class T>
T element(WmmaType type, const void* x, int i) {
  const auto bits = [&] { return static_cast<const std::uint16_t*>(x)[i]; };
  switch (type) {
    case WmmaType::f16:
      return static_cast<T>(model::widened(bits(), model::kFp16));
    case WmmaType::bf16:
      return static_cast<T>(model::widened(bits(), model::kBfloat16));
    case WmmaType::tf32:
    case WmmaType::f32:
      return static_cast<T>(static_cast<const float*>(x)[i]);
    case WmmaType::f64:
      return static_cast<T>(static_cast<const double*>(x)[i]);
    case WmmaType::s8:
      return static_cast<T>(static_cast<const std::int8_t*>(x)[i]);
    case WmmaType::u8:
      return static_cast<T>(static_cast<const std::uint8_t*>(x)[i]);
    case WmmaType::s32:
      break;
  }
  return static_cast<T>(static_cast<const std::int32_t*>(x)[i]);
}

void put(WmmaType type, void* x, int i, float value) {
  if (type == WmmaType::f16) {
    static_cast<std::uint16_t*>(x)[i] = model::narrowed(value, model::kFp16);
  } else {
    static_cast<float*>(x)[i] = value;
  }
}
void put(WmmaType, void* x, int i, double value) {
  static_cast<double*>(x)[i] = value;
}
void put(WmmaType, void* x, int i, std::int32_t value) {
  static_cast<std::int32_t*>(x)[i] = value;
}

// A factor, row by row, from the lanes' words.
template <class T, class Of>
std::vector<T> gathered(const FragmentLayout& layout, WmmaType type, Of of) {
  std::vector<T> matrix(layout.majors * layout.minors);
  for (int l = 0; l < model::kWarpSize; ++l) {
    for (int i = 0; i < layout.elements(); ++i) {
      const FragmentPosition at = layout.position(l, i);
      matrix[at.major * layout.minors + at.minor] = element<T>(type, of(l), i);
    }
  }
  return matrix;
}

float dot(
    std::span<const float> a, std::span<const float> b, float c, const WmmaOperation& operation) {
  const bool is_tf32 = operation.factors == WmmaType::tf32;
  return model::tensor_core_dot(
      a, b, c, is_tf32 ? model::kHopperTensorCore : model::kHopperTensorCoreOfHalves);
}

double dot(std::span<const double> a, std::span<const double> b, double c, const WmmaOperation&) {
  for (std::size_t k = 0; k < a.size(); ++k) c = std::fma(a[k], b[k], c);
  return c;
}

std::int32_t dot(
    std::span<const std::int32_t> a, std::span<const std::int32_t> b, std::int32_t c,
    const WmmaOperation& operation) {
  std::int64_t sum = c;
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::int64_t{a[k]} * b[k];
  if (operation.saturates) {
    using Limits = std::numeric_limits<std::int32_t>;
    sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  }
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
}

// The accumulator is where the result goes to.
template <class T>
void multiply(const Operands& operands, const WmmaOperation& operation) {
  const auto of = [&](int lane) { return static_cast<Multiplied*>(operands[lane]); };
  const auto factor = [&](int rows, auto x) {
    return gathered<T>(
        simt::factor_layout(rows, operation.k, operation.factors), operation.factors,
        [&](int lane) { return of(lane)->*x; });
  };
  const std::vector<T> a = factor(operation.m, &Multiplied::a);
  const std::vector<T> b = factor(operation.n, &Multiplied::b);
  const auto row = [&](const std::vector<T>& matrix, int i) {
    return std::span(matrix).subspan(std::size_t(i) * operation.k, operation.k);
  };
  const bool turned = simt::has_columns_as_rows(operation.m, operation.n);
  const FragmentLayout sums = simt::accumulator_layout(operation.m, operation.n);
  for (int l = 0; l < model::kWarpSize; ++l) {
    alignas(16) std::byte before[kFragmentBytes];
    std::memcpy(before, of(l)->d, sizeof before);
    for (int i = 0; i < sums.elements(); ++i) {
      const FragmentPosition at = sums.position(l, i);
      const int m = turned ? at.minor : at.major, n = turned ? at.major : at.minor;
      const T c = element<T>(operation.c, before, i);
      put(operation.d, of(l)->d, i, dot(row(a, m), row(b, n), c, operation));
    }
  }
}

void execute_multiply(const Operands& operands) {
  const WmmaOperation& operation = static_cast<const Multiplied*>(operands[0])->operation;
  switch (operation.factors) {
    case WmmaType::f64:
      return multiply<double>(operands, operation);
    case WmmaType::s8:
    case WmmaType::u8:
      return multiply<std::int32_t>(operands, operation);
    default:
      return multiply<float>(operands, operation);
  }
}

constexpr WarpInstruction kFragmentTranspose{
    "a load or store of a wmma fragment", execute_fragment_transpose};
constexpr WarpInstruction kMultiply{"wmma::mma_sync", execute_multiply};

// nvcc makes instructions of 16 x 8 of it, or of 8 x 8 for doubles.
void tell_observer(const WmmaOperation& operation, BlockObserver& observer) {
  const int rows = operation.factors == WmmaType::f64 ? 8 : 16, columns = 8;
  const int instructions = operation.m * operation.n / (rows * columns);
  for (int i = 0; i < instructions; ++i) observer.mma(rows, columns, operation.k);
}

}  // namespace
}  // namespace machine

void simt::wmma_transpose(unsigned* words, int count) {
  using machine::Transposed;
  auto* const operands = new (machine::running_worker->running().operands.data()) Transposed;
  operands->count = count;
  std::memcpy(operands->words, words, count * sizeof(unsigned));
  machine::execute_together(machine::kFragmentTranspose, operands);
  std::memcpy(words, operands->words, count * sizeof(unsigned));
}

void simt::wmma_multiply(
    const WmmaOperation& operation, void* d, const void* a, const void* b, const void* c) {
  using machine::Multiplied;
  machine::Worker& worker = *machine::running_worker;
  static_assert(sizeof(Multiplied) <= sizeof worker.running().operands);
  if (worker.observer() != nullptr && worker.lane() == 0) {
    machine::tell_observer(operation, *worker.observer());
  }
  const auto bytes = [](const FragmentLayout& layout, WmmaType type) {
    return layout.elements() * machine::bytes_of(type);
  };
  const WmmaType type = operation.factors;
  const FragmentLayout sums = accumulator_layout(operation.m, operation.n);
  auto* const operands = new (worker.running().operands.data()) Multiplied;
  operands->operation = operation;
  std::memcpy(operands->a, a, bytes(factor_layout(operation.m, operation.k, type), type));
  std::memcpy(operands->b, b, bytes(factor_layout(operation.n, operation.k, type), type));
  std::memcpy(operands->d, c, bytes(sums, operation.c));
  machine::execute_together(machine::kMultiply, operands);
  std::memcpy(d, operands->d, bytes(sums, operation.d));
}
