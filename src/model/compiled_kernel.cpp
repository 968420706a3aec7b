#include "model/compiled_kernel.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <istream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace model {

namespace {

constexpr CompiledKernel kRecords[] = {
#include "model/compiled_kernels.inc"
};

std::optional<CompiledKernel> nearest(
    std::string_view kernel, int compute_capability, bool with_loop) {
  const std::string wanted = without_spaces(std::string(kernel));
  std::optional<CompiledKernel> best;
  for (const CompiledKernel& record : kRecords) {
    if (record.compute_capability > compute_capability) continue;
    if (best && record.compute_capability <= best->compute_capability) continue;
    if (with_loop && !record.has_loop()) continue;
    if (without_spaces(std::string(record.kernel)) == wanted) best = record;
  }
  return best;
}

}  // namespace

std::string without_spaces(std::string name) {
  std::erase(name, ' ');
  return name;
}

std::span<const CompiledKernel> compiled_kernels() {
  return kRecords;
}

std::optional<CompiledKernel> find_compiled_kernel(
    std::string_view kernel, int compute_capability) {
  return nearest(kernel, compute_capability, false);
}

std::optional<CompiledKernel> find_compiled_loop(std::string_view kernel, int compute_capability) {
  return nearest(kernel, compute_capability, true);
}

namespace {

struct SassInstruction {
  std::string opcode;
  std::string target;  // the label of a branch; empty: not a branch
  bool predicated = false;
  bool conditional = false;  // a branch that may not be taken
  std::vector<SharedInstruction::SourceLine> places;
};

bool is_indirect(const SassInstruction& i) {
  return i.opcode.starts_with("BRX") || i.opcode.starts_with("JMX");
}

bool ends_path(const SassInstruction& i) {
  if (i.opcode.starts_with("EXIT") || i.opcode.starts_with("RET")) return !i.predicated;
  return is_indirect(i) || (!i.target.empty() && !i.conditional);
}

bool ends_block(const SassInstruction& i) {
  return ends_path(i) || !i.target.empty() || i.opcode.starts_with("EXIT");
}

// A function's instructions as basic blocks, with the paths between them.
struct Graph {
  struct BasicBlock {
    std::size_t first, last;  // instructions
    std::vector<std::size_t> after;
    bool ends = false;  // the thread may end here
  };
  std::vector<BasicBlock> blocks;
  bool known = true;  // no branch whose target is computed
};

Graph graph_of(
    const std::vector<SassInstruction>& code, const std::map<std::string, std::size_t>& labels) {
  std::vector<bool> leads(code.size() + 1);
  leads[0] = true;
  for (const auto& [label, at] : labels) leads[at] = true;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (ends_block(code[i])) leads[i + 1] = true;
  }
  Graph graph;
  std::vector<std::size_t> block_of(code.size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (leads[i]) graph.blocks.push_back({i, i, {}, {}});
    graph.blocks.back().last = i;
    block_of[i] = graph.blocks.size() - 1;
  }
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    Graph::BasicBlock& block = graph.blocks[b];
    const SassInstruction& last = code[block.last];
    if (is_indirect(last)) graph.known = false;
    if (last.opcode.starts_with("EXIT") || last.opcode.starts_with("RET")) block.ends = true;
    if (!last.target.empty()) {
      const auto found = labels.find(last.target);
      if (found == labels.end()) {
        graph.known = false;
      } else if (found->second < code.size()) {
        block.after.push_back(block_of[found->second]);
      }
    }
    if (!ends_path(last) && b + 1 < graph.blocks.size()) block.after.push_back(b + 1);
  }
  return graph;
}

// Whether a path that begins with one of these blocks comes to the block `to`, or for kEnd to where
// the thread may end, without passing through another one.
constexpr std::size_t kEnd = std::string::npos;
bool reaches(
    const Graph& graph, std::vector<std::size_t> begins, std::size_t to, std::size_t without) {
  std::vector<bool> seen(graph.blocks.size());
  while (!begins.empty()) {
    const std::size_t b = begins.back();
    const Graph::BasicBlock& block = graph.blocks[b];
    begins.pop_back();
    if (b == without || seen[b]) continue;
    if (to == kEnd ? block.ends : b == to) return true;
    seen[b] = true;
    begins.insert(begins.end(), block.after.begin(), block.after.end());
  }
  return false;
}

// Whether `a` is always before `b`, `b` always after `a`, and no loop has one without the other.
bool are_in_turns(const Graph& graph, std::size_t a, std::size_t b) {
  return !reaches(graph, {0}, b, a) && !reaches(graph, {a}, kEnd, b) &&
         !reaches(graph, graph.blocks[a].after, a, b) &&
         !reaches(graph, graph.blocks[b].after, b, a);
}

// The first block that is executed as often as this one.
std::size_t first_alike(const Graph& graph, std::size_t b) {
  if (!graph.known) return b;
  std::size_t a = 0;
  while (a < b && !are_in_turns(graph, a, b) && !are_in_turns(graph, b, a)) ++a;
  return a;
}

int bytes_of(const std::string& opcode) {
  const auto has = [&](const char* part) { return opcode.find(part) != opcode.npos; };
  if (has(".128")) return 16;
  if (has(".64")) return 8;
  if (has(".U16") || has(".S16")) return 2;
  return has(".U8") || has(".S8") ? 1 : 4;
}

// The number after `word` in `line`, from `at`; 0 if there is none.
int number_after(std::string_view line, std::string_view word, std::size_t at) {
  const std::size_t found = line.find(word, at);
  return found == line.npos ? 0 : std::atoi(line.data() + found + word.size());
}

// One kernel while it is read.
struct Reader {
  std::string name;
  std::vector<SassInstruction> code;
  std::map<std::string, std::size_t> labels;
  std::vector<SharedInstruction::SourceLine> places;  // innermost first
  bool places_end = false;                            // the next line comment begins another place

  // //## File "a.cu", line 5 inlined at "a.cu", line 9: the outermost of a chain is its last.
  void place(const std::string& line) {
    if (std::exchange(places_end, false)) places.clear();
    const std::size_t begin = line.find('"') + 1, end = line.find('"', begin);
    if (begin == 0 || end == line.npos) return;
    places.push_back({line.substr(begin, end - begin), number_after(line, ", line ", end)});
  }

  // /*0100*/ @!P0 BRA `(.L_x_7) ;
  void instruction(const std::string& line) {
    places_end = true;
    std::string text = line.substr(line.find("*/") + 2);
    text = text.substr(0, text.find(';'));
    const auto next_word = [&] {
      const std::size_t begin = std::min(text.find_first_not_of(" \t{"), text.size());
      const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
      const std::string word = text.substr(begin, end - begin);
      text = text.substr(end);
      return word;
    };
    SassInstruction& made = code.emplace_back();
    made.opcode = next_word();
    if (made.opcode.starts_with("@")) {
      made.predicated = true;
      made.opcode = next_word();
    }
    made.places.assign(places.rbegin(), places.rend());
    if (!made.opcode.starts_with("BRA") && !made.opcode.starts_with("JMP")) return;
    const std::size_t begin = text.find("`("), end = text.find(')', begin);
    if (begin == text.npos || end == text.npos) {
      made.target.assign(1, '?');  // computed
      return;
    }
    made.target = text.substr(begin + 2, end - begin - 2);
    made.conditional = made.predicated || text.find_first_not_of(" \t") != begin;
  }

  SassKernel finish() {
    SassKernel kernel{name, {}};
    const Graph graph = graph_of(code, labels);
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
      std::optional<int> together;
      for (std::size_t i = graph.blocks[b].first; i <= graph.blocks[b].last; ++i) {
        const std::string& opcode = code[i].opcode;
        const bool matrices = opcode.starts_with("LDSM");
        const bool stores = opcode.starts_with("STS") && !opcode.starts_with("STSM");
        if (!matrices && !stores && !opcode.starts_with("LDS")) continue;
        if (!together) together = static_cast<int>(first_alike(graph, b));
        using Kind = SharedInstruction::Kind;
        kernel.instructions.push_back(
            {matrices ? Kind::load_matrices
             : stores ? Kind::store
                      : Kind::load,
             matrices ? 16 : bytes_of(opcode), code[i].predicated, *together,
             std::move(code[i].places)});
      }
    }
    return kernel;
  }
};

}  // namespace

std::vector<SassKernel> read_sass(std::istream& disassembly) {
  std::vector<SassKernel> kernels;
  Reader reader;
  const auto finish = [&] {
    if (!reader.name.empty() && !reader.code.empty()) kernels.push_back(reader.finish());
    reader = {};
  };
  for (std::string line; std::getline(disassembly, line);) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view text = std::string_view(line).substr(begin);
    if (text.starts_with(".section")) {
      finish();
    } else if (line.starts_with(".text.") && line.ends_with(":")) {
      finish();
      reader.name = line.substr(6, line.size() - 7);
    } else if (reader.name.empty()) {
      continue;
    } else if (begin == 0 && line.ends_with(":")) {
      reader.labels[line.substr(0, line.size() - 1)] = reader.code.size();
    } else if (text.starts_with("//## File")) {
      reader.place(line);
    } else if (text.starts_with("/*") && text.find("*/ ") != text.npos) {
      reader.instruction(line);
    }
  }
  finish();
  return kernels;
}

namespace {

using LinePair = std::pair<int, int>;       // a line of the kernel, and of a helper or 0
using Times = std::map<int, std::int64_t>;  // by SharedInstruction::together: of all warps
constexpr int kLinesOfStatement = 4;        // at most, for a statement that spans several lines

// The same rule as for the places of the trace (trace/source_lines.h).
LinePair place_of(const SharedInstruction& made, const std::string& file, int first, int last) {
  LinePair place{0, 0};
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
using Groups = std::map<LinePair, Group>;

// If one compiler books an access to another line of the same statement, the lines become one.
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
  return std::ranges::any_of(group.made, &SharedInstruction::predicated);
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
using ByWidth = std::array<std::int64_t, 5>;

std::size_t index_of(int bytes) {
  return std::bit_width(static_cast<unsigned>(bytes)) - 1;
}

std::optional<ByWidth> requests_of(const Group& group, const Times& times) {
  ByWidth requests{};
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

// The code does not say which loads are of which array. The rest is known if all others are known,
// or if it costs the same for each array.
std::optional<std::int64_t> wavefronts_of(const Group& group, const ByWidth& made) {
  std::int64_t wavefronts = 0;
  ByWidth requests = made;
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

}  // namespace

CompiledLine CompiledLoads::all() const {
  CompiledLine all;
  all.compiled_requests = all.compiled_wavefronts = 0;
  const auto add = [](std::optional<std::int64_t>& to, std::optional<std::int64_t> more) {
    to = to && more ? std::optional(*to + *more) : std::nullopt;
  };
  for (const CompiledLine& line : lines) {
    all.requests += line.requests;
    all.wavefronts += line.wavefronts;
    add(all.compiled_requests, line.compiled_requests);
    add(all.compiled_wavefronts, line.compiled_wavefronts);
  }
  return all;
}

namespace {

// Code is compared with the lines of one file.
int own_helper_line(const LineCounts& line) {
  return line.helper_file.empty() ? line.helper_line : 0;
}

}  // namespace

CompiledLoads compiled_loads(
    const Counts& counts, const SassKernel& kernel, const std::string& file, int first, int last) {
  using Kind = SharedInstruction::Kind;
  Groups loads, stores;
  CompiledLoads result;
  for (const LineCounts& line : counts.lines) {
    if (!line.shared || line.requests == 0) continue;
    const LinePair place{line.line, own_helper_line(line)};
    if (line.direction == Direction::store) stores[place].written.push_back(&line);
    if (line.direction != Direction::load) continue;
    if (line.worst.matrices == 0) {
      loads[place].written.push_back(&line);
      continue;
    }
    // ldmatrix is one instruction in either language.
    result.lines.push_back(
        {line.line,
         place.second,
         {line.array},
         line.requests,
         line.pieces,
         {},
         line.requests,
         line.pieces});
  }
  for (const SharedInstruction& made : kernel.instructions) {
    const LinePair place = place_of(made, file, first, last);
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
      if (std::ranges::count(line.arrays, written->array) == 0) {
        line.arrays.push_back(written->array);
      }
    }
    for (const SharedInstruction* made : group.made) ++line.by_bytes[index_of(made->bytes)];
    if (group.made.empty()) continue;
    const std::optional<ByWidth> requests = requests_of(group, times);
    if (!requests) continue;
    line.compiled_requests = 0;
    for (const std::int64_t of_width : *requests) *line.compiled_requests += of_width;
    line.compiled_wavefronts = wavefronts_of(group, *requests);
  }
  std::ranges::sort(result.lines, {}, [](const CompiledLine& line) {
    return std::pair(line.line, line.helper_line);
  });
  return result;
}

std::vector<MergeableLine> mergeable_lines(const Counts& counts) {
  std::vector<MergeableLine> lines;
  for (const LineCounts& line : counts.lines) {
    const Merging& merging = line.merging;
    // A repeated load may be left out.
    const std::int64_t loaded = merging.watched - merging.repeated;
    if (!line.shared || line.direction != Direction::load || loaded == 0) continue;
    const std::int64_t in_fours = merging.by_128.requests > 0 ? merging.in_fours : 0;
    const std::int64_t in_pairs = merging.by_64.requests > 0 ? merging.in_pairs : 0;
    if (in_fours == 0 && in_pairs == 0) continue;
    // Pairs of all loads are better than fours of some.
    const bool fours = in_fours == loaded || (in_fours > 0 && in_pairs < loaded);
    const auto share =
        static_cast<double>(fours ? in_fours : in_pairs) / static_cast<double>(loaded);
    const Merging::Wide& wide = fours ? merging.by_128 : merging.by_64;
    const int loads = fours ? 16 / line.bytes : 2;
    lines.push_back(
        {line.line, own_helper_line(line), line.array, loads, share,
         static_cast<double>(loads) * static_cast<double>(line.pieces) /
             static_cast<double>(line.requests),
         static_cast<double>(wide.wavefronts) / static_cast<double>(wide.requests)});
  }
  return lines;
}

}  // namespace model
