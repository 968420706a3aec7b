#include "model/compiled_loads.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

namespace model {
namespace {

using Place = std::pair<int, int>;          // a line of the kernel, and of a helper or 0
using Times = std::map<int, std::int64_t>;  // by SharedInstruction::together: of all warps
constexpr int kLinesOfStatement = 4;        // at most, for a statement that spans several lines

// The same rule as for the places of the trace (trace/source_lines.h).
Place place_of(const SharedInstruction& made, const std::string& file, int first, int last) {
  Place place{0, 0};
  const std::filesystem::path name = std::filesystem::path(file).filename();
  for (const auto& [path, line] : made.places) {
    if (std::filesystem::path(path).filename() != name) continue;
    const bool in_kernel = line >= first && line <= last;
    if (in_kernel) place = {line, 0};
    if (!in_kernel) place.second = line;
  }
  return place;
}

// The loads of a place, or of neighbouring places, as written and as compiled.
struct Group {
  std::vector<const LineCounts*> written;
  std::vector<const SharedInstruction*> made;
};
using Groups = std::map<Place, Group>;

// Where one compiler books an access to another line of the same statement, the lines become one.
void join_statements(Groups& groups) {
  for (auto group = groups.begin(); group != groups.end();) {
    if (!group->second.written.empty() && !group->second.made.empty()) {
      ++group;
      continue;
    }
    auto nearest = groups.end();
    int distance = kLinesOfStatement;
    for (auto other = groups.begin(); other != groups.end(); ++other) {
      const int away = std::abs(other->first.first - group->first.first) +
                       std::abs(other->first.second - group->first.second);
      const bool alike = (other->first.second == 0) == (group->first.second == 0);
      const bool completes =
          group->second.made.empty() ? !other->second.made.empty() : !other->second.written.empty();
      if (other == group || !alike || !completes || away >= distance) continue;
      nearest = other;
      distance = away;
    }
    if (nearest == groups.end()) {
      ++group;
      continue;
    }
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(nearest->second.written, group->second.written);
    append(nearest->second.made, group->second.made);
    group = groups.erase(group);
  }
}

std::int64_t written_bytes(const Group& group) {
  std::int64_t bytes = 0;
  for (const LineCounts* line : group.written) bytes += line->requests * line->bytes;
  return bytes;
}

std::int64_t made_bytes(const Group& group) {
  std::int64_t bytes = 0;
  for (const SharedInstruction* made : group.made) bytes += made->bytes;
  return bytes;
}

bool any_predicated(const Group& group) {
  return std::any_of(group.made.begin(), group.made.end(), [](const SharedInstruction* made) {
    return made->predicated;
  });
}

// Whether a load may have been left out because its word was already in a register.
bool may_be_left_out(const Group& group) {
  return std::any_of(group.written.begin(), group.written.end(), [](const LineCounts* line) {
    return line->merging.watched == 0 || line->merging.repeated > 0;
  });
}

template <class Value>
bool all_same(const Group& group, Value SharedInstruction::*member) {
  return std::all_of(group.made.begin(), group.made.end(), [&](const SharedInstruction* made) {
    return made->*member == group.made.front()->*member;
  });
}

// How often the warps executed all of the group's instructions, if these are executed equally often
// and have all bytes.
std::optional<std::int64_t> times_of(const Group& group) {
  if (group.made.empty() || group.written.empty() || any_predicated(group)) return std::nullopt;
  if (!all_same(group, &SharedInstruction::together)) return std::nullopt;
  const std::int64_t each = made_bytes(group), all = written_bytes(group);
  if (all % each != 0) return std::nullopt;
  return all / each;
}

// The executions that follow from stores, and from loads that cannot be left out.
Times known_times(const Groups& stores, const Groups& loads) {
  Times times;
  std::set<int> contradicted;
  const auto learn = [&](const Group& group) {
    const std::optional<std::int64_t> found = times_of(group);
    if (!found) return;
    const int together = group.made.front()->together;
    const auto [known, is_new] = times.emplace(together, *found);
    if (!is_new && known->second != *found) contradicted.insert(together);
  };
  for (const auto& [place, group] : stores) learn(group);
  for (const auto& [place, group] : loads) {
    if (!may_be_left_out(group)) learn(group);
  }
  for (const int together : contradicted) times.erase(together);
  return times;
}

// Requests by bytes per lane, in the order of CompiledLine::by_bytes.
using Requests = std::array<std::int64_t, 5>;

std::size_t index_of(int bytes) {
  return std::bit_width(static_cast<unsigned>(bytes)) - 1;
}

std::optional<Requests> requests_of(const Group& group, const Times& times) {
  Requests requests{};
  const bool whole = !may_be_left_out(group);
  if (whole && all_same(group, &SharedInstruction::bytes)) {
    const std::int64_t bytes = group.made.front()->bytes;
    if (written_bytes(group) % bytes != 0) return std::nullopt;
    requests[index_of(static_cast<int>(bytes))] = written_bytes(group) / bytes;
    return requests;
  }
  if (any_predicated(group)) return std::nullopt;
  std::int64_t bytes = 0;
  for (const SharedInstruction* made : group.made) {
    const auto known = times.find(made->together);
    if (known == times.end()) return std::nullopt;
    requests[index_of(made->bytes)] += known->second;
    bytes += known->second * made->bytes;
  }
  if (whole && bytes != written_bytes(group)) return std::nullopt;
  if (bytes > written_bytes(group)) return std::nullopt;
  return requests;
}

// The wavefronts of `requests` loads of `bytes` bytes per lane of this line. Nothing if they differ
// from one to the next, and these are not all of them.
std::optional<std::int64_t> wavefronts_of(
    const LineCounts& line, int bytes, std::int64_t requests) {
  if (requests == 0) return 0;
  const Merging::Wide as_written{line.requests, line.pieces, line.worst_pieces};
  const Merging::Wide none;
  const Merging::Wide& wide = bytes == line.bytes ? as_written
                              : bytes == 8        ? line.merging.by_64
                              : bytes == 16       ? line.merging.by_128
                                                  : none;
  if (wide.requests == requests) return wide.wavefronts;
  if (wide.requests == 0 || wide.wavefronts != wide.most * wide.requests) return std::nullopt;
  return requests * wide.most;
}

bool can_be_wide(const LineCounts& line, int bytes) {
  return bytes == line.bytes || (bytes == 8 && line.merging.by_64.requests > 0) ||
         (bytes == 16 && line.merging.by_128.requests > 0);
}

// Which loads are of which array the code does not say. What is left when all others are known, or
// what costs the same for each array, is known.
std::optional<std::int64_t> wavefronts_of(const Group& group, const Requests& made) {
  std::int64_t wavefronts = 0;
  Requests requests = made;
  std::vector<const LineCounts*> lines = group.written;
  std::map<const LineCounts*, std::int64_t> bytes_left;
  for (const LineCounts* line : lines) bytes_left[line] = line->requests * line->bytes;
  const bool whole = !may_be_left_out(group);
  for (std::size_t w = requests.size(); w-- > 0;) {
    if (requests[w] == 0) continue;
    const int bytes = 1 << w;
    std::vector<const LineCounts*> of;
    for (const LineCounts* line : lines) {
      if (can_be_wide(*line, bytes) && bytes_left[line] > 0) of.push_back(line);
    }
    if (of.empty()) return std::nullopt;
    std::int64_t all_left = 0;
    for (const LineCounts* line : of) all_left += bytes_left[line];
    if (of.size() == 1 || (whole && all_left == requests[w] * bytes)) {
      for (const LineCounts* line : of) {
        const std::int64_t share = of.size() == 1 ? requests[w] : bytes_left[line] / bytes;
        const std::optional<std::int64_t> cost = wavefronts_of(*line, bytes, share);
        if (!cost) return std::nullopt;
        wavefronts += *cost;
        bytes_left[line] -= share * bytes;
        if (bytes_left[line] < 0) return std::nullopt;
      }
      continue;
    }
    // The cost of one, if it is the same whichever array it loads.
    std::optional<std::int64_t> each;
    for (const LineCounts* line : of) {
      const std::optional<std::int64_t> one = wavefronts_of(*line, bytes, 1);
      if (!one || (each && *each != *one)) return std::nullopt;
      each = one;
    }
    wavefronts += requests[w] * *each;
    for (const LineCounts* line : of) bytes_left[line] = 0;  // no longer known
  }
  return wavefronts;
}

std::optional<std::int64_t> sum(
    const std::vector<CompiledLine>& lines, std::optional<std::int64_t> CompiledLine::*of) {
  std::int64_t all = 0;
  for (const CompiledLine& line : lines) {
    if (!(line.*of)) return std::nullopt;
    all += *(line.*of);
  }
  return all;
}

}  // namespace

std::optional<std::int64_t> CompiledLoads::requests() const {
  return sum(lines, &CompiledLine::compiled_requests);
}

std::optional<std::int64_t> CompiledLoads::wavefronts() const {
  return sum(lines, &CompiledLine::compiled_wavefronts);
}

CompiledLoads compiled_loads(
    const Counts& counts, const SassKernel& kernel, const std::string& file, int first, int last) {
  using Kind = SharedInstruction::Kind;
  Groups loads, stores;
  CompiledLoads result;
  for (const LineCounts& line : counts.lines) {
    if (!line.shared || line.requests == 0) continue;
    const Place place{line.line, line.helper_line};
    if (line.direction == Direction::store) stores[place].written.push_back(&line);
    if (line.direction != Direction::load) continue;
    if (line.worst.matrices == 0) {
      loads[place].written.push_back(&line);
      continue;
    }
    // ldmatrix is one instruction in either language.
    result.lines.push_back(
        {line.line,
         line.helper_line,
         {line.array},
         line.requests,
         line.pieces,
         {},
         line.requests,
         line.pieces});
  }
  for (const SharedInstruction& made : kernel.instructions) {
    const Place place = place_of(made, file, first, last);
    if (made.kind == Kind::load) loads[place].made.push_back(&made);
    if (made.kind == Kind::store) stores[place].made.push_back(&made);
  }
  join_statements(loads);
  const Times times = known_times(stores, loads);
  for (const auto& [place, group] : loads) {
    if (group.written.empty()) continue;  // no traced block came there
    CompiledLine& line = result.lines.emplace_back();
    line.line = place.first;
    line.helper_line = place.second;
    for (const LineCounts* written : group.written) {
      line.requests += written->requests;
      line.wavefronts += written->pieces;
      if (std::find(line.arrays.begin(), line.arrays.end(), written->array) == line.arrays.end()) {
        line.arrays.push_back(written->array);
      }
    }
    for (const SharedInstruction* made : group.made) ++line.by_bytes[index_of(made->bytes)];
    if (group.made.empty()) continue;
    const std::optional<Requests> requests = requests_of(group, times);
    if (!requests) continue;
    line.compiled_requests = 0;
    for (const std::int64_t of_width : *requests) *line.compiled_requests += of_width;
    line.compiled_wavefronts = wavefronts_of(group, *requests);
  }
  std::sort(
      result.lines.begin(), result.lines.end(), [](const CompiledLine& a, const CompiledLine& b) {
        return std::pair(a.line, a.helper_line) < std::pair(b.line, b.helper_line);
      });
  return result;
}

std::vector<MergeableLine> mergeable_lines(const Counts& counts) {
  std::vector<MergeableLine> lines;
  for (const LineCounts& line : counts.lines) {
    const Merging& merging = line.merging;
    if (!line.shared || line.direction != Direction::load || merging.watched == 0) continue;
    const bool fours = merging.by_128.requests > 0 && merging.in_fours == merging.watched;
    const bool pairs = merging.by_64.requests > 0 && merging.in_pairs == merging.watched;
    if (!fours && !pairs) continue;
    const Merging::Wide& wide = fours ? merging.by_128 : merging.by_64;
    const int loads = fours ? 16 / line.bytes : 2;
    lines.push_back(
        {line.line, line.helper_line, line.array, loads,
         static_cast<double>(loads) * static_cast<double>(line.pieces) /
             static_cast<double>(line.requests),
         static_cast<double>(wide.wavefronts) / static_cast<double>(wide.requests)});
  }
  return lines;
}

}  // namespace model
