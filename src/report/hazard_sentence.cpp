#include "report/hazard_sentence.h"

#include <algorithm>
#include <cstdlib>

#include "lab/rates.h"
#include "text/numbers.h"

namespace report {

namespace {

std::string on_line(const model::Hazard::Actor& actor) {
  return actor.line > 0 ? text::printed(" on line %d", actor.line) : "";
}

// "thread (3, 0)"
std::string name(const model::Hazard::Actor& actor, const lab::Row& row) {
  const std::int64_t width = row.variant->block_x;
  return text::printed(
      "thread (%lld, %lld)", static_cast<long long>(actor.thread % width),
      static_cast<long long>(actor.thread / width));
}

// "thread (3, 0) stores on line 254"
std::string deed(const model::Hazard::Actor& actor, const lab::Row& row) {
  return name(actor, row) + (actor.stores ? " stores" : " loads") + on_line(actor);
}

std::string place(const model::Hazard& hazard) {
  return hazard.array + text::printed(" (byte %llu)", static_cast<unsigned long long>(hazard.byte));
}

// "thread (0, 0) reaches for element 100 of A on line 12, of which there are 100; ..."
std::string out_of_bounds(const model::Hazard& hazard, const lab::Row& row) {
  const std::string who = name(hazard.first, row) + " reaches for ";
  if (hazard.array.empty()) {
    return who + text::printed("the address 0x%llx", static_cast<unsigned long long>(hazard.byte)) +
           on_line(hazard.first) +
           ", where there is no matrix and no shared array; look at how its pointer comes about";
  }
  // Rounded down: byte -1 is in element -1.
  const std::int64_t element = static_cast<std::int64_t>(hazard.byte) >> 2;
  const std::string which = hazard.array == "dynamic" ? "dynamic shared memory" : hazard.array;
  return who + "element " + (element < 0 ? "-" : "") + text::grouped(std::abs(element)) + " of " +
         which + on_line(hazard.first) + ", of which there are " +
         text::grouped(hazard.extent / 4) +
         (hazard.shared ? "; make it larger, or the index smaller"
                        : "; compare row and column with the matrix's before the access");
}

std::string divergence(const model::Hazard& hazard, const lab::Row& row) {
  const bool left = hazard.second.stores;
  return name(hazard.first, row) + " waits at the barrier" + on_line(hazard.first) + " while " +
         name(hazard.second, row) + (left ? " has left the kernel" : " waits at another") +
         on_line(hazard.second) +
         (left ? "; let every thread stay for all barriers and skip only its loads and stores"
               : "; all threads of a block must come to the same __syncthreads()");
}

std::string never_written(const model::Hazard& hazard, const lab::Run& run) {
  const auto element = static_cast<std::int64_t>(hazard.byte / 4);
  const std::int64_t others = hazard.extent - 1, N = std::max(1, run.N);
  return hazard.array +
         text::printed(
             ": no thread stores row %lld, column %lld", static_cast<long long>(element / N),
             static_cast<long long>(element % N)) +
         (others > 0 ? ", nor " + text::grouped(others) + " more" : std::string()) +
         "; launch enough blocks for all of " + hazard.array + ", and let each result be stored";
}

}  // namespace

std::string hazard_sentence(const model::Hazard& hazard, const lab::Run& run, const lab::Row& row) {
  const std::int64_t blocks_across =
      row.launch ? row.launch->grid.x
                 : std::max<std::int64_t>(1, (run.N + row.variant->BN - 1) / row.variant->BN);
  const auto block = [&](std::int64_t number) {
    return text::printed(
        "block (%lld, %lld)", static_cast<long long>(number % blocks_across),
        static_cast<long long>(number / blocks_across));
  };
  const std::string kernel = lab::kernel_name(row);
  const std::string first = deed(hazard.first, row), where = place(hazard);
  const std::string second = hazard.second.thread >= 0 ? deed(hazard.second, row) : "";
  const std::string in_kernel = kernel.empty() ? "" : kernel + ", ";
  const std::string in_block = in_kernel + block(hazard.block) + ": ";
  switch (hazard.kind) {
    case model::HazardKind::index_out_of_range:
      return in_block + name(hazard.first, row) + " takes index " +
             text::printed("%lld of ", static_cast<long long>(hazard.index)) + hazard.array +
             on_line(hazard.first) +
             text::printed(
                 ", in a dimension of %lld: from 0 to %lld; ",
                 static_cast<long long>(hazard.extent), static_cast<long long>(hazard.extent - 1)) +
             "make the array larger, or the loop shorter";
    case model::HazardKind::out_of_bounds:
      return in_block + out_of_bounds(hazard, row);
    case model::HazardKind::foreign_local:
      return in_block + first +
             (hazard.second.thread >= 0 ? " a local variable of " + name(hazard.second, row)
                                        : " a local variable that is gone") +
             "; local variables are a thread's own, so hand values on through shared memory";
    case model::HazardKind::barrier_divergence:
      return in_block + divergence(hazard, row);
    case model::HazardKind::never_written:
      return in_kernel + never_written(hazard, run);
    case model::HazardKind::race:
      return in_block + "race on " + where + ": " + first + " and " + second +
             " with no barrier between them; put a __syncthreads() there";
    case model::HazardKind::uninitialized:
      return in_block + first + " from " + where +
             ", which nobody has stored to; store every element first, zeros outside of the matrix";
    case model::HazardKind::copy_not_waited_for:
      return in_block + second + " from " + where + " while the cp.async" + on_line(hazard.first) +
             " is still on its way; wait for its group and then for a barrier";
    case model::HazardKind::misaligned:
      if (hazard.array.empty()) {
        return in_block + name(hazard.first, row) + " makes an access" + on_line(hazard.first) +
               " whose address is not a multiple of its size; take narrower accesses there";
      }
      return in_block + first + " at " + where +
             ", which is not a multiple of the access's size; take narrower accesses there";
    case model::HazardKind::race_on_result:
      return in_block + "race on " + where + ": " + first + " and so does " +
             text::printed("thread %lld of ", static_cast<long long>(hazard.second.thread)) +
             block(hazard.other_block) + "; an element must have one owner, or atomicAdd";
  }
  return "";
}

bool report_hazards(const char* program, const lab::Run& run) {
  bool any = false;
  for (const lab::Row& row : run.rows) {
    if (!row.counts) continue;
    for (const model::Hazard& hazard : row.counts->hazards) {
      std::fprintf(stderr, "%s: %s\n", program, hazard_sentence(hazard, run, row).c_str());
      any = true;
    }
  }
  return any;
}

}  // namespace report
