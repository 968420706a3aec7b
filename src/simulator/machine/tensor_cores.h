// Matrices that the 32 lanes of a warp hold together. PTX ISA 9.0, "Warp-level matrix
// instructions". All lanes call each of these functions together. `place` is a return address in
// the kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/tensor_core.h"
#include "simulator/cuda/wmma_layout.h"
#include "simulator/machine/async_copies.h"

namespace machine {

// One, two or four matrices of 8 rows of 16 bytes in shared memory. Lane l gives the address of row
// l % 8 of matrix l / 8, and has one word of each matrix: word l % 4 of row l / 4 or, if they are
// `transposed`, the 16-bit elements in rows 2 * (l % 4) and the next, column l / 4. Loads the
// words, or stores them.
void move_matrices(
    std::span<std::uint32_t> words, bool transposed, void* row, bool stores, const void* place);

inline model::NarrowFormat format_of(simt::WmmaType type) {
  return type == simt::WmmaType::f16    ? model::kFp16
         : type == simt::WmmaType::bf16 ? model::kBfloat16
                                        : model::kTf32Format;
}

// d (rows x columns) += a (rows x depth) * b (depth x columns)
struct MmaShape {
  int rows, depth;
  simt::WmmaType a, b, d;
  bool saturates = false;
  int columns = 8;

  model::MmaFragments fragments() const {
    return {
        simt::factor_layout(rows, depth, a),
        simt::factor_layout(columns, depth, b),
        {rows, columns, 2}};
  }
  // Per lane, of 32 bits, or of 64 for f64.
  int a_words() const { return fragments().a.blocks(); }
  int b_words() const { return fragments().b.blocks(); }
  int d_words() const { return fragments().d.elements() / (d == simt::WmmaType::f16 ? 2 : 1); }
};

// A lane's elements in its words, in the order of the shape's fragments.
struct MmaOperands {
  const MmaShape* shape;
  const std::uint64_t *a, *b;
  std::uint64_t* d;
};
void multiply_matrices(const MmaOperands& operands, const void* place);

// wgmma: the operands that one thread of a warpgroup has given to the tensor cores, and how they
// multiply.

inline constexpr int kWarpgroupThreads = 128;

// An operand in shared memory: the descriptor, and how the instruction reads what it describes.
struct OperandTile {
  std::uint64_t descriptor;
  model::Major major = model::Major::k;
  const char* shared = nullptr;  // its array's memory, as if that began at the shared address 0
  bool operator==(const OperandTile&) const = default;
};

// Where an operand of that many rows was found: for the threads of a warpgroup, which all ask.
struct FoundOperand {
  OperandTile tile;
  int rows = 0;
};

struct Multiply {
  float* d;
  int registers;
  const unsigned* a;  // null: the thread gave values, which cannot change
  std::array<unsigned, 4> a_when_issued;
  OperandTile b;
  bool adds;
  const void* place;
  simt::WmmaType element = simt::WmmaType::tf32;     // of a and b: that, f16 or bf16
  std::optional<OperandTile> a_tile = std::nullopt;  // in place of registers
};

// From the issue until the wait, the results are here and the thread's registers are poisoned.
class Accumulators {
 public:
  // Poisons the values of a thread's registers.
  Accumulators(float* d, int registers);
  bool are_untouched() const;
  void give_back() const;

  const char* begin() const { return reinterpret_cast<const char*>(d); }
  const char* end() const { return begin() + values.size() * sizeof(float); }

  float* d;
  std::vector<float> values;
  int multiplies = 0;           // that are not complete
  const void* place = nullptr;  // of the last
};

struct Thread;

struct WrongWgmma {
  std::string what;
  const void* place;
  const Thread* thread = nullptr;
};

class WgmmaOfThread {
 public:
  // It has not multiplied.
  bool is_idle() const { return !fenced_ && groups_.is_idle(); }
  // The thread's stack as it is at a wgmma_fence: the tensor cores may use registers that have not
  // changed since. Empty: any registers.
  void fence(std::span<const char> stack);
  // Returns a clause about the error; empty: none.
  std::string issue(const Multiply& multiply, bool checks);
  void commit() { groups_.commit(); }

  // The multiplications that a wait completes, oldest first. Returns what is wrong with one.
  std::optional<WrongWgmma> complete(int groups_in_flight, bool checks);
  std::span<const Multiply> completing() const { return completing_; }
  std::span<float> results_of(const Multiply& multiply);
  // Their results are in the thread's registers from now on.
  void give_back();
  std::uint64_t completed() const { return completed_; }
  // The registers that the tensor cores add to, and perhaps some between them.
  std::span<const char> in_flight() const;
  // The last wgmma that adds to that register, as a place in the code; null if none does.
  const void* adds_to(const void* address) const;

 private:
  Accumulators* find(const float* d);
  bool has_changed_since_fence(const void* registers, std::size_t bytes) const;

  AsyncGroups<Multiply> groups_;
  std::vector<Multiply> completing_;
  std::vector<Accumulators> accumulators_;
  bool fenced_ = false;
  const char* stack_ = nullptr;  // at the last fence ...
  std::vector<char> held_;       // ... held this
  std::uint64_t completed_ = 0;
};

// Completes the same multiplication of all threads of a warpgroup.
void multiply_together(std::span<WgmmaOfThread* const> threads, std::size_t number);

// Calls visit(shared address) for each 16 bytes of an operand of that many rows, a multiple of 8.
template <class Visit>
void for_each_piece(const OperandTile& tile, int rows, Visit visit) {
  const model::MatrixDescriptor matrix = model::decoded(tile.descriptor);
  constexpr int kDepth = 16, kElements = 8;  // those of 16 bits in 32 bytes and in a piece
  if (tile.major == model::Major::k) {
    for (int row = 0; row < rows; ++row) {
      for (int byte = 0; byte < 2 * kDepth; byte += 16) visit(address_in(matrix, row, byte));
    }
    return;
  }
  for (int k = 0; k < kDepth; ++k) {
    for (int row = 0; row < rows; row += kElements) visit(address_in_transposed(matrix, row, k));
  }
}

// Operations of a thread together with the other threads of its warpgroup. `place` is a return
// address in the kernel.

// d += a * b or, if it does not add, d = a * b.
void start_wgmma(Multiply multiply);

}  // namespace machine
