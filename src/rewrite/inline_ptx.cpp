#include "rewrite/inline_ptx.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "rewrite/edits.h"
#include "rewrite/place.h"
#include "rewrite/tokens.h"

namespace rewrite {
namespace {

bool is_one_of(const Token& token, std::initializer_list<std::string_view> words) {
  return std::any_of(
      words.begin(), words.end(), [&](std::string_view word) { return token.is(word); });
}

// Whether the text has a word of the instructions by which blocks may wait for each other, so that
// the program needs them (src/machine/waiting.h).
bool may_wait(std::string_view text) {
  static constexpr std::string_view kWords[] = {"atom", "red", "nanosleep", "volatile",
                                                "gpu",  "sys", "gl"};
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
      if (users_[i] && is_one_of(tokens_[i], {"asm", "__asm__", "__asm"})) i = translate(i);
    }
    return edits_.applied();
  }

 private:
  [[noreturn]] void refuse(std::size_t at, const std::string& why) const {
    throw std::runtime_error(place_of(source_, tokens_[at]) + ": " + why);
  }

  // int f() asm("name"): not a statement.
  bool is_label(std::size_t first, std::size_t open, std::size_t close) const {
    if (open > first + 1 || first == 0) return false;
    for (std::size_t i = open; i < close; ++i) {
      if (is_one_of(tokens_[i], {":", "::"})) return false;
    }
    const Token& before = tokens_[first - 1];
    if (before.is(")")) {
      const std::size_t condition = opening(tokens_, first - 1);
      return condition == 0 || condition >= tokens_.size() ||
             !is_one_of(tokens_[condition - 1], {"if", "while", "for", "switch"});
    }
    return !is_one_of(before, {";", "{", "}", ":", "else", "do"}) && before.kind != Kind::directive;
  }

  // Translates the statement that begins there and returns its last token.
  std::size_t translate(std::size_t first) {
    std::size_t open = first + 1;
    while (open < tokens_.size() && is_one_of(
                                        tokens_[open], {"volatile", "__volatile__", "__volatile",
                                                        "inline", "__inline__", "goto"})) {
      if (tokens_[open].is("goto")) refuse(first, "asm goto is no inline PTX");
      ++open;
    }
    if (open == tokens_.size() || !tokens_[open].is("(")) return first;
    const std::size_t close = closing(tokens_, open);
    if (close == tokens_.size()) refuse(first, "a ) is missing after asm");
    if (is_label(first, open, close)) return close;

    std::size_t at = open + 1;
    std::string text;
    while (at < close && !is_one_of(tokens_[at], {":", "::"})) text += tokens_[at++].text;
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
      refuse(std::min(at, close), "this operand of inline PTX cannot be read");
    }
    edits_.insert(tokens_[at].at, call);
    while (at < close && tokens_[at].kind == Kind::text) ++at;
    if (at >= close || !tokens_[at].is("(")) {
      refuse(std::min(at, close), "this operand of inline PTX cannot be read");
    }
    edits_.insert(tokens_[at].at, ", ");
    at = closing(tokens_, at) + 1;
    if (at > close) refuse(close, "this operand of inline PTX cannot be read");
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

}  // namespace rewrite
