#include "grade/kernel_rules.h"

#include <cctype>
#include <map>
#include <string_view>

#include "grade/tokens.h"

namespace grade {

namespace {

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

}  // namespace

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

void check_kernel_code(
    const std::vector<std::string>& lines, Range range, const std::string& name,
    const std::set<std::string>& helpers) {
  const std::vector<Token> tokens = tokens_of(lines, range, name);
  std::set<std::string> callable = helpers;
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
        std::string why = "this ";
        why += c;
        why += " closes what was not opened in your code";
        refuse(name, token.line, why);
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
        name, tokens.empty() ? range.first : tokens.back().line,
        std::string("a ") + open.back() + " is not closed within your code");
  }
}

}  // namespace grade
