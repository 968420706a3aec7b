#include "simulator/announce/pass.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace announce {
namespace {

// One instruction as g++ writes it for the assembler (AT&T syntax: the destination is the last
// operand).
struct Instruction {
  std::string_view name;      // of a string instruction with its prefix: "rep movsq"
  std::string_view from, to;  // the last two operands
};

// Returns nothing for a label, a directive or a comment.
std::optional<Instruction> instruction_in(std::string_view line) {
  if (line.size() < 2 || line[0] != '\t' || line[1] < 'a' || line[1] > 'z') return std::nullopt;
  line.remove_prefix(1);
  Instruction instruction{line.substr(0, line.find('\t')), {}, {}};
  std::string_view operands = line.substr(std::min(instruction.name.size() + 1, line.size()));
  const auto next_from_the_end = [&operands] {
    const std::size_t comma = operands.rfind(", ");
    const bool is_first = comma == operands.npos;
    const std::string_view operand = is_first ? operands : operands.substr(comma + 2);
    operands = is_first ? "" : operands.substr(0, comma);
    return operand;
  };
  instruction.to = next_from_the_end();
  instruction.from = next_from_the_end();
  if (instruction.name == "pushq") std::swap(instruction.from, instruction.to);
  return instruction;
}

// An operand in memory: %fs:displacement(registers), where %fs: stands for thread-local data.
struct Place {
  std::string_view text;  // without %fs:
  bool is_thread_local;
  std::string_view symbol, registers;
  long number = 0;  // the displacement is symbol+number

  std::string_view base() const { return registers.substr(0, registers.find(',')); }
  bool directly_follows(const Place& other, long bytes) const {
    return is_thread_local == other.is_thread_local && symbol == other.symbol &&
           registers == other.registers && number == other.number + bytes;
  }
};

std::optional<Place> place_in(std::string_view operand) {
  const bool is_thread_local = operand.starts_with("%fs:");
  if (is_thread_local) operand.remove_prefix(4);
  const std::size_t open = std::min(operand.find('('), operand.size());
  if (operand.empty() || operand[0] == '$' || operand[0] == '%') return std::nullopt;
  if (open < operand.size() && operand.find(')') + 1 != operand.size()) return std::nullopt;
  Place place{operand, is_thread_local, operand.substr(0, open), ""};
  if (open < operand.size()) place.registers = operand.substr(open + 1, operand.size() - open - 2);
  std::size_t sign = place.symbol.find_last_not_of("0123456789");
  if (sign == place.symbol.npos) sign = 0;  // only a number, or nothing
  if (std::string_view("+-0123456789").find(operand[sign]) != std::string_view::npos) {
    std::string_view number = place.symbol.substr(sign);
    place.symbol = place.symbol.substr(0, sign);
    if (number.starts_with('+')) number.remove_prefix(1);
    std::from_chars(number.data(), number.data() + number.size(), place.number);
  }
  return place;
}

// The bytes that the move accesses in memory; 0 if it is no move.
int bytes_moved(std::string_view name) {
  using Names = std::pair<int, std::string_view>;
  for (const auto& [bytes, names] :
       {Names{1, " movb movzbw movzbl movsbw movsbl movsbq "},
        Names{2, " movw movzwl movswl movswq "}, Names{4, " movl movslq movss movd "},
        Names{8, " movq pushq movsd movlps movhps movlpd movhpd "},
        Names{16, " movaps movups movapd movupd movdqa movdqu "}}) {
    if (names.find(" " + std::string(name) + " ") != names.npos) return bytes;
  }
  return 0;
}

bool is_built_in(std::string_view symbol) {
  const std::string_view name = symbol.substr(0, symbol.find('@'));
  return name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim" ||
         name == "warpSize";
}

// Follows the assembly of each function, instruction by instruction.
class Pass {
 public:
  explicit Pass(std::string_view assembly) {
    for (std::size_t begin = 0; begin < assembly.size();) {
      const std::size_t end = std::min(assembly.find('\n', begin), assembly.size());
      lines_.push_back(assembly.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  std::string run() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      if (const auto instruction = instruction_in(lines_[at_])) {
        if (is_masked_out(*instruction)) continue;
        follow(*instruction);
      } else if (is_label(lines_[at_])) {
        forget();
      }
      text_ += lines_[at_];
      text_ += '\n';
    }
    // Without this pass, traced code would be counted wrongly, so
    // src/simulator/trace/keep_symbols.sh looks for this symbol.
    text_ += "\t.set\tsimt_accesses_are_announced, 1\n";
    return std::move(text_);
  }

 private:
  // What the compiler announced for the next statement.
  struct Announced {
    bool stores;
    int bytes, unseen;  // unseen: how many of the bytes no instruction has accessed yet
  };

  // Whether only zeros are kept of what is loaded: so g++ puts the last four of a class's twelve
  // bytes, which a function has returned, into memory. On a GPU there is no such load.
  bool is_masked_out(const Instruction& load) const {
    if (!place_in(load.from) || at_ + 1 == lines_.size()) return false;
    const auto next = instruction_in(lines_[at_ + 1]);
    return next && next->name.starts_with("and") && next->from == "$0" && next->to == load.to;
  }

  static bool is_label(std::string_view line) {
    return !line.empty() && line[0] != '\t' && line.ends_with(':');
  }

  static bool leaves(const Instruction& instruction) {
    return instruction.name == "call" || instruction.name == "ret" ||
           instruction.name.starts_with('j');
  }

  void forget() {
    announced_.clear();
    built_ins_.clear();
    locals_.clear();
    merged_.clear();
  }

  // Memory that a kernel does not share, or that is not counted.
  bool is_private(const Place& place) const {
    if (!place.is_thread_local) {
      return place.registers.empty() || place.base() == "%rsp" || place.base() == "%rbp" ||
             place.base() == "%rip" || locals_.contains(place.registers);
    }
    // %fs:0 is the base of thread-local data, %fs:40 the stack protector's canary.
    return built_ins_.contains(place.base()) || is_built_in(place.symbol) ||
           (place.symbol.empty() && place.registers.empty());
  }

  // "movl $24, %esi" comes right before the call that announces 24 bytes.
  void hear(std::string_view function) {
    if (consumes_) announced_.clear();
    consumes_ = false;
    const bool of_table = function.starts_with("__tsan_vptr_update");
    const bool stores = of_table || function.find("_write") != function.npos;
    // A function's entry or exit, or an atomic.
    if (!stores && function.find("_read") == function.npos) return announced_.clear();
    if (locals_.contains("%rdi")) return;
    int bytes = of_table ? 8 : last_immediate_;
    const std::size_t digits = std::min(function.find_first_of("0123456789"), function.size());
    std::from_chars(function.data() + digits, function.data() + function.size(), bytes);
    announced_.push_back({stores, bytes, bytes});
  }

  // Whether the compiler has announced this access, of at least so many bytes. (The last piece of a
  // class may overlap the one before it.)
  bool is_announced(bool stores, int bytes) {
    for (Announced& announced : announced_) {
      const bool begun = announced.unseen < announced.bytes;
      if (announced.stores != stores || announced.unseen < (begun ? 1 : bytes)) continue;
      announced.unseen = std::max(0, announced.unseen - bytes);
      return consumes_ = true;
    }
    return false;
  }

  void follow(const Instruction& instruction) {
    if (leaves(instruction)) {
      if (instruction.to.starts_with("__tsan_")) return hear(instruction.to);
      forget();
    }
    if (instruction.to.empty() && instruction.from.empty()) {
      follow_string(instruction.name);
    } else if (const int bytes = bytes_moved(instruction.name)) {
      if (const auto place = place_in(instruction.from)) follow_move(*place, false, bytes);
      if (const auto place = place_in(instruction.to)) follow_move(*place, true, bytes);
    }
    built_ins_.erase(instruction.to);
    const auto address = place_in(instruction.from);
    if ((instruction.name == "leaq" && address && address->registers == "%rbp") ||
        (instruction.name == "movq" &&
         (instruction.from == "%rsp" || locals_.contains(instruction.from)))) {
      locals_.insert(instruction.to);
    } else if (instruction.name != "addq" || !instruction.from.starts_with('$')) {
      locals_.erase(instruction.to);
    }
    if (instruction.from.find("@gottpoff") != instruction.from.npos &&
        is_built_in(instruction.from)) {
      built_ins_.insert(instruction.to);
    }
    if (instruction.from.starts_with('$') && instruction.to.ends_with("si")) {
      const std::string_view number = instruction.from.substr(1);
      std::from_chars(number.data(), number.data() + number.size(), last_immediate_);
    }
  }

  // rep movsq and rep stosq access what %rsi and %rdi point to, %rcx times 8 bytes.
  void follow_string(std::string_view name) {
    const bool repeated = name.starts_with("rep ");
    if (repeated) name.remove_prefix(4);
    const bool moves = name.starts_with("movs");
    if (name.size() != 5 || (!moves && !name.starts_with("stos"))) return;
    const int bytes = bytes_moved("mov" + std::string(name.substr(4)));
    if (moves && !locals_.contains("%rsi") && !is_announced(false, 0)) {
      announce("\tmovq\t%rsi, %rdi\n", {false, repeated, 16, bytes});
    }
    if (!locals_.contains("%rdi") && !is_announced(true, 0))
      announce("", {true, repeated, 16, bytes});
  }

  void follow_move(const Place& place, bool stores, int bytes) {
    // Of a local array, the compiler announces an element whose index varies.
    const bool has_index = place.registers.find(',') != place.registers.npos;
    if (is_private(place) && !has_index) return;
    if (merged_.contains(at_) || is_announced(stores, bytes) || is_private(place)) return;
    Announcement announcement{stores, false, 16, bytes};
    merge(place, announcement);
    announce(
        "\tleaq\t" + std::string(place.text) + ", %rdi\n" +
            (place.is_thread_local ? "\taddq\t%fs:0, %rdi\n" : ""),
        announcement);
  }

  // A class is moved piece by piece. The pieces that directly follow the one at `place` are
  // announced together with it.
  //
  // The assembly does not tell how the class is aligned. A class of 8 or 16 bytes is taken for a
  // class of doubles if one of its parts is moved as a double, else for a class of floats. Types
  // with a larger alignment, such as float4, announce their own copies (cuda/vector_types.h).
  void merge(const Place& place, Announcement& announcement) {
    bool has_doubles = false;
    int bytes = 0;
    for (std::size_t i = at_; i < lines_.size() && !is_label(lines_[i]); ++i) {
      const auto next = instruction_in(lines_[i]);
      if (!next) continue;
      if (leaves(*next)) break;
      const auto piece = place_in(announcement.stores ? next->to : next->from);
      if (bytes_moved(next->name) > 0 && piece && piece->directly_follows(place, bytes)) {
        bytes += bytes_moved(next->name);
        has_doubles |= next->name == "movsd";
        merged_.insert(i);
      }
      // From here on, the same text is another address.
      if (next->to.starts_with('%') && place.registers.find(next->to) != place.registers.npos)
        break;
    }
    announcement.bytes = bytes;
    const bool is_small = bytes == 8 || bytes == 16;
    announcement.widest = !is_small ? 16 : has_doubles ? 8 : 4;
  }

  // After this, every register and flag has its old value. There is no red zone (-mno-red-zone).
  void announce(const std::string& address_to_rdi, const Announcement& announcement) {
    text_ += "\tpushfq\n\tpushq\t%rdi\n" + address_to_rdi + "\tpushq\t$" +
             std::to_string(announcement.packed()) +
             "\n\tcall\tsimt_announce@PLT\n\tleaq\t8(%rsp), %rsp\n\tpopq\t%rdi\n\tpopfq\n";
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::string text_;

  int last_immediate_ = 0;  // the last constant that was moved to %rsi
  std::vector<Announced> announced_;
  bool consumes_ = false;                 // the announced statement has begun
  std::set<std::size_t> merged_;          // lines announced with an earlier one
  std::set<std::string_view> locals_;     // registers that hold the address of a local variable
  std::set<std::string_view> built_ins_;  // registers that hold the address of threadIdx
};

}  // namespace

std::string announced(std::string_view assembly) {
  return Pass(assembly).run();
}

}  // namespace announce
