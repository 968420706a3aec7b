// Every flag, once. Parsing, the help text and the refusals are made from this table.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "flags/field.h"

namespace flags {

struct Flag {
  const char* name;  // "--size"
  const char* short_name = nullptr;
  // The value's name in the help text: "N"; null if the flag takes no value.
  const char* value = nullptr;
  const char* help = "";             // a newline forces a line break
  const char* hint = "";             // for refusals: which value to give
  Set set{};                         // stores the value in its field of Flags
  const char* belongs_to = nullptr;  // the flag without which this one has no meaning
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
