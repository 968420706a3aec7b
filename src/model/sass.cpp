#include "model/sass.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace model {
namespace {

using Set = std::vector<bool>;  // of blocks

struct Instruction {
  std::string opcode;
  std::string target;  // the label of a branch; empty: not a branch
  bool predicated = false;
  bool conditional = false;  // a branch that may not be taken
  std::vector<SharedInstruction::Place> places;
};

bool is_indirect(const Instruction& i) {
  return i.opcode.starts_with("BRX") || i.opcode.starts_with("JMX");
}

bool ends_path(const Instruction& i) {
  if (i.opcode.starts_with("EXIT") || i.opcode.starts_with("RET")) return !i.predicated;
  return is_indirect(i) || (!i.target.empty() && !i.conditional);
}

bool ends_block(const Instruction& i) {
  return ends_path(i) || !i.target.empty() || i.opcode.starts_with("EXIT");
}

// A function's instructions as basic blocks, with the paths between them.
struct Graph {
  struct Block {
    std::size_t first, last;  // instructions
    std::vector<std::size_t> after, before;
    bool ends = false;  // the thread may end here
  };
  std::vector<Block> blocks;
  bool known = true;  // no branch whose target is computed
};

Graph graph_of(
    const std::vector<Instruction>& code, const std::map<std::string, std::size_t>& labels) {
  Set leads(code.size() + 1, false);
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
    Graph::Block& block = graph.blocks[b];
    const Instruction& last = code[block.last];
    const auto goes_to = [&](std::size_t to) {
      block.after.push_back(to);
      graph.blocks[to].before.push_back(b);
    };
    if (is_indirect(last)) graph.known = false;
    if (last.opcode.starts_with("EXIT") || last.opcode.starts_with("RET")) block.ends = true;
    if (!last.target.empty()) {
      const auto found = labels.find(last.target);
      if (found == labels.end()) {
        graph.known = false;
      } else if (found->second < code.size()) {
        goes_to(block_of[found->second]);
      }
    }
    if (!ends_path(last) && b + 1 < graph.blocks.size()) goes_to(b + 1);
  }
  return graph;
}

// For each block, the blocks that are on every path to it from `starts`, along `edges`. Blocks that
// no path reaches have all.
std::vector<Set> always_before(
    const Graph& graph, const Set& starts, std::vector<std::size_t> Graph::Block::*from) {
  const std::size_t count = graph.blocks.size();
  std::vector<Set> before(count, Set(count, true));
  for (std::size_t b = 0; b < count; ++b) {
    if (!starts[b]) continue;
    before[b].assign(count, false);
    before[b][b] = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = 0; b < count; ++b) {
      if (starts[b]) continue;
      Set meet(count, true);
      for (const std::size_t p : graph.blocks[b].*from) {
        for (std::size_t i = 0; i < count; ++i) meet[i] = meet[i] && before[p][i];
      }
      meet[b] = true;
      if (meet == before[b]) continue;
      before[b] = std::move(meet);
      changed = true;
    }
  }
  return before;
}

// For each block, the loops that contain it, by the loop's first block. Nothing if a loop is
// entered in more than one place.
std::vector<Set> loops_of(const Graph& graph, const std::vector<Set>& dominators) {
  const std::size_t count = graph.blocks.size();
  std::vector<Set> loops(count, Set(count, false));
  for (std::size_t from = 0; from < count; ++from) {
    for (const std::size_t head : graph.blocks[from].after) {
      if (!dominators[from][head]) {
        if (head <= from) return {};
        continue;
      }
      std::vector<std::size_t> work{from};
      loops[head][head] = true;
      while (!work.empty()) {
        const std::size_t b = work.back();
        work.pop_back();
        if (loops[b][head]) continue;
        loops[b][head] = true;
        work.insert(work.end(), graph.blocks[b].before.begin(), graph.blocks[b].before.end());
      }
    }
  }
  return loops;
}

// For each block, a number that blocks share that are executed equally often.
std::vector<std::size_t> classes_of(const Graph& graph) {
  const std::size_t count = graph.blocks.size();
  std::vector<std::size_t> classes(count);
  for (std::size_t b = 0; b < count; ++b) classes[b] = b;
  if (!graph.known) return classes;
  Set entry(count, false), exits(count, false);
  entry[0] = true;
  for (std::size_t b = 0; b < count; ++b) exits[b] = graph.blocks[b].ends;
  const std::vector<Set> dominators = always_before(graph, entry, &Graph::Block::before);
  const std::vector<Set> followers = always_before(graph, exits, &Graph::Block::after);
  const std::vector<Set> loops = loops_of(graph, dominators);
  if (loops.empty()) return classes;
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const bool forward = dominators[b][a] && followers[a][b];
      const bool backward = dominators[a][b] && followers[b][a];
      if ((forward || backward) && loops[a] == loops[b]) {
        classes[b] = classes[a];
        break;
      }
    }
  }
  return classes;
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
  std::vector<Instruction> code;
  std::map<std::string, std::size_t> labels;
  std::vector<SharedInstruction::Place> places;  // innermost first
  bool places_end = false;                       // the next line comment begins another place

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
    Instruction& made = code.emplace_back();
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
    const std::vector<std::size_t> classes = classes_of(graph);
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
      for (std::size_t i = graph.blocks[b].first; i <= graph.blocks[b].last; ++i) {
        const std::string& opcode = code[i].opcode;
        const bool matrices = opcode.starts_with("LDSM");
        const bool stores = opcode.starts_with("STS") && !opcode.starts_with("STSM");
        if (!matrices && !stores && !opcode.starts_with("LDS")) continue;
        using Kind = SharedInstruction::Kind;
        kernel.instructions.push_back(
            {matrices ? Kind::load_matrices
             : stores ? Kind::store
                      : Kind::load,
             matrices ? 16 : bytes_of(opcode), code[i].predicated, static_cast<int>(classes[b]),
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

}  // namespace model
