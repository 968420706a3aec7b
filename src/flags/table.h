// Every flag, once. Parsing, the help text and the refusals are made from this table.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flags/flags.h"

namespace flags {

// A flag's value as typed, with what a refusal must mention.
struct Value {
  std::string flag;  // "--size"
  std::string text;  // "1024"
  std::string hint;  // "give rows as a whole number, for example --size 1024"
};

// Throws a Refusal: flag, value, why it is not accepted, and the hint.
[[noreturn]] void refuse(const Value& value, const std::string& why);

bool all_digits(std::string_view text);  // at least one

using Set = std::function<void(Flags&, const Value&)>;

// What a flag demands of others. In the message, {typed} is this flag with its value, and {other}
// the other flag.
struct Rule {
  std::vector<const char*> others;  // "--step", or with a value: "--device gpu"
  const char* message;
  const char* value = nullptr;   // the rule is for this value alone
  const char* unless = nullptr;  // the rule is off if this flag is given
};

struct Flag {
  const char* name;  // "--size"
  const char* short_name = nullptr;
  // The value's name in the help text: "N"; null if the flag takes no value.
  const char* value = nullptr;
  const char* help = "";             // a newline forces a line break
  const char* hint = "";             // for refusals: which value to give
  Set set{};                         // stores the value in its field of Flags
  const char* belongs_to = nullptr;  // the flag without which this one has no meaning
  std::vector<Rule> needs{};         // each needs one of its flags
  std::vector<Rule> excludes{};      // none of these flags may be given, too
  // If there are any, the flag asks for output of its own, which does not use these flags. Only one
  // such flag is allowed, but for `beside`.
  std::vector<const char*> ignores{};
  const char* beside = nullptr;
  // Whether the flags say more than the default. Null: if this flag was given.
  bool (*is_used)(const Flags&) = nullptr;
  const char* then = nullptr;  // printed between this flag and the next if they share their help
};

// A part of the help text.
struct Section {
  const char* heading;
  std::vector<Flag> flags;
};

std::span<const Section> sections();

// Finds a flag by either of its names; null if there is none.
const Flag* find_flag(std::string_view typed);

}  // namespace flags
