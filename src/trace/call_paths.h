// The function calls that lanes are in, identified by the places of the calls.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/token.h"

namespace trace {

// A path is a number; 0 is outside of all traced functions.
class CallPaths {
 public:
  // The path of the function that is called at `call` in `path`.
  Token called(Token path, Token call);
  Token caller(Token path) const { return paths_[path].parent; }

  // A lane reached `place` in `path`. The first such place identifies the function.
  void came_to(Token path, Token place) {
    if (paths_[path].entry == 0) paths_[path].entry = place;
  }
  // Whether any lane was in the function with this code.
  bool has_entered(Token function, Token bytes) const;

  // The calls, outermost first, and then `place`.
  std::vector<std::uint32_t> places_of(Token path, Token place) const;
  // The same for the call that led to `path`.
  std::vector<std::uint32_t> places_of_call(Token path) const {
    return places_of(paths_[path].parent, paths_[path].call);
  }

  // When lanes have diverged, those at the lowest address in the code go first, so that they
  // reconverge after the branch.
  struct Position {
    Token path, place;
  };
  bool goes_before(Position a, Position b) const;

 private:
  struct Path {
    Token parent, call, depth;
    Token entry = 0;  // a place in the function
  };
  std::vector<Path> paths_{{0, 0, 0}};
};

}  // namespace trace
