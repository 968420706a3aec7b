#include "school/grade/exercise.h"
#include "school/grade/complaint.h"

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

// Floats loaded from an array.
std::int64_t loaded(const grade::Case& c, const char* array) {
  std::int64_t floats = 0;
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array == array && line.direction == model::Direction::load) {
      floats += line.executions * line.bytes / 4;
    }
  }
  return floats;
}

bool loads_Bs_each_time(const grade::Case& c) {
  const double steps = c.measures.at("results") * c.shape.K / c.measures.at("TM");
  return missed(c, "shared wavefronts") && static_cast<double>(loaded(c, "Bs")) > steps;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "coarsen and choose TM: C = A^T * B, TM results per thread, any tile",
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
          shapes[1] = random.tiles(48, 32, shapes[1].K, 1);
          return random.and_large(shapes, 64, 64, 32);
        },
    .targets =
        {{"global sectors", "gmem_load_sectors + gmem_store_sectors",
          "(M*N*K/BM + M*N*K/BN + M*N)/8"},
         {"global loads", "gmem_load_floats", "M*N*K/BM + M*N*K/BN"},
         {"shared wavefronts", "smem_load_wavefronts + smem_store_wavefronts",
          "M*N*K*(1 + 1/TM)/32 + 2*(M*N*K/BM + M*N*K/BN)/32"},
         {"stores per thread", "most_gmem_stores", "TM", false},
         {"barriers per block", "barriers/blocks", "2*K/BK", false},
         {"shared bytes", "smem_bytes", "4*BK*(BM + BN)", false}},
    .hints =
        {{[](const grade::Case& c) { return has(c, model::HazardKind::uninitialized); },
          "part of a tile is never copied: a tile may have more elements than the block has "
          "threads, so each thread needs a loop that steps by kThreads"},
         {[](const grade::Case& c) { return c.never_written; },
          "some elements of C are never stored: a thread has TM results, in rows row to row + TM - "
          "1"},
         {[](const grade::Case& c) {
            return !c.right() && c.wrong == static_cast<std::int64_t>(c.measures.at("results"));
          },
          "every result is wrong: each of a thread's TM results needs its own sum, and its own row "
          "of A's tile"},
         {loads_Bs_each_time,
          "in each step of k, load the element of Bs once, into a variable, and use it for all TM "
          "results",
          "",
          [](const grade::Case& c) {
            return grade::most_accesses(c, "Bs", model::Direction::load);
          }},
         {[](const grade::Case& c) { return missed(c, "shared wavefronts"); },
          "in each step of k, a thread needs TM elements of As and one of Bs, and each of them "
          "once: no more loads, and neighbouring threads at neighbouring elements"}},
    .questions =
        {{"threads",
          "how many threads does a block have?",
          "block_threads",
          {{"BM*BN", "each thread computes TM of the tile's elements"},
           {"BM*BN/TM*32", "count threads: a warp of 32 is no unit here"}},
          "BM*BN/TM"},
         {"shared_loads",
          "how many floats do all threads together load from As and Bs?",
          "smem_load_floats",
          {{"2*M*N*K", "one element of Bs, once it is in a register, serves TM results"},
           {"M*N*K/TM", "that is Bs alone; each result also takes an element of As"},
           {"M*N*K*(1 + TM)",
            "in one step of k a thread loads 1 + TM elements; how many threads "
            "are there for M*N results?"},
           {"TM + 1", "that is one thread's number, in one step of k"}},
          "M*N*K*(1 + 1/TM)"},
         {"global_loads",
          "how many floats do all threads together load from A and B?",
          "gmem_load_floats",
          {{"2*M*N*K",
            "a block loads each element of its tiles once, and all its threads share it"},
           {"M*N*K*(1/BM + 1/BN)/TM",
            "there are fewer threads, but each of them copies more: the tiles have not become "
            "smaller"}},
          "M*N*K*(1/BM + 1/BN)"},
         {"least_TM",
          "what is the smallest TM with which a block has at most 1,024 threads?",
          "ceil(BM*BN/1024)",
          {{"BM*BN/1024", "TM is a whole number: round up"}}},
         {"most_TM",
          "what is the largest TM with which the blocks on an SM, as many as its shared memory "
          "holds, have at least half of the threads that the SM can hold?",
          "-ceil(-2*BM*BN*-ceil(-SM_BYTES/(4*BK*(BM + BN) + 1024))/SM_THREADS)",
          {{"-ceil(-2*BM*BN*SM_BYTES/(4*BK*(BM + BN) + 1024)/SM_THREADS)",
            "an SM holds only whole blocks: round their number down first"},
           {"-ceil(-2*BM*BN*-ceil(-SM_BYTES/(4*BK*(BM + BN)))/SM_THREADS)",
            "the system takes 1,024 more bytes for each block"},
           {"2*BM*BN*-ceil(-SM_BYTES/(4*BK*(BM + BN) + 1024))/SM_THREADS",
            "TM is a whole number: round down, which is -ceil(-x)"},
           {"-ceil(-BM*BN*-ceil(-SM_BYTES/(4*BK*(BM + BN) + 1024))/SM_THREADS)",
            "half of the SM's threads are enough"}}}},
};
