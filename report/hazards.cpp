#include "report/hazards.h"

#include "report/figures.h"
#include "report/numbers.h"

namespace {

std::string on_line(const Hazard::Actor& actor) {
  return actor.line > 0 ? printed(" on line %d", actor.line) : "";
}

// "thread (3, 0) stores on line 254"
std::string deed(const Hazard::Actor& actor, const Row& row) {
  const std::int64_t width = row.variant->block_x;
  return printed("thread (%lld, %lld) %s", static_cast<long long>(actor.thread % width),
                 static_cast<long long>(actor.thread / width), actor.stores ? "stores" : "loads") +
         on_line(actor);
}

std::string place(const Hazard& hazard) {
  return hazard.array + printed(" (byte %llu)", static_cast<unsigned long long>(hazard.byte));
}

}  // namespace

std::string hazard_sentence(const Hazard& hazard, const Run& run, const Row& row) {
  const std::int64_t blocks_across =
      row.launch ? row.launch->grid.x
                 : std::max<std::int64_t>(1, (run.N + row.variant->BN - 1) / row.variant->BN);
  const auto block = [&](std::int64_t number) {
    return printed("block (%lld, %lld)", static_cast<long long>(number % blocks_across),
                   static_cast<long long>(number / blocks_across));
  };
  const std::string first = deed(hazard.first, row), where = place(hazard);
  const std::string second = hazard.second.thread >= 0 ? deed(hazard.second, row) : "";
  const std::string in_block = std::string(kernel_name(row)) + ", " + block(hazard.block) + ": ";
  switch (hazard.kind) {
    case HazardKind::race:
      return in_block + "race on " + where + ": " + first + " and " + second +
             " with no barrier between them; put a __syncthreads() there";
    case HazardKind::uninitialized:
      return in_block + first + " from " + where +
             ", which nobody has stored to; store every element first, zeros outside of the matrix";
    case HazardKind::copy_not_waited_for:
      return in_block + second + " from " + where + " while the cp.async" + on_line(hazard.first) +
             " is still on its way; wait for its group and then for a barrier";
    case HazardKind::misaligned:
      return in_block + first + " at " + where +
             ", which is not a multiple of the access's size; take narrower accesses there";
    case HazardKind::race_on_result:
      return in_block + "race on " + where + ": " + first + " and so does " +
             printed("thread %lld of ", static_cast<long long>(hazard.second.thread)) +
             block(hazard.other_block) + "; an element must have one owner, or atomicAdd";
  }
  return "";
}
