// The places in a kernel that access memory.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "machine/kernel_memory.h"
#include "model/counts.h"
#include "trace/call_paths.h"
#include "trace/tally.h"
#include "trace/token.h"

namespace trace {

// A site: one place in the kernel, reached by one path, that accesses one array.
struct Site {
  Token path, token;
  const machine::KernelArray* array;
  int traffic;
  std::uint32_t number;
  model::LineCounts counts;
  int recorded = -1;  // its number in the recording
};

class Sites {
 public:
  // Both must outlive this object.
  Sites(const std::vector<machine::KernelArray>& arrays, const CallPaths& paths)
      : arrays_(arrays), paths_(paths) {}

  // The site of that access; null if the address is not in an array.
  Site* find(Token path, Token token, std::uintptr_t address) {
    Site*& last = last_[(token >> kPlaceShift ^ path * 31) % last_.size()];
    if (last != nullptr && is_site(*last, path, token, address)) return last;
    Site* const found = find_or_make(path, token, address);
    return found == nullptr ? nullptr : last = found;
  }
  const Site& operator[](std::uint32_t number) const { return sites_[number]; }
  const std::deque<Site>& all() const { return sites_; }

  std::size_t array_of(const Site& site) const { return site.array - arrays_.data(); }
  std::vector<std::uint32_t> places_of(const Site& site) const {
    return paths_.places_of(site.path, place_of(site.token));
  }

 private:
  static bool is_site(const Site& site, Token path, Token token, std::uintptr_t address) {
    return site.path == path && site.token == token && site.array->holds(address);
  }
  Site* find_or_make(Token path, Token token, std::uintptr_t address);

  const std::vector<machine::KernelArray>& arrays_;
  const CallPaths& paths_;
  std::deque<Site> sites_;         // never move
  std::array<Site*, 256> last_{};  // by path and place
};

}  // namespace trace
