#include "show/report/hazard_sentence.h"

#include <algorithm>
#include <cstdlib>

#include "lab/run.h"
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
std::string action(const model::Hazard::Actor& actor, const lab::Row& row) {
  return name(actor, row) + (actor.stores ? " stores" : " loads") + on_line(actor);
}

const char* goes_to(const model::Hazard::Actor& actor) {
  return actor.stores ? " stores to " : " loads from ";
}

std::string place(const model::Hazard& hazard) {
  return hazard.array + text::printed(" (byte %llu)", static_cast<unsigned long long>(hazard.byte));
}

// "thread (0, 0) accesses element 100 of A on line 12, but there are only 100; ..."
std::string out_of_bounds(const model::Hazard& hazard, const lab::Row& row) {
  const std::string who = name(hazard.first, row) + " accesses ";
  if (hazard.array.empty()) {
    return who + text::printed("the address 0x%llx", static_cast<unsigned long long>(hazard.byte)) +
           on_line(hazard.first) +
           ", where there is no matrix and no shared array; check how its pointer is computed";
  }
  // Rounded down: byte -1 is in element -1.
  const std::int64_t element = static_cast<std::int64_t>(hazard.byte) >> 2;
  const std::string which = hazard.array == "dynamic" ? "dynamic shared memory" : hazard.array;
  return who + "element " + (element < 0 ? "-" : "") + text::grouped(std::abs(element)) + " of " +
         which + on_line(hazard.first) + ", but there are only " +
         text::grouped(hazard.extent / 4) +
         (hazard.shared ? "; make it larger or the index smaller"
                        : "; compare row and column with the matrix's size before the access");
}

// " stores on line 254"
std::string plain_deed(const model::Hazard::Actor& actor) {
  return (actor.stores ? " stores" : " loads") + on_line(actor);
}

std::string divergence(const model::Hazard& hazard, const lab::Row& row) {
  const bool left = hazard.second.stores;
  return name(hazard.first, row) + " waits at the barrier" + on_line(hazard.first) + " while " +
         name(hazard.second, row) + (left ? " has left the kernel" : " waits at another") +
         on_line(hazard.second) +
         (left ? "; let every thread stay for all barriers and skip only its loads and stores"
               : "; all threads of a block must come to the same __syncthreads()");
}

std::string left_early(const model::Hazard& hazard, const lab::Row& row) {
  return name(hazard.first, row) + " waits at the barrier" + on_line(hazard.first) + " while " +
         name(hazard.second, row) + " has left the kernel" + on_line(hazard.second) +
         "; GPUs since Volta do not wait for it, but portable code lets every thread stay for all "
         "barriers and skips only its loads and stores";
}

std::string different_barriers(const model::Hazard& hazard, const lab::Row& row) {
  return name(hazard.first, row) + " waits at the barrier" + on_line(hazard.first) + " while " +
         name(hazard.second, row) + ", of another warp, waits at the one" + on_line(hazard.second) +
         "; CUDA leaves that undefined: all threads of a block must come to the same "
         "__syncthreads()";
}

// "1, 2 or 4".
std::string powers_of_two(std::int64_t last) {
  std::string text = "1";
  for (std::int64_t power = 2; power <= last; power *= 2) {
    text += (power == last ? " or " : ", ") + std::to_string(power);
  }
  return text;
}

std::string never_written(const model::Hazard& hazard, const lab::Run& run) {
  const auto element = static_cast<std::int64_t>(hazard.byte / 4);
  const std::int64_t others = hazard.extent - 1, N = std::max(1, run.N);
  return hazard.array +
         text::printed(
             ": no thread stores row %lld, column %lld", static_cast<long long>(element / N),
             static_cast<long long>(element % N)) +
         (others > 0 ? ", nor " + text::grouped(others) + " more" : std::string()) +
         "; launch enough blocks for all of " + hazard.array + ", and store every result";
}

// What follows the semicolon.
const char* remedy(model::Remedy remedy) {
  switch (remedy) {
    case model::Remedy::block_barrier:
      return "put a __syncthreads() there, where all threads of the block pass";
    case model::Remedy::warp_barrier:
      return "put a __syncwarp() there, with a mask of the lanes that come to it";
    case model::Remedy::barrier_or_atomics:
      return "make both accesses atomic, or put a __syncthreads() there, where all threads of the "
             "block pass";
    case model::Remedy::grid_barrier:
      return "put a grid.sync() there, where all threads of the launch pass";
    case model::Remedy::fence_and_atomic:
      return "use a second launch, or __threadfence() and an atomic between them";
    case model::Remedy::fence_of_the_gpu:
      return "the fence between them is for threads of its own block, so use __threadfence()";
    case model::Remedy::barrier_at_fence:
      return "the __threadfence() and the atomic of one thread order what other threads of its "
             "block "
             "do only across a __syncthreads(): put one before the fence, and one after the atomic "
             "that is waited for";
    case model::Remedy::both_atomic:
      return "make both accesses atomic, as atomicExch() is, with a __threadfence() before what "
             "another block waits for";
    case model::Remedy::atomic_of_the_gpu:
      return "the scope of the atomic is its own block, so use one for the whole GPU";
    case model::Remedy::row_of_16_bytes:
      return "each row of a matrix is 16 bytes that begin at a multiple of 16";
    case model::Remedy::atomic_in_place:
      return "an atomic needs an element in its place, so check how its pointer is computed";
  }
  return "";
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
  const std::string first = action(hazard.first, row), where = place(hazard);
  const std::string second = hazard.second.thread >= 0 ? action(hazard.second, row) : "";
  const std::string in_kernel = kernel.empty() ? "" : kernel + ", ";
  const std::string in_block = in_kernel + block(hazard.block) + ": ";
  switch (hazard.kind) {
    case model::HazardKind::index_out_of_range:
      return in_block + name(hazard.first, row) + " uses index " +
             text::printed("%lld of ", static_cast<long long>(hazard.index)) + hazard.array +
             on_line(hazard.first) +
             text::printed(
                 ", in a dimension whose indices go from 0 to %lld; ",
                 static_cast<long long>(hazard.extent - 1)) +
             (hazard.second.thread >= 0
                  ? "a store through a pointer" + on_line(hazard.second) +
                        " gave the index this value: keep it within its local array"
                  : std::string("make the array larger or the loop shorter"));
    case model::HazardKind::out_of_bounds:
      return in_block + out_of_bounds(hazard, row);
    case model::HazardKind::host_memory:
      return in_block + name(hazard.first, row) + goes_to(hazard.first) + "host memory" +
             (hazard.array.empty() ? "" : " (" + hazard.array + ")") + on_line(hazard.first) +
             ", which a GPU cannot reach; give the kernel memory from cudaMalloc, and copy the "
             "data there by cudaMemcpy";
    case model::HazardKind::freed_memory:
      return in_block + name(hazard.first, row) + goes_to(hazard.first) + hazard.array +
             on_line(hazard.first) +
             " after it was freed; call cudaFree after the last kernel that uses it";
    case model::HazardKind::foreign_local:
      return in_block + first +
             (hazard.second.thread >= 0 ? " a local variable of " + name(hazard.second, row)
                                        : " a local variable that no longer exists") +
             "; local variables belong to one thread, so pass values through shared memory";
    case model::HazardKind::barrier_divergence:
      return in_block + divergence(hazard, row);
    case model::HazardKind::never_written:
      return in_kernel + never_written(hazard, run);
    case model::HazardKind::threads_left:
      return in_block + left_early(hazard, row);
    case model::HazardKind::several_barriers:
      return in_block + different_barriers(hazard, row);
    case model::HazardKind::race:
      return in_block + "race on " + where + ": " + first + " and " + second +
             " with no barrier between them; " + remedy(hazard.remedy);
    case model::HazardKind::race_between_blocks:
      return in_kernel + "race on " + where + ": " + block(hazard.block) +
             plain_deed(hazard.first) + " and " + block(hazard.other_block) +
             plain_deed(hazard.second) + ", and nothing orders the two; " + remedy(hazard.remedy);
    case model::HazardKind::read_only_is_stored:
      return in_kernel + where + ": " + block(hazard.block) + " loads" + on_line(hazard.first) +
             " with __ldg what " + block(hazard.other_block) + plain_deed(hazard.second) +
             " in the same launch; __ldg is only for what no thread of the launch stores, so load "
             "it "
             "without";
    case model::HazardKind::copy_of_bad_size:
      return in_block + name(hazard.first, row) + " copies " + text::grouped(hazard.index) +
             " bytes with one cp.async" + on_line(hazard.first) + "; it can copy 4, 8 or 16";
    case model::HazardKind::copy_of_bad_zeros:
      return in_block + name(hazard.first, row) + " fills " + text::grouped(hazard.index) +
             " bytes with zeros in a cp.async of " + text::grouped(hazard.extent) +
             on_line(hazard.first) + "; the zeros count towards its size";
    case model::HazardKind::copy_to_global:
      return in_block + name(hazard.first, row) + " makes a cp.async" + on_line(hazard.first) +
             " whose destination is not in shared memory; it copies from global to shared memory";
    case model::HazardKind::copy_from_shared:
      return in_block + name(hazard.first, row) + " makes a cp.async" + on_line(hazard.first) +
             " whose source is not in global memory; it copies from global to shared memory";
    case model::HazardKind::tile_not_waited_for:
      return in_block + second + (hazard.second.stores ? " to " : " from ") + where +
             " without having waited for the copy" + on_line(hazard.first) + " that " +
             name(hazard.first, row) +
             " started; wait for the barrier that counts its bytes (mbarrier_wait, or wait() of a "
             "cuda::barrier), in that phase";
    case model::HazardKind::tile_in_use:
      return in_block + second + " to " + where +
             " while the tensor cores or the copy engine may still read it for " +
             name(hazard.first, row) + on_line(hazard.first) +
             "; let that thread wait until it has been read, and then arrive at a barrier that "
             "this "
             "one waits for";
    case model::HazardKind::not_fenced:
      return in_block + first + " to " + where + ", and " + name(hazard.second, row) +
             " lets the tensor cores or the copy engine use it" + on_line(hazard.second) +
             " without a fence between; after the store and before the barrier, call "
             "fence_proxy_async() (for an mbarrier, fence_mbarrier_init())";
    case model::HazardKind::store_not_waited_for:
      return in_block + name(hazard.first, row) +
             " ends before the copy engine has read shared memory for its store" +
             on_line(hazard.first) + "; call cp_async_bulk_wait_group_read<0>() before";
    case model::HazardKind::nothing_shuffled:
      return in_block + name(hazard.first, row) + " takes the value of lane " +
             std::to_string(hazard.index) + on_line(hazard.first) +
             ", which does not take part in that shuffle (mask " +
             text::printed("0x%08llx", static_cast<long long>(hazard.extent)) +
             "): the value is undefined; ask only lanes of the mask that have not left the kernel";
    case model::HazardKind::bad_width:
      return in_block + name(hazard.first, row) + " shuffles in segments of " +
             text::grouped(hazard.index) + on_line(hazard.first) + "; the width must be " +
             powers_of_two(hazard.extent);
    case model::HazardKind::sum_in_flight:
      return in_block + first + " a sum to which the wgmma" + on_line(hazard.second) +
             " still adds; wait for its group first, with wgmma_wait_group<0>() if it is the last";
    case model::HazardKind::uninitialized:
      return in_block + first + " from " + where +
             ", to which no thread has stored; store every element first, zeros outside the matrix";
    case model::HazardKind::copy_not_waited_for:
      return in_block + second + (hazard.second.stores ? " to " : " from ") + where +
             " while the cp.async" + on_line(hazard.first) +
             " is still on its way; wait for its group and then for a barrier";
    case model::HazardKind::misaligned:
      if (hazard.array.empty()) {
        return in_block + name(hazard.first, row) + " makes an access" + on_line(hazard.first) +
               " whose address is not a multiple of its size; use narrower accesses there";
      }
      if (hazard.remedy != model::Remedy::block_barrier) {
        return in_block + first + " at " + where + ", which is misaligned; " +
               remedy(hazard.remedy);
      }
      return in_block + first + " at " + where +
             ", which is not a multiple of the access's size; use narrower accesses there";
    case model::HazardKind::race_on_result:
      if (hazard.other_block < 0) {
        return in_block + "race on " + where + ": " + first + " and so does " +
               name(hazard.second, row) + on_line(hazard.second) +
               "; let one thread own each element, or use atomicAdd";
      }
      return in_kernel + "race on " + where + ": " + block(hazard.block) +
             plain_deed(hazard.first) + " and so does " + block(hazard.other_block) +
             on_line(hazard.second) + "; let one thread own each element, or use atomicAdd";
  }
  return "";
}

bool report_hazards(const char* program, const lab::Run& run, std::FILE* out) {
  bool any = false;
  for (const lab::Row& row : run.rows) {
    if (!row.counts) continue;
    for (const model::Hazard& hazard : row.counts->hazards) {
      const bool is_note = model::is_note(hazard.kind);
      std::fprintf(
          out, "%s: %s%s\n", program, is_note ? "note: " : "",
          hazard_sentence(hazard, run, row).c_str());
      any |= !is_note;
    }
  }
  return any;
}

}  // namespace report
