// Barriers of a block and of some of its warps, barriers in shared memory (mbarrier), fences, and
// shuffles.

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

char* barrier_in(const Execution& thread, const Operand& address) {
  return pointer_to_shared(static_cast<std::uint32_t>(thread.address(address)));
}

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

bool decode_bar(Instruction& i, Modifiers& modifiers) {
  if (modifiers.take_first("warp")) {
    i.run = run_warp_sync;
    return modifiers.take("sync") && has_operands(i, 0, 1);
  }
  // A cluster is one block here: arriving does not wait, and the wait is the block's barrier.
  if (modifiers.take_first("cluster")) {
    const bool waits = modifiers.take("wait");
    if (!waits && !modifiers.take("arrive")) return false;
    modifiers.take_any({"acquire", "release", "relaxed"});
    modifiers.take("aligned");
    i.run = waits ? run_cluster_wait : run_nothing;
    return i.line.operands.empty();
  }
  modifiers.take_first("cta");
  const bool sync = modifiers.take("sync");
  if (!sync && !modifiers.take("arrive")) return false;
  modifiers.take("aligned");
  i.run = sync ? run_sync : run_arrive_named;
  return has_operands(i, 0, 2) || (sync && has_operands(i, 0, 1));
}

void run_fence(Execution& thread, const Instruction& i) {
  fence(thread, i.wide);
}
void run_barrier_fence(Execution& thread, const Instruction&) {
  fence_mbarriers(thread.place);
}
void run_proxy_fence(Execution& thread, const Instruction&) {
  fence_async_proxy(thread.place);
}

bool decode_membar(Instruction& i, Modifiers& modifiers) {
  i.run = run_fence;
  if (modifiers.take("proxy")) {
    i.run = run_proxy_fence;
    return modifiers.take("async");
  }
  return take_scope(i, modifiers, {"cta", "gl", "sys"});
}

bool decode_fence(Instruction& i, Modifiers& modifiers) {
  if (!i.line.operands.empty()) return false;
  if (modifiers.take_first("mbarrier_init")) {
    i.run = run_barrier_fence;
    return modifiers.take("release") && modifiers.take("cluster");
  }
  if (modifiers.take_first("proxy")) {
    modifiers.take("async");
    modifiers.take_any(
        {"async::generic", "async.shared::cta", "shared::cta", "shared::cluster", "global"});
    i.run = run_proxy_fence;
    return true;
  }
  modifiers.take_any({"sc", "acq_rel", "acquire", "release"});
  i.run = run_fence;
  return take_scope(i, modifiers, {"cta", "cluster", "gpu", "sys"});
}

// mbarrier. A token is the number of the phase in progress.
void run_init(Execution& thread, const Instruction& i) {
  init_mbarrier(
      barrier_in(thread, i.operand(0)), static_cast<unsigned>(thread.read(i.operand(1))),
      thread.place);
}
void run_inval(Execution& thread, const Instruction& i) {
  invalidate_mbarrier(barrier_in(thread, i.operand(0)), thread.place);
}
void run_arrive(Execution& thread, const Instruction& i) {
  const unsigned count =
      i.line.operands.size() > 2 ? static_cast<unsigned>(thread.read(i.operand(2))) : 1;
  thread.write(
      i.operand(0), arrive_at_mbarrier(barrier_in(thread, i.operand(1)), count, thread.place));
}
void run_arrive_expect(Execution& thread, const Instruction& i) {
  char* const barrier = barrier_in(thread, i.operand(1));
  expect_at_mbarrier(barrier, static_cast<unsigned>(thread.read(i.operand(2))), thread.place);
  thread.write(i.operand(0), arrive_at_mbarrier(barrier, 1, thread.place));
}
void run_expect(Execution& thread, const Instruction& i) {
  expect_at_mbarrier(
      barrier_in(thread, i.operand(0)), static_cast<unsigned>(thread.read(i.operand(1))),
      thread.place);
}
// test_wait need not wait, but a thread that calls it repeatedly lets the others run here.
void run_wait(Execution& thread, const Instruction& i) {
  const auto phase = static_cast<unsigned>(thread.read(i.operand(2)));
  const bool complete =
      wait_for_mbarrier(barrier_in(thread, i.operand(1)), phase % 2, thread.place);
  thread.write(i.operand(0), complete);
}

bool decode_mbarrier(Instruction& i, Modifiers& modifiers) {
  const std::vector<Operand>& operands = i.line.operands;
  const int action =
      modifiers.take_one_of({"init", "inval", "arrive", "expect_tx", "try_wait", "test_wait"});
  const bool expects = modifiers.take("expect_tx");
  modifiers.take("parity");
  modifiers.take_any({"release", "acquire", "relaxed"});
  modifiers.take_any({"cta", "cluster"});
  modifiers.take_any({"shared", "shared::cta", "shared::cluster"});
  if (!modifiers.take("b64") && action != 5) return false;
  const auto is = [&](std::size_t number, bool (*fits)(const Operand&)) {
    return number < operands.size() && fits(operands[number]);
  };
  switch (action) {
    case 0:
      i.run = run_init;
      return operands.size() == 2 && is(0, is_address) && is(1, is_input);
    case 1:
      i.run = run_inval;
      return operands.size() == 1 && is(0, is_address);
    case 2:
      // A barrier of another block gives no token.
      if (!operands.empty() && is_address(operands[0])) {
        i.line.operands.insert(i.line.operands.begin(), Operand{});
      }
      i.run = expects ? run_arrive_expect : run_arrive;
      return is(0, is_output) && is(1, is_address) &&
             (operands.size() == 2 ? !expects : operands.size() == 3 && is(2, is_input));
    case 3:
      i.run = run_expect;
      return operands.size() == 2 && is(0, is_address) && is(1, is_input);
    case 4:
    case 5:
      i.run = run_wait;
      return is(0, is_output) && is(1, is_address) && is(2, is_input) && operands.size() <= 4;
    default:
      return false;
  }
}

}  // namespace

namespace {

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
bool decode_shfl(Instruction& i, Modifiers& modifiers) {
  const int mode = modifiers.take_one_of({"up", "down", "bfly", "idx"});
  if (mode < 0 || !modifiers.take("sync") || !modifiers.take("b32")) return false;
  i.mode = static_cast<std::uint32_t>(mode);
  i.run = run_shfl;
  return has_operands(i, 1, 4);
}

}  // namespace

std::span<const Family> barriers() {
  static constexpr Family kFamilies[] = {{"bar", decode_bar},           {"barrier", decode_bar},
                                         {"membar", decode_membar},     {"fence", decode_fence},
                                         {"mbarrier", decode_mbarrier}, {"shfl", decode_shfl}};
  return kFamilies;
}

namespace {

// Jumps, and instructions that have no effect here.

void run_bra(Execution& thread, const Instruction& i) {
  thread.next = i.operand(0).number;
}
bool decode_bra(Instruction& i, Modifiers& modifiers) {
  modifiers.take("uni");
  const bool has_label = i.line.operands.size() == 1 &&
                         i.operand(0).kind == Operand::Kind::symbol &&
                         i.operand(0).number != ~std::uint64_t{0};
  if (!has_label) return false;
  i.run = run_bra;
  return true;
}

void run_trap(Execution& thread, const Instruction& i) {
  fault("its inline PTX comes to \"" + i.line.name() + "\"", thread.place);
}
bool decode_trap(Instruction& i, Modifiers&) {
  i.run = run_trap;
  return i.line.operands.empty();
}

// Hints, and waits for work that is already complete here.
bool decode_hint(Instruction& i, Modifiers& modifiers) {
  modifiers = Modifiers({});
  i.run = run_nothing;
  return true;
}

// A cache policy is a number that is never read.
void run_policy(Execution& thread, const Instruction& i) {
  thread.write(i.operand(0), 0);
}
bool decode_policy(Instruction& i, Modifiers& modifiers) {
  modifiers = Modifiers({});
  i.run = run_policy;
  return !i.line.operands.empty() && is_output(i.operand(0));
}

void run_setmaxnreg(Execution& thread, const Instruction& i) {
  set_registers(static_cast<int>(thread.read(i.operand(0))), i.option != 0, thread.place);
}
bool decode_setmaxnreg(Instruction& i, Modifiers& modifiers) {
  const int direction = modifiers.take_one_of({"dec", "inc"});
  modifiers.take("sync");
  modifiers.take("aligned");
  if (direction < 0 || !modifiers.take("u32") || !has_operands(i, 0, 1)) return false;
  i.option = static_cast<std::uint32_t>(direction);
  i.run = run_setmaxnreg;
  return true;
}

}  // namespace

std::span<const Family> control() {
  static constexpr Family kFamilies[] = {
      {"bra", decode_bra},
      {"trap", decode_trap},
      {"prefetch", decode_hint},
      {"griddepcontrol", decode_hint},
      {"createpolicy", decode_policy},
      {"setmaxnreg", decode_setmaxnreg}};
  return kFamilies;
}

}  // namespace machine::ptx
