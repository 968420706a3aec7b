// Which words of shared memory a warp has accessed since the last barrier: a compiler may leave out
// a load of the same word, and may merge the loads of neighbouring ones.
#pragma once

#include <cstdint>
#include <vector>

#include "model/warp_access.h"
#include "trace/sites.h"

namespace trace {

class RepeatedWords {
 public:
  // Counts in `site.counts.merging`. The first lane's words stand for those of the warp. Accesses
  // to other memory are ignored.
  void request(Site& site, const model::WarpAccess& access, int warp);
  void barrier();

 private:
  // For each key a few bits, which are 0 at first and after clear().
  class Table {
   public:
    std::uint8_t& operator[](std::uint64_t key);
    void clear();

   private:
    struct Slot {
      std::uint64_t key = 0;
      std::uint32_t round = 0;  // the slot is empty if this is not round_
      std::uint8_t bits = 0;
    };
    Slot& find(std::uint64_t key);
    std::vector<Slot> slots_ = std::vector<Slot>(1024);
    std::uint32_t round_ = 1;
    std::size_t used_ = 0;
  };
  // The words that were accessed, of four aligned ones: by a warp, and by its loads of one site.
  Table of_warps_, of_sites_;
};

}  // namespace trace
