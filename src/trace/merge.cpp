#include "trace/merge.h"

namespace trace {

std::span<Party* const> Merge::next() {
  together_.clear();
  const Party* first = nullptr;
  const auto position = [](const Party& party) {
    return CallPaths::Position{party.path, place_of(party.next())};
  };
  for (const Party& party : parties_) {
    if (!party.finished()) {
      if (first == nullptr || paths_.goes_before(position(party), position(*first))) first = &party;
    } else if (party.running) {
      return {};
    }
  }
  if (first == nullptr) return {};
  for (Party& party : parties_) {
    if (!party.finished() && party.path == first->path && party.next() == first->next()) {
      together_.push_back(&party);
    }
  }
  return together_;
}

}  // namespace trace
