#include "grade/exercise.h"

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
    .title = "padding: C = A * B^T without a bank conflict, at most four floats a row",
    .product = {.B = grade::Order::transposed},
    .variants = {{{"BM", 32}, {"BN", 32}, {"BK", 32}, {"TM", 4}}},
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {32, 64, 32},
              {32 * random.between(1, 3), 32 * random.between(1, 3), 32 * random.between(2, 3)},
          };
        },
    .targets =
        {{"bank conflicts", "bank_conflicts", "0"},
         {"shared bytes", "smem_bytes", "4*(BM + BN)*(BK + 4)", false},
         {"shared wavefronts", "smem_load_wavefronts + smem_store_wavefronts",
          "(M*N*K/TM + M*N*K + M*N*K/BM + M*N*K/BN)/32"},
         {"global loads", "gmem_loads", "(M*N*K/BM + M*N*K/BN)/4"}},
    .hints =
        {{[](const grade::Case& c) {
            return model::has_hazard(*c.row.counts) &&
                   c.row.counts->hazards.front().kind == model::HazardKind::misaligned;
          },
          "the padding puts rows where no float4 may begin: pad by four floats, or store the four "
          "floats one by one"},
         {[](const grade::Case& c) {
            return sound(c) && c.measures.at("bank_conflicts") == 0 && !c.missed.empty() &&
                   std::string(c.missed.front()->name) == "shared bytes";
          },
          "no conflict is left, but the rows grew by more than four floats: by how many banks must "
          "one row be moved against the row before it?"},
         {[](const grade::Case& c) {
            return sound(c) && loads_take(c, 32) && conflicts(c, "Bs", model::Direction::load) > 0;
          },
          "the lanes of a warp read a column of Bs, and all of it lies in one bank: the rows of Bs "
          "are the ones to pad"},
         {[](const grade::Case& c) { return sound(c) && (loads_take(c, 2) || loads_take(c, 4)); },
          "with this padding some rows still begin in the same bank. A padding by an even number "
          "moves 4-byte loads by even numbers of banks only; by four floats it is right for lanes "
          "that load a float4 along k"},
         {[](const grade::Case& c) {
            return sound(c) && conflicts(c, "Bs", model::Direction::store) +
                                       conflicts(c, "As", model::Direction::store) >
                                   0;
          },
          "the loads are free of conflicts, the stores are not: a row's neighbours must go to "
          "different banks as well"},
         {[](const grade::Case& c) { return sound(c) && !c.missed.empty(); },
          "copy a tile with one float4 a thread, and multiply from shared memory"}},
};
