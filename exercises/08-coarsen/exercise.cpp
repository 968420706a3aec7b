#include "grade/exercise.h"

namespace {

// The kernel's tiles, and a GPU to choose TM for: the shared memory of an SM and the threads that
// it holds (src/model/gpus.h: RTX 3090, A100, H200).
const std::vector<grade::Values> kTiles = {
    {{"BM", 64}, {"BN", 64}, {"BK", 32}, {"TM", 8}, {"SM_BYTES", 102400}, {"SM_THREADS", 1536}},
    {{"BM", 48}, {"BN", 32}, {"BK", 64}, {"TM", 4}, {"SM_BYTES", 167936}, {"SM_THREADS", 2048}},
    {{"BM", 128}, {"BN", 32}, {"BK", 64}, {"TM", 16}, {"SM_BYTES", 233472}, {"SM_THREADS", 2048}},
};

bool missed(const grade::Case& c, const std::string& name) {
  for (const grade::Target* target : c.missed) {
    if (target->name == name) return true;
  }
  return false;
}

bool has(const grade::Case& c, model::HazardKind kind) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == kind) return true;
  }
  return false;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "coarsen and choose TM: C = A^T * B, TM results a thread, any tile",
    .product = {.A = grade::Order::transposed},
    .variants = kTiles,
    .shapes =
        [](grade::Random& random) {
          std::vector<Shape> shapes;
          for (int variant = 0; variant < 3; ++variant) {
            const auto several = [&](const char* size, int most) {
              return static_cast<int>(kTiles[variant].at(size)) * random.between(1, most);
            };
            const int M = several("BM", 2), N = several("BN", 2), K = several("BK", 2);
            shapes.push_back({M, N, K, variant});
          }
          return shapes;
        },
    .targets =
        {{"global sectors", "gmem_load_sectors + gmem_store_sectors",
          "(M*N*K/BM + M*N*K/BN + M*N)/8"},
         {"global loads", "gmem_load_floats", "M*N*K/BM + M*N*K/BN"},
         {"shared wavefronts", "smem_load_wavefronts + smem_store_wavefronts",
          "M*N*K*(1 + 1/TM)/32 + (M*N*K/BM + M*N*K/BN)/32"},
         {"barriers a block", "barriers/blocks", "2*K/BK", false},
         {"shared bytes", "smem_bytes", "4*BK*(BM + BN)", false}},
    .hints =
        {{[](const grade::Case& c) { return has(c, model::HazardKind::uninitialized); },
          "part of a tile is never copied: there are fewer threads than elements now, so each "
          "thread needs a loop that steps by kThreads"},
         {[](const grade::Case& c) { return c.never_written; },
          "some elements of C are never stored: a thread has TM results, rows row to "
          "row + TM - 1"},
         {[](const grade::Case& c) {
            return !c.right() && c.wrong == static_cast<std::int64_t>(c.measures.at("results"));
          },
          "every result is wrong: each of a thread's TM results needs a sum of its own, with "
          "its own row of A's tile"},
         {[](const grade::Case& c) { return missed(c, "shared wavefronts"); },
          "fetch the element of Bs once in each step of k, into a variable, and use it for "
          "all TM results; of As it takes TM"}},
    .questions =
        {{"threads",
          "how many threads has a block?",
          "block_threads",
          {{"BM*BN", "a thread computes TM of the tile's elements"},
           {"BM*BN/TM*32", "threads, not lanes of threads"}}},
         {"shared_loads",
          "how often do all threads together load a float from As or Bs?",
          "smem_load_floats",
          {{"2*M*N*K", "an element of Bs, once in a register, serves TM results"},
           {"M*N*K/TM", "that is Bs alone; each result takes an element of As, too"},
           {"M*N*K*(1 + TM)",
            "in one step of k a thread loads 1 + TM elements; how many threads "
            "are there for M*N results?"},
           {"TM + 1", "that is one thread's, in one step of k"}}},
         {"global_loads",
          "how often do all threads together load a float from A or B?",
          "gmem_load_floats",
          {{"2*M*N*K", "a block fetches each element of its tiles once, and all threads share it"},
           {"M*N*K*(1/BM + 1/BN)/TM",
            "there are fewer threads, but each of them copies more: the tiles are as large as "
            "before"}}},
         {"least_TM",
          "what is the least TM with which a block has no more than 1,024 threads?",
          "ceil(BM*BN/1024)",
          {{"BM*BN/1024", "TM is a whole number: round up"}}},
         {"most_TM",
          "what is the greatest TM with which the blocks on an SM, as many as its shared memory "
          "holds, have at least half of the threads that it could hold?",
          "-ceil(-2*BM*BN*-ceil(-SM_BYTES/(4*BK*(BM + BN) + 1024))/SM_THREADS)",
          {{"-ceil(-2*BM*BN*SM_BYTES/(4*BK*(BM + BN) + 1024)/SM_THREADS)",
            "only whole blocks fit on an SM: round their number down first"},
           {"-ceil(-2*BM*BN*-ceil(-SM_BYTES/(4*BK*(BM + BN)))/SM_THREADS)",
            "the system takes 1,024 bytes of each block besides"},
           {"2*BM*BN*-ceil(-SM_BYTES/(4*BK*(BM + BN) + 1024))/SM_THREADS",
            "TM is a whole number: round down, which is -ceil(-x)"},
           {"-ceil(-BM*BN*-ceil(-SM_BYTES/(4*BK*(BM + BN) + 1024))/SM_THREADS)",
            "half of the SM's threads are enough"}}}},
};
