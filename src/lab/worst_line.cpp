#include "lab/worst_line.h"

#include <algorithm>

namespace lab {

const char* name_of(model::Direction direction) {
  switch (direction) {
    case model::Direction::load:
      return "load";
    case model::Direction::store:
      return "store";
    case model::Direction::copy:
      return "copy";
  }
  return "";
}

double waste(const model::LineCounts& line) {
  const std::int64_t needed = line.pieces - line.bank_conflicts - line.uncoalesced;
  return static_cast<double>(line.pieces) / static_cast<double>(std::max<std::int64_t>(needed, 1));
}

std::vector<model::LineCounts> by_array(const model::Counts& counts) {
  std::vector<model::LineCounts> arrays;
  for (model::LineCounts line : counts.lines) {
    line.line = line.helper_line = 0;
    const auto known =
        std::find_if(arrays.begin(), arrays.end(), [&](const model::LineCounts& array) {
          return array.array == line.array && array.direction == line.direction &&
                 array.bytes == line.bytes;
        });
    if (known == arrays.end()) {
      arrays.push_back(line);
      continue;
    }
    known->in_flight_bytes += line.in_flight_bytes;
    known->in_flight_most = std::max(known->in_flight_most, line.in_flight_most);
    known->executions += line.executions;
    known->requests += line.requests;
    known->pieces += line.pieces;
    known->ideal_pieces += line.ideal_pieces;
    known->bank_conflicts += line.bank_conflicts;
    known->uncoalesced += line.uncoalesced;
  }
  return arrays;
}

const model::LineCounts* worst_line(const Row& row) {
  if (!row.counts) return nullptr;
  const std::vector<model::LineCounts>& lines = row.counts->lines;
  const auto worst = std::max_element(
      lines.begin(), lines.end(),
      [](const model::LineCounts& a, const model::LineCounts& b) { return waste(a) < waste(b); });
  const bool any = worst != lines.end() && worst->direction != model::Direction::copy;
  return any && waste(*worst) > kWasteful ? &*worst : nullptr;
}

const model::LineCounts* same_request(const Row& row, const model::LineCounts& line) {
  if (!row.counts) return nullptr;
  // A cp.async is both the load of its global side and the store of its shared side.
  const model::Direction as_copy = line.shared ? model::Direction::store : model::Direction::load;
  const model::LineCounts* found = nullptr;
  for (const model::LineCounts& other : row.counts->lines) {
    const bool same = other.array == line.array && other.shared == line.shared &&
                      (other.direction == line.direction ||
                       (other.direction == model::Direction::copy && line.direction == as_copy));
    if (same && (found == nullptr || waste(other) > waste(*found))) found = &other;
  }
  return found;
}

}  // namespace lab
