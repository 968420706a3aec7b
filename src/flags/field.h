// How a flag's value is stored in its field of Flags.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flags/flags.h"
#include "flags/value.h"

namespace flags {

using Set = std::function<void(Flags&, const Value&)>;

Set yes(bool Flags::*field);  // for a flag without a value
Set whole(std::optional<int> Flags::*field);
Set whole(std::uint64_t Flags::*field);
Set count(std::optional<int> Flags::*field, int most);  // from 1
Set real(float Flags::*field);
Set file(std::string Flags::*field);
// `empty` says what an empty text is not: "not a stage"
Set name(std::string Flags::*field, const char* empty);

template <class Choice>
Set choice(Choice Flags::*field, std::initializer_list<std::pair<const char*, Choice>> of_these) {
  return [field, choices = std::vector(of_these)](Flags& flags, const Value& value) {
    for (const auto& [word, meaning] : choices) {
      if (value.text != word) continue;
      flags.*field = meaning;
      return;
    }
    refuse(value, "not one of the choices");
  };
}

// These do more than set one field.
void set_reps(Flags& flags, const Value& value);  // at least one
void set_ask(Flags& flags, const Value& value);   // implies --explain
void set_sections(
    Flags& flags, const Value& value);  // implies --explain; names separated by commas

}  // namespace flags
