// Barriers of a block and of some of its warps, barriers in shared memory (mbarrier), fences, and
// shuffles.

#include <bit>

#include "simulator/cuda/collectives.h"
#include "simulator/cuda/hopper_instructions.h"
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
void run_sync(Execution& thread) {
  const int all = thread.worker.block_threads(), id = thread.number(0);
  const int threads = thread.count() > 1 ? thread.number(1) : all;
  if (id == 0 && threads == all) {
    simt::block_barrier();
  } else {
    sync_named_barrier(id, threads, thread.place);
  }
}

// bar.red: how many threads of the block have the predicate; whether all have it, or any.
void run_vote_of_block(Execution& thread) {
  if (thread.value(1) != 0) {
    fault("its bar.red is at a barrier other than 0, which is not traced here", thread.place);
  }
  const int yes = __syncthreads_count(thread.value(2) != 0);
  const int results[] = {yes, yes == thread.worker.block_threads(), yes != 0};
  thread.write(thread.operand(0), static_cast<std::uint64_t>(results[thread.now->mode]));
}

// mbarrier. A token is the number of the phase in progress. A barrier of another block gives no
// token: the address is then the first operand.
void run_mbarrier_arrive(Execution& thread) {
  const std::size_t at = is_address(thread.operand(0)) ? 0 : 1;
  void* const barrier = pointer_in_shared(thread, at);
  const unsigned number = thread.count() > at + 1 ? thread.word(at + 1) : 1;
  const bool expects = thread.now->option == 1;
  if (expects) expect_at_mbarrier(barrier, number, thread.place);
  thread.write(thread.operand(0), arrive_at_mbarrier(barrier, expects ? 1 : number, thread.place));
}
// For a phase's number, which an arrival gave, or for its parity. test_wait need not wait, but a
// thread that calls it repeatedly lets the others run here.
void run_mbarrier_wait(Execution& thread) {
  const unsigned phase = thread.word(2);
  const unsigned parity = thread.now->option == 1 ? checked_parity(phase, thread.place) : phase % 2;
  thread.write(
      thread.operand(0), wait_for_mbarrier(pointer_in_shared(thread, 1), parity, thread.place));
}

enum ShuffleMode : std::uint32_t { kUp, kDown, kButterfly, kIndex };

// shfl.sync.mode.b32 d|p, a, b, c, mask: c has the last lane of a segment, and in its bits 8 to 12
// which bits of a lane's number name its segment. PTX ISA 9.0, "shfl.sync".
void run_shfl(Execution& thread) {
  const int lane = thread.worker.lane(), b = thread.number(2) & 0x1f, c = thread.number(3);
  const int segment = c >> 8 & 0x1f;
  const int last = (lane & segment) | (c & 0x1f & ~segment);
  const int sources[] = {lane - b, lane + b, lane ^ b, (lane & segment) | (b & ~segment)};
  int source = sources[thread.now->mode];
  const bool inside = thread.now->mode == kUp ? source >= last : source <= last;
  if (!inside) source = lane;
  const std::uint64_t received =
      simt::warp_shuffle(thread.word(4), thread.word(1), source, warpSize);
  thread.write(thread.operand(0), static_cast<std::uint32_t>(received));
  thread.write_second(0, inside);
}

// d, the lane's vote, mask.
void run_vote(Execution& thread) {
  const std::uint32_t mask = thread.word(2), yes = simt::warp_ballot(mask, thread.value(1) != 0);
  if (thread.now->mode == 0) return thread.write(thread.operand(0), yes);
  const bool all = yes == simt::warp_ballot(mask, true);
  const bool results[] = {yes != 0, all, all || yes == 0};
  thread.write(thread.operand(0), results[thread.now->mode - 1]);
}
// The first lane is the leader.
void run_elect(Execution& thread) {
  const int leader = std::countr_zero(simt::warp_ballot(thread.word(1), true));
  thread.write(thread.operand(0), static_cast<std::uint64_t>(leader));
  thread.write_second(0, thread.worker.lane() == leader);
}
template <class T>
void run_redux(Execution& thread) {
  const unsigned mask = thread.word(2), mode = thread.now->mode;
  const T value = static_cast<T>(thread.value(1));
  using Reduce = T(unsigned mask, T value);
  constexpr Reduce* kFirst[] = {__reduce_add_sync, __reduce_min_sync, __reduce_max_sync};
  constexpr unsigned (*kOperations[])(unsigned, unsigned) = {
      __reduce_and_sync, __reduce_or_sync, __reduce_xor_sync};
  const T result = mode < 3
                       ? kFirst[mode](mask, value)
                       : static_cast<T>(kOperations[mode - 3](mask, static_cast<unsigned>(value)));
  thread.write(thread.operand(0), static_cast<unsigned>(result));
}

// A cache policy is a number that is never read.
bool decode_policy(Instruction& i, Modifiers& modifiers) {
  modifiers.clear();
  i.run = RUNS(thread.write(thread.operand(0), 0));
  return !i.line.operands.empty() && is_output(i.operand(0));
}

#define BARRIER pointer_in_shared(thread, 0)
#define IN_SHARED " shared|shared::cta|shared::cluster? "
#define ORDER " release|acquire|relaxed? cta|cluster?"
constexpr PtxRow kOfThreads[] = {
    {"bar|barrier cta? sync aligned?", "s?s", run_sync},
    {"bar|barrier cta? red =popc|and|or aligned? u32|pred", "dss", run_vote_of_block},
    {"bar|barrier cta? arrive aligned?", "ss",
     RUNS(arrive_at_named_barrier(thread.number(0), thread.number(1), thread.place))},
    {"bar|barrier warp sync", "s", RUNS(simt::warp_barrier(thread.word(0)))},
    // A cluster is one block here: arriving does not wait, and the wait is the block's barrier.
    {"bar|barrier cluster arrive release|relaxed? aligned?", "", RUNS()},
    {"bar|barrier cluster wait acquire? aligned?", "", RUNS(simt::block_barrier())},
    {"membar =cta|cluster|gl|sys", "", RUNS(simt::fence(thread.now->mode >= 2))},
    {"membar proxy async", "", RUNS(fence_proxy_async())},
    {"fence sc|acq_rel|acquire|release? =cta|cluster|gpu|sys", "",
     RUNS(simt::fence(thread.now->mode >= 2))},
    {"fence mbarrier_init release cluster", "", RUNS(fence_mbarrier_init())},
    {"fence proxy async|async::generic? async.shared::cta|shared::cta|shared::cluster|global?", "",
     RUNS(fence_proxy_async())},
    {"mbarrier init" IN_SHARED "b64", "as",
     RUNS(mbarrier_init(static_cast<std::uint64_t*>(BARRIER), thread.word(1)))},
    {"mbarrier inval" IN_SHARED "b64", "a", RUNS(invalidate_mbarrier(BARRIER, thread.place))},
    {"mbarrier arrive #expect_tx?" IN_SHARED "b64" ORDER, "da?s", run_mbarrier_arrive},
    {"mbarrier arrive #expect_tx?" IN_SHARED "b64" ORDER, "a?s", run_mbarrier_arrive},
    {"mbarrier expect_tx" IN_SHARED "b64" ORDER, "as",
     RUNS(expect_at_mbarrier(BARRIER, thread.word(1), thread.place))},
    {"mbarrier try_wait|test_wait #parity?" IN_SHARED "b64?" ORDER, "das?s", run_mbarrier_wait},
    {"shfl sync =up|down|bfly|idx b32", "dssss", run_shfl},
    {"vote sync =ballot|any|all|uni b32|pred", "dss", run_vote},
    {"elect sync", "ds", run_elect},
    {"activemask b32", "d", RUNS(thread.write(thread.operand(0), __activemask()))},
    {"match any sync b32|b64", "dss",
     RUNS(thread.write(thread.operand(0), __match_any_sync(thread.word(2), thread.value(1))))},
    {"match all sync b32|b64", "dss",
     RUNS(int alike; thread.write(
         thread.operand(0), __match_all_sync(thread.word(2), thread.value(1), &alike));
          thread.write_second(0, alike != 0))},
    {"redux sync =add|min|max s32", "dss", run_redux<int>},
    {"redux sync =add|min|max|and|or|xor u32|b32", "dss", run_redux<unsigned>},
    // Jumps, and instructions that have no effect here.
    {"bra uni?", "l", RUNS(thread.next = thread.operand(0).number)},
    {"trap|brkpt", "",
     RUNS(fault("its inline PTX comes to \"" + thread.now->line.name() + "\"", thread.place))},
    {"nanosleep u32", "s", RUNS(thread.worker.pause(State::kYields))},
    decoded("prefetch|prefetchu|pmevent|applypriority|discard|griddepcontrol", decode_hint),
    decoded("createpolicy", decode_policy),
    {"setmaxnreg =dec|inc sync? aligned? u32", "s",
     RUNS(simt::set_registers(thread.number(0), thread.now->mode == 1))}};

}  // namespace

bool decode_hint(Instruction& i, Modifiers& modifiers) {
  modifiers.clear();
  i.run = RUNS();
  return true;
}

std::span<const PtxRow> of_threads() {
  return kOfThreads;
}

}  // namespace machine::ptx
