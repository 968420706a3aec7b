#include "announce/instruction.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

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

bool is_vector(const Instruction& instruction) {
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

int integer_bytes(const Instruction& instruction) {
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

std::optional<Instruction> instruction_in(std::string_view line) {
  if (!line.starts_with('\t') && !line.starts_with(' ')) return std::nullopt;
  std::string_view rest = trimmed(line.substr(0, line.find('#')));
  if (rest.empty() || rest[0] == '.' || rest.ends_with(':')) return std::nullopt;
  Instruction instruction;
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

std::optional<Access> access_of(const Instruction& instruction) {
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

std::optional<StringAccess> string_access_of(const Instruction& instruction) {
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

std::vector<std::string> written_by(const Instruction& instruction) {
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

}  // namespace announce
