#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "model/tensor_core.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/wgmma.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/tensor_cores.h"
#include "simulator/machine/worker.h"

namespace machine {
namespace {

using simt::WmmaType;

constexpr int kRowsOfA = 64;       // of a, for a warpgroup
constexpr int kDepthBytes = 32;    // of one wgmma: 8 tf32 numbers, or 16 of 16 bits
constexpr int kPoisonByte = 0xff;  // a NaN

}  // namespace

Accumulators::Accumulators(float* registers, int count)
    : d(registers), values(registers, registers + count) {
  std::memset(d, kPoisonByte, values.size() * sizeof(float));
}

bool Accumulators::are_untouched() const {
  const bool first = *begin() == static_cast<char>(kPoisonByte);
  return first && std::memcmp(begin(), begin() + 1, end() - begin() - 1) == 0;
}

void Accumulators::give_back() const {
  std::copy(values.begin(), values.end(), d);
}

void WgmmaOfThread::fence(std::span<const char> stack) {
  fenced_ = true;
  stack_ = stack.data();
  held_.assign(stack.begin(), stack.end());
}

bool WgmmaOfThread::has_changed_since_fence(const void* registers, std::size_t bytes) const {
  const char* const begin = static_cast<const char*>(registers);
  const bool was_there = begin >= stack_ && begin + bytes <= stack_ + held_.size();
  return !was_there || std::memcmp(begin, held_.data() + (begin - stack_), bytes) != 0;
}

Accumulators* WgmmaOfThread::find(const float* d) {
  const auto found = std::find_if(
      accumulators_.begin(), accumulators_.end(), [&](const Accumulators& a) { return a.d == d; });
  return found == accumulators_.end() ? nullptr : &*found;
}

std::string WgmmaOfThread::issue(const Multiply& multiply, bool checks) {
  if (!fenced_) {
    return "it calls wgmma without a wgmma_fence() before; the tensor cores may read its registers "
           "before it has written them";
  }
  Accumulators* accumulators = find(multiply.d);
  const bool checks_a = checks && multiply.a != nullptr;
  if (checks_a && has_changed_since_fence(multiply.a, sizeof multiply.a_when_issued)) {
    return "it changes the registers of a between wgmma_fence() and wgmma; the tensor cores may "
           "not "
           "see the change";
  }
  if (accumulators == nullptr) {
    if (checks && has_changed_since_fence(multiply.d, multiply.registers * sizeof(float))) {
      return "it changes the registers of d between wgmma_fence() and wgmma; the tensor cores may "
             "not see the change";
    }
    accumulators = &accumulators_.emplace_back(multiply.d, multiply.registers);
  } else if (!accumulators->are_untouched()) {
    return "it changes the registers of d while a wgmma uses them; wait for it with "
           "wgmma_wait_group first";
  }
  ++accumulators->multiplies;
  accumulators->place = multiply.place;
  groups_.issue(multiply);
  return "";
}

std::optional<WrongWgmma> WgmmaOfThread::complete(int groups_in_flight, bool checks) {
  completing_.clear();
  groups_.wait(groups_in_flight, [&](const Multiply& m) { completing_.push_back(m); });
  for (const Multiply& m : completing_) {
    if (checks && m.a != nullptr &&
        std::memcmp(m.a, m.a_when_issued.data(), sizeof m.a_when_issued) != 0) {
      return WrongWgmma{
          "it changes the registers of a while a wgmma uses them; wait for it with "
          "wgmma_wait_group first, or use other registers",
          m.place};
    }
    if (checks && !find(m.d)->are_untouched()) {
      return WrongWgmma{
          "it changes the registers of d while a wgmma uses them; wait for it with "
          "wgmma_wait_group first",
          m.place};
    }
  }
  return std::nullopt;
}

std::span<const char> WgmmaOfThread::in_flight() const {
  if (accumulators_.empty()) return {};
  const char *begin = accumulators_[0].begin(), *end = accumulators_[0].end();
  for (const Accumulators& a : accumulators_) {
    begin = std::min(begin, a.begin());
    end = std::max(end, a.end());
  }
  return {begin, end};
}

const void* WgmmaOfThread::adds_to(const void* address) const {
  const auto* const at = static_cast<const char*>(address);
  for (const Accumulators& a : accumulators_) {
    if (at >= a.begin() && at < a.end()) return a.place;
  }
  return nullptr;
}

std::span<float> WgmmaOfThread::results_of(const Multiply& multiply) {
  return find(multiply.d)->values;
}

void WgmmaOfThread::give_back() {
  for (const Multiply& m : completing_) {
    Accumulators& accumulators = *find(m.d);
    if (--accumulators.multiplies > 0) continue;
    accumulators.give_back();
    // The thread itself has not changed these registers.
    const char* const begin = reinterpret_cast<const char*>(m.d);
    const std::size_t bytes = m.registers * sizeof(float);
    if (begin >= stack_ && begin + bytes <= stack_ + held_.size()) {
      std::memcpy(held_.data() + (begin - stack_), begin, bytes);
    }
    std::erase_if(accumulators_, [&](const Accumulators& a) { return a.d == m.d; });
  }
  completed_ += completing_.size();
  completing_.clear();
}

namespace {

using model::TensorCoreFactors;
using Columns = model::TensorCoreColumns;

// Sets the numbers in word `number` of a row, which has 32 bits.
void take_apart(WmmaType element, std::uint32_t word, TensorCoreFactors& row, std::size_t number) {
  if (element == WmmaType::tf32) return row.set(number, word, model::kTf32Format);
  for (int half = 0; half < 2; ++half) {
    row.set(2 * number + half, word >> 16 * half & 0xffff, format_of(element));
  }
}

// The rows of an operand in shared memory.
std::vector<TensorCoreFactors> rows_of(WmmaType element, const OperandTile& tile, int rows) {
  const model::MatrixDescriptor matrix = model::decoded(tile.descriptor);
  std::vector<TensorCoreFactors> all(static_cast<std::size_t>(rows));
  for (int row = 0; row < rows; ++row) {
    if (tile.major == model::Major::mn) {
      for (int k = 0; k < TensorCoreFactors::kMost; ++k) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, tile.shared + model::address_in_transposed(matrix, row, k), sizeof bits);
        all[row].set(k, bits, format_of(element));
      }
      continue;
    }
    for (int number = 0; number < kDepthBytes / 4; ++number) {
      std::uint32_t word = 0;
      std::memcpy(&word, tile.shared + model::address_in(matrix, row, 4 * number), sizeof word);
      take_apart(element, word, all[row], number);
    }
  }
  return all;
}

// The first of the two rows of a and of d that a thread has a part of; the other is the eighth
// after it.
int row_of(int thread) {
  return thread / 32 * 16 + thread % 32 / 4;
}

// The rows of a in the threads' registers.
std::vector<TensorCoreFactors> rows_of_threads(
    WmmaType element, std::span<WgmmaOfThread* const> threads, std::size_t number) {
  std::vector<TensorCoreFactors> all(kRowsOfA);
  for (int t = 0; t < kWarpgroupThreads; ++t) {
    const Multiply& own = threads[t]->completing()[number];
    for (int j = 0; j < 4; ++j) {
      take_apart(element, own.a_when_issued[j], all[row_of(t) + j % 2 * 8], t % 4 + j / 2 * 4);
    }
  }
  return all;
}

}  // namespace

void multiply_together(std::span<WgmmaOfThread* const> threads, std::size_t number) {
  const OwnAccess own;
  const Multiply& first = threads[0]->completing()[number];
  const std::vector<TensorCoreFactors> b = rows_of(first.element, first.b, 2 * first.registers);
  const std::vector<TensorCoreFactors> a = first.a_tile
                                               ? rows_of(first.element, *first.a_tile, kRowsOfA)
                                               : rows_of_threads(first.element, threads, number);
  const bool is_tf32 = first.element == WmmaType::tf32;
  const model::TensorCore core =
      is_tf32 ? model::kHopperTensorCore : model::kHopperTensorCoreOfHalves;
  std::vector<Columns> columns;
  for (int n = 0; n < 2 * first.registers; n += Columns::kColumns) columns.emplace_back(&b[n]);
  // Four threads share two rows of d: of every eight columns, each of them has two.
  constexpr int kSharing = 4, kRows = 2;
  for (int t = 0; t < kWarpgroupThreads; t += kSharing) {
    std::array<std::span<float>, kSharing> d;
    for (int i = 0; i < kSharing; ++i) {
      d[i] = threads[t + i]->results_of(threads[t + i]->completing()[number]);
    }
    for (int row = 0; row < kRows; ++row) {
      for (std::size_t block = 0; block < columns.size(); ++block) {
        const auto sum_of = [&](int column) -> float& {
          return d[column / 2][2 * (kRows * block + row) + column % 2];
        };
        std::array<float, Columns::kColumns> sums = {};
        for (int j = 0; first.adds && j < Columns::kColumns; ++j) sums[j] = sum_of(j);
        const TensorCoreFactors& row_of_a = a[row_of(t) + 8 * row];
        model::add_tensor_core_dots(row_of_a, columns[block], is_tf32 ? 8 : 16, sums, core);
        for (int j = 0; j < Columns::kColumns; ++j) sum_of(j) = sums[j];
      }
    }
  }
}

namespace {

// Finds the operand's array in the block's shared memory. Faults if there is none.
void find_operand(OperandTile& tile, int rows, std::span<FoundOperand> found, const void* place) {
  const std::uint64_t start = tile.descriptor & 0x3fff;  // in units of 16 bytes
  FoundOperand& last = found[(start / 2 ^ start >> 6) % found.size()];
  if (last.rows == rows && last.tile.descriptor == tile.descriptor &&
      last.tile.major == tile.major) {
    tile.shared = last.tile.shared;
    return;
  }
  std::uint32_t begin = ~0u, end = 0;
  for_each_piece(tile, rows, [&](std::uint32_t piece) {
    begin = std::min(begin, piece);
    end = std::max(end, piece + 16);
  });
  const char* const first = pointer_to_shared(begin);
  tile.shared = first - begin;
  if (shared_array_at(first, end - begin) == nullptr) {
    fault(
        "the descriptor of its wgmma describes the shared addresses from " + std::to_string(begin) +
            " to " + std::to_string(end) + ", which are not in one array of shared memory",
        place);
  }
  const model::MatrixDescriptor matrix = model::decoded(tile.descriptor);
  if (matrix.base_offset != 0) {
    fault("the descriptor of its wgmma has a base offset; on the CPU it must be 0", place);
  }
  last = {tile, rows};
}

}  // namespace

std::span<const char> sums_in_flight() {
  return running_worker->running().wgmma.in_flight();
}

const void* adder_of(const void* address) {
  return running_worker->running().wgmma.adds_to(address);
}

std::optional<WrongWgmma> complete_wgmma(
    std::span<Thread> warpgroup, int groups_in_flight, bool checks) {
  std::array<WgmmaOfThread*, kWarpgroupThreads> all;
  for (int t = 0; t < kWarpgroupThreads; ++t) {
    all[t] = &warpgroup[t].wgmma;
    if (auto wrong = all[t]->complete(groups_in_flight, checks)) {
      wrong->thread = &warpgroup[t];
      return wrong;
    }
  }
  const auto issued = all[0]->completing();
  for (int t = 1; t < kWarpgroupThreads; ++t) {
    const bool same = std::equal(
        issued.begin(), issued.end(), all[t]->completing().begin(), all[t]->completing().end(),
        [](const Multiply& a, const Multiply& b) {
          return a.b == b.b && a.registers == b.registers && a.adds == b.adds &&
                 a.place == b.place && a.element == b.element && a.a_tile == b.a_tile;
        });
    if (same) continue;
    return WrongWgmma{
        "it does not give the tensor cores the same wgmma instructions, with the same descriptors, "
        "as the first thread of its warpgroup",
        warpgroup[t].wait.place, &warpgroup[t]};
  }
  for (std::size_t number = 0; number < issued.size(); ++number) {
    multiply_together(all, number);
  }
  for (WgmmaOfThread* thread : all) thread->give_back();
  return std::nullopt;
}

}  // namespace machine

#define HERE machine::place_of_call(__builtin_return_address(0))
void wgmma_fence() {
  machine::Worker& worker = *machine::running_worker;
  const bool checks = worker.observer() != nullptr;
  worker.running().wgmma.fence(
      checks ? worker.stack_from(__builtin_frame_address(0)) : std::span<const char>());
}

void machine::start_wgmma(Multiply multiply) {
  Worker& worker = *running_worker;
  const void* const place = multiply.place;
  const int N = 2 * multiply.registers;
  find_operand(multiply.b, N, worker.found_operands(), place);
  if (multiply.a_tile) find_operand(*multiply.a_tile, kRowsOfA, worker.found_operands(), place);
  const std::string wrong = worker.running().wgmma.issue(multiply, worker.observer() != nullptr);
  if (!wrong.empty()) fault(wrong, place);
  const auto tell_of = [&](Action::Kind kind, int rows, const OperandTile& tile) {
    Action action{kind, static_cast<std::uint32_t>(rows), tile.descriptor};
    action.depth = multiply.element == WmmaType::tf32 ? 8 : 16;
    action.major = tile.major;
    tell(action, place);
  };
  tell_of(Action::Kind::multiply, N, multiply.b);
  if (multiply.a_tile) tell_of(Action::Kind::multiply_by, kRowsOfA, *multiply.a_tile);
}

void simt::wgmma_tf32(float* d, int registers, const unsigned* a, std::uint64_t b, bool adds) {
  machine::start_wgmma({d, registers, a, {a[0], a[1], a[2], a[3]}, {b}, adds, HERE});
}
void simt::wgmma_bf16(float* d, int registers, std::uint64_t a, std::uint64_t b, bool adds) {
  using machine::OperandTile;
  const OperandTile by_rows{b, model::Major::mn}, a_tile{a};
  machine::start_wgmma({d, registers, nullptr, {}, by_rows, adds, HERE, WmmaType::bf16, a_tile});
}
void simt::wgmma_f16(float* d, int registers, std::uint64_t a, std::uint64_t b, bool adds) {
  using machine::OperandTile;
  const OperandTile a_tile{a};
  machine::start_wgmma({d, registers, nullptr, {}, {b}, adds, HERE, WmmaType::f16, a_tile});
}

void wgmma_commit_group() {
  machine::running_worker->running().wgmma.commit();
}

void simt::wait_for_wgmma_groups(int groups_in_flight) {
  using machine::Action, machine::AsyncWait;
  const void* const place = HERE;
  machine::Worker& worker = *machine::running_worker;
  worker.meet_warpgroup(AsyncWait::Together::wgmma, groups_in_flight, place);
  const std::uint64_t completed = worker.running().wgmma.completed();
  machine::tell({.kind = Action::Kind::multiplied, .value = completed}, place);
}

void simt::set_registers(int count, bool more) {
  const void* const place = HERE;
  constexpr int kFewest = 24, kMost = 256;
  if (count < kFewest || count > kMost || count % 8 != 0) {
    machine::fault(
        std::string("it calls setmaxnreg_") + (more ? "inc" : "dec") + " for " +
            std::to_string(count) + " registers; a multiple of 8 from 24 to 256 is possible",
        place);
  }
  machine::running_worker->meet_warpgroup(machine::AsyncWait::Together::registers, count, place);
}
#undef HERE
