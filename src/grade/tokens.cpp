#include "grade/tokens.h"

#include <algorithm>

namespace grade {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// A line that begins with a #.
void check_directive(const std::string& line, const std::string& name, std::size_t i) {
  std::string words;
  for (const char c : line.substr(0, line.find("//"))) {
    if (c != ' ' && c != '\t') words += c;
  }
  constexpr std::string_view kUnroll = "#pragmaunroll";
  if (words.starts_with(kUnroll)) {
    const auto of_count = [](char c) { return in_name(c) || c == '(' || c == ')'; };
    words.erase(0, kUnroll.size());
    if (std::all_of(words.begin(), words.end(), of_count)) return;
  }
  const bool is_macro = words.starts_with("#define");
  refuse(
      name, i,
      std::string("of the preprocessor's lines only #pragma unroll may stand in your code") +
          (is_macro ? "; instead of a macro write a constexpr constant or a lambda" : ""));
}

// What could make a compiler read a line otherwise than we do, in a comment too: a byte that ends a
// line for some, or a backslash that joins it with the next one.
void check_line(const std::string& line, const std::string& name, std::size_t i) {
  for (const char c : line) {
    if (static_cast<unsigned char>(c) >= ' ' || c == '\t') continue;
    refuse(
        name, i,
        "a control character, byte " + std::to_string(c) + ", stands in this line; type it anew");
  }
  if (trimmed(line).ends_with('\\')) refuse(name, i, "a line may not end with a backslash");
}

// How many characters of `rest`, which is no space and no comment, are one token.
std::size_t token_length(std::string_view rest) {
  std::size_t length = 1;
  if (is_digit(rest[0])) {
    // 1'000 is a number, 1' is none.
    while (length < rest.size() &&
           (in_name(rest[length]) || rest[length] == '.' ||
            (rest[length] == '\'' && length + 1 < rest.size() && in_name(rest[length + 1])))) {
      ++length;
    }
  } else if (in_name(rest[0])) {
    while (length < rest.size() && in_name(rest[length])) ++length;
  } else if (rest.starts_with("::") || rest.starts_with("->")) {
    length = 2;
  }
  return length;
}

void check_sign(std::string_view rest, const std::string& name, std::size_t i) {
  const char c = rest[0];
  if (c == '#') refuse(name, i, "a # may only begin a line, as #pragma unroll");
  if (c == '\\') refuse(name, i, "a kernel needs no backslash; take it out");
  if (c == '"' || c == '\'') refuse(name, i, "a kernel needs no text in quotes; take it out");
  if (static_cast<unsigned char>(c) >= 0x80 || c == '$' || c == '`' || c == '@') {
    refuse(name, i, "only plain letters, digits and C++'s signs may stand outside comments");
  }
  for (const char* digraph : {"<%", "%>", "<:", ":>", "%:"}) {
    if (rest.starts_with(digraph)) {
      refuse(name, i, std::string("write the plain sign for ") + digraph);
    }
  }
}

}  // namespace

std::vector<Token> tokens_of(
    const std::vector<std::string>& lines, Range range, const std::string& name) {
  std::vector<Token> tokens;
  bool in_comment = false;
  std::size_t comment_line = 0;
  for (std::size_t i = range.first; i < range.end; ++i) {
    const std::string& line = lines[i];
    check_line(line, name, i);
    if (!in_comment && trimmed(line).starts_with('#')) {
      check_directive(line, name, i);
      continue;
    }
    for (std::size_t at = 0; at < line.size();) {
      const std::string_view rest = std::string_view(line).substr(at);
      if (in_comment) {
        const std::size_t end = rest.find("*/");
        if (end == rest.npos) break;
        in_comment = false;
        at += end + 2;
      } else if (rest.starts_with("//")) {
        break;
      } else if (rest.starts_with("/*")) {
        in_comment = true;
        comment_line = i;
        at += 2;
      } else if (rest[0] == ' ' || rest[0] == '\t') {
        ++at;
      } else {
        check_sign(rest, name, i);
        const std::size_t length = token_length(rest);
        tokens.push_back({std::string(rest.substr(0, length)), i});
        at += length;
      }
    }
  }
  if (in_comment) refuse(name, comment_line, "this comment is not closed within your code");
  return tokens;
}

}  // namespace grade
