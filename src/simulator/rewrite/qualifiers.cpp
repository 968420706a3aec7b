#include "simulator/rewrite/rewritten.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "simulator/rewrite/tokens.h"

namespace rewrite {
namespace {

// 128 bytes are one row of the 32 banks. constinit avoids a guard variable, which would be read at
// each use. (As cuda/cpu.h has it for files that are not rewritten.)
constexpr const char* kShared = "__attribute__((aligned(128))) constinit thread_local";
// Its page is closed to the host while a kernel may use the variable (machine/memory.h).
constexpr const char* kOwnPage = " __attribute__((aligned(4096)))";
constexpr const char* kKernel = "__attribute__((noipa))";

class Qualifiers {
 public:
  explicit Qualifiers(std::string_view source)
      : file_number_(std::hash<std::string_view>()(source.substr(0, source.find('\n'))) % 1000000),
        edits_(source) {
    const std::vector<Token> all = tokens_of(source);
    const std::vector<bool> users = are_users(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_line_marker(all[i])) continue;
      tokens_.push_back(all[i]);
      users_.push_back(users[i]);
    }
  }

  std::string run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.is("{")) {
        scopes_.push_back({is_namespace(i), i});
      } else if (token.is("}")) {
        if (!scopes_.empty()) scopes_.pop_back();
      } else if (
          token.is("static") && users_[i] && !scopes_.empty() && is_class(scopes_.back().open)) {
        constant(i);
      } else if (token.is("__global__")) {
        kernel(i);
      } else if (token.is("__cluster_dims__") && i + 1 < tokens_.size() && opens(tokens_[i + 1])) {
        const std::size_t close = closing(tokens_, i + 1);
        if (close < tokens_.size()) edits_.replace(token, tokens_[close], "");
      } else if (token.is("__shared__")) {
        shared(i);
      } else if (is_any_of(token, {"__device__", "__constant__", "__managed__"})) {
        device(i);
      }
    }
    return edits_.applied();
  }

 private:
  struct Scope {
    bool is_namespace;  // or extern "C"
    std::size_t open;
  };
  // Of a declaration: its first token, and what follows the specifiers.
  struct Declaration {
    std::size_t first, end;
    bool is_extern = false, is_template = false;
  };

  bool in_namespace() const {
    return std::all_of(
        scopes_.begin(), scopes_.end(), [](const Scope& scope) { return scope.is_namespace; });
  }

  // Of namespace {, namespace a::b {, inline namespace c {, extern "C" {
  bool is_namespace(std::size_t open) const {
    for (std::size_t i = open; i-- > 0;) {
      const Token& token = tokens_[i];
      if (is_any_of(token, {"namespace", "extern"})) return true;
      if (token.kind == Kind::text) continue;
      if (is_any_of(token, {")", "]", "("}) && in_attribute(i)) continue;
      if (token.kind != Kind::name && !token.is("::")) return false;
      if (is_any_of(token, {"struct", "class", "union", "enum", "do", "else", "try"})) return false;
    }
    return false;
  }
  bool in_attribute(std::size_t i) const {
    const std::size_t open = tokens_[i].is(")") ? opening(tokens_, i) : 0;
    return open < tokens_.size() && open > 0 && tokens_[open - 1].is("__attribute__");
  }

  // Of struct A : B {, template <class T> class C {
  bool is_class(std::size_t open) const {
    std::size_t first = first_of(open);
    if (tokens_[first].is("template")) first = behind_angles(first + 1);
    while (first < open && is_any_of(tokens_[first], {"typedef", "static", "const"})) ++first;
    return is_any_of(tokens_[first], {"struct", "class", "union"}) &&
           (first + 1 == open || !is_any_of(tokens_[open - 1], {")", "const", "noexcept", "="}));
  }

  // static const float x = 1; in a class.
  void constant(std::size_t i) {
    bool is_const = false, is_integer = false;
    for (std::size_t at = first_of(i); at < tokens_.size(); ++at) {
      const Token& token = tokens_[at];
      if (is_any_of(token, {"constexpr", "inline", "constinit", "operator", "(", ";", "}"})) return;
      is_const |= token.is("const");
      is_integer |= is_any_of(
          token, {"int", "unsigned", "bool", "char", "long", "short", "size_t", "__constant__"});
      if (token.is("[")) is_integer = false;
      if (is_any_of(token, {"=", "{"})) break;
      if (is_any_of(token, {"decltype", "__attribute__"})) at = closing(tokens_, at + 1);
      if (token.is("<")) at = behind_angles(at) - 1;
    }
    if (is_const && !is_integer) edits_.replace(tokens_[i], tokens_[i], "static constexpr");
  }

  // The first token of the declaration to which token `i` belongs.
  std::size_t first_of(std::size_t i) const {
    std::size_t first = i;
    while (first > 0) {
      const Token& before = tokens_[first - 1];
      if (before.kind == Kind::directive || is_any_of(before, {";", "{", "}"})) break;
      if (before.is(":") && first > 1 &&
          (is_any_of(tokens_[first - 2], {"public", "private", "protected", "default"}) ||
           tokens_[first - 2].kind == Kind::number)) {
        break;
      }
      if (before.is(")") || before.is("]")) {
        const std::size_t open = opening(tokens_, first - 1);
        if (open == tokens_.size()) break;
        first = open;
      } else {
        --first;
      }
    }
    return first;
  }

  // alignas(16) and its like are moved to the front of the declaration.
  void shared(std::size_t i) {
    const std::size_t first = first_of(i);
    edits_.replace(tokens_[i], tokens_[i], kShared);
    if (first == i && i + 1 < tokens_.size() && !has_alignas(first)) return;
    for (std::size_t at = first; at < tokens_.size(); ++at) {
      const Token& token = tokens_[at];
      if (is_any_of(token, {";", "=", "{", "["})) break;
      if (token.is("alignas") && at + 1 < tokens_.size() && tokens_[at + 1].is("(")) {
        const std::size_t close = closing(tokens_, at + 1);
        if (close == tokens_.size()) break;
        if (at != first) {
          edits_.insert(tokens_[first].at, text_of(tokens_, at, close + 1) + " ");
          edits_.replace(token, tokens_[close], "");
        }
        at = close;
      } else if (token.is("(")) {
        at = closing(tokens_, at);
      }
    }
  }
  bool has_alignas(std::size_t first) const {
    for (std::size_t at = first; at < tokens_.size(); ++at) {
      if (tokens_[at].is("alignas")) return true;
      if (is_any_of(tokens_[at], {";", "=", "{", "["})) return false;
    }
    return false;
  }

  void kernel(std::size_t i) {
    edits_.replace(tokens_[i], tokens_[i], kKernel);
    std::string begins = " ::simt::kernel_begins();";
    for (std::size_t at = first_of(i); at < tokens_.size(); ++at) {
      if (tokens_[at].is(";")) return;
      if (tokens_[at].is("{")) {
        edits_.insert(tokens_[at].end(), begins);
        return;
      }
      const bool is_cluster = tokens_[at].is("__cluster_dims__");
      if (is_cluster || opens(tokens_[at])) {
        const std::size_t close = closing(tokens_, at + is_cluster);
        if (is_cluster && close < tokens_.size()) {
          begins += " ::simt::cluster_begins" + text_of(tokens_, at + 1, close + 1) + ";";
        }
        at = close;
      }
    }
  }

  bool has_any(std::size_t first, std::size_t end, std::initializer_list<const char*> words) const {
    while (first < end && !is_any_of(tokens_[first], words)) ++first;
    return first < end;
  }

  void device(std::size_t i) {
    const bool is_lambda = i > 0 && tokens_[i - 1].is("]");
    const std::size_t first = is_lambda ? i : first_of(i);
    // __device__ __constant__ is one variable.
    const bool is_again = has_any(first, i, {"__device__", "__constant__", "__managed__"});
    const std::vector<std::size_t> names =
        is_lambda || is_again || !in_namespace() ? std::vector<std::size_t>{} : names_in(first);
    const bool is_extern = has_any(first, i, {"extern"});
    const bool defines = !names.empty() && !is_extern;
    std::string word = defines ? "inline" : "";
    if (tokens_[i].is("__managed__") && in_namespace() && !is_extern) word += kOwnPage;
    edits_.replace(tokens_[i], tokens_[i], word);
    if (!defines) return;
    const std::size_t end = end_of(names.back());
    for (std::size_t at = first; at < names.front(); ++at) {
      if (is_any_of(tokens_[at], {"static", "inline"})) edits_.remove(tokens_[at]);
    }
    name_namespaces();
    if (tokens_[first].is("template") || end == tokens_.size()) return;
    std::string registered;
    const std::string kind = has_any(first, names.front(), {"__managed__"})    ? "managed"
                             : has_any(first, names.front(), {"__constant__"}) ? "constant"
                                                                               : "device";
    for (const std::size_t name : names) {
      const std::string text(tokens_[name].text);
      registered += " static const ::simt::DeviceVariable simt_variable_" + text + "(\"" + text +
                    "\", ::std::addressof( " + text + "), sizeof " + text +
                    ", ::simt::VariableKind::" + kind + ");";
    }
    edits_.insert(tokens_[end].end(), registered);
  }

  // The ; of the declaration that `at` belongs to.
  std::size_t end_of(std::size_t at) const {
    for (; at < tokens_.size() && !tokens_[at].is(";"); ++at) {
      if (opens(tokens_[at])) at = closing(tokens_, at);
      if (at >= tokens_.size()) return tokens_.size();
    }
    return at;
  }

  // The variables that the declaration declares; none if it declares a function.
  std::vector<std::size_t> names_in(std::size_t first) const {
    std::vector<std::size_t> names;
    std::size_t at = first;
    if (tokens_[at].is("template")) at = behind_angles(at + 1);
    for (; at < tokens_.size(); ++at) {
      const Token& token = tokens_[at];
      if (token.is("operator")) return {};
      if (is_any_of(token, {"__attribute__", "alignas", "decltype", "__launch_bounds__"}) &&
          at + 1 < tokens_.size() && tokens_[at + 1].is("(")) {
        at = closing(tokens_, at + 1);
        continue;
      }
      if (token.is("<")) {
        at = behind_angles(at) - 1;
        continue;
      }
      const bool has_next = at + 1 < tokens_.size();
      if (token.kind == Kind::name && has_next) {
        const Token& next = tokens_[at + 1];
        const bool is_type = is_any_of(token, {"struct", "class", "union", "enum"});
        if (is_type) return {};
        if (next.is("(")) {
          // float (*f)(int) is a pointer; float f(int) is none.
          std::size_t name = at + 3;
          while (name < tokens_.size() && is_any_of(tokens_[name], {"const", "volatile"})) ++name;
          if (name < tokens_.size() && tokens_[at + 2].is("*") &&
              tokens_[name].kind == Kind::name) {
            names.push_back(name);
            at = closing(tokens_, at + 1);
            if (at + 1 < tokens_.size() && tokens_[at + 1].is("(")) at = closing(tokens_, at + 1);
            if (!to_next(at)) return names;
            continue;
          }
          return names;
        }
        if (is_any_of(next, {"=", ";", ",", "[", "{"})) {
          names.push_back(at);
          if (!to_next(at)) return names;
          continue;
        }
      }
      if (is_any_of(token, {";", "{", "(", "}"})) return names;
    }
    return names;
  }
  // From a declarator to the comma before the next one; false if it is the last.
  bool to_next(std::size_t& at) const {
    for (; at < tokens_.size(); ++at) {
      if (tokens_[at].is(",")) return true;
      if (tokens_[at].is(";")) return false;
      if (opens(tokens_[at])) at = closing(tokens_, at);
    }
    return false;
  }
  std::size_t behind_angles(std::size_t at) const {
    int depth = 0;
    for (; at < tokens_.size(); ++at) {
      if (tokens_[at].is("<")) ++depth;
      if (tokens_[at].is(">") && --depth == 0) return at + 1;
      if (opens(tokens_[at])) at = closing(tokens_, at);
      if (at < tokens_.size() && tokens_[at].is(";")) return at;
    }
    return at;
  }

  void name_namespaces() {
    for (const Scope& scope : scopes_) {
      const bool is_unnamed = scope.open > 0 && tokens_[scope.open - 1].is("namespace");
      if (!is_unnamed || named_[scope.open]) continue;
      named_[scope.open] = true;
      edits_.replace(
          tokens_[scope.open - 1], tokens_[scope.open - 1],
          "inline namespace simt_unnamed_" + std::to_string(file_number_));
    }
  }
  std::vector<Token> tokens_;
  std::vector<bool> users_;  // of each token: are_users()
  std::size_t file_number_;  // differs from file to file
  Edits edits_;
  std::vector<Scope> scopes_;
  std::map<std::size_t, bool> named_;
};

}  // namespace

std::string qualifiers(std::string_view source) {
  return Qualifiers(source).run();
}

}  // namespace rewrite
