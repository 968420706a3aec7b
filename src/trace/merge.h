// The order in which a warp executes what its lanes logged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/call_paths.h"
#include "trace/tally.h"
#include "trace/token.h"

namespace trace {

// Lanes with identical logs, which are followed together.
struct Party {
  std::uint32_t lanes;
  std::span<const Token> tokens;
  Token path;
  bool running;  // will log more
  std::size_t tokens_used = 0, addresses_used = 0;
  Tally tally{};
  bool finished() const { return tokens_used == tokens.size(); }
  Token next() const { return tokens[tokens_used]; }
};

class Merge {
 public:
  Merge(std::vector<Party>& parties, const CallPaths& paths) : parties_(parties), paths_(paths) {}

  // The parties that execute the warp's next instruction, which is the next() of each. Empty if all
  // are finished, or if a running party without logged tokens might be the next.
  std::span<Party* const> next();
  // Whether these parties also execute the following instruction because there are no others. Then
  // next() need not be called.
  bool stay_together() const { return parties_.size() == 1 && !together_[0]->finished(); }

 private:
  std::vector<Party>& parties_;
  const CallPaths& paths_;
  std::vector<Party*> together_;
};

}  // namespace trace
