#include "grade/tokens.h"

namespace grade {

namespace {

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

}  // namespace

std::vector<Token> tokens_of(
    const std::vector<std::string>& lines, Range range, const std::string& name) {
  std::vector<Token> tokens;
  bool in_comment = false;
  std::size_t comment_line = 0;
  for (std::size_t i = range.first; i < range.end; ++i) {
    const std::string& line = lines[i];
    if (line.find('\\') != line.npos) refuse(name, i, "a kernel needs no backslash; take it out");
    const std::string whole = trimmed(line);
    if (!in_comment && whole.starts_with('#')) {
      std::string words;
      for (const char c : whole.substr(1)) {
        if (c != ' ' && c != '\t') words += c;
      }
      words = words.substr(0, words.find("//"));
      const std::string count =
          words.starts_with("pragmaunroll") ? words.substr(12) : std::string("?");
      if (count.find_first_not_of("0123456789") != count.npos) {
        refuse(name, i, "of the preprocessor's lines only #pragma unroll may stand in your code");
      }
      continue;
    }
    for (std::size_t at = 0; at < line.size();) {
      const std::string_view rest = std::string_view(line).substr(at);
      if (in_comment) {
        const std::size_t end = rest.find("*/");
        if (end == rest.npos) break;
        in_comment = false;
        at += end + 2;
        continue;
      }
      if (rest.starts_with("//")) break;
      if (rest.starts_with("/*")) {
        in_comment = true;
        comment_line = i;
        at += 2;
        continue;
      }
      const char c = rest[0];
      if (c == ' ' || c == '\t') {
        ++at;
        continue;
      }
      if (c == '#') refuse(name, i, "a # may only begin a line, as #pragma unroll");
      if (c == '"' || c == '\'') {
        // 1'000 is a number.
        const bool in_number = c == '\'' && at > 0 && !tokens.empty() &&
                               std::isdigit(static_cast<unsigned char>(tokens.back().text[0])) &&
                               in_name(line[at - 1]);
        if (!in_number) refuse(name, i, "a kernel needs no text in quotes; take it out");
      }
      if (static_cast<unsigned char>(c) >= 0x80 || c == '$' || c == '`' || c == '@') {
        refuse(name, i, "only plain letters, digits and C++'s signs may stand outside comments");
      }
      for (const char* digraph : {"<%", "%>", "<:", ":>", "%:"}) {
        if (rest.starts_with(digraph)) {
          refuse(name, i, std::string("write the plain sign for ") + digraph);
        }
      }
      std::size_t length = 1;
      if (in_name(c)) {
        while (length < rest.size() && in_name(rest[length])) ++length;
      } else if (rest.starts_with("::")) {
        length = 2;
      }
      tokens.push_back({std::string(rest.substr(0, length)), i});
      at += length;
    }
  }
  if (in_comment) refuse(name, comment_line, "this comment is not closed within your code");
  return tokens;
}

}  // namespace grade
