#include "school/grade/exercise.h"

namespace {

constexpr int BM = 8, BN = 32, BK = 16;

bool outside_of(const grade::Case& c, const char* array) {
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array.starts_with("outside of ") && line.array.ends_with(array)) return true;
  }
  return false;
}

// Only K is cut: what goes wrong is for want of the edge along K.
bool only_K_is_cut(const grade::Case& c) {
  return c.shape.M % BM == 0 && c.shape.N % BN == 0 && c.shape.K % BK != 0;
}

int rounds(const grade::Case& c) {
  return (c.shape.K + BK - 1) / BK;
}

bool has(const grade::Case& c, model::HazardKind kind) {
  for (const model::Hazard& hazard : c.row.counts->hazards) {
    if (hazard.kind == kind) return true;
  }
  return false;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "tile edges: C = A * B^T for any shape through 8 x 16 and 32 x 16 tiles",
    .product = {grade::Order::rows, grade::Order::transposed, grade::Order::columns},
    .variants = {{{"BM", BM}, {"BN", BN}, {"BK", BK}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{2 * BM, BN, BK * random.between(1, 3) + random.between(1, BK - 1)},
               random.cut_tiles(BM, BN, BK * random.between(1, 3) + random.between(1, BK - 1)),
               {random.between(1, BM - 1), BN * random.between(1, 3), random.between(1, BK - 1)},
               {1, 1, 1}},
              BM, BN, BK);
        },
    .targets =
        {{"global loads", "gmem_loads", "M*K*ceil(N/BN) + N*K*ceil(M/BM)"},
         {"global stores", "gmem_stores", "M*N"},
         {"shared loads", "smem_load_floats", "2*ceil(K/BK)*BK*threads"},
         {"stores per thread", "most_gmem_stores", "1", false},
         {"barriers per block", "barriers/blocks", "2*ceil(K/BK)", false},
         {"shared bytes", "smem_bytes", "4*BK*(BM + BN)", false}},
    .hints =
        {{[](const grade::Case& c) {
            return has(c, model::HazardKind::barrier_divergence) ||
                   has(c, model::HazardKind::threads_left);
          },
          "every thread of the block must copy its part and reach every barrier, even if its own "
          "element of C does not exist: it must not leave early"},
         {[](const grade::Case& c) {
            return has(c, model::HazardKind::uninitialized) ||
                   (!c.right() && c.measures.at("smem_store_floats") <
                                      rounds(c) * (BM + BN) * BK * c.measures.at("blocks"));
          },
          "a place of the tile that lies beyond the matrix keeps its old value, from the last "
          "round or from nowhere: store a value there that adds nothing to the sum"},
         {[](const grade::Case& c) {
            return has(c, model::HazardKind::race_on_result) || outside_of(c, "C");
          },
          "the tiles of the last row and column of blocks extend beyond C: which threads have an "
          "element of C to store?"},
         {[](const grade::Case& c) {
            return only_K_is_cut(c) && !c.right() && !(outside_of(c, "A") && outside_of(c, "B"));
          },
          "K is not a multiple of BK. Beyond K, the places of both tiles must be zero: a zero in "
          "only one of them is not enough, because NaN times zero is NaN"},
         {[](const grade::Case& c) { return only_K_is_cut(c) && outside_of(c, "A"); },
          "K is not a multiple of BK: the last tile extends beyond the ends of the rows, and "
          "after the end of a row of A or B comes the next row, or nothing"},
         {[](const grade::Case& c) { return outside_of(c, "A") || outside_of(c, "B"); },
          "the tiles of the last blocks extend beyond the last row of A or B: M bounds the rows of "
          "A, and N bounds the rows of B"},
         {[](const grade::Case& c) { return !c.right() && c.is({}); },
          "C must lie column by column, and B is stored transposed: use C[col * M + row] and B[col "
          "* K + k]"},
         {[](const grade::Case& c) {
            return c.right() && !c.missed.empty() &&
                   c.missed.front()->name == std::string("global loads");
          },
          "a place beyond the matrix must be zero, and that needs no load"}},
};
