#include "simulator/machine/tensor_cores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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
using simt::WmmaType;

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

template <class Row>
struct Factors {
  std::vector<Row> a, b;  // the rows of a, and the columns of b
  explicit Factors(const MmaShape& shape) : a(shape.rows), b(shape.columns) {}
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
  const int bits = simt::bits_of(shape.a);
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
  const int in_word = shape.d == WmmaType::f16 ? 2 : 1;
  const auto give = [&](MmaOperands& lane, int word, int e, int row, int column) {
    visit(lane.d[word], row, column, e);
  };
  for_each_element(operands, shape.fragments().d, in_word, give);
}

void multiply_reals(const Operands& operands, const MmaShape& shape) {
  using Row = model::TensorCoreFactors;
  Factors<Row> factors(shape);
  take_factors(operands, shape, factors, [](Row& row, int k, WmmaType kind, std::uint64_t bits) {
    row.set(k, static_cast<std::uint32_t>(bits), format_of(kind));
  });
  const model::TensorCore core =
      shape.a == WmmaType::tf32 ? model::kHopperTensorCore : model::kHopperTensorCoreOfHalves;
  if (shape.d == WmmaType::f16) {
    return for_each_result(operands, shape, [&](std::uint64_t& word, int row, int column, int e) {
      const Row &a = factors.a[row], &b = factors.b[column];
      const std::uint64_t half = std::uint64_t{0xffff} << 16 * e;
      const auto before = static_cast<std::uint16_t>(word >> 16 * e);
      const std::uint64_t after = model::tensor_core_dot_f16(a, b, shape.depth, before, core);
      word = (word & ~half) | after << 16 * e;
    });
  }
  float sums[32][16];  // of the largest shape
  for_each_result(operands, shape, [&](std::uint64_t& word, int row, int column, int) {
    sums[row][column] = std::bit_cast<float>(static_cast<std::uint32_t>(word));
  });
  constexpr int kColumns = model::TensorCoreColumns::kColumns;
  for (int first = 0; first < shape.columns; first += kColumns) {
    const model::TensorCoreColumns b(&factors.b[first]);
    for (int row = 0; row < shape.rows; ++row) {
      const std::span<float, kColumns> of_row(&sums[row][first], kColumns);
      model::add_tensor_core_dots(factors.a[row], b, shape.depth, of_row, core);
    }
  }
  for_each_result(operands, shape, [&](std::uint64_t& word, int row, int column, int) {
    word = std::bit_cast<std::uint32_t>(sums[row][column]);
  });
}

void multiply_integers(const Operands& operands, const MmaShape& shape) {
  using Row = Numbers<std::int32_t>;
  Factors<Row> factors(shape);
  take_factors(operands, shape, factors, [](Row& row, int k, WmmaType kind, std::uint64_t bits) {
    row[k] =
        kind == WmmaType::s8 ? static_cast<std::int8_t>(bits) : static_cast<std::int32_t>(bits);
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
  Factors<Row> factors(shape);
  take_factors(operands, shape, factors, [](Row& row, int k, WmmaType, std::uint64_t bits) {
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
    case WmmaType::s32:
      return multiply_integers(operands, shape);
    case WmmaType::f64:
      return multiply_doubles(operands, shape);
    default:
      return multiply_reals(operands, shape);
  }
}

constexpr WarpInstruction kLoad{"ldmatrix", execute_move<false>};
constexpr WarpInstruction kStore{"stmatrix", execute_move<true>};
constexpr WarpInstruction kMma{"mma", execute_mma}, kWmma{"wmma::mma_sync", execute_mma};

void multiply(MmaOperands operands, const WarpInstruction& instruction, const void* place) {
  const MmaShape& shape = *operands.shape;
  // nvcc makes instructions of 16 x 8 of it, or of 8 x 8 for doubles.
  const int rows = std::min(shape.rows, 16), columns = 8;
  const int instructions = shape.rows * shape.columns / (rows * columns);
  Action mma{Action::Kind::mma, static_cast<std::uint32_t>(rows)};
  mma.value = simt::bits_of(shape.a);
  mma.depth = shape.depth;
  for (int i = 0; i < instructions; ++i) tell(mma, place);
  execute_together(instruction, &operands);
}

}  // namespace

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

void multiply_matrices(const MmaOperands& operands, const void* place) {
  multiply(operands, kMma, place);
}

}  // namespace machine

// The instructions of cuda/instructions.h.
void ldmatrix_x4(unsigned (&d)[4], const void* row) {
  machine::move_matrices(d, false, const_cast<void*>(row), false, __builtin_return_address(0));
}

void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  using simt::WmmaType;
  static constexpr machine::MmaShape kShape{16, 8, WmmaType::tf32, WmmaType::tf32, WmmaType::f32};
  const std::uint64_t of_a[] = {a[0], a[1], a[2], a[3]}, of_b[] = {b[0], b[1]};
  std::uint64_t sums[4];
  for (int i = 0; i < 4; ++i) sums[i] = std::bit_cast<std::uint32_t>(d[i]);
  machine::multiply_matrices({&kShape, of_a, of_b, sums}, __builtin_return_address(0));
  for (int i = 0; i < 4; ++i) d[i] = std::bit_cast<float>(static_cast<std::uint32_t>(sums[i]));
}

unsigned cvt_rna_tf32(float value) {
  constexpr std::uint32_t kIgnored = (1u << 13) - 1, kHalf = 1u << 12, kNaN = 0x7fffffffu;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return kNaN;
  return std::isinf(value) ? bits : (bits + kHalf) & ~kIgnored;
}

namespace machine {
namespace {

// Loads and stores of fragments across their rows.

struct Transposed {
  unsigned* words;
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

constexpr WarpInstruction kTransposes[] = {
    {"movmatrix", execute_fragment_transpose},
    {"wmma::load_matrix_sync", execute_fragment_transpose},
    {"wmma::store_matrix_sync", execute_fragment_transpose}};  // by simt::Transposes

}  // namespace
}  // namespace machine

void simt::wmma_transpose(unsigned* words, int count, Transposes purpose) {
  machine::Transposed operands{words, count};
  machine::execute_together(machine::kTransposes[static_cast<int>(purpose)], &operands);
}

void simt::wmma_multiply(
    const WmmaOperation& of, void* d, const void* a, const void* b, const void* c) {
  // Of 8 x 32, the transposed is computed: its factors change places.
  const bool turned = has_columns_as_rows(of.m, of.n);
  if (turned) std::swap(a, b);
  const WmmaType sums = of.d == WmmaType::f16 ? WmmaType::f32 : of.d;
  const machine::MmaShape shape{
      turned ? of.n : of.m, of.k, of.factors, of.factors, sums, of.saturates, turned ? of.m : of.n};
  std::uint64_t of_a[8] = {}, of_b[8] = {}, words[8] = {};
  const std::size_t bytes = of.factors == WmmaType::f64 ? 8 : 4;  // of a word
  const auto take = [&](std::uint64_t& word, const void* from, int i) {
    std::memcpy(&word, static_cast<const char*>(from) + i * bytes, bytes);
  };
  for (int i = 0; i < shape.a_words(); ++i) take(of_a[i], a, i);
  for (int i = 0; i < shape.b_words(); ++i) take(of_b[i], b, i);
  for (int i = 0; i < shape.d_words(); ++i) {
    if (of.c != WmmaType::f16) {
      take(words[i], c, i);
    } else {
      const std::uint16_t half = static_cast<const std::uint16_t*>(c)[i];
      words[i] = std::bit_cast<std::uint32_t>(model::widened(half, model::kFp16));
    }
  }
  machine::multiply({&shape, of_a, of_b, words}, machine::kWmma, __builtin_return_address(0));
  for (int i = 0; i < shape.d_words(); ++i) {
    if (of.d != WmmaType::f16) {
      std::memcpy(static_cast<char*>(d) + i * bytes, &words[i], bytes);
    } else {
      const auto sum = std::bit_cast<float>(static_cast<std::uint32_t>(words[i]));
      static_cast<std::uint16_t*>(d)[i] = model::narrowed(sum, model::kFp16);
    }
  }
}
