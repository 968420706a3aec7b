// C++ and CUDA source as far as a rewriter reads it: names, numbers, quoted text and signs, each
// with its place. Comments and white space are skipped.
//
// The source is what `g++ -E` prints: macros are expanded, the user's headers are in it, and line
// markers (# 12 "file.cu") say where each line came from. So a launch or an asm statement in a
// macro or in a header is a token like any other. The tokenizer accepts unpreprocessed text, too;
// then a #define with its continued lines is one token.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace rewrite {

enum class Kind {
  name,       // also every keyword
  number,     // 0x1p-3f, 1'000
  text,       // "…", 'c', R"(…)", with prefix and suffix
  sign,       // ::  ->  <<<  <<  <=  >=  ==  !=  &&  ||  ...  and single characters
  directive,  // a line that begins with #, without its end
};

// A > is always a token of its own, so that > > > may close templates or a launch.
struct Token {
  Kind kind;
  std::string_view text;  // within the source
  std::size_t at;         // of its first character in the source

  bool is(std::string_view what) const { return text == what && kind != Kind::text; }
  std::size_t end() const { return at + text.size(); }
};

bool is_any_of(const Token& token, std::initializer_list<const char*> words);
// A bracket: (, [ or {.
bool opens(const Token& token);

// The tokens view `source`, which must outlive them. What is not closed ends with the source.
std::vector<Token> tokens_of(std::string_view source);

// # LINE "FILE" FLAGS
bool is_line_marker(const Token& token);

// The same without line markers, which may stand between any two tokens: a macro of a system's
// header leaves some behind.
std::vector<Token> code_of(std::string_view source);

// For each token, whether it stands in a file of the user: a line marker says whether the lines
// after it come from a system's header. Without markers, every token is the user's. CUB counts as
// the user's: its inline PTX is for a GPU. So do libcu++ and cuRAND.
std::vector<bool> are_users(const std::vector<Token>& tokens);

// The index of the bracket that closes the one at `open`, which is (, [ or {; tokens.size() if none
// does. Likewise backwards; then `open` is returned by a closing bracket, or tokens.size().
std::size_t closing(const std::vector<Token>& tokens, std::size_t open);
std::size_t opening(const std::vector<Token>& tokens, std::size_t close);

// Where a token of preprocessed source stands in the user's files.

// "file.cu:12", by the last line marker before the token; "line 12" if there is none.
std::string place_of(std::string_view source, const Token& token);
// Throws a std::runtime_error with that place.
[[noreturn]] void refuse(std::string_view source, const Token& token, const std::string& why);
// The tokens from `first` to before `end`, with spaces between them.
std::string text_of(const std::vector<Token>& tokens, std::size_t first, std::size_t end);

// Changes to a source text that keep each token on its line, and behind line markers in its column,
// too, so that the compiler's errors point to it.

class Edits {
 public:
  explicit Edits(std::string_view source) : source_(source) {}

  // Changes must not overlap. Insertions at one place appear in the order of their calls.
  void insert(std::size_t at, std::string text);
  // From the beginning of `first` to the end of `last`. The line breaks of what is replaced follow
  // `text`, so that all later lines keep their numbers.
  void replace(const Token& first, const Token& last, std::string text);
  void remove(const Token& token) { replace(token, token, ""); }

  std::string applied() const;

 private:
  struct Edit {
    std::size_t at, bytes;
    std::string text;
  };
  std::string_view source_;
  std::vector<Edit> edits_;
};

}  // namespace rewrite
