#include "trace/call_paths.h"

#include <algorithm>

namespace trace {

Token CallPaths::called(Token path, Token call) {
  for (Token p = path + 1; p < paths_.size(); ++p) {
    if (paths_[p].parent == path && paths_[p].call == call) return p;
  }
  paths_.push_back({path, call, paths_[path].depth + 1});
  return paths_.size() - 1;
}

bool CallPaths::has_entered(Token function, Token bytes) const {
  return std::any_of(paths_.begin(), paths_.end(), [&](const Path& path) {
    return path.entry - function < bytes;
  });
}

std::vector<std::uint32_t> CallPaths::places_of(Token path, Token place) const {
  std::vector<std::uint32_t> places{place};
  for (; path != 0; path = paths_[path].parent) {
    places.insert(places.begin(), paths_[path].call);
  }
  return places;
}

bool CallPaths::goes_before(Position a, Position b) const {
  // A lane inside a call is represented in the calling function by the place of that call.
  const auto caller = [this](Position p) -> Position {
    return {paths_[p.path].parent, paths_[p.path].call};
  };
  Position x = a, y = b;
  while (paths_[x.path].depth > paths_[y.path].depth) x = caller(x);
  while (paths_[y.path].depth > paths_[x.path].depth) y = caller(y);
  while (x.path != y.path) {
    x = caller(x);
    y = caller(y);
  }
  if (x.place != y.place) return x.place < y.place;
  return paths_[a.path].depth > paths_[b.path].depth;
}

}  // namespace trace
