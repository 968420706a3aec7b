#include "grade/kernel_rules.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "grade/kernel_names.h"
#include "grade/tokens.h"

namespace grade {

namespace {

using Names = std::set<std::string, std::less<>>;

// What the code of a region declares anywhere, as far as its tokens tell. It only decides whether a
// call or a :: is understood: what is called in the end is looked up once more in the object file
// (grade.sh).
struct Declared {
  Names types, others;

  explicit Declared(const std::vector<Token>& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) add_types(tokens, i);
    for (std::size_t i = 0; i < tokens.size(); ++i) add_other(tokens, i);
  }

  bool is_type(std::string_view name) const { return types.contains(name) || grade::is_type(name); }

 private:
  void add_types(const std::vector<Token>& tokens, std::size_t i) {
    const Token& token = tokens[i];
    const auto next = [&](std::size_t ahead) -> std::string_view {
      return i + ahead < tokens.size() ? std::string_view(tokens[i + ahead].text) : "";
    };
    if (token.is("typedef")) {
      for (std::size_t j = i + 1; j < tokens.size() && !tokens[j].is(";"); ++j) {
        if (tokens[j].is_name() && !why_refused(tokens[j].text)) types.insert(tokens[j].text);
      }
    }
    for (const char* word : {"using", "struct", "class", "union", "enum", "typename"}) {
      if (!token.is(word)) continue;
      types.emplace(next(1) == "class" || next(1) == "struct" ? next(2) : next(1));
    }
  }

  // In "const float* const& name(1), other(2);" the type stands before all that belongs to it.
  void add_other(const std::vector<Token>& tokens, std::size_t i) {
    const Token& token = tokens[i];
    depth_ += token.is("(") || token.is("[") || token.is("{");
    depth_ -= token.is(")") || token.is("]") || token.is("}");
    if (token.is(";")) list_depth_ = kNoList;
    if (!token.is_name()) return;
    std::size_t before = i;
    while (before > 0 && is_part_of_declarator(tokens[before - 1])) --before;
    if (before == 0) return;
    const Token& type_or_comma = tokens[before - 1];
    if (is_type(type_or_comma.text)) list_depth_ = depth_;
    if (is_type(type_or_comma.text) || (list_depth_ == depth_ && type_or_comma.is(","))) {
      others.insert(token.text);
    }
  }

  static bool is_part_of_declarator(const Token& token) {
    return token.is("*") || token.is("&") || token.is("const") || token.is("__restrict__") ||
           token.is("__restrict") || token.is(".");
  }

  static constexpr int kNoList = -1;
  int depth_ = 0, list_depth_ = kNoList;  // of brackets
};

// Brackets that are open where a region has been read so far.
class Brackets {
 public:
  void take(const Token& token, const std::string& name) {
    const char c = token.text[0];
    if (c == '{' || c == '(' || c == '[') open_ += c;
    if (open_.size() > kMost) refuse(name, token.line, "too many brackets inside one another");
    if (c != '}' && c != ')' && c != ']') return;
    const char opening = c == '}' ? '{' : c == ')' ? '(' : '[';
    if (!open_.ends_with(opening)) {
      std::string why = "this ";
      why += c;
      why += " closes what was not opened in your code";
      refuse(name, token.line, why);
    }
    open_.pop_back();
  }
  const std::string& open() const { return open_; }

 private:
  static constexpr std::size_t kMost = 100;  // a compiler's stack is not endless
  std::string open_;
};

// [[name, name]] from token `i` on, if that is what it begins.
void check_attribute(const std::vector<Token>& tokens, std::size_t i, const std::string& name) {
  if (!tokens[i].is("[") || i + 1 == tokens.size() || !tokens[i + 1].is("[")) return;
  for (i += 2; i < tokens.size() && !tokens[i].is("]"); ++i) {
    if (is_harmless_attribute(tokens[i].text) || tokens[i].is(",")) continue;
    refuse(name, tokens[i].line, "attributes are not for your code");
  }
}

bool is_reserved(const std::string& name) {
  return name.find("__") != name.npos || (name.size() > 1 && name[0] == '_' &&
                                          std::isupper(static_cast<unsigned char>(name[1])) != 0);
}

}  // namespace

std::set<std::string> helpers_in(const std::vector<std::string>& skeleton) {
  std::set<std::string> helpers, not_for_kernels;
  const std::vector<Token> tokens = [&] {
    std::vector<std::string> code;
    for (const std::string& line : skeleton) {
      code.push_back(trimmed(line).starts_with('#') ? "" : line.substr(0, line.find("//")));
      std::string& last = code.back();
      std::erase_if(last, [](char c) { return c == '"' || c == '\\' || c == '\''; });
    }
    return tokens_of(code, {0, code.size()}, "skeleton");
  }();
  bool host_or_kernel = false;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].is("__global__")) host_or_kernel = true;
    if (!tokens[i].is_name() || !tokens[i + 1].is("(")) continue;
    if (host_or_kernel || (i > 0 && tokens[i - 1].is("void")) || tokens[i].is("launch")) {
      if (!tokens[i].is("__launch_bounds__")) {
        not_for_kernels.insert(tokens[i].text);
        host_or_kernel = false;
      }
    } else {
      helpers.insert(tokens[i].text);
    }
  }
  for (const std::string& name : not_for_kernels) helpers.erase(name);
  if (std::ranges::find(skeleton, "#include \"cuda/instructions.h\"") != skeleton.end()) {
    helpers.insert(instructions().begin(), instructions().end());
  }
  return helpers;
}

void check_kernel_code(
    const std::vector<std::string>& lines, Range range, const std::string& name,
    const std::set<std::string>& helpers) {
  const std::vector<Token> tokens = tokens_of(lines, range, name);
  Brackets brackets;
  const Declared declared(tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const auto is_at = [&](std::size_t at, std::string_view what) {
      return at < tokens.size() && tokens[at].is(what);
    };
    const bool is_member = i > 0 && (tokens[i - 1].is(".") || tokens[i - 1].is("->"));
    const bool is_standard = token.is("std") && is_at(i + 1, "::") && i + 2 < tokens.size() &&
                             is_standard_type(tokens[i + 2].text);
    check_attribute(tokens, i, name);
    brackets.take(token, name);
    if (token.is("::") &&
        (i == 0 || !(tokens[i - 1].is("std") || declared.types.contains(tokens[i - 1].text)))) {
      refuse(name, token.line, "a kernel needs no ::, everything it may use has a plain name");
    }
    if (!token.is_name()) continue;

    const bool is_constant =
        token.is("static") &&
        (is_at(i + 1, "constexpr") || is_at(i + 1, "const") ||
         (i > 0 && (tokens[i - 1].is("constexpr") || tokens[i - 1].is("const"))));
    if (const char* why = why_refused(token.text); why != nullptr && !is_constant && !is_standard) {
      refuse(name, token.line, token.text + ": " + why);
    }
    if (token.is("__attribute__") || token.is("__declspec")) {
      refuse(name, token.line, "attributes are not for your code");
    }
    if (is_reserved(token.text) && !is_cuda(token.text)) {
      refuse(name, token.line, token.text + " is not among the names that your code may use");
    }
    // Of a constant that all threads share, a part that is none.
    if (token.is("mutable") && !(i > 0 && tokens[i - 1].is(")"))) {
      refuse(name, token.line, "mutable: only a lambda may be; leave it out");
    }
    if (is_at(i + 1, "(") && !is_member && !may_be_called(token.text) &&
        !declared.types.contains(token.text) && !declared.others.contains(token.text) &&
        !helpers.contains(token.text)) {
      refuse(
          name, token.line, token.text + "() is not among the functions that your code may call");
    }
  }
  if (const std::string& open = brackets.open(); !open.empty()) {
    refuse(
        name, tokens.empty() ? range.first : tokens.back().line,
        std::string("a ") + open.back() + " is not closed within your code");
  }
}

}  // namespace grade
