// ldmatrix, stmatrix and mma: matrices that the lanes of a warp hold together.

#include <algorithm>
#include <string>

#include "simulator/cuda/wgmma.h"
#include "simulator/machine/collectives.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/tensor_cores.h"
#include "simulator/machine/worker.h"

namespace machine::ptx {
namespace {

using simt::WmmaType;

// Null if the lane gives no row of that many matrices.
void* row_of(const Execution& thread, std::size_t address, std::size_t matrices) {
  const bool has_row = static_cast<std::size_t>(thread.worker.lane()) < 8 * matrices;
  return has_row ? pointer_in_shared(thread, address) : nullptr;
}

// The mode is the binary logarithm of the number of matrices; the option: transposed.
template <bool kStores>
void run_matrices(Execution& thread) {
  const bool transposed = thread.now->option != 0;
  const std::span<const Operand> lanes = listed(thread.operand(kStores ? 1 : 0));
  std::uint32_t words[4];
  const std::span<std::uint32_t> used(words, lanes.size());
  void* const row = row_of(thread, kStores ? 0 : 1, lanes.size());
  for (std::size_t n = 0; n < (kStores ? lanes.size() : 0); ++n) {
    words[n] = static_cast<std::uint32_t>(thread.read(lanes[n]));
  }
  move_matrices(used, transposed, row, kStores, thread.place);
  for (std::size_t n = 0; n < (kStores ? 0 : lanes.size()); ++n) thread.write(lanes[n], words[n]);
}

void run_movmatrix(Execution& thread) {
  unsigned word = thread.word(1);
  simt::wmma_transpose(&word, 1, simt::Transposes::for_movmatrix);
  thread.write(thread.operand(0), word);
}

// The shapes that are known here, each once.
constexpr MmaShape kShapes[] = {
    {16, 8, WmmaType::f16, WmmaType::f16, WmmaType::f32},
    {16, 16, WmmaType::f16, WmmaType::f16, WmmaType::f32},
    {16, 8, WmmaType::f16, WmmaType::f16, WmmaType::f16},
    {16, 16, WmmaType::f16, WmmaType::f16, WmmaType::f16},
    {16, 8, WmmaType::bf16, WmmaType::bf16, WmmaType::f32},
    {16, 16, WmmaType::bf16, WmmaType::bf16, WmmaType::f32},
    {16, 4, WmmaType::tf32, WmmaType::tf32, WmmaType::f32},
    {16, 8, WmmaType::tf32, WmmaType::tf32, WmmaType::f32},
    {8, 4, WmmaType::f64, WmmaType::f64, WmmaType::f64},
#define OF_INTEGERS(a, b)                                                        \
  {8, 16, a, b, WmmaType::s32, false}, {8, 16, a, b, WmmaType::s32, true},       \
      {16, 16, a, b, WmmaType::s32, false}, {16, 16, a, b, WmmaType::s32, true}, \
      {16, 32, a, b, WmmaType::s32, false}, {                                    \
    16, 32, a, b, WmmaType::s32, true                                            \
  }
    OF_INTEGERS(WmmaType::s8, WmmaType::s8),
    OF_INTEGERS(WmmaType::s8, WmmaType::u8),
    OF_INTEGERS(WmmaType::u8, WmmaType::s8),
    OF_INTEGERS(WmmaType::u8, WmmaType::u8),
#undef OF_INTEGERS
};

// i.mode: the number of the shape.
void run_mma(Execution& thread) {
  const Instruction& i = *thread.now;
  std::uint64_t a[4], b[4], d[4];
  const auto take = [&](const Operand& from, std::uint64_t* words) {
    for (const Operand& part : listed(from)) *words++ = thread.read(part, i.type);
  };
  take(i.operand(1), a);
  take(i.operand(2), b);
  take(i.operand(3), d);
  multiply_matrices({&kShapes[i.mode], a, b, d}, thread.place);
  std::size_t n = 0;
  for (const Operand& to : listed(i.operand(0))) thread.write(to, d[n++]);
}

// By WmmaType, as the names of instructions have them.
constexpr std::string_view kElements[] = {"f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s32"};

bool is_named(const MmaShape& shape, Modifiers modifiers) {
  const std::string size = "m" + std::to_string(shape.rows) + "n" + std::to_string(shape.columns) +
                           "k" + std::to_string(shape.depth);
  if (!modifiers.take(size) || modifiers.take("satfinite") != shape.saturates) return false;
  const auto has = [&](WmmaType type) { return modifiers.take(kElements[static_cast<int>(type)]); };
  return has(shape.d) && has(shape.a) && has(shape.b) && has(shape.d) && modifiers.empty();
}

bool decode_mma(Instruction& i, Modifiers& modifiers) {
  const auto* const shape = std::ranges::find_if(
      kShapes, [&](const MmaShape& known) { return is_named(known, modifiers); });
  if (shape == std::end(kShapes) || i.line.operands.size() != 4) return false;
  modifiers.clear();
  i.mode = static_cast<std::uint32_t>(shape - std::begin(kShapes));
  i.type = {Base::bits, static_cast<std::uint8_t>(simt::bits_of(shape->d))};
  i.run = run_mma;
  const auto has = [&](int operand, int words, bool (*fits)(const Operand&)) {
    return is_list(i.operand(operand), static_cast<std::size_t>(words), fits);
  };
  return has(0, shape->d_words(), is_output) && has(1, shape->a_words(), is_input) &&
         has(2, shape->b_words(), is_input) && has(3, shape->d_words(), is_input);
}

// wgmma: matrices that the 128 threads of a warpgroup multiply together. Known are the forms for
// tf32, f16 and bf16 that add to floats.

// The tensor cores write the variables themselves, when the wgmma is waited for.
float* variables_of(const Execution& thread, const Operand& d) {
  float* first = nullptr;
  for (std::size_t n = 0; n < d.parts.size(); ++n) {
    const Operand& part = d.parts[n];
    const bool is_operand = part.kind == Operand::Kind::reg &&
                            static_cast<std::size_t>(part.reg) < thread.operands.size();
    const simt::PtxOperand* const operand = is_operand ? &thread.operands[part.reg] : nullptr;
    auto* const variable = is_operand ? static_cast<float*>(operand->variable) : nullptr;
    if (n == 0) first = variable;
    if (variable == nullptr || operand->bytes != sizeof(float) || variable != first + n) {
      fault(
          "its wgmma adds to variables that are not neighbours in one array of floats",
          thread.place);
    }
  }
  return first;
}

// {d...}, a, descriptor of b, whether it adds, sign of a, sign of b {, whether a and b are
// transposed}. The mode is the WmmaType of a and b.
void run_multiply(Execution& thread) {
  const Operand& from = thread.operand(1);
  Multiply multiply{
      variables_of(thread, thread.operand(0)),
      static_cast<int>(thread.operand(0).parts.size()),
      nullptr,
      {},
      {thread.value(2)},
      thread.value(3) != 0,
      thread.place,
      static_cast<WmmaType>(thread.now->mode)};
  if (from.kind == Operand::Kind::vector) {
    for (std::size_t n = 0; n < multiply.a_when_issued.size(); ++n) {
      multiply.a_when_issued[n] = static_cast<unsigned>(thread.read(from.parts[n]));
    }
  } else {
    multiply.a_tile = OperandTile{thread.value(1)};
  }
  if (thread.value(4) != 1 || thread.value(5) != 1) {
    fault("its wgmma changes the sign of an operand, which is not known on the CPU", thread.place);
  }
  const auto major = [&](std::size_t n) {
    return thread.value(n) == 0 ? model::Major::k : model::Major::mn;
  };
  if (thread.count() > 6) multiply.b.major = major(thread.count() - 1);
  if (thread.count() > 7) multiply.a_tile->major = major(6);
  thread.keeps_variables = true;
  start_wgmma(multiply);
}

bool decode_multiply(Instruction& i, Modifiers& modifiers) {
  std::string_view shape = modifiers.take_with_prefix("m64n");
  std::size_t columns = 0;
  for (; !shape.empty() && shape[0] >= '0' && shape[0] <= '9'; shape.remove_prefix(1)) {
    columns = columns * 10 + static_cast<std::size_t>(shape[0] - '0');
  }
  const bool is_tf32 = i.mode == static_cast<std::uint32_t>(WmmaType::tf32);
  if (columns % 8 != 0 || columns < 8 || columns > 256 || i.option != i.mode) return false;
  if (shape != (is_tf32 ? "k8" : "k16")) return false;
  i.run = run_multiply;
  const std::vector<Operand>& operands = i.line.operands;
  if (operands.size() < 6 || operands[0].parts.size() != columns / 2) return false;
  const bool in_registers = operands[1].kind == Operand::Kind::vector;
  const std::size_t transposed = is_tf32 ? 0 : in_registers ? 1 : 2;
  const bool fits =
      in_registers ? operands[1].parts.size() == 4 &&
                         std::all_of(operands[1].parts.begin(), operands[1].parts.end(), is_input)
                   : is_input(operands[1]);
  return fits && operands.size() == 6 + transposed &&
         std::all_of(operands.begin() + 2, operands.end(), is_input);
}

#define ROWS_OF_MATRICES " sync aligned? m8n8 =x1|x2|x4 #trans? shared|shared::cta? b16"
constexpr PtxRow kMatrices[] = {
    {"ldmatrix" ROWS_OF_MATRICES, "Da", run_matrices<false>},
    {"stmatrix" ROWS_OF_MATRICES, "aS", run_matrices<true>},
    {"movmatrix sync aligned m8n8 trans b16", "ds", run_movmatrix},
    decoded("mma sync aligned? row col", decode_mma),
    {"wgmma fence sync aligned", "", RUNS(wgmma_fence())},
    {"wgmma commit_group sync aligned", "", RUNS(wgmma_commit_group())},
    {"wgmma wait_group sync aligned", "s", RUNS(simt::wait_for_wgmma_groups(thread.number(0)))},
    decoded("wgmma mma_async sync aligned f32 =f16|bf16|tf32 #f16|bf16|tf32", decode_multiply)};

}  // namespace

std::span<const PtxRow> matrices() {
  return kMatrices;
}

}  // namespace machine::ptx
