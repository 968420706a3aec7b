#include "step/script.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace step {

std::vector<ScriptStep> parse_script(std::string_view text) {
  constexpr std::pair<std::string_view, Key> kNames[] = {
      {"right", kRightKey},   {"left", kLeftKey},         {"up", kUpKey},     {"down", kDownKey},
      {"pageup", kPageUpKey}, {"pagedown", kPageDownKey}, {"home", kHomeKey}, {"end", kEndKey},
      {"enter", kEnterKey},   {"escape", kEscapeKey},     {"space", Key{' '}}};
  constexpr std::string_view kKeys = "0123456789npbBsSoOwWlLfgGxXa<>r?hq";
  std::vector<ScriptStep> steps;
  for (std::size_t at = 0, line = 1; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      line += c == '\n';
      ++at;
      continue;
    }
    const std::size_t end_of_line = std::min(text.find('\n', at), text.size());
    if (c == '#') {
      at = end_of_line;
      continue;
    }
    if (c == '/') {
      std::string_view searched = text.substr(at, end_of_line - at);
      while (searched.ends_with(' ') || searched.ends_with('\r')) searched.remove_suffix(1);
      for (const char typed : searched) steps.push_back({Key{typed}});
      steps.push_back({Key{kEnterKey}});
      at = end_of_line;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const auto* named = std::find_if(
        std::begin(kNames), std::end(kNames), [&](const auto& name) { return name.first == word; });
    if (word == "print") {
      steps.push_back({std::nullopt});
    } else if (named != std::end(kNames)) {
      steps.push_back({named->second});
    } else {
      const std::size_t wrong = word.find_first_not_of(kKeys);
      if (wrong != word.npos) {
        const std::size_t length = std::max<std::size_t>(1, text::utf8_length(word.substr(wrong)));
        throw model::Refusal(
            text::printed("--script, line %zu: ", line) + text::echoed(word) + ": \"" +
            text::echoed(word.substr(wrong, length)) +
            "\" is not a key; write keys like 3n or b, right, print or /text");
      }
      for (const char key : word) steps.push_back({Key{key}});
    }
    at = end;
  }
  return steps;
}

}  // namespace step
