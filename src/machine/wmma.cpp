// The multiplication of wmma fragments on a CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <vector>

#include "cuda/wmma_layout.h"
#include "machine/collectives.h"
#include "machine/observer.h"
#include "machine/worker.h"
#include "model/tensor_core.h"

namespace machine {
namespace {

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

void execute_transpose(const Operands& operands) {
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

// A factor, row by row, from what the lanes hold.
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

constexpr WarpInstruction kTranspose{"a load or store of a wmma fragment", execute_transpose};
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
  machine::execute_together(machine::kTranspose, operands);
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
