#include "simulator/announce/pass.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace announce {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split_operands(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const std::string_view part = trimmed(text.substr(begin, i - begin)); !part.empty()) {
      parts.push_back(part);
    }
    begin = i + 1;
  }
  return parts;
}

Operand operand_in(std::string_view text) {
  Operand operand;
  operand.text = text;
  if (text.starts_with('$')) return operand;
  if (text.starts_with('%')) {
    if (!text.starts_with("%fs:")) return operand;
    operand.thread_local_segment = true;
    text.remove_prefix(4);
  }
  operand.is_memory = true;
  const std::size_t open = text.find('(');
  operand.displacement = text.substr(0, open);
  if (open == text.npos) return operand;
  std::string_view inside = text.substr(open + 1);
  inside = inside.substr(0, inside.find(')'));
  std::array<std::string*, 3> parts = {&operand.base, &operand.index, &operand.scale};
  for (std::string* part : parts) {
    const std::size_t comma = inside.find(',');
    *part = trimmed(inside.substr(0, comma));
    if (comma == inside.npos) break;
    inside.remove_prefix(comma + 1);
  }
  return operand;
}

using Names = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view name, Names names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool starts_with_one_of(std::string_view name, Names names) {
  return std::any_of(
      names.begin(), names.end(), [&](std::string_view other) { return name.starts_with(other); });
}

int bytes_of_suffix(char suffix) {
  switch (suffix) {
    case 'b':
      return 1;
    case 'w':
      return 2;
    case 'l':
      return 4;
    case 'q':
      return 8;
    default:
      return 0;
  }
}

int bytes_of_register(std::string_view name) {
  if (name.starts_with("%xmm")) return 16;
  if (name.starts_with("%r") && name.size() > 2) {
    // "%rax" is the whole register; for %r8 to %r15 a suffix names the part.
    const char last = name.back();
    const bool numbered = name[2] >= '0' && name[2] <= '9';
    if (!numbered) return 8;
    return last == 'd' ? 4 : last == 'w' ? 2 : last == 'b' ? 1 : 8;
  }
  if (name.starts_with("%e")) return 4;
  if (name.size() == 3) return name.back() == 'l' || name.back() == 'h' ? 1 : 2;
  return name.size() == 4 && name.back() == 'l' ? 1 : 0;
}

bool reads_and_writes(std::string_view stem) {
  return is_one_of(stem, {"add", "sub", "adc", "sbb", "and",  "or",   "xor",  "inc",     "dec",
                          "neg", "not", "shl", "sal", "shr",  "sar",  "rol",  "ror",     "rcl",
                          "rcr", "bts", "btr", "btc", "xadd", "xchg", "shld", "cmpxchg", "shrd"});
}
bool divides_or_multiplies(std::string_view stem) {
  return is_one_of(stem, {"mul", "imul", "div", "idiv"});
}
bool only_reads(std::string_view stem) {
  return divides_or_multiplies(stem) ||
         is_one_of(stem, {"cmp", "test", "bt", "push", "bsf", "bsr", "popcnt"});
}

// "addl" is "add" of 4 bytes.
bool is_integer(std::string_view name, bool (*is_stem)(std::string_view)) {
  if (is_stem(name)) return true;
  return bytes_of_suffix(name.back()) > 0 && is_stem(name.substr(0, name.size() - 1));
}

bool is_vector(const AsmInstruction& instruction) {
  for (const Operand& operand : instruction.operands) {
    if (operand.text.starts_with("%xmm")) return true;
  }
  return false;
}

// The number of bytes that an instruction with a vector register moves to or from memory.
int vector_bytes(std::string_view name) {
  if (is_one_of(name, {"movq", "movlps", "movhps", "movlpd", "movhpd", "cvtps2pd", "cvtdq2pd"}))
    return 8;
  if (is_one_of(name, {"movd"})) return 4;
  if (is_one_of(name, {"pinsrw", "pextrw"})) return 2;
  if (name.starts_with("cvtsi2s")) return bytes_of_suffix(name.back());
  if (starts_with_one_of(name, {"cvtss2", "cvttss2"})) return 4;
  if (starts_with_one_of(name, {"cvtsd2", "cvttsd2"})) return 8;
  if (name.ends_with("ss")) return 4;
  if (name.ends_with("sd")) return 8;
  if (name.ends_with("ps") || name.ends_with("pd")) return 16;
  if (starts_with_one_of(name, {"movdq", "p", "lddqu"})) return 16;
  return 0;
}

// Instructions of the x87 unit, which computes long double.
int x87_bytes(std::string_view name) {
  if (is_one_of(name, {"fldcw", "fnstcw", "fstcw", "fnstsw"})) return 2;
  const bool integer = name.starts_with("fi");
  if (name.ends_with("ll") || name.ends_with('q')) return 8;
  switch (name.back()) {
    case 's':
      return integer ? 2 : 4;
    case 'l':
      return integer ? 4 : 8;
    case 't':
      return 10;
    default:
      return 0;
  }
}

int integer_bytes(const AsmInstruction& instruction) {
  const std::string_view name = instruction.name;
  if (name.starts_with("set")) return 1;
  // movzbl and movslq name both sizes: first the memory's, then the register's.
  if (name.size() == 6 && starts_with_one_of(name, {"movz", "movs"})) {
    return bytes_of_suffix(name[4]);
  }
  const bool known = name.starts_with("mov") || is_integer(name, reads_and_writes) ||
                     is_integer(name, only_reads) || name.starts_with("pop");
  if (known && !name.starts_with("cmov")) {
    if (const int bytes = bytes_of_suffix(name.back()); bytes > 0) return bytes;
  }
  if (!known && !name.starts_with("cmov")) return 0;
  for (const Operand& operand : instruction.operands) {
    if (!operand.is_memory && operand.text.starts_with('%')) {
      return bytes_of_register(operand.text);
    }
  }
  return 0;
}

}  // namespace

std::optional<AsmInstruction> instruction_in(std::string_view line) {
  if (!line.starts_with('\t') && !line.starts_with(' ')) return std::nullopt;
  std::string_view rest = trimmed(line.substr(0, line.find('#')));
  if (rest.empty() || rest[0] == '.' || rest.ends_with(':')) return std::nullopt;
  AsmInstruction instruction;
  const auto next_word = [&rest] {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    rest = trimmed(rest.substr(word.size()));
    return std::string(word);
  };
  instruction.name = next_word();
  if (is_one_of(instruction.name, {"rep", "repz", "repnz", "lock", "notrack", "bnd"})) {
    if (rest.starts_with(';')) rest = trimmed(rest.substr(1));
    instruction.prefix = std::exchange(instruction.name, next_word());
    if (instruction.name.empty()) return std::nullopt;
  }
  for (const std::string_view operand : split_operands(rest)) {
    instruction.operands.push_back(operand_in(operand));
  }
  return instruction;
}

std::optional<Access> access_of(const AsmInstruction& instruction) {
  const std::string_view name = instruction.name;
  if (starts_with_one_of(name, {"lea", "nop", "prefetch", "call", "j", "endbr", "clflush"})) {
    return std::nullopt;
  }
  const std::vector<Operand>& operands = instruction.operands;
  std::size_t at = 0;
  while (at < operands.size() && !operands[at].is_memory) ++at;
  if (at == operands.size()) return std::nullopt;
  Access access{true, false, 0, &operands[at]};

  if (is_vector(instruction)) {
    access.bytes = vector_bytes(name);
    const bool compares = starts_with_one_of(name, {"ucomis", "comis"});
    if (at + 1 == operands.size() && !compares) access.loads = false, access.stores = true;
    return access;
  }
  if (name.starts_with('f') || is_one_of(name, {"ldmxcsr", "stmxcsr"})) {
    access.bytes = name.ends_with("mxcsr") ? 4 : x87_bytes(name);
    access.stores = starts_with_one_of(name, {"fst", "fist", "fnst", "stmxcsr"});
    access.loads = !access.stores;
    return access;
  }
  access.bytes = integer_bytes(instruction);
  const bool is_destination = at + 1 == operands.size();
  if (is_integer(name, reads_and_writes)) {
    access.stores = is_destination || name.starts_with("xchg");
  } else if (is_destination && starts_with_one_of(name, {"mov", "set", "pop"})) {
    access.loads = false;
    access.stores = true;
  }
  return access;
}

std::optional<StringAccess> string_access_of(const AsmInstruction& instruction) {
  const std::string_view name = instruction.name;
  const bool moves = name.starts_with("movs"), fills = name.starts_with("stos");
  if (!instruction.operands.empty() || name.size() != 5 || (!moves && !fills)) return std::nullopt;
  return StringAccess{moves, bytes_of_suffix(name.back()), !instruction.prefix.empty()};
}

std::string whole_register(std::string_view name) {
  constexpr std::array<std::string_view, 4> kLetters = {"a", "b", "c", "d"};
  if (name.size() < 3) return std::string(name);
  const std::string_view bare = name.substr(1);
  if (bare[0] == 'r' && bare.size() > 1 && bare[1] >= '0' && bare[1] <= '9') {
    const std::size_t digits = bare.find_first_not_of("0123456789", 1);
    return "%" + std::string(bare.substr(0, digits));
  }
  for (const std::string_view letter : kLetters) {
    for (const std::string_view form : {"l", "h", "x"}) {
      if (bare == std::string(letter) + std::string(form)) return "%r" + std::string(letter) + "x";
    }
    if (bare == "e" + std::string(letter) + "x") return "%r" + std::string(letter) + "x";
  }
  for (const std::string_view pointer : {"si", "di", "bp", "sp"}) {
    if (bare == pointer || bare == std::string(pointer) + "l" || bare == "e" + std::string(pointer))
      return "%r" + std::string(pointer);
  }
  return std::string(name);
}

std::vector<std::string> written_by(const AsmInstruction& instruction) {
  const std::string_view name = instruction.name;
  std::vector<std::string> written;
  const auto add = [&](std::string_view reg) { written.push_back(whole_register(reg)); };
  if (string_access_of(instruction)) {
    for (const char* reg : {"%rsi", "%rdi", "%rcx"}) add(reg);
  }
  if (is_one_of(name, {"cltq", "cwtl", "cltd", "cqto", "cwtd", "cbtw"}) ||
      (instruction.operands.size() == 1 && is_integer(name, divides_or_multiplies))) {
    add("%rax");
    add("%rdx");
  }
  const bool reads_only = starts_with_one_of(name, {"cmp", "test", "push", "ucomis", "comis"}) &&
                          !name.starts_with("cmpxchg");
  if (instruction.operands.empty() || reads_only) return written;
  if (starts_with_one_of(name, {"xchg", "xadd", "cmpxchg"})) {
    for (const Operand& operand : instruction.operands) {
      if (!operand.is_memory) add(operand.text);
    }
    if (name.starts_with("cmpxchg")) add("%rax");
  } else if (!instruction.operands.back().is_memory) {
    add(instruction.operands.back().text);
  }
  return written;
}

namespace {

constexpr std::string_view kBuiltIns[] = {
    "threadIdx@", "blockIdx@", "blockDim@", "gridDim@", "warpSize@"};

bool is_built_in(std::string_view symbol) {
  return std::any_of(std::begin(kBuiltIns), std::end(kBuiltIns), [&](std::string_view name) {
    return symbol.starts_with(name);
  });
}

// A displacement is a symbol, a number, or both: "tile@tpoff+16".
struct Displacement {
  std::string symbol;
  long number = 0;
};

Displacement displacement_in(std::string_view text) {
  Displacement displacement;
  const std::size_t sign = text.find_last_of("+-");
  const bool only_number = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
  std::string_view number = only_number ? text : sign == text.npos ? "" : text.substr(sign);
  displacement.symbol = text.substr(0, text.size() - number.size());
  if (number.starts_with('+')) number.remove_prefix(1);
  std::from_chars(number.data(), number.data() + number.size(), displacement.number);
  return displacement;
}

// The address that an operand means, valid while its registers keep their values.
struct OperandAddress {
  std::string around;  // everything except the number
  long begin;
};

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
        if (lines_[at_].starts_with(".LFB")) has_frame_ = false;
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
    int bytes;  // how many of them were not seen yet
    int all;
    std::optional<OperandAddress> seen;  // the place of the first of them
  };

  // Whether only zeros are kept of what is loaded: so g++ puts the last four of a class's twelve
  // bytes, which a function has returned, into memory. On a GPU there is no such load.
  bool is_masked_out(const AsmInstruction& load) const {
    if (load.operands.size() != 2 || !load.operands[0].is_memory || at_ + 1 == lines_.size())
      return false;
    const auto next = instruction_in(lines_[at_ + 1]);
    return next && next->name.starts_with("and") && next->operands.size() == 2 &&
           next->operands[0].text == "$0" && next->operands[1].text == load.operands[1].text;
  }

  static bool is_label(std::string_view line) {
    return !line.empty() && line[0] != '\t' && line[0] != ' ' && line.ends_with(':');
  }

  void forget() {
    announced_.clear();
    built_ins_.clear();
    merged_.clear();
  }

  OperandAddress place_of(const Operand& operand) const {
    const Displacement displacement = displacement_in(operand.displacement);
    OperandAddress place{operand.thread_local_segment ? "%fs:" : "", displacement.number};
    place.around += displacement.symbol;
    for (const std::string& reg : {operand.base, operand.index}) {
      const auto times = times_written_.find(reg);
      place.around += "," + reg;
      if (times != times_written_.end()) place.around += "'" + std::to_string(times->second);
    }
    place.around += "*" + operand.scale;
    return place;
  }

  // Memory that a kernel does not share, or that is not counted.
  bool is_private(const Operand& operand) const {
    if (operand.base == "%rsp" || operand.base == "%rip") return true;
    if (operand.base == "%rbp" && has_frame_) return true;
    const bool has_register = !operand.base.empty() || !operand.index.empty();
    if (!operand.thread_local_segment) return !has_register;  // static data
    if (built_ins_.contains(operand.base) || is_built_in(operand.displacement)) return true;
    // %fs:0 is the base of thread-local data, %fs:40 the stack protector's canary.
    return !has_register && displacement_in(operand.displacement).symbol.empty();
  }

  // "movl $24, %esi" comes right before the call that announces 24 bytes.
  void hear(std::string_view function) {
    std::string_view rest = function.substr(0, function.find('@'));
    rest.remove_prefix(std::string_view("__tsan_").size());
    for (const std::string_view word : {"unaligned_", "volatile_"}) {
      if (rest.starts_with(word)) rest.remove_prefix(word.size());
    }
    if (consumes_) announced_.clear();
    consumes_ = false;
    const bool loads = rest.starts_with("read"), stores = rest.starts_with("write");
    if (rest.starts_with("vptr_")) {
      announced_.push_back({rest.ends_with("update"), 8, 8, {}});
    } else if (loads || stores) {
      rest.remove_prefix(loads ? 4 : 5);
      int bytes = last_immediate_;
      if (rest != "_range") std::from_chars(rest.data(), rest.data() + rest.size(), bytes);
      announced_.push_back({stores, bytes, bytes, {}});
    } else {
      announced_.clear();  // a function's entry or exit, or an atomic
    }
  }

  // Whether the compiler has announced this access, or an access of the same statement that
  // contains it.
  bool is_announced(bool stores, int bytes, const OperandAddress& place) {
    for (Announced& announced : announced_) {
      if (announced.stores != stores) continue;
      const bool again = announced.seen && announced.seen->around == place.around &&
                         place.begin >= announced.seen->begin &&
                         place.begin + bytes <= announced.seen->begin + announced.all;
      if (!again && announced.bytes < bytes) continue;
      if (!announced.seen) announced.seen = place;
      announced.bytes = std::max(0, announced.bytes - bytes);
      consumes_ = true;
      return true;
    }
    return false;
  }

  void follow(const AsmInstruction& instruction) {
    if (instruction.name == "call") {
      const std::string target = instruction.operands.empty() ? "" : instruction.operands[0].text;
      if (target.starts_with("__tsan_")) return hear(target);
      forget();
    } else if (instruction.name.starts_with('j') || instruction.name == "ret") {
      forget();
    }
    if (const auto strings = string_access_of(instruction)) {
      follow(*strings);
    } else if (const auto access = access_of(instruction)) {
      if (!is_private(*access->operand)) follow(*access);
    }
    note_written(instruction);
    note_values(instruction);
  }

  void follow(const StringAccess& access) {
    const auto silent = [&](bool stores) {
      // Marks everything that was announced for it as seen, whatever its length.
      const auto announced = std::find_if(
          announced_.begin(), announced_.end(),
          [&](const auto& one) { return one.stores == stores && !one.seen; });
      if (announced == announced_.end()) return true;
      announced->seen = OperandAddress{};
      consumes_ = true;
      return false;
    };
    const auto announce_at = [&](const char* pointer, bool stores) {
      announce(
          std::string("\tmovq\t") + pointer + ", %rdi\n",
          {!stores, stores, access.repeated, 16, access.unit_bytes});
    };
    if (access.loads && silent(false)) announce_at("%rsi", false);
    if (silent(true)) announce_at("%rdi", true);
  }

  void follow(const Access& access) {
    const OperandAddress place = place_of(*access.operand);
    const auto silent = [&](bool stores) {
      return !merged_.contains({at_, stores}) && !is_announced(stores, access.bytes, place);
    };
    const bool loads = access.loads && silent(false), stores = access.stores && silent(true);
    if (!loads && !stores) return;
    Announcement announcement{loads, stores, false, 16, access.bytes};
    if (loads != stores && access.bytes > 0) merge(place, announcement);
    announce(address_in_rdi(*access.operand), announcement);
  }

  // A class is moved piece by piece. The pieces that directly follow the one at `place` are
  // announced together with it.
  //
  // The assembly does not tell how the class is aligned. A class of 8 or 16 bytes is taken for a
  // class of doubles if one of its parts is moved as a double, else for a class of floats. Types
  // with a larger alignment, such as float4, announce their own copies (cuda/vector_types.h).
  void merge(const OperandAddress& place, Announcement& announcement) {
    const bool rest_is_announced =
        std::any_of(announced_.begin(), announced_.end(), [&](const Announced& announced) {
          return announced.stores == announcement.stores && announced.bytes > 0;
        });
    if (rest_is_announced) return;
    const std::map<std::string, int> written_before = times_written_;
    bool has_doubles = false;
    long end = place.begin;
    for (std::size_t i = at_; i < lines_.size() && !is_label(lines_[i]); ++i) {
      const auto instruction = instruction_in(lines_[i]);
      if (!instruction) continue;
      if (instruction->name == "call" || instruction->name.starts_with('j')) break;
      const auto access = access_of(*instruction);
      if (access && access->stores == announcement.stores && access->loads != access->stores) {
        const OperandAddress next = place_of(*access->operand);
        if (next.around == place.around && next.begin == end) {
          end += access->bytes;
          has_doubles |= instruction->name == "movsd";
          merged_.insert({i, announcement.stores});
        }
      }
      note_written(*instruction);
    }
    times_written_ = written_before;
    announcement.bytes = static_cast<int>(end - place.begin);
    const bool is_small = announcement.bytes == 8 || announcement.bytes == 16;
    announcement.widest = !is_small ? 16 : has_doubles ? 8 : 4;
  }

  static std::string address_in_rdi(const Operand& operand) {
    const bool has_register = !operand.base.empty() || !operand.index.empty();
    std::string inside = operand.base;
    if (!operand.index.empty()) inside += "," + operand.index + "," + operand.scale;
    if (inside.ends_with(',')) inside.pop_back();
    if (!operand.thread_local_segment) {
      return "\tleaq\t" + operand.displacement + "(" + inside + "), %rdi\n";
    }
    if (!has_register)
      return "\tmovq\t%fs:0, %rdi\n\tleaq\t" + operand.displacement + "(%rdi), %rdi\n";
    return "\tleaq\t" + operand.displacement + "(" + inside + "), %rdi\n\taddq\t%fs:0, %rdi\n";
  }

  // After this, every register and flag has its old value. There is no red zone (-mno-red-zone).
  void announce(const std::string& address, const Announcement& announcement) {
    text_ += "\tpushfq\n\tpushq\t%rdi\n" + address + "\tpushq\t$" +
             std::to_string(announcement.packed()) +
             "\n\tcall\tsimt_announce@PLT\n\tleaq\t8(%rsp), %rsp\n\tpopq\t%rdi\n\tpopfq\n";
  }

  void note_written(const AsmInstruction& instruction) {
    for (const std::string& reg : written_by(instruction)) ++times_written_[reg];
  }

  // Records what the pass must know about the values in registers.
  void note_values(const AsmInstruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    for (const std::string& reg : written_by(instruction)) {
      built_ins_.erase(reg);
      if (reg == "%rbp") has_frame_ = operands.front().text == "%rsp";
    }
    if (operands.size() != 2) return;
    if (operands[0].displacement.ends_with("@gottpoff") && is_built_in(operands[0].displacement) &&
        instruction.name == "movq") {
      built_ins_.insert(operands[1].text);
    }
    if (operands[0].text.starts_with('$') && operands[1].text.ends_with("si")) {
      const std::string_view number = std::string_view(operands[0].text).substr(1);
      std::from_chars(number.data(), number.data() + number.size(), last_immediate_);
    }
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::string text_;

  bool has_frame_ = false;  // %rbp is the frame of the function
  int last_immediate_ = 0;  // the last constant that was moved to %rsi
  std::vector<Announced> announced_;
  bool consumes_ = false;                          // the announced statement has begun
  std::set<std::pair<std::size_t, bool>> merged_;  // lines announced with an earlier one
  std::set<std::string> built_ins_;                // registers that hold the address of threadIdx
  std::map<std::string, int> times_written_;
};

}  // namespace

std::string announced(std::string_view assembly) {
  return Pass(assembly).run();
}

}  // namespace announce
