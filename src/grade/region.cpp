#include "grade/region.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

#include "model/refusal.h"

namespace grade {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// Lines from 0, the markers not among them.
struct Region {
  std::size_t first, end;
};

[[noreturn]] void refuse(const std::string& name, std::size_t line, const std::string& what) {
  throw model::Refusal(name + ":" + std::to_string(line + 1) + ": " + what);
}

std::vector<Region> regions_of(const std::vector<std::string>& lines, const std::string& name) {
  std::vector<Region> regions;
  bool inside = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = trimmed(lines[i]);
    if (line == kRegionBegins) {
      if (inside) refuse(name, i, "a region begins inside another; restore the marker lines");
      regions.push_back({i + 1, i + 1});
      inside = true;
    } else if (line == kRegionEnds) {
      if (!inside) refuse(name, i, "a region ends that never began; restore the marker lines");
      regions.back().end = i;
      inside = false;
    }
  }
  if (inside) {
    refuse(
        name, regions.back().first - 1,
        std::string("no line \"") + kRegionEnds + "\" follows; restore it");
  }
  return regions;
}

struct Token {
  std::string text;
  std::size_t line;
  bool is(std::string_view what) const { return text == what; }
  bool is_name() const {
    return std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_';
  }
};

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The tokens of some lines; comments are left out. Refuses what could hide something from us.
std::vector<Token> tokens_of(
    const std::vector<std::string>& lines, Region region, const std::string& name) {
  std::vector<Token> tokens;
  bool in_comment = false;
  std::size_t comment_line = 0;
  for (std::size_t i = region.first; i < region.end; ++i) {
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

const std::map<std::string_view, const char*> kRefused = {
    {"asm", "inline PTX cannot be traced; write it in CUDA C++"},
    {"static", "a static variable would be one for all threads; use __shared__ or a local one"},
    {"thread_local", "write __shared__, or a local variable"},
    {"extern", "nothing from outside may be declared here"},
    {"struct", "use plain variables and arrays"},
    {"class", "use plain variables and arrays"},
    {"union", "use plain variables and arrays"},
    {"namespace", "a kernel needs no namespace"},
    {"template", "your code stands inside one function"},
    {"operator", "your code stands inside one function"},
    {"std", "the C++ library is not for kernels; min, max, fmaf and the like are there"},
    {"simt", "the tracer's own functions are not for kernels"},
    {"new", "there is no allocating in a kernel; use __shared__ or a local array"},
    {"delete", "there is no allocating in a kernel"},
    {"throw", "there are no exceptions in a kernel"},
    {"try", "there are no exceptions in a kernel"},
    {"catch", "there are no exceptions in a kernel"},
    {"typeid", "there is no typeid in a kernel"},
    {"uint3", "use three variables"},
    {"dim3", "use three variables"},
    {"launch", "a kernel launches no kernel here"},
    {"alloca", "there is no allocating in a kernel; use a local array"},
    {"volatile", "volatile hides what the compiler would do; leave it out"},
    {"goto", "write a loop"},
};

// The C library's structures: gcc does not announce it when one of those is handed over by value,
// so a kernel could read with them unseen.
bool is_library_type(std::string_view name) {
  static const std::set<std::string_view> kNames = {"tm",          "timespec", "timeval",
                                                    "itimerspec",  "lconv",    "FILE",
                                                    "sched_param", "sigevent", "exception"};
  if (kNames.contains(name)) return true;
  const bool number = name == "size_t" || name.starts_with("int") || name.starts_with("uint");
  return name.ends_with("_t") && !number;
}

// Names with two underscores that CUDA gives to kernels.
bool is_cuda(std::string_view name) {
  static const std::set<std::string_view> kNames = {
      "__shared__",
      "__restrict__",
      "__align__",
      "__syncthreads",
      "__syncwarp",
      "__ldg",
      "__pipeline_memcpy_async",
      "__pipeline_commit",
      "__pipeline_wait_prior",
      "__ballot_sync",
      "__any_sync",
      "__all_sync",
      "__popc",
      "__ffs",
      "__clz",
      "__fmaf_rn",
      "__forceinline__"};
  return kNames.contains(name) || name.starts_with("__shfl_");
}

bool may_be_called(std::string_view name) {
  static const std::set<std::string_view> kNames = {
      "if",        "for",       "while",   "switch", "return",      "sizeof",        "alignof",
      "alignas",   "decltype",  "float",   "int",    "unsigned",    "long",          "short",
      "char",      "bool",      "double",  "auto",   "constexpr",   "static_assert", "float2",
      "float3",    "float4",    "int2",    "int4",   "make_float2", "make_float3",   "make_float4",
      "make_int2", "make_int4", "min",     "max",    "fmaf",        "fmaxf",         "fminf",
      "abs",       "fabsf",     "size_t",  "uint",   "int64_t",     "uint64_t",      "uint32_t",
      "int32_t",   "mutable",   "noexcept"};
  return kNames.contains(name) || is_cuda(name);
}

// The functions that the skeleton offers: those it defines or calls, but for kernels and the
// host's.
std::set<std::string> helpers_of(const std::vector<std::string>& skeleton) {
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
  return helpers;
}

void check(
    const std::vector<Token>& tokens, std::set<std::string> callable, const std::string& name,
    std::size_t begins) {
  std::string open;
  std::set<std::string> types = {"float", "int",    "unsigned", "auto",  "bool",   "double",
                                 "char",  "float2", "float4",   "const", "size_t", "long"};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const auto after = [&](std::string_view what) {
      return i + 1 < tokens.size() && tokens[i + 1].is(what);
    };
    const char c = token.text[0];
    if (c == '{' || c == '(' || c == '[') {
      if (c == '[' && after("[")) refuse(name, token.line, "attributes are not for your code");
      open += c;
    } else if (c == '}' || c == ')' || c == ']') {
      const char opening = c == '}' ? '{' : c == ')' ? '(' : '[';
      if (!open.ends_with(opening)) {
        refuse(
            name, token.line,
            std::string("this ") + c + " closes what was not opened in your code");
      }
      open.pop_back();
    } else if (token.is("::")) {
      refuse(name, token.line, "a kernel needs no ::, everything it may use has a plain name");
    }
    if (!token.is_name()) continue;

    const bool constant = token.is("static") && after("constexpr");
    if (const auto refused = kRefused.find(token.text); refused != kRefused.end() && !constant) {
      refuse(name, token.line, token.text + ": " + refused->second);
    }
    if (token.is("__attribute__") || token.is("__declspec")) {
      refuse(name, token.line, "attributes are not for your code");
    }
    const bool reserved =
        token.text.find("__") != token.text.npos ||
        (token.text.size() > 1 && token.text[0] == '_' && std::isupper(token.text[1]));
    if (reserved && !is_cuda(token.text)) {
      refuse(name, token.line, token.text + " is not among the names that your code may use");
    }
    const Token* before = i > 0 ? &tokens[i - 1] : nullptr;
    const Token* two_before = i > 1 ? &tokens[i - 2] : nullptr;
    const bool declared =
        before != nullptr && (types.contains(before->text) ||
                              ((before->is("*") || before->is("&")) && two_before != nullptr &&
                               types.contains(two_before->text)));
    if (declared) callable.insert(token.text);
    if (before != nullptr && before->is("using")) types.insert(token.text);
    if (is_library_type(token.text) && !callable.contains(token.text)) {
      refuse(name, token.line, token.text + ": use plain variables and arrays");
    }
    if (after("(") && !may_be_called(token.text) && !callable.contains(token.text)) {
      refuse(
          name, token.line, token.text + "() is not among the functions that your code may call");
    }
  }
  if (!open.empty()) {
    refuse(
        name, tokens.empty() ? begins : tokens.back().line,
        std::string("a ") + open.back() + " is not closed within your code");
  }
}

}  // namespace

std::string assembled(
    const std::string& skeleton, const std::string& answer, const std::string& answer_name) {
  const std::vector<std::string> frame = lines_of(skeleton), own = lines_of(answer);
  const std::vector<Region> holes = regions_of(frame, "skeleton");
  const std::vector<Region> regions = regions_of(own, answer_name);
  if (holes.size() != regions.size()) {
    throw model::Refusal(
        answer_name + ": " + std::to_string(regions.size()) + " times a line \"" + kRegionBegins +
        "\", but the exercise has " + std::to_string(holes.size()) +
        "; begin again with a copy of its kernel.cu");
  }
  if (holes.empty()) return skeleton;
  const std::set<std::string> helpers = helpers_of(frame);
  std::string text;
  // Line `line` of the answer is what follows. Names with quotes or backslashes cannot be said.
  std::string said = answer_name;
  std::erase_if(said, [](char c) { return c == '"' || c == '\\' || c == '\n'; });
  const auto says_line = [&](std::ptrdiff_t line) {
    text +=
        "#line " + std::to_string(std::max<std::ptrdiff_t>(1, line + 1)) + " \"" + said + "\"\n";
  };
  const auto append = [&](const std::vector<std::string>& lines, std::size_t first,
                          std::size_t end) {
    for (std::size_t i = first; i < end; ++i) text += lines[i] + "\n";
  };
  std::size_t done = 0;
  std::ptrdiff_t shift = 0;  // from the skeleton's line numbers to the answer's
  for (std::size_t r = 0; r < holes.size(); ++r) {
    check(tokens_of(own, regions[r], answer_name), helpers, answer_name, regions[r].first);
    shift = static_cast<std::ptrdiff_t>(regions[r].first - holes[r].first);
    says_line(static_cast<std::ptrdiff_t>(done) + shift);
    append(frame, done, holes[r].first);
    says_line(static_cast<std::ptrdiff_t>(regions[r].first));
    append(own, regions[r].first, regions[r].end);
    shift = static_cast<std::ptrdiff_t>(regions[r].end - holes[r].end);
    done = holes[r].end;
  }
  says_line(static_cast<std::ptrdiff_t>(done) + shift);
  append(frame, done, frame.size());
  return text;
}

std::string emptied(const std::string& kernel) {
  const std::vector<std::string> lines = lines_of(kernel);
  std::string text;
  std::size_t done = 0;
  for (const Region& region : regions_of(lines, "kernel")) {
    for (; done < region.first; ++done) text += lines[done] + "\n";
    done = region.end;
  }
  for (; done < lines.size(); ++done) text += lines[done] + "\n";
  return text;
}

std::map<std::string, std::string> answers_in(const std::string& file) {
  std::map<std::string, std::string> answers;
  for (const std::string& whole : lines_of(file)) {
    std::string line = trimmed(whole);
    if (line.starts_with("//")) line = trimmed(line.substr(2));
    if (!line.starts_with("answer ")) continue;
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string name = trimmed(line.substr(7, colon - 7));
    const std::string text = trimmed(line.substr(colon + 1));
    if (!name.empty() && !text.empty()) answers[name] = text;
  }
  return answers;
}

}  // namespace grade
