#include "grade/exercise.h"

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
          "how often do all threads together load a float from A or B?",
          "gmem_loads",
          {{"2*M*N*K",
            "so many it would be without tiles: here a block fetches each element of its "
            "tiles once, and all its threads share it"},
           {"K*(BM + BN)", "that is one block's share; how many blocks are there?"},
           {"M*N*K/(BM*BN)",
            "a thread loads an element of A and one of B for every BK steps only "
            "where the tiles have as many elements as the block has threads"},
           {"M*K + K*N", "every element is needed by several blocks, and each of them loads it"}}},
         {"global_stores",
          "how often do all threads together store to C?",
          "gmem_stores",
          {{"M*N*K", "a thread sums up in a register and stores when the loop is over"}}},
         {"shared_stores",
          "how often do all threads together store to As or Bs?",
          "smem_stores",
          {{"2*M*N*K", "what is loaded from global memory is stored to shared memory once"}}},
         {"shared_loads",
          "how often do all threads together load from As or Bs?",
          "smem_loads",
          {{"M*N*K", "a step of the inner loop loads twice: from As and from Bs"}}},
         {"barriers",
          "how many barriers does one block pass?",
          "barriers/blocks",
          {{"K/BK", "there are two in a round of the loop over k0"},
           {"2*K", "the loop over k0 goes in steps of BK"},
           {"M*N/(BM*BN)*2*K/BK", "of one block, not of all of them"}}},
         {"shared_bytes",
          "how many bytes of shared memory does a block take?",
          "smem_bytes",
          {{"BM*BK + BN*BK", "a float has 4 bytes"}}}},
};
