// Barriers of a block and of some of its warps, barriers in shared memory (mbarrier), fences, and
// shuffles.

#include <bit>

#include "simulator/cuda/collectives.h"
#include "simulator/machine/collectives.h"
#include "simulator/machine/copy_engine.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/position.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/tensor_cores.h"
#include "simulator/machine/worker.h"

namespace machine::ptx {
namespace {

// bar.sync id {, threads}; without a number, all threads of the block.
void run_sync(Execution& thread, const Instruction& i) {
  const int all = thread.worker.block_threads();
  const int id = static_cast<int>(thread.read(i.operand(0)));
  const int threads =
      i.line.operands.size() > 1 ? static_cast<int>(thread.read(i.operand(1))) : all;
  if (id == 0 && threads == all) {
    simt::block_barrier();
  } else {
    sync_named_barrier(id, threads, thread.place);
  }
}
void run_arrive_named(Execution& thread, const Instruction& i) {
  arrive_at_named_barrier(
      static_cast<int>(thread.read(i.operand(0))), static_cast<int>(thread.read(i.operand(1))),
      thread.place);
}
void run_warp_sync(Execution& thread, const Instruction& i) {
  sync_warp(static_cast<std::uint32_t>(thread.read(i.operand(0))), thread.place);
}
void run_nothing(Execution&, const Instruction&) {}
void run_cluster_wait(Execution&, const Instruction&) {
  simt::block_barrier();
}

void run_fence(Execution& thread, const Instruction& i) {
  fence(thread, i.mode >= 2);
}
void run_barrier_fence(Execution& thread, const Instruction&) {
  fence_mbarriers(thread.place);
}
void run_proxy_fence(Execution& thread, const Instruction&) {
  fence_async_proxy(thread.place);
}

// mbarrier. A token is the number of the phase in progress.
void run_init(Execution& thread, const Instruction& i) {
  init_mbarrier(
      pointer_in_shared(thread, i, i.operand(0)), static_cast<unsigned>(thread.read(i.operand(1))),
      thread.place);
}
void run_inval(Execution& thread, const Instruction& i) {
  invalidate_mbarrier(pointer_in_shared(thread, i, i.operand(0)), thread.place);
}
// A barrier of another block gives no token: the address is then the first operand.
void run_mbarrier_arrive(Execution& thread, const Instruction& i) {
  const std::size_t at = is_address(i.operand(0)) ? 0 : 1;
  void* const barrier = pointer_in_shared(thread, i, i.operand(at));
  const bool has_number = i.line.operands.size() > at + 1;
  const auto number = has_number ? static_cast<unsigned>(thread.read(i.operand(at + 1))) : 1;
  if (i.option == 1) expect_at_mbarrier(barrier, number, thread.place);
  thread.write(i.operand(0), arrive_at_mbarrier(barrier, i.option == 1 ? 1 : number, thread.place));
}
void run_expect(Execution& thread, const Instruction& i) {
  expect_at_mbarrier(
      pointer_in_shared(thread, i, i.operand(0)), static_cast<unsigned>(thread.read(i.operand(1))),
      thread.place);
}
// For a phase's number, which an arrival gave, or for its parity. test_wait need not wait, but a
// thread that calls it repeatedly lets the others run here.
void run_mbarrier_wait(Execution& thread, const Instruction& i) {
  const auto phase = static_cast<unsigned>(thread.read(i.operand(2)));
  const unsigned parity = i.option == 1 ? checked_parity(phase, thread.place) : phase % 2;
  const bool complete =
      wait_for_mbarrier(pointer_in_shared(thread, i, i.operand(1)), parity, thread.place);
  thread.write(i.operand(0), complete);
}

enum ShuffleMode : std::uint32_t { kUp, kDown, kButterfly, kIndex };

// shfl.sync.mode.b32 d|p, a, b, c, mask: c has the last lane of a segment, and in its bits 8 to 12
// which bits of a lane's number name its segment. PTX ISA 9.0, "shfl.sync".
void run_shfl(Execution& thread, const Instruction& i) {
  const int lane = thread.worker.lane();
  const auto word = [&](int n) { return static_cast<std::uint32_t>(thread.read(i.operand(n))); };
  const int b = static_cast<int>(word(2) & 0x1f), c = static_cast<int>(word(3));
  const int segment = c >> 8 & 0x1f;
  const int last = (lane & segment) | (c & 0x1f & ~segment);
  const int sources[] = {lane - b, lane + b, lane ^ b, (lane & segment) | (b & ~segment)};
  int source = sources[i.mode];
  const bool inside = i.mode == kUp ? source >= last : source <= last;
  if (!inside) source = lane;
  const std::uint64_t received = shuffle_in_warp(word(4), word(1), source, warpSize, thread.place);
  const Operand& to = i.operand(0);
  thread.write(to, static_cast<std::uint32_t>(received));
  if (to.second >= 0) thread.registers[to.second] = inside;
}

// d, the lane's vote, mask.
void run_vote(Execution& thread, const Instruction& i) {
  const bool vote = thread.is_true(i.operand(1));
  const auto mask = static_cast<std::uint32_t>(thread.read(i.operand(2)));
  const std::uint32_t yes = simt::warp_ballot(mask, vote);
  if (i.mode == 0) return thread.write(i.operand(0), yes);
  const bool all = yes == simt::warp_ballot(mask, true);
  const bool results[] = {yes != 0, all, all || yes == 0};
  thread.write(i.operand(0), results[i.mode - 1]);
}
// The first lane is the leader.
void run_elect(Execution& thread, const Instruction& i) {
  const std::uint32_t lanes =
      simt::warp_ballot(static_cast<std::uint32_t>(thread.read(i.operand(1))), true);
  const int leader = std::countr_zero(lanes);
  thread.write(i.operand(0), static_cast<std::uint64_t>(leader));
  if (i.operand(0).second >= 0) {
    thread.registers[i.operand(0).second] = thread.worker.lane() == leader;
  }
}
template <class T>
void run_redux(Execution& thread, const Instruction& i) {
  const auto mask = static_cast<unsigned>(thread.read(i.operand(2)));
  const T value = static_cast<T>(thread.read(i.operand(1)));
  using Reduce = T(unsigned mask, T value);
  constexpr Reduce* kFirst[] = {__reduce_add_sync, __reduce_min_sync, __reduce_max_sync};
  constexpr unsigned (*kOperations[])(unsigned, unsigned) = {
      __reduce_and_sync, __reduce_or_sync, __reduce_xor_sync};
  const T result =
      i.mode < 3 ? kFirst[i.mode](mask, value)
                 : static_cast<T>(kOperations[i.mode - 3](mask, static_cast<unsigned>(value)));
  thread.write(i.operand(0), static_cast<unsigned>(result));
}

#define IN_SHARED " shared|shared::cta|shared::cluster? "
#define ORDER " release|acquire|relaxed? cta|cluster?"
constexpr PtxRow kBarriers[] = {
    {"bar|barrier cta? sync aligned?", "s?s", run_sync},
    {"bar|barrier cta? arrive aligned?", "ss", run_arrive_named},
    {"bar|barrier warp sync", "s", run_warp_sync},
    // A cluster is one block here: arriving does not wait, and the wait is the block's barrier.
    {"bar|barrier cluster arrive release|relaxed? aligned?", "", run_nothing},
    {"bar|barrier cluster wait acquire? aligned?", "", run_cluster_wait},
    {"membar =cta|cluster|gl|sys", "", run_fence},
    {"membar proxy async", "", run_proxy_fence},
    {"fence sc|acq_rel|acquire|release? =cta|cluster|gpu|sys", "", run_fence},
    {"fence mbarrier_init release cluster", "", run_barrier_fence},
    {"fence proxy async|async::generic? async.shared::cta|shared::cta|shared::cluster|global?", "",
     run_proxy_fence},
    {"mbarrier init" IN_SHARED "b64", "as", run_init},
    {"mbarrier inval" IN_SHARED "b64", "a", run_inval},
    {"mbarrier arrive #expect_tx?" IN_SHARED "b64" ORDER, "da?s", run_mbarrier_arrive},
    {"mbarrier arrive #expect_tx?" IN_SHARED "b64" ORDER, "a?s", run_mbarrier_arrive},
    {"mbarrier expect_tx" IN_SHARED "b64" ORDER, "as", run_expect},
    {"mbarrier try_wait|test_wait #parity?" IN_SHARED "b64?" ORDER, "das?s", run_mbarrier_wait},
    {"shfl sync =up|down|bfly|idx b32", "dssss", run_shfl},
    {"vote sync =ballot|any|all|uni b32|pred", "dss", run_vote},
    {"elect sync", "ds", run_elect},
    {"redux sync =add|min|max s32", "dss", run_redux<int>},
    {"redux sync =add|min|max|and|or|xor u32|b32", "dss", run_redux<unsigned>}};

// Jumps, and instructions that have no effect here.

void run_bra(Execution& thread, const Instruction& i) {
  thread.next = i.operand(0).number;
}
void run_trap(Execution& thread, const Instruction& i) {
  fault("its inline PTX comes to \"" + i.line.name() + "\"", thread.place);
}
void run_sleep(Execution& thread, const Instruction&) {
  thread.worker.pause(State::kYields);
}

// A cache policy is a number that is never read.
void run_policy(Execution& thread, const Instruction& i) {
  thread.write(i.operand(0), 0);
}
bool decode_policy(Instruction& i, Modifiers& modifiers) {
  modifiers.clear();
  i.run = run_policy;
  return !i.line.operands.empty() && is_output(i.operand(0));
}

void run_setmaxnreg(Execution& thread, const Instruction& i) {
  set_registers(static_cast<int>(thread.read(i.operand(0))), i.mode == 1, thread.place);
}
constexpr PtxRow kControl[] = {
    {"bra uni?", "l", run_bra},
    {"trap", "", run_trap},
    {"nanosleep u32", "s", run_sleep},
    decoded("prefetch|prefetchu|applypriority|discard|griddepcontrol", decode_hint),
    decoded("createpolicy", decode_policy),
    {"setmaxnreg =dec|inc sync? aligned? u32", "s", run_setmaxnreg}};

}  // namespace

bool decode_hint(Instruction& i, Modifiers& modifiers) {
  modifiers.clear();
  i.run = run_nothing;
  return true;
}

std::span<const PtxRow> barriers() {
  return kBarriers;
}

std::span<const PtxRow> control() {
  return kControl;
}

}  // namespace machine::ptx
