#include "machine/warpgroup.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "machine/own_access.h"
#include "model/tensor_core.h"

namespace machine {
namespace {

constexpr int kDepthBytes = 32;  // of one wgmma: 8 tf32 numbers, or 16 of 16 bits
constexpr int kMostDepth = 16;
constexpr int kPoisonByte = 0xff;  // a NaN

}  // namespace

Accumulators::Accumulators(float* registers, int count)
    : d(registers), values(registers, registers + count) {
  std::memset(d, kPoisonByte, values.size() * sizeof(float));
}

bool Accumulators::are_untouched() const {
  return std::all_of(
      begin(), end(), [](char byte) { return byte == static_cast<char>(kPoisonByte); });
}

void Accumulators::give_back() const {
  std::copy(values.begin(), values.end(), d);
}

void WgmmaOfThread::clear() {
  groups_.clear();
  completing_.clear();
  accumulators_.clear();
  fenced_ = false;
  stack_ = nullptr;
  held_.clear();
  completed_ = 0;
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

std::optional<WgmmaOfThread::Wrong> WgmmaOfThread::complete(int groups_in_flight, bool checks) {
  completing_.clear();
  groups_.wait(groups_in_flight, [&](const Multiply& m) { completing_.push_back(m); });
  for (const Multiply& m : completing_) {
    if (checks && m.a != nullptr &&
        std::memcmp(m.a, m.a_when_issued.data(), sizeof m.a_when_issued) != 0) {
      return Wrong{
          "it changes the registers of a while a wgmma uses them; wait for it with "
          "wgmma_wait_group first, or use other registers",
          m.place};
    }
    if (checks && !find(m.d)->are_untouched()) {
      return Wrong{
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

// A row of a or a column of b.
using Factors = std::array<model::TensorCoreFactor, kMostDepth>;

int depth_of(WgmmaElement element) {
  return element == WgmmaElement::tf32 ? 8 : 16;
}

model::TensorCoreFactor factor_of(WgmmaElement element, std::uint16_t bits) {
  return element == WgmmaElement::f16 ? model::factor_of_f16(bits) : model::factor_of_bf16(bits);
}

// The elements of a word of 32 bits, from `first` on.
void take_apart(WgmmaElement element, std::uint32_t word, model::TensorCoreFactor* first) {
  if (element == WgmmaElement::tf32) {
    *first = model::factor_of_tf32(std::bit_cast<float>(word));
    return;
  }
  for (int half = 0; half < 2; ++half) {
    first[half] = factor_of(element, static_cast<std::uint16_t>(word >> 16 * half));
  }
}

// The rows of an operand in shared memory.
std::vector<Factors> rows_of(WgmmaElement element, const OperandTile& tile, int rows) {
  const model::MatrixDescriptor matrix = model::decoded(tile.descriptor);
  const int elements = depth_of(element) * 4 / kDepthBytes;  // of a word
  std::vector<Factors> all(static_cast<std::size_t>(rows));
  for (int row = 0; row < rows; ++row) {
    if (tile.major == model::Major::mn) {
      for (int k = 0; k < kMostDepth; ++k) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, tile.shared + model::address_in_transposed(matrix, row, k), sizeof bits);
        all[row][k] = factor_of(element, bits);
      }
      continue;
    }
    for (int byte = 0; byte < kDepthBytes; byte += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, tile.shared + model::address_in(matrix, row, byte), sizeof word);
      take_apart(element, word, &all[row][byte / 4 * elements]);
    }
  }
  return all;
}

// The two rows of a that the four threads of a quad have.
std::array<Factors, 2> rows_of_quad(
    std::span<WgmmaOfThread* const> threads, std::size_t number, int t, WgmmaElement element) {
  std::array<Factors, 2> rows;
  const int elements = depth_of(element) * 4 / kDepthBytes;
  for (int i = 0; i < 4; ++i) {
    const Multiply& other = threads[t / 4 * 4 + i]->completing()[number];
    for (int j = 0; j < 4; ++j) {
      take_apart(element, other.a_when_issued[j], &rows[j % 2][(i + j / 2 * 4) * elements]);
    }
  }
  return rows;
}

}  // namespace

void multiply_together(std::span<WgmmaOfThread* const> threads, std::size_t number) {
  const OwnAccess own;
  const Multiply& first = threads[0]->completing()[number];
  const auto depth = static_cast<std::size_t>(depth_of(first.element));
  const std::vector<Factors> b = rows_of(first.element, first.b, 2 * first.registers);
  std::vector<Factors> a;
  if (first.a_tile) a = rows_of(first.element, *first.a_tile, 64);
  const model::TensorCore core = first.element == WgmmaElement::tf32
                                     ? model::kHopperTensorCore
                                     : model::kHopperTensorCoreOfHalves;
  using Row = std::span<const model::TensorCoreFactor>;
  for (int t = 0; t < kWarpgroupThreads; ++t) {
    const int row = t / 32 * 16 + t % 32 / 4;
    const std::array<Factors, 2> rows = first.a_tile
                                            ? std::array<Factors, 2>{a[row], a[row + 8]}
                                            : rows_of_quad(threads, number, t, first.element);
    const std::span<float> d = threads[t]->results_of(threads[t]->completing()[number]);
    for (int i = 0; i < first.registers; ++i) {
      const int column = i / 4 * 8 + t % 4 * 2 + i % 2;
      d[i] = model::tensor_core_dot(
          Row(rows[i / 2 % 2]).first(depth), Row(b[column]).first(depth), first.adds ? d[i] : 0,
          core);
    }
  }
}

}  // namespace machine
