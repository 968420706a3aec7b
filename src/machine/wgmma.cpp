#include "cuda/wgmma.h"

#include <algorithm>
#include <string>

#include "cuda/hopper_instructions.h"
#include "machine/fault.h"
#include "machine/observer.h"
#include "machine/shared_address.h"
#include "machine/warpgroup_actions.h"
#include "machine/worker.h"

namespace machine {
namespace {

// Finds the operand's array in the block's shared memory. Faults if there is none.
void find_operand(OperandTile& tile, int rows, const void* place) {
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
    if (const auto wrong = all[t]->complete(groups_in_flight, checks)) {
      return WrongWgmma{&warpgroup[t], wrong->what, wrong->place};
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
        &warpgroup[t],
        "it does not give the tensor cores the same wgmma instructions, with the same descriptors, "
        "as the first thread of its warpgroup",
        warpgroup[t].wait.place};
  }
  for (std::size_t number = 0; number < issued.size(); ++number) {
    multiply_together(all, number);
  }
  for (WgmmaOfThread* thread : all) thread->give_back();
  return std::nullopt;
}

}  // namespace machine

#define HERE __builtin_return_address(0)
void wgmma_fence() {
  machine::Worker& worker = *machine::running_worker;
  const bool checks = worker.observer() != nullptr;
  worker.running().wgmma.fence(
      checks ? worker.stack_from(__builtin_frame_address(0)) : std::span<const char>());
}

void machine::start_wgmma(Multiply multiply) {
  constexpr int kRows = 64;
  Worker& worker = *running_worker;
  const void* const place = multiply.place;
  const int N = 2 * multiply.registers;
  find_operand(multiply.b, N, place);
  if (multiply.a_tile) find_operand(*multiply.a_tile, kRows, place);
  const std::string wrong = worker.running().wgmma.issue(multiply, worker.observer() != nullptr);
  if (!wrong.empty()) fault(wrong, place);
  BlockObserver* const observer = worker.observer();
  if (observer == nullptr) return;
  using Kind = AsyncAction::Kind;
  const bool is_tf32 = multiply.element == WgmmaElement::tf32;
  const bool b_by_rows = multiply.b.major == model::Major::mn;
  observer->async_action(
      {is_tf32     ? Kind::multiply_tf32
       : b_by_rows ? Kind::multiply_transposed
                   : Kind::multiply,
       static_cast<std::uint32_t>(N), multiply.b.descriptor, nullptr},
      place);
  if (!multiply.a_tile) return;
  const bool a_by_rows = multiply.a_tile->major == model::Major::mn;
  observer->async_action(
      {a_by_rows ? Kind::multiply_by_transposed : Kind::multiply_by, kRows,
       multiply.a_tile->descriptor, nullptr},
      place);
}

void simt::wgmma_tf32(float* d, int registers, const unsigned* a, std::uint64_t b, bool adds) {
  machine::start_wgmma({d, registers, a, {a[0], a[1], a[2], a[3]}, {b}, adds, HERE});
}
void simt::wgmma_bf16(float* d, int registers, std::uint64_t a, std::uint64_t b, bool adds) {
  machine::start_wgmma(
      {d,
       registers,
       nullptr,
       {},
       {b, model::Major::mn},
       adds,
       HERE,
       machine::WgmmaElement::bf16,
       machine::OperandTile{a}});
}

void wgmma_commit_group() {
  machine::running_worker->running().wgmma.commit();
}

void machine::wait_for_wgmma(int groups_in_flight, const void* place) {
  Worker& worker = *running_worker;
  worker.meet_warpgroup(AsyncWait::Together::wgmma, groups_in_flight, place);
  if (BlockObserver* observer = worker.observer()) {
    observer->async_action(
        {AsyncAction::Kind::multiplied, 0, worker.running().wgmma.completed(), nullptr}, place);
  }
}

void simt::wait_for_wgmma_groups(int groups_in_flight) {
  machine::wait_for_wgmma(groups_in_flight, HERE);
}

void machine::set_registers(int count, bool more, const void* place) {
  constexpr int kFewest = 24, kMost = 256;
  if (count < kFewest || count > kMost || count % 8 != 0) {
    machine::fault(
        std::string("it calls setmaxnreg_") + (more ? "inc" : "dec") + " for " +
            std::to_string(count) + " registers; a multiple of 8 from 24 to 256 is possible",
        place);
  }
  running_worker->meet_warpgroup(AsyncWait::Together::registers, count, place);
}

void simt::set_registers(int count, bool more) {
  machine::set_registers(count, more, HERE);
}
#undef HERE
