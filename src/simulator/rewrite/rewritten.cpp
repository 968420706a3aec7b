#include "simulator/rewrite/rewritten.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

#include "simulator/rewrite/tokens.h"

namespace rewrite {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Words that may stand before an expression but are no part of it.
bool is_statement_word(const Token& token) {
  return is_any_of(
      token, {"return", "else", "do", "if", "while", "for", "switch", "case", "throw", "co_return",
              "co_await", "and", "or", "not"});
}

class Launches {
 public:
  explicit Launches(std::string_view source)
      : source_(source), tokens_(code_of(source)), edits_(source) {}

  std::string run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (const std::size_t last = last_of_opening(i); last != kNone) translate(i, last);
      if (tokens_[i].is("cudaLaunchKernel") || tokens_[i].is("cudaLaunchCooperativeKernel")) {
        uncover_kernel(i + 1);
      }
    }
    return edits_.applied();
  }

 private:
  // The > that opens no bracket within <...> and closes the < at the returned index.
  std::size_t opening_angle(std::size_t close) const {
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
      const Token& token = tokens_[i];
      if (token.is(">")) ++depth;
      if (token.is("<") && --depth == 0) return i;
      if (token.is(")") || token.is("]") || token.is("}")) {
        i = opening(tokens_, i);
        if (i == tokens_.size()) return kNone;
      }
      if (token.is(";") || token.is("{") || token.is("(")) return kNone;
    }
    return kNone;
  }

  // The first token of the expression that ends before `end`: ns::k<A, (x > y)>, kernels[i],
  // (*kernel), object->kernel, choose(3).
  std::size_t first_of_kernel(std::size_t end) const {
    std::size_t first = end;
    while (first > 0) {
      std::size_t last = first - 1;
      if (tokens_[last].is(">")) {
        const std::size_t angle = opening_angle(last);
        if (angle == kNone || angle == 0) return kNone;
        last = angle - 1;
        if (tokens_[last].kind != Kind::name) return kNone;
      }
      if (tokens_[last].is(")") || tokens_[last].is("]")) {
        const std::size_t open = opening(tokens_, last);
        if (open == tokens_.size()) return kNone;
        first = open;
        if (open == 0) return first;
        const Token& before = tokens_[open - 1];
        const bool goes_on = (before.kind == Kind::name && !is_statement_word(before)) ||
                             before.is("]") || before.is(")") || before.is(">");
        if (!goes_on) return first;
        continue;
      }
      if (tokens_[last].kind != Kind::name) return kNone;
      first = last;
      if (first > 0 && tokens_[first - 1].is("template")) --first;
      if (first == 0) return first;
      const Token& before = tokens_[first - 1];
      if (before.is(".") || before.is("->")) {
        --first;
        continue;
      }
      if (!before.is("::")) return first;
      --first;
      const bool qualified =
          first > 0 && (tokens_[first - 1].is(">") || (tokens_[first - 1].kind == Kind::name &&
                                                       !is_statement_word(tokens_[first - 1])));
      if (!qualified) return first;
    }
    return first;
  }

  bool is_at(std::size_t i, std::string_view what) const {
    return i < tokens_.size() && tokens_[i].is(what);
  }

  // Some editors write << < and >> >, as nvcc accepts them.
  std::size_t last_of_opening(std::size_t i) const {
    if (tokens_[i].is("<<<")) return i;
    const bool names_operator = i > 0 && tokens_[i - 1].is("operator");
    return tokens_[i].is("<<") && is_at(i + 1, "<") && !names_operator ? i + 1 : kNone;
  }
  bool ends_configuration(std::size_t i) const {
    if (!is_at(i, ">") || !is_at(i + 1, ">") || !is_at(i + 2, ">")) return false;
    if (tokens_[i].end() != tokens_[i + 1].at) return false;
    return tokens_[i + 1].end() == tokens_[i + 2].at ? !is_at(i + 3, ">") : is_at(i + 3, "(");
  }

  // How the lambda receives the arguments between the brackets, and passes them to the kernel. A 0
  // or a NULL stands in the call itself: passed on, it would be a number, and no pointer.
  struct Passing {
    std::string parameters = "auto&... simt_arguments", arguments = "simt_arguments...",
                types = "decltype(simt_arguments)...";
  };
  Passing passing_of(std::size_t open, std::size_t close) const {
    std::string parameters, arguments;
    bool has_null = false;
    for (std::size_t at = open, end; at < close; at = end) {  // from ( or , to the next , or )
      for (end = at + 1; end < close && !tokens_[end].is(","); ++end) {
        // Between < and > a comma separates no arguments.
        if (tokens_[end].is("<") || tokens_[end].is("...")) return {};
        if (tokens_[end].is("(") || tokens_[end].is("{")) end = closing(tokens_, end);
      }
      const bool is_null =
          end == at + 2 && (tokens_[at + 1].is("0") || tokens_[at + 1].is("__null"));
      const std::string name = "simt_" + std::to_string(at - open);
      const std::string separator = at == open ? "" : ", ";
      parameters += separator + "auto& " + name;
      arguments += separator + (is_null ? std::string(tokens_[at + 1].text) : name);
      has_null |= is_null;
    }
    return has_null ? Passing{parameters, arguments, "decltype(simt_0)"} : Passing{};
  }

  // From the first to the last token of <<<.
  void translate(std::size_t chevrons, std::size_t last) {
    const std::size_t first = first_of_kernel(chevrons);
    if (first == kNone || first == chevrons) {
      refuse(source_, tokens_[chevrons], "before <<< there is no name of a kernel");
    }
    std::size_t end = last + 1;
    while (end < tokens_.size() && !ends_configuration(end)) {
      const Token& token = tokens_[end];
      if (token.is("(") || token.is("[") || token.is("{")) end = closing(tokens_, end);
      if (end >= tokens_.size() || token.is(";")) break;
      ++end;
    }
    if (end >= tokens_.size() || !ends_configuration(end)) {
      refuse(source_, tokens_[chevrons], "this <<< is not closed by >>>");
    }
    const std::size_t open = end + 3;
    if (open >= tokens_.size() || !tokens_[open].is("(")) {
      refuse(
          source_, tokens_[end],
          "after <<<...>>> stand the kernel's arguments in brackets, if only ()");
    }
    const std::string kernel = text_of(tokens_, first, chevrons);
    const std::size_t close = closing(tokens_, open);
    const Passing passing = passing_of(open, close);
    const std::string call = "(" + passing.arguments + "); ";
    std::string begin = "::simt::launched([&](" + passing.parameters + ") { ";
    if (!tokens_[chevrons - 1].is(">")) {
      begin += "if constexpr (requires { ::simt::holds_pointer<" + passing.types + ">( " + kernel +
               "); }) ::simt::in_this_copy<" + passing.types + ">( " + kernel + ")" + call +
               "else ";
    }
    edits_.insert(tokens_[first].at, begin);
    edits_.replace(tokens_[chevrons], tokens_[last], call + "}).configured(");
    edits_.replace(tokens_[end], tokens_[end + 2], ")");
    // Between < and > a comma separates no arguments.
    bool has_lists = false;
    for (std::size_t i = open + 1; i < close; ++i) has_lists |= tokens_[i].is("<");
    for (std::size_t i = open + 1, number = 0; i < close; ++i) {
      number += tokens_[i].is(",");
      if (tokens_[i].is("{") && (tokens_[i - 1].is("(") || tokens_[i - 1].is(",")) && !has_lists) {
        edits_.insert(
            tokens_[i].at,
            "decltype(::simt::parameter_of<" + std::to_string(number) + ">(" + kernel + "))");
      }
      const bool is_argument = (tokens_[i - 1].is("(") || tokens_[i - 1].is(",")) &&
                               i + 1 < tokens_.size() &&
                               (tokens_[i + 1].is(",") || tokens_[i + 1].is(")"));
      if (is_argument && tokens_[i].is("__null")) {
        if (has_lists) edits_.replace(tokens_[i], tokens_[i], "nullptr");
      } else if (is_argument && tokens_[i].kind == Kind::name && !has_lists) {
        // The kernel may take it by reference.
        edits_.insert(tokens_[i].at, "::simt::argument(");
        edits_.insert(tokens_[i].end(), ")");
      }
      if (tokens_[i].is("(") || tokens_[i].is("{")) i = closing(tokens_, i);
    }
  }

  // The first argument after the bracket at `open` without a cast to void*, which would hide the
  // types of the kernel's own arguments.
  void uncover_kernel(std::size_t open) {
    const std::size_t cast = open + 1;
    const std::size_t type = is_at(cast + 1, "const") ? cast + 2 : cast + 1;
    const bool casts = is_at(open, "(") && is_at(cast, "(") && is_at(type, "void") &&
                       is_at(type + 1, "*") && is_at(type + 2, ")");
    for (std::size_t i = cast; casts && i <= type + 2; ++i) edits_.remove(tokens_[i]);
  }

  std::string_view source_;
  std::vector<Token> tokens_;
  Edits edits_;
};

}  // namespace

std::string launches(std::string_view source) {
  return Launches(source).run();
}

namespace {

// Whether the text has a word of the instructions by which blocks may wait for each other, so that
// the program needs them (src/simulator/machine/waiting.cpp).
bool may_wait(std::string_view text) {
  static constexpr std::string_view kWords[] = {"volatile", "gpu",  "sys",
                                                "gl",       "atom", "nanosleep"};
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() &&
        (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_'))
      continue;
    const std::string_view word = text.substr(begin, i - begin);
    if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return true;
    begin = i + 1;
  }
  return false;
}

class InlinePtx {
 public:
  explicit InlinePtx(std::string_view source)
      : source_(source), tokens_(tokens_of(source)), users_(are_users(tokens_)), edits_(source) {}

  std::string run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (users_[i] && is_any_of(tokens_[i], {"asm", "__asm__", "__asm"})) i = translate(i);
    }
    return edits_.applied();
  }

 private:
  // int f() asm("name"): not a statement.
  bool is_label(std::size_t first, std::size_t open, std::size_t close) const {
    if (open > first + 1 || first == 0) return false;
    for (std::size_t i = open; i < close; ++i) {
      if (is_any_of(tokens_[i], {":", "::"})) return false;
    }
    const Token& before = tokens_[first - 1];
    if (before.is(")")) {
      const std::size_t condition = opening(tokens_, first - 1);
      return condition == 0 || condition >= tokens_.size() ||
             !is_any_of(tokens_[condition - 1], {"if", "while", "for", "switch"});
    }
    return !is_any_of(before, {";", "{", "}", ":", "else", "do"}) && before.kind != Kind::directive;
  }

  // Translates the statement that begins there and returns its last token.
  std::size_t translate(std::size_t first) {
    std::size_t open = first + 1;
    while (open < tokens_.size() && is_any_of(
                                        tokens_[open], {"volatile", "__volatile__", "__volatile",
                                                        "inline", "__inline__", "goto"})) {
      if (tokens_[open].is("goto")) refuse(source_, tokens_[first], "asm goto is no inline PTX");
      ++open;
    }
    if (open == tokens_.size() || !tokens_[open].is("(")) return first;
    const std::size_t close = closing(tokens_, open);
    if (close == tokens_.size()) refuse(source_, tokens_[first], "a ) is missing after asm");
    if (is_label(first, open, close)) return close;

    std::size_t at = open + 1;
    std::string text;
    while (at < close && !is_any_of(tokens_[at], {":", "::"})) text += tokens_[at++].text;
    edits_.replace(
        tokens_[first], tokens_[open - 1],
        may_wait(text) ? "::simt::ptx_between_blocks" : "::simt::ptx");
    edits_.insert(tokens_[at].at, ", {");
    // The outputs, the inputs and what is clobbered, each after a colon.
    int section = 0;
    while (at < close) {
      const Token& token = tokens_[at];
      if (token.is(":") || token.is("::")) {
        section += token.is("::") ? 2 : 1;
        edits_.remove(token);
        ++at;
      } else if (section > 2) {
        edits_.remove(token);
        ++at;
      } else {
        at = operand(at, close, section);
      }
    }
    edits_.insert(tokens_[close].at, "}");
    return close;
  }

  // [name] "constraint" (expression) and the comma after it. Returns the token after them.
  std::size_t operand(std::size_t at, std::size_t close, int section) {
    std::string call = section == 1 ? "::simt::ptx_output(" : "::simt::ptx_input(";
    if (tokens_[at].is("[") && at + 2 < close && tokens_[at + 2].is("]")) {
      call += "\"[" + std::string(tokens_[at + 1].text) + "]\" ";
      edits_.replace(tokens_[at], tokens_[at + 2], "");
      at += 3;
    }
    if (at >= close || tokens_[at].kind != Kind::text) {
      refuse(source_, tokens_[std::min(at, close)], "this operand of inline PTX cannot be read");
    }
    edits_.insert(tokens_[at].at, call);
    while (at < close && tokens_[at].kind == Kind::text) ++at;
    if (at >= close || !tokens_[at].is("(")) {
      refuse(source_, tokens_[std::min(at, close)], "this operand of inline PTX cannot be read");
    }
    edits_.insert(tokens_[at].at, ", ");
    at = closing(tokens_, at) + 1;
    if (at > close) refuse(source_, tokens_[close], "this operand of inline PTX cannot be read");
    edits_.insert(tokens_[at - 1].end(), ")");
    if (tokens_[at].is(",")) return at + 1;
    edits_.insert(tokens_[at - 1].end(), ",");
    return at;
  }

  const std::string_view source_;
  const std::vector<Token> tokens_;
  const std::vector<bool> users_;
  Edits edits_;
};

}  // namespace

std::string inline_ptx(std::string_view source) {
  return InlinePtx(source).run();
}

// A #pragma that a macro leaves (#define UNROLL #pragma unroll), as nvcc accepts it, is indented in
// preprocessed source, and no directive for the compiler.
std::string pragmas(std::string_view source) {
  std::string text(source);
  for (std::size_t at = 0; (at = text.find("#pragma unroll", at)) != text.npos; ++at) {
    const std::size_t before = text.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    const bool is_first = at > 0 && (before == text.npos || text[before] == '\n');
    if (!is_first || text[at - 1] == '\n') continue;
    std::fill(text.begin() + at, text.begin() + std::min(text.find('\n', at), text.size()), ' ');
  }
  return text;
}

std::string own_launch(std::string_view source) {
  const std::vector<Token> tokens = tokens_of(source);
  const std::vector<bool> users = are_users(tokens);
  Edits edits(source);
  int depth = 0;
  bool is_declared = false;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const Token& before = tokens[i - 1];
    depth += int{tokens[i].is("{")} - int{tokens[i].is("}")};
    const bool is_of_std = i > 1 && before.is("::") && tokens[i - 2].is("std");
    if (!users[i] || !tokens[i].is("launch") || is_of_std) continue;
    edits.replace(tokens[i], tokens[i], "own_launch");
    is_declared |= depth == 0 && (before.kind == Kind::name || is_any_of(before, {">", "*", "&"}));
  }
  return is_declared ? edits.applied() : std::string(source);
}

std::string spaced_literals(std::string_view source) {
  Edits edits(source);
  for (const Token& directive : tokens_of(source)) {
    if (directive.kind != Kind::directive) continue;
    const std::vector<Token> words = tokens_of(directive.text.substr(1));
    const bool has_parameters = words.size() > 3 && words[0].is("define") && words[2].is("(") &&
                                words[1].end() == words[2].at;
    if (!has_parameters) continue;
    const std::size_t close = closing(words, 2);
    for (std::size_t i = close; i < words.size(); ++i) {
      const std::size_t suffix = words[i].text.rfind('"') + 1;
      if (words[i].kind != Kind::text || suffix == words[i].text.size()) continue;
      for (std::size_t name = 3; name < close; ++name) {
        if (words[name].text != words[i].text.substr(suffix)) continue;
        edits.insert(directive.at + 1 + words[i].at + suffix, " ");
        break;
      }
    }
  }
  return edits.applied();
}

namespace {

// Each receives the source that the previous one returned.
using Rewriter = std::string(std::string_view source);
constexpr Rewriter* kInOrder[] = {pragmas, own_launch, sgemm, qualifiers, launches, inline_ptx};

}  // namespace

std::string rewritten(std::string_view source, bool has_main) {
  std::string text(source);
  for (Rewriter* rewriter : kInOrder) {
    if (rewriter != sgemm || !has_main) text = rewriter(text);
  }
  return text;
}

}  // namespace rewrite
