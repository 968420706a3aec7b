#include "school/grade/exercise.h"

namespace {

// Bank conflicts of the loads of an array, or of the stores to it, as the student calls it.
std::int64_t conflicts(const grade::Case& c, const std::string& array, model::Direction direction) {
  std::int64_t sum = 0;
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array == array && line.direction == direction) sum += line.bank_conflicts;
  }
  return sum;
}

// Conflicts of all loads from shared memory that leave a request with so many wavefronts.
bool loads_take(const grade::Case& c, int wavefronts) {
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.shared && line.direction == model::Direction::load && line.bank_conflicts > 0 &&
        line.worst_pieces == wavefronts) {
      return true;
    }
  }
  return false;
}

bool sound(const grade::Case& c) {
  return c.right() && !model::has_hazard(*c.row.counts);
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "padding: C = A * B^T without bank conflicts, at most four more floats per row",
    .product = {.B = grade::Order::transposed},
    .variants = {{{"BM", 32}, {"BN", 32}, {"BK", 32}, {"TM", 4}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{32, 64, 32}, random.tiles(32, 32, 32 * random.between(2, 3))}, 32, 32, 32);
        },
    .targets =
        {{"bank conflicts", "bank_conflicts", "0"},
         {"shared bytes", "smem_bytes", "4*(BM + BN)*(BK + 4)", false},
         {"shared wavefronts", "smem_load_wavefronts + smem_store_wavefronts",
          "(M*N*K/TM + M*N*K + M*N*K/BM + M*N*K/BN)/32"},
         {"wavefronts of stores", "smem_store_wavefronts", "(M*N*K/BM + M*N*K/BN)/32"},
         {"global loads", "gmem_loads", "(M*N*K/BM + M*N*K/BN)/4"}},
    .hints =
        {{[](const grade::Case& c) {
            return model::has_hazard(*c.row.counts) &&
                   c.row.counts->hazards.front().kind == model::HazardKind::misaligned;
          },
          "with this width, some rows of the tile start where no float4 may start: look at the "
          "accesses of 16 bytes",
          "either keep the width and store the four floats one by one, or pad by four floats and "
          "also load four steps of k at once, as one float4"},
         {[](const grade::Case& c) {
            return sound(c) && c.measures.at("bank_conflicts") == 0 && !c.missed.empty() &&
                   std::string(c.missed.front()->name) == "shared bytes";
          },
          "no conflict is left, but the rows grew by more than four floats. By how many banks must "
          "a row be shifted against the row before it?"},
         {[](const grade::Case& c) {
            return sound(c) && loads_take(c, 32) && conflicts(c, "Bs", model::Direction::load) > 0;
          },
          "the lanes of a warp read a column of Bs: in which banks do its 32 elements lie?",
          "a whole column lies in one bank: pad the rows of Bs, so that each is longer than BK "
          "floats"},
         {[](const grade::Case& c) { return sound(c) && (loads_take(c, 2) || loads_take(c, 4)); },
          "with this width, several of the 32 rows still start in the same bank: which of them?",
          "the width has a factor in common with 32. Either choose an odd width, or pad by four "
          "floats and load four steps of k at once, as one float4"},
         {[](const grade::Case& c) {
            return sound(c) && conflicts(c, "Bs", model::Direction::store) +
                                       conflicts(c, "As", model::Direction::store) >
                                   0;
          },
          "the loads have no conflicts, but the stores do: to which banks does a warp store at "
          "once?",
          "what the lanes of a warp store at once must go to different banks as well"},
         {[](const grade::Case& c) {
            return sound(c) && !c.missed.empty() &&
                   std::string(c.missed.front()->name) == "wavefronts of stores";
          },
          "the lanes of a warp take turns to store: how many wavefronts is that?",
          "turns avoid conflicts, but take as many wavefronts as they do: pad, so that all 32 "
          "lanes can store at once"},
         {[](const grade::Case& c) { return sound(c) && !c.missed.empty(); },
          "the banks are right, but there is more traffic than the target allows: how many floats "
          "does each access take, and from which memory?",
          "copy each tile with one float4 per thread, and multiply from shared memory"}},
};
