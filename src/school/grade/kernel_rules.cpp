#include "school/grade/kernel_rules.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

namespace grade {

namespace {

// The part of C++ that the grader reads: names, numbers and signs.
struct Token {
  std::string text;
  std::size_t line;
  bool is(std::string_view what) const { return text == what; }
  bool is_name() const {
    return std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_';
  }
};

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

// What could make a compiler read a line differently than we do, even in a comment: a byte that
// some take for a line end, or a backslash that joins the line with the next one.
void check_line(const std::string& line, const std::string& name, std::size_t i) {
  for (const char c : line) {
    if (static_cast<unsigned char>(c) >= ' ' || c == '\t') continue;
    refuse(
        name, i,
        "a control character, byte " + std::to_string(c) + ", stands in this line; type it anew");
  }
  if (trimmed(line).ends_with('\\')) refuse(name, i, "a line may not end with a backslash");
}

// The length of the token at the start of `rest`, which begins with neither a space nor a comment.
std::size_t token_length(std::string_view rest) {
  std::size_t length = 1;
  if (is_digit(rest[0])) {
    // 1'000 is a number, 1' is not.
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

// The tokens of some lines of the file `name`; comments are left out. Refuses what could hide code
// from us: preprocessor lines except #pragma unroll, backslashes outside of comments and at the
// ends of lines, control characters, text in quotes.
std::vector<Token> tokens_of(
    const std::vector<std::string>& lines, LineRange range, const std::string& name) {
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
        if (tokens.back().is("printf")) {
          refuse(
              name, i,
              "printf is off here; take it out. make step EX=n shows what each thread loads and "
              "stores");
        }
        at += length;
      }
    }
  }
  if (in_comment) refuse(name, comment_line, "this comment is not closed within your code");
  return tokens;
}

using Names = std::set<std::string_view>;

constexpr const char* kNoAllocating =
    "there is no allocating in a kernel; use __shared__ or a local array";
constexpr const char* kNoLaunching = "a kernel launches no kernel here";
constexpr const char* kNoExceptions = "there are no exceptions in a kernel";

// Why a kernel may not use a name, as the end of a sentence; null if it may.
const char* why_refused(std::string_view name) {
  static const std::map<std::string_view, const char*> kRefused = {
      {"asm", "inline PTX cannot be traced; write it in CUDA C++"},
      {"static",
       "a static variable would be one for all threads; use __shared__, a local one, or static "
       "constexpr"},
      {"thread_local", "write __shared__, or a local variable"},
      {"extern", "nothing from outside may be declared here"},
      {"virtual", "a kernel has no virtual functions"},
      {"namespace", "a kernel needs no namespace"},
      {"std", "the C++ library is not for kernels; min, max, fmaf and the like are there"},
      {"simt", "the tracer's own functions are not for kernels"},
      {"new", kNoAllocating},
      {"delete", kNoAllocating},
      {"alloca", kNoAllocating},
      {"malloc_named", kNoAllocating},
      {"throw", kNoExceptions},
      {"try", kNoExceptions},
      {"catch", kNoExceptions},
      {"typeid", "there is no typeid in a kernel"},
      {"launch", kNoLaunching},
      {"launch_aside", kNoLaunching},
      {"launch_if", kNoLaunching},
      {"tensor_map_2d", "a kernel makes no tensor map; the host has made those of A and B"},
      {"volatile", "volatile hides what the compiler would do; leave it out"},
      {"goto", "write a loop"},
      {"__attribute__", "attributes are not for your code"},
      {"__declspec", "attributes are not for your code"}};
  // The ways, besides loads and stores, in which CUDA's threads exchange values.
  for (const char* begin :
       {"__shfl", "__ballot", "__any", "__all", "__match", "__reduce", "__activemask",
        "__syncthreads_", "atomicA", "atomicS", "atomicE", "atomicM", "atomicI", "atomicD",
        "atomicC", "atomicO", "atomicX"}) {
    if (!name.starts_with(begin)) continue;
    return "shuffles, votes and atomics hand values from thread to thread past what the targets "
           "count; use __shared__ and barriers";
  }
  if (name.size() > 4 && name.starts_with("cuda") && std::isupper(name[4]) != 0) {
    return "CUDA's functions for the host are not for kernels";
  }
  const auto found = kRefused.find(name);
  return found == kRefused.end() ? nullptr : found->second;
}

// Whether a name with two underscores, or one before a capital, is among those that CUDA gives to
// kernels. All others of this kind belong to the compiler.
bool is_cuda(std::string_view name) {
  static const Names kNames = {
      "__ldg",         "__mul24",        "__restrict",    "__forceinline__",
      "__ffs",         "__umulhi",       "__syncwarp",    "__float_as_uint",
      "__clz",         "__host__",       "__fdividef",    "__uint_as_float",
      "__ldca",        "__align__",      "__device__",    "__pipeline_commit",
      "__ldcg",        "__fmaf_rn",      "__saturatef",   "__pipeline_wait_prior",
      "__ldcs",        "__fadd_rn",      "__restrict__",  "__pipeline_memcpy_async",
      "__stcg",        "__fsub_rn",      "__syncthreads", "__stcs",
      "__fmul_rn",     "__float_as_int", "__popc",        "__shared__",
      "__int_as_float"};
  return kNames.contains(name);
}

// Types that may be written with std:: before them.
bool is_standard_type(std::string_view name) {
  return name == "size_t" ||
         (name.ends_with("_t") &&
          (name.starts_with("int") || name.starts_with("uint") || name.starts_with("ptrdiff")));
}

// The brackets that are open at this point of a region.
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
  static constexpr std::size_t kMost = 100;  // a compiler's stack is limited
  std::string open_;
};

// Whether a function begins at token `i`: `static float name(float x) {`.
bool begins_function(const std::vector<Token>& tokens, std::size_t i) {
  const auto ends = [](const Token& t) { return t.is(";") || t.is("=") || t.is("{"); };
  while (i < tokens.size() && !ends(tokens[i])) ++i;
  return i < tokens.size() && tokens[i].is("{") && tokens[i - 1].is(")");
}

// [[name, name]] from token `i` on, if it begins there.
void check_attribute(const std::vector<Token>& tokens, std::size_t i, const std::string& name) {
  if (!tokens[i].is("[") || i + 1 == tokens.size() || !tokens[i + 1].is("[")) return;
  static const Names kHarmless = {"maybe_unused", "likely", "unlikely", "fallthrough", "nodiscard"};
  for (i += 2; i < tokens.size() && !tokens[i].is("]"); ++i) {
    if (kHarmless.contains(tokens[i].text) || tokens[i].is(",")) continue;
    refuse(name, tokens[i].line, "attributes are not for your code");
  }
}

bool is_reserved(const std::string& name) {
  return name.find("__") != name.npos || (name.size() > 1 && name[0] == '_' &&
                                          std::isupper(static_cast<unsigned char>(name[1])) != 0);
}

}  // namespace

std::set<std::string> objects_in(const std::vector<std::string>& skeleton) {
  std::vector<std::string> code;
  for (const std::string& line : skeleton) {
    code.push_back(trimmed(line).starts_with('#') ? "" : line.substr(0, line.find("//")));
    std::erase_if(code.back(), [](char c) { return c == '"' || c == '\\' || c == '\''; });
  }
  const std::vector<Token> tokens = tokens_of(code, {0, code.size()}, "skeleton");
  std::set<std::string> classes, objects;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i].is("class")) classes.insert(tokens[i + 1].text);
    if (classes.contains(tokens[i].text) && tokens[i + 2].is(";")) {
      objects.insert(tokens[i + 1].text);
    }
  }
  return objects;
}

void check_kernel_code(
    const std::vector<std::string>& lines, LineRange range, const std::string& name,
    const std::set<std::string>& objects) {
  const std::vector<Token> tokens = tokens_of(lines, range, name);
  Brackets brackets;
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
    if (!token.is_name()) continue;

    const bool is_harmless =
        token.is("static") &&
        (begins_function(tokens, i) || is_at(i + 1, "constexpr") || is_at(i + 1, "const") ||
         (i > 0 && (tokens[i - 1].is("constexpr") || tokens[i - 1].is("const"))));
    if (const char* why = why_refused(token.text); why != nullptr && !is_harmless && !is_standard) {
      refuse(name, token.line, token.text + ": " + why);
    }
    if (is_reserved(token.text) && !is_cuda(token.text)) {
      refuse(name, token.line, token.text + " is not among the names that your code may use");
    }
    // A part of the declaration that makes it not a constant, although all threads share it.
    if (token.is("mutable") && !(i > 0 && tokens[i - 1].is(")"))) {
      refuse(name, token.line, "mutable: only a lambda may be; leave it out");
    }
    const bool calls_member = is_at(i + 1, ".") && is_at(i + 3, "(");
    if (objects.contains(token.text) && !is_member && !calls_member) {
      refuse(
          name, token.line,
          token.text + " may only be used by calls of its functions: " + token.text + ".name(...)");
    }
  }
  if (const std::string& open = brackets.open(); !open.empty()) {
    refuse(
        name, tokens.empty() ? range.first : tokens.back().line,
        std::string("a ") + open.back() + " is not closed within your code");
  }
}

}  // namespace grade
