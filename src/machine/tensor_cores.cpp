// The instructions of cuda/instructions.h on a CPU.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "cuda/instructions.h"
#include "machine/collectives.h"
#include "machine/fault.h"
#include "machine/kernel_memory.h"
#include "machine/observer.h"
#include "machine/own_access.h"
#include "machine/worker.h"
#include "model/tensor_core.h"

namespace machine {
namespace {

using Operands = std::array<void*, model::kWarpSize>;

struct Ldmatrix {
  const void* row;
  unsigned* words;
};

void execute_ldmatrix_x4(const Operands& operands) {
  constexpr int kMatrices = 4, kRows = 8, kWords = 4;
  unsigned rows[model::kWarpSize][kWords];
  {
    const OwnAccess own;
    for (int l = 0; l < model::kWarpSize; ++l) {
      std::memcpy(rows[l], static_cast<const Ldmatrix*>(operands[l])->row, sizeof rows[l]);
    }
  }
  for (int l = 0; l < model::kWarpSize; ++l) {
    unsigned* const words = static_cast<const Ldmatrix*>(operands[l])->words;
    for (int i = 0; i < kMatrices; ++i) words[i] = rows[kRows * i + l / kWords][l % kWords];
  }
}

struct Mma {
  float* d;
  const unsigned *a, *b;
};

// d (16 x 8) += a (16 x 8) * b (8 x 8), with the elements where the lanes hold them.
void execute_mma_m16n8k8(const Operands& operands) {
  constexpr int kRows = 16, kColumns = 8, kDepth = 8;
  float a[kRows][kDepth], b[kColumns][kDepth];
  const auto of = [&](int lane) { return static_cast<const Mma*>(operands[lane]); };
  for (int l = 0; l < model::kWarpSize; ++l) {
    for (int i = 0; i < 4; ++i) {
      a[l / 4 + i % 2 * 8][l % 4 + i / 2 * 4] = std::bit_cast<float>(of(l)->a[i]);
    }
    for (int i = 0; i < 2; ++i) b[l / 4][l % 4 + i * 4] = std::bit_cast<float>(of(l)->b[i]);
  }
  for (int l = 0; l < model::kWarpSize; ++l) {
    for (int i = 0; i < 4; ++i) {
      float& d = of(l)->d[i];
      const int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
      d = model::tensor_core_dot(a[row], b[column], d, model::kHopperTensorCore);
    }
  }
}

constexpr WarpInstruction kLdmatrixX4{"ldmatrix", execute_ldmatrix_x4};
constexpr WarpInstruction kMmaM16n8k8{"mma", execute_mma_m16n8k8};

}  // namespace
}  // namespace machine

void ldmatrix_x4(unsigned (&d)[4], const void* row) {
  const void* const place = __builtin_return_address(0);
  machine::Worker& worker = *machine::running_worker;
  const auto address = reinterpret_cast<std::uintptr_t>(row);
  const std::span<const std::byte> shared = machine::thread_locals();
  if (address - reinterpret_cast<std::uintptr_t>(shared.data()) >= shared.size()) {
    machine::fault("it gives ldmatrix an address that is not in shared memory", place);
  }
  if (machine::BlockObserver* observer = worker.observer()) observer->ldmatrix(row, place);
  machine::Ldmatrix operands{row, d};
  machine::execute_together(machine::kLdmatrixX4, &operands);
}

void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  machine::Worker& worker = *machine::running_worker;
  if (worker.observer() != nullptr && worker.lane() == 0) worker.observer()->mma();
  machine::Mma operands{d, a, b};
  machine::execute_together(machine::kMmaM16n8k8, &operands);
}

unsigned cvt_rna_tf32(float value) {
  constexpr std::uint32_t kIgnored = (1u << 13) - 1, kHalf = 1u << 12, kNaN = 0x7fffffffu;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return kNaN;
  return std::isinf(value) ? bits : (bits + kHalf) & ~kIgnored;
}
