#include "pictures/array_shape.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <regex>
#include <stdexcept>

#include "model/stage.h"

namespace pictures {

namespace {

// Names and values; the names stay where they are.
struct Constants {
  std::deque<std::string> names;
  std::vector<model::Named> values;

  void add(const std::string& name, const std::string& expression) {
    try {
      const double value = model::evaluate(expression, values);
      names.push_back(name);
      values.push_back({names.back(), value});
    } catch (const std::invalid_argument&) {
      // Not a number that can be known, so expressions that use it cannot be evaluated, either.
    }
  }
};

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (const char c : text) {
    depth += (c == '<' || c == '(') - (c == '>' || c == ')');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string last_word(const std::string& text) {
  std::smatch match;
  return std::regex_search(text, match, std::regex("([A-Za-z_]\\w*)[^\\w]*$")) ? match[1].str()
                                                                               : std::string();
}

Constants constants_of(
    const std::vector<std::string>& source, int first, int last, const std::string& kernel) {
  Constants constants;
  std::string heading;
  for (int line = first; line <= last; ++line) heading += source[line - 1] + " ";
  const std::size_t open = kernel.find('<');
  std::smatch parameters;
  if (open != kernel.npos &&
      std::regex_search(heading, parameters, std::regex("template\\s*<([^>]*)>"))) {
    const std::string arguments = kernel.substr(open + 1, kernel.rfind('>') - open - 1);
    const std::vector<std::string> names = split_at_commas(parameters[1].str());
    const std::vector<std::string> values = split_at_commas(arguments);
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
      // g++ spells an unsigned argument "16u".
      const std::string value = std::regex_replace(values[i], std::regex("[uUlL]+\\s*$"), "");
      constants.add(last_word(names[i].substr(0, names[i].find('='))), value);
    }
  }
  const std::regex constant("\\b(?:constexpr|const)\\s[\\w\\s]*?(\\w+)\\s*=\\s*([^;]+);");
  const std::regex macro("^\\s*#\\s*define\\s+(\\w+)\\s+([^/]+)");
  for (const std::string& line : source) {
    std::smatch match;
    if (line.size() < 1000 &&
        (std::regex_search(line, match, constant) || std::regex_search(line, match, macro))) {
      // constexpr int BM = 16, BN = 32;
      for (const std::string& each : split_at_commas(match[1].str() + "=" + match[2].str())) {
        const std::size_t equals = each.find('=');
        if (equals == each.npos) continue;
        constants.add(last_word(each.substr(0, equals)), each.substr(equals + 1));
      }
    }
  }
  return constants;
}

int words_of_element(const std::string& declaration) {
  const std::pair<const char*, int> types[] = {
      {"float4", 4}, {"int4", 4}, {"float2", 2}, {"int2", 2}, {"double", 2}};
  for (const auto& [type, words] : types) {
    if (declaration.find(type) != declaration.npos) return words;
  }
  return 1;
}

}  // namespace

int declared_row_words(
    const std::vector<std::string>& source, int first, int last, const std::string& kernel,
    const std::string& name, std::size_t bytes, int banks) {
  if (first < 1 || last > static_cast<int>(source.size())) return banks;
  // float As[BM][BK], Bs[BK][BN]: the dimensions that follow the name.
  const std::regex declaration("\\b" + name + "\\s*((?:\\[[^\\]]*\\]\\s*)+)");
  for (int line = first; line <= last; ++line) {
    const std::string& text = source[line - 1];
    std::smatch match;
    if (text.size() > 1000 || text.find("__shared__") == text.npos ||
        !std::regex_search(text, match, declaration)) {
      continue;
    }
    const std::string dimensions = match[1].str();
    if (std::count(dimensions.begin(), dimensions.end(), '[') < 2) return banks;
    const std::size_t open = dimensions.rfind('['), close = dimensions.rfind(']');
    const std::string expression = dimensions.substr(open + 1, close - open - 1);
    try {
      const Constants constants = constants_of(source, first, last, kernel);
      const double words = model::evaluate(expression, constants.values) * words_of_element(text);
      const bool fits = words >= 1 && words <= 65536 && words == std::floor(words) &&
                        bytes % (static_cast<std::size_t>(words) * 4) == 0;
      return fits ? static_cast<int>(words) : banks;
    } catch (const std::invalid_argument&) {
      return banks;
    }
  }
  return banks;
}

}  // namespace pictures
