// Instructions by which the lanes of a warp exchange values.
#include "cuda/collectives.h"
#include "machine/collectives.h"
#include "machine/position.h"
#include "machine/ptx/instruction.h"
#include "machine/worker.h"

namespace machine::ptx {
namespace {

enum ShuffleMode : std::uint32_t { kUp, kDown, kButterfly, kIndex };

// shfl.sync.mode.b32 d|p, a, b, c, mask: c has the last lane of a segment, and in its bits 8 to 12
// which bits of a lane's number name its segment. PTX ISA 9.0, "shfl.sync".
void run_shfl(Execution& thread, const Instruction& i) {
  const auto lane = thread.worker.lane();
  const auto value = static_cast<std::uint32_t>(thread.read(i.operand(1)));
  const auto b = static_cast<int>(thread.read(i.operand(2)) & 0x1f);
  const auto c = static_cast<std::uint32_t>(thread.read(i.operand(3)));
  const auto mask = static_cast<std::uint32_t>(thread.read(i.operand(4)));
  const int segment = static_cast<int>(c >> 8 & 0x1f), clamp = static_cast<int>(c & 0x1f);
  const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  int source = 0;
  bool inside = false;
  switch (i.mode) {
    case kUp:
      source = lane - b;
      inside = source >= last;
      break;
    case kDown:
      source = lane + b;
      inside = source <= last;
      break;
    case kButterfly:
      source = lane ^ b;
      inside = source <= last;
      break;
    default:
      source = first | (b & ~segment);
      inside = source <= last;
  }
  if (!inside) source = lane;
  const std::uint64_t received = shuffle_in_warp(mask, value, source, warpSize, thread.place);
  const Operand& to = i.operand(0);
  thread.write(to, static_cast<std::uint32_t>(received));
  if (to.second >= 0) thread.registers[to.second].low = inside;
}
bool decode_shfl(Instruction& i, Modifiers& modifiers) {
  const int mode = modifiers.take_one_of({"up", "down", "bfly", "idx"});
  if (mode < 0 || !modifiers.take("sync") || !modifiers.take("b32")) return false;
  i.mode = static_cast<std::uint32_t>(mode);
  i.run = run_shfl;
  return has_operands(i, 1, 4);
}

enum Vote : std::uint32_t { kBallot, kAll, kAny, kUniform };

void run_vote(Execution& thread, const Instruction& i) {
  const bool mine = thread.is_true(i.operand(1));
  const auto mask = static_cast<std::uint32_t>(thread.read(i.operand(2)));
  const std::uint32_t votes = simt::warp_ballot(mask, mine);
  const bool all = votes == mask, any = votes != 0;
  const std::uint64_t results[] = {votes, all, any, all || !any};
  thread.write(i.operand(0), results[i.mode]);
}
bool decode_vote(Instruction& i, Modifiers& modifiers) {
  const int mode = modifiers.take_one_of({"ballot", "all", "any", "uni"});
  if (mode < 0 || !modifiers.take("sync")) return false;
  i.mode = static_cast<std::uint32_t>(mode);
  i.run = run_vote;
  return modifiers.take(mode == kBallot ? "b32" : "pred") && has_operands(i, 1, 2);
}

void run_activemask(Execution& thread, const Instruction& i) {
  thread.write(i.operand(0), simt::warp_active(thread.place));
}
bool decode_activemask(Instruction& i, Modifiers& modifiers) {
  i.run = run_activemask;
  return modifiers.take("b32") && has_operands(i, 1, 0);
}

// The lowest lane of the mask is elected.
void run_elect(Execution& thread, const Instruction& i) {
  const auto mask = static_cast<std::uint32_t>(thread.read(i.operand(1)));
  const auto elected = static_cast<std::uint64_t>(std::countr_zero(mask));
  const Operand& to = i.operand(0);
  thread.write(to, elected);
  if (to.second >= 0) {
    thread.registers[to.second].low = elected == static_cast<std::uint64_t>(thread.worker.lane());
  }
}
bool decode_elect(Instruction& i, Modifiers& modifiers) {
  i.run = run_elect;
  return modifiers.take("sync") && has_operands(i, 1, 1);
}

enum Reduction : std::uint32_t { kAdd, kMin, kMax, kAnd, kOr, kXor };

void run_redux(Execution& thread, const Instruction& i) {
  const auto mask = static_cast<std::uint32_t>(thread.read(i.operand(2)));
  const auto mine = static_cast<std::uint32_t>(thread.read(i.operand(1)));
  std::uint32_t result = 0;
  bool first = true;
  for (int lane = 0; lane < warpSize; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    const auto other =
        static_cast<std::uint32_t>(shuffle_in_warp(mask, mine, lane, warpSize, thread.place));
    const bool less = i.type.base == Base::signed_
                          ? static_cast<std::int32_t>(other) < static_cast<std::int32_t>(result)
                          : other < result;
    if (first) {
      result = other;
    } else if (i.mode == kAdd) {
      result += other;
    } else if (i.mode == kMin || i.mode == kMax) {
      if (less == (i.mode == kMin)) result = other;
    } else {
      result = i.mode == kAnd ? result & other : i.mode == kOr ? result | other : result ^ other;
    }
    first = false;
  }
  thread.write(i.operand(0), result);
}
bool decode_redux(Instruction& i, Modifiers& modifiers) {
  const int mode = modifiers.take_one_of({"add", "min", "max", "and", "or", "xor"});
  if (mode < 0 || !modifiers.take("sync") || !modifiers.take_type(i.type)) return false;
  i.mode = static_cast<std::uint32_t>(mode);
  i.run = run_redux;
  return i.type.bits == 32 && !i.type.is_real() && has_operands(i, 1, 2);
}

}  // namespace

std::span<const Family> lane_exchanges() {
  static constexpr Family kFamilies[] = {
      {"shfl", decode_shfl},
      {"vote", decode_vote},
      {"activemask", decode_activemask},
      {"elect", decode_elect},
      {"redux", decode_redux}};
  return kFamilies;
}

}  // namespace machine::ptx
