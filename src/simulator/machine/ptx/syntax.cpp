#include "simulator/machine/ptx/instruction.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "model/refusal.h"

namespace machine::ptx {
namespace {

constexpr int kMostRegisters = 4096;

[[noreturn]] void refuse(const std::string& why) {
  throw model::Refusal("its inline PTX cannot be read: " + why);
}

// A piece of the text as a message may show it.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string shown = "\"";
  for (const char c : text.substr(0, kMost)) {
    shown += std::isprint(static_cast<unsigned char>(c)) != 0 && c != '"' ? c : ' ';
  }
  return shown + (text.size() > kMost ? "...\"" : "\"");
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool continues_word(char c) {
  return (begins_word(c) && c != '%') || is_digit(c) || c == '.';
}

class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string_view> names)
      : text_(text), names_(names), operands_(static_cast<int>(names.size())) {
    result_.registers = operands_;
    scopes_.push_back({});
  }

  Syntax parse() {
    skip();
    while (at_ < text_.size()) {
      statement();
      skip();
    }
    if (scope_ != 0) refuse("a { is not closed");
    resolve();
    return std::move(result_);
  }

 private:
  struct Scope {
    int parent = -1;
    std::map<std::string, std::int16_t, std::less<>> registers = {};
    std::map<std::string, int, std::less<>> labels = {};
  };
  // A name that may turn out to be a label.
  struct Unresolved {
    std::size_t line, operand;
    int scope;
  };

  char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char after(std::size_t n) const { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }

  void skip() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(now())) != 0) {
        ++at_;
      } else if (now() == '/' && after(1) == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (now() == '/' && after(1) == '*') {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == text_.npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }
  bool take(char c) {
    skip();
    if (now() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    const std::string named{'a', ' ', c};
    if (!take(c)) refuse(named + " is missing before " + in_quotes(text_.substr(at_)));
  }

  // A name with its dots and double colons; "%%" stands for "%". "%=" is a number of the
  // statement's own, which its labels do not need here.
  std::string word() {
    skip();
    std::string result;
    if (now() == '.') result += text_[at_++];
    while (at_ < text_.size()) {
      if (now() == '%' && after(1) == '=') {
        at_ += 2;
      } else if (now() == '%' && result.empty()) {
        at_ += after(1) == '%' ? 2 : 1;
        result += '%';
      } else if (result.empty() ? begins_word(now()) : continues_word(now())) {
        result += text_[at_++];
      } else if (now() == ':' && after(1) == ':' && continues_word(after(2))) {
        result += "::";
        at_ += 2;
      } else {
        break;
      }
    }
    if (result.empty() || result == "%") {
      refuse("a name is missing before " + in_quotes(text_.substr(at_)));
    }
    return result;
  }

  // %3 or %[name]: an operand of the asm statement.
  std::optional<std::int16_t> operand_number() {
    skip();
    if (now() != '%') return std::nullopt;
    if (is_digit(after(1))) {
      int number = 0;
      ++at_;
      while (is_digit(now()) && number < kMostRegisters)
        number = number * 10 + (text_[at_++] - '0');
      if (number >= operands_) {
        refuse("it names operand %" + std::to_string(number) + " of " + std::to_string(operands_));
      }
      return static_cast<std::int16_t>(number);
    }
    if (after(1) != '[') return std::nullopt;
    const std::size_t end = text_.find(']', at_);
    if (end == text_.npos) refuse("a ] is missing after " + in_quotes(text_.substr(at_)));
    const std::string_view name = text_.substr(at_ + 2, end - at_ - 2);
    for (int i = 0; i < operands_; ++i) {
      if (names_[i] != name) continue;
      at_ = end + 1;
      return static_cast<std::int16_t>(i);
    }
    refuse("no operand has the name " + in_quotes(name));
  }

  std::optional<std::int16_t> register_named(std::string_view name) const {
    for (int scope = scope_; scope >= 0; scope = scopes_[scope].parent) {
      const auto found = scopes_[scope].registers.find(name);
      if (found != scopes_[scope].registers.end()) return found->second;
    }
    return std::nullopt;
  }

  void add_register(const std::string& name, bool predicate) {
    if (result_.registers >= kMostRegisters) refuse("it has too many registers");
    scopes_[scope_].registers[name] = static_cast<std::int16_t>(result_.registers++);
    predicates_.push_back(predicate);
  }

  // .reg .b32 a, b<4>;
  void directive(const std::string& name) {
    if (name == ".pragma" || name == ".loc") {
      at_ = std::min(text_.find(';', at_), text_.size());
      return expect(';');
    }
    if (name != ".reg") {
      refuse("only registers can be declared in it, and not " + in_quotes(name));
    }
    const std::string type = word();
    const bool predicate = type == ".pred";
    if (type == ".v2" || type == ".v4") refuse("a register of it is a vector");
    do {
      const std::string reg = word();
      if (take('<')) {
        const std::uint64_t count = number().number;
        expect('>');
        if (count > kMostRegisters) refuse("it has too many registers");
        for (std::uint64_t i = 0; i < count; ++i) add_register(reg + std::to_string(i), predicate);
      } else {
        add_register(reg, predicate);
      }
    } while (take(','));
    expect(';');
  }

  // A number, perhaps with a sign.
  Operand number() {
    skip();
    bool negative = false;
    while (now() == '-' || now() == '+') negative ^= text_[at_++] == '-';
    skip();
    const std::string_view rest = text_.substr(at_);
    Operand result{.kind = Operand::Kind::integer};
    const auto take_digits = [&](std::size_t from, int base) {
      const auto [end, error] =
          std::from_chars(rest.data() + from, rest.data() + rest.size(), result.number, base);
      if (error != std::errc{}) refuse("a number is missing before " + in_quotes(rest));
      at_ += end - rest.data();
      if (now() == 'U' || now() == 'u') ++at_;
    };
    const char second = rest.size() > 1 && rest[0] == '0' ? rest[1] : '\0';
    const auto is_prefix = [&](std::string_view letters) {
      return second != '\0' && letters.find(second) != letters.npos;
    };
    if (is_prefix("fFdDxX")) {
      take_digits(2, 16);
      if (!is_prefix("xX")) result.kind = Operand::Kind::real;
      if (is_prefix("fF")) {
        const auto bits = static_cast<std::uint32_t>(result.number);
        result.number = std::bit_cast<std::uint64_t>(double{std::bit_cast<float>(bits)});
      }
    } else if (is_prefix("bB")) {
      take_digits(2, 2);
    } else {
      double value = 0;
      const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      const std::string_view text = rest.substr(0, static_cast<std::size_t>(stop - rest.data()));
      if (error == std::errc{} && text.find_first_of(".eE") != text.npos) {
        at_ += text.size();
        result.kind = Operand::Kind::real;
        result.number = std::bit_cast<std::uint64_t>(value);
      } else {
        take_digits(0, is_digit(second) ? 8 : 10);
      }
    }
    if (!negative) return result;
    if (result.kind == Operand::Kind::real) {
      result.number ^= std::uint64_t{1} << 63;
    } else {
      result.number = 0 - result.number;
    }
    return result;
  }

  // The sum of a base and offsets, without the bracket before it.
  Operand address() {
    Operand result{.kind = Operand::Kind::address};
    bool minus = false;
    while (true) {
      const Operand term = operand();
      if (term.kind == Operand::Kind::integer) {
        result.number += minus ? 0 - term.number : term.number;
      } else if (term.kind == Operand::Kind::reg && !minus && result.reg < 0) {
        result.reg = term.reg;
      } else if (term.kind == Operand::Kind::reg && !minus && result.offset < 0) {
        result.offset = term.reg;
      } else if (term.kind == Operand::Kind::symbol) {
        result.name = term.name;
      } else {
        refuse("it has an address that is not a register and an offset");
      }
      if (take(']')) return result;
      if (take(',')) {
        result.parts.push_back(operand());
        expect(']');
        return result;
      }
      minus = take('-');
      if (!minus) expect('+');
    }
  }

  Operand operand() {
    if (++depth_ > 8) refuse("its operands are nested too deeply");
    Operand result = operand_here();
    --depth_;
    return result;
  }

  Operand operand_here() {
    skip();
    Operand result;
    if (take('[')) return address();
    if (take('{')) {
      result.kind = Operand::Kind::vector;
      if (take('}')) return result;
      do {
        result.parts.push_back(operand());
      } while (take(','));
      expect('}');
      return result;
    }
    result.negated = take('!');
    skip();
    if (is_digit(now()) || now() == '-' || now() == '+' || (now() == '.' && is_digit(after(1)))) {
      return number();
    }
    if (const auto reg = operand_number()) {
      result.kind = Operand::Kind::reg;
      result.reg = *reg;
    } else {
      const std::string name = word();
      if (name == "_") {
        result.kind = Operand::Kind::none;
      } else if (const auto known = register_named(name)) {
        result.kind = Operand::Kind::reg;
        result.reg = *known;
        result.predicate = predicates_[static_cast<std::size_t>(*known - operands_)];
      } else if (const auto special = special_register(name)) {
        result.kind = Operand::Kind::special;
        result.number = *special;
      } else {
        result.kind = Operand::Kind::symbol;
        result.name = name;
        result.number = ~std::uint64_t{0};
      }
    }
    if (take('|')) {
      const Operand second = operand();
      if (second.kind != Operand::Kind::reg && second.kind != Operand::Kind::none) {
        refuse("a | is not followed by a register");
      }
      result.second = second.reg;
    }
    return result;
  }

  void statement() {
    if (take(';')) return;
    if (take('{')) {
      if (scopes_.size() > 1000) refuse("it has too many blocks");
      scopes_.push_back({.parent = scope_});
      scope_ = static_cast<int>(scopes_.size()) - 1;
      return;
    }
    if (take('}')) {
      if (scope_ == 0) refuse("a } closes nothing");
      scope_ = scopes_[scope_].parent;
      return;
    }
    if (now() == '.') return directive(word());
    Line line;
    if (take('@')) {
      line.unless = take('!');
      const Operand predicate = operand();
      if (predicate.kind != Operand::Kind::reg) refuse("after an @ there is no predicate");
      line.predicate = predicate.reg;
    }
    const std::string name = word();
    skip();
    if (now() == ':' && line.predicate < 0) {
      ++at_;
      scopes_[scope_].labels[name] = static_cast<int>(result_.lines.size());
      return;
    }
    set_name(line, name);
    skip();
    if (now() != ';') {
      do {
        line.operands.push_back(operand());
        if (line.operands.back().kind == Operand::Kind::symbol) {
          unresolved_.push_back({result_.lines.size(), line.operands.size() - 1, scope_});
        }
      } while (take(','));
    }
    expect(';');
    result_.lines.push_back(std::move(line));
  }

  static void set_name(Line& line, std::string_view name) {
    std::size_t dot = name.find('.');
    line.opcode = name.substr(0, dot);
    while (dot != name.npos) {
      const std::size_t next = name.find('.', dot + 1);
      line.modifiers.emplace_back(name.substr(dot + 1, next - dot - 1));
      dot = next;
    }
  }

  void resolve() {
    for (const Unresolved& name : unresolved_) {
      Operand& operand = result_.lines[name.line].operands[name.operand];
      for (int scope = name.scope; scope >= 0; scope = scopes_[scope].parent) {
        const auto found = scopes_[scope].labels.find(operand.name);
        if (found == scopes_[scope].labels.end()) continue;
        operand.number = static_cast<std::uint64_t>(found->second);
        break;
      }
    }
  }

  const std::string_view text_;
  const std::span<const std::string_view> names_;
  const int operands_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int scope_ = 0;
  std::vector<Scope> scopes_;
  std::vector<bool> predicates_;  // of the registers after the operands
  std::vector<Unresolved> unresolved_;
  Syntax result_;
};

}  // namespace

std::string Line::name() const {
  std::string result = opcode;
  for (const std::string& modifier : modifiers) result += "." + modifier;
  return result;
}

Syntax parse(std::string_view text, std::span<const std::string_view> names) {
  return Parser(text, names).parse();
}

}  // namespace machine::ptx
