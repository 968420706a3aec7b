// wgmma: matrices that the 128 threads of a warpgroup multiply together.
#include "cuda/wgmma.h"

#include "machine/ptx/instruction.h"
#include "machine/warpgroup_actions.h"

namespace machine::ptx {
namespace {

void run_fence(Execution&, const Instruction&) {
  wgmma_fence();
}
void run_commit(Execution&, const Instruction&) {
  wgmma_commit_group();
}
void run_wait(Execution& thread, const Instruction& i) {
  wait_for_wgmma(static_cast<int>(thread.read(i.operand(0))), thread.place);
}

bool decode_wgmma(Instruction& i, Modifiers& modifiers) {
  const int action = modifiers.take_one_of({"fence", "commit_group", "wait_group"});
  if (action < 0 || !modifiers.take("sync") || !modifiers.take("aligned")) return false;
  constexpr Run* kRuns[] = {run_fence, run_commit, run_wait};
  i.run = kRuns[action];
  return has_operands(i, 0, action == 2 ? 1 : 0);
}

}  // namespace

std::span<const Family> warpgroups() {
  static constexpr Family kFamilies[] = {{"wgmma", decode_wgmma}};
  return kFamilies;
}

}  // namespace machine::ptx
