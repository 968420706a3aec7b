#include "school/grade/exercise.h"

namespace {

const std::vector<grade::Values> kTiles = {
    {{"BM", 8}, {"BN", 8}, {"BK", 4}},
    {{"BM", 32}, {"BN", 16}, {"BK", 8}},
    {{"BM", 4}, {"BN", 32}, {"BK", 16}},
    {{"BM", 16}, {"BN", 8}, {"BK", 32}}};

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "count by hand what a tiled kernel loads and stores",
    .product = {.B = grade::Order::transposed},
    .variants = kTiles,
    .shapes =
        [](grade::Random& random) {
          std::vector<Shape> shapes;
          for (int variant = 0; variant < 4; ++variant) {
            const auto several = [&](const char* size) {
              return static_cast<int>(kTiles[variant].at(size)) * random.between(2, 4);
            };
            const int M = several("BM"), N = several("BN"), K = several("BK");
            shapes.push_back({M, N, K, variant});
          }
          return shapes;
        },
    .questions =
        {{"global_loads",
          "how many floats do all threads together load from A and B?",
          "gmem_loads",
          {{"2*M*N*K",
            "that would be the number without tiles. Here a block loads each element of its tiles "
            "once, and all its threads share it"},
           {"K*(BM + BN)", "that is the number for one block; how many blocks are there?"},
           {"M*N*K/(BM*BN)",
            "that holds only where a tile has as many elements as the block has threads"},
           {"M*K + K*N", "several blocks need each element, and each of them loads it"}},
          "M*N*K*(1/BM + 1/BN)"},
         {"global_stores",
          "how many floats do all threads together store to C?",
          "gmem_stores",
          {{"M*N*K", "a thread adds up in a register and stores once, after the loop"}},
          "M*N"},
         {"shared_stores",
          "how many floats do all threads together store to As and Bs?",
          "smem_stores",
          {{"2*M*N*K",
            "each element that is loaded from global memory is stored to shared memory once"}},
          "M*N*K*(1/BM + 1/BN)"},
         {"shared_loads",
          "how many floats do all threads together load from As and Bs?",
          "smem_loads",
          {{"M*N*K", "each step of the inner loop loads twice: from As and from Bs"}},
          "2*M*N*K"},
         {"barriers",
          "how many barriers does one block pass?",
          "barriers/blocks",
          {{"K/BK", "each round of the loop over k0 has two"},
           {"2*K", "the loop over k0 advances in steps of BK"},
           {"M*N/(BM*BN)*2*K/BK", "count one block, not all of them"}},
          "2*K/BK"},
         {"shared_bytes",
          "how many bytes of shared memory does a block use?",
          "smem_bytes",
          {{"BM*BK + BN*BK", "a float has 4 bytes"}},
          "4*BK*(BM + BN)"}},
};
