// The functions that lanes are in, by the places of the calls that led there.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/token.h"

namespace trace {

// A path is a number; 0 is outside of all functions that are traced.
class CallPaths {
 public:
  // The path of a function that is called at `call` in `path`.
  Token called(Token path, Token call);
  Token caller(Token path) const { return paths_[path].parent; }

  // A lane came to `place` in `path`: the first one tells which function it is.
  void came_to(Token path, Token place) {
    if (paths_[path].entry == 0) paths_[path].entry = place;
  }
  // Whether any lane was in the function whose code begins at `function`.
  bool has_entered(Token function, Token bytes) const;

  // The calls, outermost first, and `place` itself.
  std::vector<std::uint32_t> places_of(Token path, Token place) const;
  // The same of the call that led to `path`.
  std::vector<std::uint32_t> places_of_call(Token path) const {
    return places_of(paths_[path].parent, paths_[path].call);
  }

  // Of lanes that have parted the ones at the lowest place in the code go first, so that they meet
  // again behind the branch.
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
