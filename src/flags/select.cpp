#include "flags/select.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "flags/value.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "text/echoed.h"

namespace flags {

namespace {

// Without case, blanks and dashes, so that names need no quotes.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char letter : name) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    if (letter != ' ' && letter != '-') plain += capital ? char(letter - 'A' + 'a') : letter;
  }
  return plain;
}

[[noreturn]] void refuse_stage(
    const std::string& text, const std::string& why, std::span<const model::Stage> stages) {
  std::string sentence = "--stage " + text::echoed(text) + ": " + why + "; the stages are ";
  for (const model::Stage& stage : stages) {
    sentence +=
        (&stage == stages.data() ? "" : ", ") + std::to_string(stage.number) + " " + stage.name;
  }
  throw model::Refusal(sentence);
}

// The position in the table of the stage with that number, given in digits.
std::size_t numbered(
    const std::string& digits, const std::string& text, std::span<const model::Stage> stages) {
  int number = -1;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  for (std::size_t at = 0; at < stages.size(); ++at) {
    if (parsed.ec == std::errc() && stages[at].number == number) return at;
  }
  refuse_stage(text, "there is no stage " + text::echoed(digits), stages);
}

}  // namespace

std::vector<const model::Stage*> select_stages(
    const std::string& text, std::span<const model::Stage> stages) {
  std::vector<const model::Stage*> selected;
  const auto add = [&](std::size_t first, std::size_t last) {
    for (std::size_t at = first; at <= last; ++at) selected.push_back(&stages[at]);
    return selected;
  };
  if (text.empty()) return stages.empty() ? selected : add(0, stages.size() - 1);

  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::string from = text.substr(0, dash);
  const std::string to = dash < text.size() ? text.substr(dash + 1) : from;
  const bool to_the_last = dash + 1 == text.size();
  if (all_digits(from) && (to_the_last || all_digits(to))) {
    const std::size_t first = numbered(from, text, stages);
    const std::size_t last = to_the_last ? stages.size() - 1 : numbered(to, text, stages);
    if (first > last) {
      throw model::Refusal(
          "--stage " + text::echoed(text) + ": the range runs backwards; write --stage " +
          text::echoed(to + "-" + from));
    }
    return add(first, last);
  }

  const std::string wanted = plain_name(text);
  const bool is_word = !wanted.empty() && !all_digits(wanted);
  for (const model::Stage& stage : stages) {
    const std::string name = plain_name(stage.name);
    if (name == wanted) return {&stage};
    if (is_word && name.starts_with(wanted)) selected.push_back(&stage);
  }
  if (selected.empty()) refuse_stage(text, "there is no such stage", stages);
  if (selected.size() > 1) refuse_stage(text, "more than one stage begins with this", stages);
  return selected;
}

const model::Variant& select_variant(const model::Stage& stage, const std::string& name) {
  std::string names;
  for (const model::Variant& variant : stage.variants) {
    if (name.empty() || name == kFirstVariant || name == variant.name) return variant;
    names += (names.empty() ? "" : ", ") + std::string(variant.name);
  }
  const std::string stage_name = "stage " + std::to_string(stage.number) + " (" + stage.name + ")";
  throw model::Refusal(
      "--variant " + text::echoed(name) + ": " + stage_name + " has " +
      (names.empty() ? "no variants; leave --variant out" : "no such variant; it has " + names));
}

const model::Variant& select_variant(
    const model::Stage& stage, const std::string& name, const model::Gpu& gpu, int M, int N) {
  if (name.empty() && !stage.variants.empty()) return model::suited_variant(stage, gpu, M, N);
  if (name == kFirstVariant && !stage.variants.empty()) return model::first_variant(stage, gpu);
  return select_variant(stage, name);
}

}  // namespace flags
