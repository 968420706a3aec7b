#include "simulator/rewrite/rewritten.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "simulator/rewrite/tokens.h"

namespace rewrite {
namespace {

struct Parameter {
  std::string name, type;  // "d_A"; "half" for const half*
  std::string role;        // "A"; empty if the name does not say
  int stars = 0;
  bool is_const = false;
};

struct Definition {
  std::size_t name;      // its token
  std::size_t first;     // the first token of the declaration
  std::size_t close;     // of the parameters
  bool has_own_linkage;  // static or extern "C"
  std::vector<Parameter> parameters;
};

// "A" for A, a, d_A, dA, A_d, devA, matA; empty for other names.
std::string role_of(const std::string& name) {
  static const std::map<std::string, std::string> kRoles = {
      {"m", "M"},     {"n", "N"},     {"k", "K"},       {"alpha", "alpha"},
      {"a", "A"},     {"b", "B"},     {"beta", "beta"}, {"c", "C"},
      {"lda", "lda"}, {"ldb", "ldb"}, {"ldc", "ldc"},   {"stream", "stream"}};
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const auto known = [&](const std::string& word) {
    const auto found = kRoles.find(word);
    return found == kRoles.end() ? std::string() : found->second;
  };
  if (const std::string role = known(plain); !role.empty()) return role;
  for (const std::string affix : {"device", "dev", "mat", "gpu", "d"}) {
    if (plain.size() <= affix.size()) continue;
    const std::size_t rest = plain.size() - affix.size();
    std::string role = plain.starts_with(affix) ? known(plain.substr(affix.size())) : "";
    if (role.empty() && plain.ends_with(affix)) role = known(plain.substr(0, rest));
    if (!role.empty()) return role;
  }
  return "";
}

Parameter parameter_of(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
  Parameter parameter;
  std::vector<std::string> words;
  for (std::size_t i = begin; i < end && !tokens[i].is("="); ++i) {
    const Token& token = tokens[i];
    if (token.is("*") || token.is("[")) {
      ++parameter.stars;
    } else if (token.is("const")) {
      parameter.is_const = parameter.is_const || parameter.stars == 0;
    } else if (!is_any_of(token, {"]", "volatile", "__restrict__", "__restrict", "restrict"})) {
      words.emplace_back(token.text);
    }
  }
  // A single word is a type without a name.
  if (words.size() > 1) {
    parameter.name = words.back();
    words.pop_back();
  }
  for (const std::string& word : words)
    parameter.type += (parameter.type.empty() ? "" : " ") + word;
  parameter.role = role_of(parameter.name);
  return parameter;
}

std::vector<Parameter> parameters_of(
    const std::vector<Token>& tokens, std::size_t open, std::size_t close) {
  std::vector<Parameter> parameters;
  int depth = 0;
  std::size_t begin = open + 1;
  for (std::size_t i = open + 1; i <= close; ++i) {
    if (is_any_of(tokens[i], {"(", "<", "{"})) ++depth;
    if (i < close && is_any_of(tokens[i], {")", ">", "}"})) --depth;
    if (i < close && (depth > 0 || !tokens[i].is(","))) continue;
    if (i > begin) parameters.push_back(parameter_of(tokens, begin, i));
    begin = i + 1;
  }
  return parameters;
}

// The definitions of functions called sgemm or main, outside of classes and named namespaces.
struct Definitions {
  std::vector<Definition> sgemms;
  bool main = false;
};

Definitions definitions_in(const std::vector<Token>& tokens) {
  Definitions found;
  std::vector<bool> transparent;  // of the open braces: extern "C" { or namespace {
  bool extern_c_block = false;
  std::size_t declaration = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.kind == Kind::directive && i == declaration) ++declaration;
    if (token.is("{")) {
      const bool extern_c =
          i >= 2 && tokens[i - 1].kind == Kind::text && tokens[i - 2].is("extern");
      extern_c_block = extern_c_block || extern_c;
      transparent.push_back(extern_c || (i >= 1 && tokens[i - 1].is("namespace")));
      if (transparent.back()) declaration = i + 1;
      continue;
    }
    if (token.is("}")) {
      if (!transparent.empty()) transparent.pop_back();
      if (transparent.empty()) extern_c_block = false;
    }
    const bool at_top =
        std::find(transparent.begin(), transparent.end(), false) == transparent.end();
    if (at_top && (token.is(";") || token.is("}"))) declaration = i + 1;
    if (!at_top || !is_any_of(token, {"sgemm", "main"})) continue;
    if (i + 1 >= tokens.size() || !tokens[i + 1].is("(") || i == declaration) continue;
    const std::size_t close = closing(tokens, i + 1);
    if (close + 1 >= tokens.size() || !tokens[close + 1].is("{")) continue;
    if (token.is("main")) {
      found.main = true;
      continue;
    }
    Definition definition{
        i, declaration, close, extern_c_block, parameters_of(tokens, i + 1, close)};
    bool is_template = false;
    for (std::size_t before = declaration; before < i; ++before) {
      is_template = is_template || is_any_of(tokens[before], {"template", "::"});
      definition.has_own_linkage =
          definition.has_own_linkage || is_any_of(tokens[before], {"static", "extern"});
    }
    if (!is_template) found.sgemms.push_back(std::move(definition));
  }
  return found;
}

struct Role {
  const char* name;
  const char* type;
  bool is_pointer, is_const;
};
constexpr Role kRoles[] = {{"M", "int", false, false},      {"N", "int", false, false},
                           {"K", "int", false, false},      {"alpha", "float", false, false},
                           {"A", "float", true, true},      {"B", "float", true, true},
                           {"beta", "float", false, false}, {"C", "float", true, false}};

bool is_pointer(const std::string& role) {
  return role == "A" || role == "B" || role == "C";
}

// Whether the kinds are in the order of kSgemm: three sizes, a factor, two matrices and so on.
bool has_order_of_kinds(const std::vector<Parameter>& parameters) {
  if (parameters.size() != std::size(kRoles)) return false;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if ((parameters[i].stars == 1) != kRoles[i].is_pointer || parameters[i].stars > 1) return false;
  }
  return true;
}

bool is_kSgemm(const Definition& definition) {
  if (definition.has_own_linkage || !has_order_of_kinds(definition.parameters)) return false;
  for (std::size_t i = 0; i < std::size(kRoles); ++i) {
    const Parameter& parameter = definition.parameters[i];
    if (parameter.type != kRoles[i].type) return false;
    if (kRoles[i].is_pointer && parameter.is_const != kRoles[i].is_const) return false;
    if (!parameter.role.empty() && parameter.role != kRoles[i].name) return false;
  }
  return true;
}

// Gives each parameter a role that the call can fill; whether that is possible.
bool assign_roles(std::vector<Parameter>& parameters) {
  const auto any_named = [&](const std::string& role) {
    return std::count_if(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
      return parameter.role == role;
    });
  };
  const bool by_name =
      std::all_of(
          parameters.begin(), parameters.end(),
          [](const Parameter& p) {
            return !p.role.empty() && p.stars == int{is_pointer(p.role)};
          }) &&
      std::all_of(std::begin(kRoles), std::end(kRoles), [&](const Role& role) {
        const bool optional =
            std::string_view(role.name) == "alpha" || std::string_view(role.name) == "beta";
        return any_named(role.name) == 1 || (optional && any_named(role.name) == 0);
      });
  if (by_name) return true;
  const bool no_name_known = std::all_of(
      parameters.begin(), parameters.end(), [](const Parameter& p) { return p.role.empty(); });
  if (!no_name_known || !has_order_of_kinds(parameters)) return false;
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].role = kRoles[i].name;
  return true;
}

std::string argument_of(const Parameter& parameter) {
  if (is_pointer(parameter.role)) return "(" + parameter.type + "*)" + parameter.role;
  if (parameter.role == "lda") return "K";
  if (parameter.role == "ldb" || parameter.role == "ldc") return "N";
  return parameter.role == "stream" ? "0" : parameter.role;
}

std::string call_of(const Definition& definition) {
  std::string arguments;
  std::map<std::string, std::string> type_of;
  for (const Parameter& parameter : definition.parameters) {
    arguments += (arguments.empty() ? "" : ", ") + argument_of(parameter);
    type_of[parameter.role] = parameter.type;
  }
  const auto element = [&](const char* role) {
    return "simt::element_of<" + type_of[role] + ">()";
  };
  const auto has = [&](const char* role) { return type_of.contains(role) ? "true" : "false"; };
  std::string text = "\n# 1 \"the call of sgemm\"\nvoid simt_";
  text += kSgemm.substr(kSgemm.find("sgemm"));
  text += " { sgemm(" + arguments + "); }\n";
  text += "extern \"C\" { ";
  text += "[[gnu::weak]] constinit simt::SgemmParameters simt_sgemm_parameters{";
  for (const char* role : {"A", "B", "C"}) text += element(role) + ", ";
  for (const char* role : {"alpha", "beta"}) text += std::string(has(role)) + ", ";
  return text + "}; }\n";
}

}  // namespace

bool defines_main(std::string_view source) {
  return definitions_in(code_of(source)).main;
}

std::string sgemm(std::string_view source) {
  const std::vector<Token> tokens = code_of(source);
  Definitions found = definitions_in(tokens);
  if (found.main || found.sgemms.empty()) return std::string(source);
  if (std::any_of(found.sgemms.begin(), found.sgemms.end(), is_kSgemm)) return std::string(source);
  Definition& definition = found.sgemms.front();
  if (found.sgemms.size() == 1 && assign_roles(definition.parameters)) {
    return std::string(source) + call_of(definition);
  }
  const Token& first = tokens[definition.first];
  const std::string written(source.substr(first.at, tokens[definition.close].end() - first.at));
  std::string one_line;
  for (const char c : written) {
    const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!is_space) one_line += c;
    if (is_space && !one_line.empty() && one_line.back() != ' ') one_line += ' ';
  }
  refuse(
      source, tokens[definition.name],
      (found.sgemms.size() > 1
           ? "there is more than one sgemm, among them\n  "
           : "it is not clear which parameter of sgemm is which. Here it is\n  ") +
          one_line + "\nand make try calls\n  " + std::string(kSgemm) +
          "\nAny order, float, half or __nv_bfloat16 are all right if the names are M, N, K, "
          "alpha, "
          "A, B, beta and C; alpha and beta may be missing.");
}

}  // namespace rewrite
