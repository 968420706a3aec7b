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
constexpr const char* kNoExceptions = "there are no exceptions in a kernel";

const Names kTypes = {"auto",     "bool",      "char",    "short",   "int",      "long",
                      "unsigned", "signed",    "float",   "double",  "size_t",   "int8_t",
                      "int16_t",  "int32_t",   "int64_t", "uint8_t", "uint16_t", "uint32_t",
                      "uint64_t", "ptrdiff_t", "uint",    "uchar",   "ushort",   "float2",
                      "float3",   "float4",    "int2",    "int3",    "int4",     "uint2",
                      "uint3",    "uint4",     "double2", "dim3",    "void"};

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
      {"throw", kNoExceptions},
      {"try", kNoExceptions},
      {"catch", kNoExceptions},
      {"typeid", "there is no typeid in a kernel"},
      {"launch", "a kernel launches no kernel here"},
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

// Whether a bracket may follow the name: a keyword, a type or a function of CUDA.
bool may_be_called(std::string_view name) {
  static const Names kNames = {
      "if",          "else",        "for",         "while",       "do",
      "switch",      "case",        "return",      "sizeof",      "alignof",
      "alignas",     "decltype",    "constexpr",   "consteval",   "mutable",
      "noexcept",    "operator",    "and",         "or",          "not",
      "xor",         "bitand",      "bitor",       "compl",       "static_assert",
      "min",         "max",         "abs",         "fma",         "fmaf",
      "fmax",        "fmaxf",       "fmin",        "fminf",       "fabs",
      "fabsf",       "make_float2", "make_float3", "make_float4", "make_int2",
      "make_int3",   "make_int4",   "make_uint2",  "make_uint3",  "make_uint4",
      "make_double2"};
  return kNames.contains(name) || kTypes.contains(name) || is_cuda(name);
}

// Functions of a header, for the exercises that include it.
const std::map<std::string_view, Names> kInstructions = {
    {"simulator/cuda/instructions.h", {"ldmatrix_x4", "mma_m16n8k8_tf32", "cvt_rna_tf32"}},
    {"simulator/cuda/hopper_instructions.h",
     {"mbarrier_init", "fence_mbarrier_init", "mbarrier_arrive", "mbarrier_arrive_expect_tx",
      "mbarrier_wait", "bar_sync", "bar_arrive"}}};

// Types that may be written with std:: before them.
bool is_standard_type(std::string_view name) {
  return name == "size_t" ||
         (name.ends_with("_t") &&
          (name.starts_with("int") || name.starts_with("uint") || name.starts_with("ptrdiff")));
}

using OwnNames = std::set<std::string, std::less<>>;

// All names that the code of a region declares, as far as its tokens show. They only decide whether
// a call or a :: is accepted: grade.sh also checks in the object file what is really called.
struct Declared {
  OwnNames types, others;

  explicit Declared(const std::vector<Token>& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) add_types(tokens, i);
    for (std::size_t i = 0; i < tokens.size(); ++i) add_other(tokens, i);
  }

  bool is_type(std::string_view name) const {
    return types.contains(name) || kTypes.contains(name);
  }

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

  // In "const float* const& name(1), other(2);" the type comes before all of its names.
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
  std::set<std::string> classes;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].is("class")) classes.insert(tokens[i + 1].text);
    if (classes.contains(tokens[i].text) && i + 2 < tokens.size() && tokens[i + 2].is(";")) {
      helpers.insert(tokens[i + 1].text + ".");
    }
    if (tokens[i].is("__global__")) host_or_kernel = true;
    if (!tokens[i].is_name() || !tokens[i + 1].is("(")) continue;
    const bool host =
        i > 0 && tokens[i - 1].is("void") && !(i > 1 && tokens[i - 2].is("__device__"));
    if (host_or_kernel || host || tokens[i].is("launch")) {
      if (!tokens[i].is("__launch_bounds__")) {
        not_for_kernels.insert(tokens[i].text);
        host_or_kernel = false;
      }
    } else {
      helpers.insert(tokens[i].text);
    }
  }
  for (const std::string& name : not_for_kernels) helpers.erase(name);
  for (const auto& [header, functions] : kInstructions) {
    const std::string include = "#include \"" + std::string(header) + "\"";
    if (std::ranges::find(skeleton, include) == skeleton.end()) continue;
    helpers.insert(functions.begin(), functions.end());
  }
  return helpers;
}

void check_kernel_code(
    const std::vector<std::string>& lines, LineRange range, const std::string& name,
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
    if (is_reserved(token.text) && !is_cuda(token.text)) {
      refuse(name, token.line, token.text + " is not among the names that your code may use");
    }
    // A part of the declaration that makes it not a constant, although all threads share it.
    if (token.is("mutable") && !(i > 0 && tokens[i - 1].is(")"))) {
      refuse(name, token.line, "mutable: only a lambda may be; leave it out");
    }
    const bool calls_member = is_at(i + 1, ".") && is_at(i + 3, "(");
    if (helpers.contains(token.text + ".") && !is_member && !calls_member) {
      refuse(
          name, token.line,
          token.text + " may only be used by calls of its functions: " + token.text + ".name(...)");
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
