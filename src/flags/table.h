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
  std::string flag;     // "--size"
  std::string text;     // "1024"
  std::string hint;     // "give rows as a whole number, for example --size 1024"
  std::string choices;  // "gpu|cpu", or only the value's name
};

bool all_digits(std::string_view text);  // at least one

std::vector<std::string> split(std::string_view text, char sign);

using Set = std::function<void(Flags&, const Value&)>;

struct Flag {
  const char* name;       // "--size"
  const char* value;      // its name in the help text, or its choices; null if there is no value
  Set set;                // stores the value in its field of Flags
  const char* help;       // a newline forces a line break; null if it is that of the next flag
  const char* hint = "";  // for refusals: which value to give
  // Whether the flags say more than the default. Null: if this flag was given.
  bool (*is_used)(const Flags&) = nullptr;
};

// A part of the help text.
struct Section {
  const char* heading;
  std::vector<Flag> flags;
  bool of_first = false;  // without the first flag, the others have no meaning
};

std::span<const Section> sections();

// If all flags of `given` are given, then also one, or none, of the others. Names are separated by
// commas, and may have a value: "--device gpu". In the message, {flag} is the first that is given,
// {typed} the same with its value, and {other} the one that must not be there.
enum Demand { kNeeds, kExcludes };
struct Rule {
  const char* given;
  Demand demand;
  const char *others, *message;
};

std::span<const Rule> rules();

// Finds a flag by either of its names; null if there is none.
const Flag* find_flag(std::string_view typed);

}  // namespace flags
