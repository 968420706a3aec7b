#include <cstdint>
#include <set>

#include "model/warp_access.h"
#include "school/grade/complaint.h"
#include "school/grade/exercise.h"

namespace {

constexpr int kThreads = 256;  // of a block

bool has(const grade::Case& c, model::HazardKind kind) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == kind) return true;
  }
  return false;
}

bool at_most_one_block(const grade::Case& c) {
  return c.shape.N <= kThreads;
}

// Whether a thread's element depends on its block, as far as stores show it.
bool blocks_differ(const grade::Case& c) {
  std::set<std::int64_t> from_thread_0;  // how far it is to the elements of threads, in any block
  for (std::size_t i = 0; i < c.writers.size(); ++i) {
    if (c.writers[i] == 0) continue;
    const std::int64_t thread = static_cast<std::int64_t>(c.writers[i] - 1) % kThreads;
    from_thread_0.insert(static_cast<std::int64_t>(i) - thread);
  }
  return from_thread_0.size() > 1;
}

// Whether z[i] is right, written, or exactly `value(i)`, for every i from `first` on before `end`.
template <class Value>
bool is(const grade::Case& c, int first, int end, Value value) {
  for (int i = first; i < end; ++i) {
    if (c.C[i] != value(i)) return false;
  }
  return first < end;
}

bool right(const grade::Case& c, int first, int end) {
  return is(c, first, end, [&](int i) { return c.A[i] + c.B[i]; });
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "vector addition: z = x + y, one thread for each element",
    .product = {.sum_of_vectors = true},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {1, 2 * kThreads, 1},
              {1, kThreads * random.between(2, 4) + random.between(1, kThreads - 1), 1},
              {1, random.between(2, 100), 1},
              {1, 1, 1},
              {1, kThreads * random.many_tiles() + random.between(1, kThreads - 1), 1},
          };
        },
    .targets =
        {{"floats loaded per thread", "most_gmem_load_floats", "2", false},
         {"floats stored per thread", "most_gmem_store_floats", "1", false},
         {"shared bytes", "smem_bytes", "0", false}},
    .hints =
        {{[](const grade::Case& c) {
            return grade::reaches_outside(c) && c.shape.N % kThreads != 0;
          },
          "there are more threads than elements, because the grid consists of whole blocks: what "
          "must a thread do whose element does not exist?"},
         {grade::reaches_outside,
          "here every thread has an element, and still one reads or writes beside the vectors: "
          "compute by hand which element your index gives to the last thread of the last block"},
         {[](const grade::Case& c) {
            return grade::most_accesses(c, "z", model::Direction::load) != "";
          },
          "z is read before it is stored: its old value is no part of the sum. Does your line "
          "store "
          "with = or with +=?"},
         {[](const grade::Case& c) {
            return c.measures.at("most_gmem_store_floats") > 1 ||
                   c.measures.at("most_gmem_load_floats") > 2;
          },
          "a thread does the work of several: one thread, one element, no loop. The grid has a "
          "thread for each element"},
         {[](const grade::Case& c) {
            return has(c, model::HazardKind::race_on_result) && blocks_differ(c);
          },
          "two blocks share elements of z. Which element does your index give to thread 0 of block "
          "0, of block 1 and of block 2?",
          "the block's number counts blocks, and a block has blockDim.x elements"},
         {[](const grade::Case& c) {
            return has(c, model::HazardKind::race_on_result) && !at_most_one_block(c);
          },
          "several threads write the same element of z. Each block numbers its own threads from 0 "
          "to 255, so an index needs the block's number as well"},
         {[](const grade::Case& c) { return c.measures.at("gmem_stores") == 0; },
          "nothing is stored to z: each thread that has an element adds one x and one y, and "
          "stores the sum"},
         {[](const grade::Case& c) { return c.never_written && right(c, 0, c.shape.N - 1); },
          "only the last element is missing: elements are numbered from 0 to n - 1. What does the "
          "guard say to thread n - 1?"},
         {[](const grade::Case& c) {
            return c.never_written && right(c, 0, kThreads) && !at_most_one_block(c);
          },
          "the first block's elements are right and others are missing: an index needs the block's "
          "number, times the threads of a block"},
         {[](const grade::Case& c) { return c.never_written && c.first.column == 0; },
          "z[0] is missing: elements are numbered from 0 to n - 1. Which element does your index "
          "give to thread 0 of block 0?"},
         {[](const grade::Case& c) { return c.never_written; },
          "some elements have no thread: the threads of block 1 begin where those of block 0 end"},
         {[](const grade::Case& c) {
            return is(c, 0, c.shape.N, [&](int i) { return c.A[i] * c.B[i]; });
          },
          "z is x times y, but the sum is wanted"}},
};
