// What the launches of the moment run on: shared by grid.cpp and trace.cpp, seen by nobody else.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "machine/grid.h"
#include "model/counts.h"
#include "trace/trace.h"

namespace machine {

struct Session {
  const Machine* machine;
  std::optional<std::span<const GlobalArray>> traced;  // none: run only
  model::Counts counts{};
  std::vector<bool> written{};  // of the words of the result, where hazards are looked for
  bool all_traced = true;       // every block of every launch
};

// Makes every launch of `host` run in `session`.
void run_in(Session& session, const std::function<void()>& host);

}  // namespace machine
