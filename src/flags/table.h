// Every flag, once: parsing, the help text and what a refusal says are made from this table.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "flags/field.h"

namespace flags {

struct Flag {
  const char* name;  // "--size"
  const char* short_name = nullptr;
  const char* value = nullptr;       // what the help text calls it: "N"; null: it takes none
  const char* help = "";             // a newline where the line must end
  const char* hint = "";             // for refusals: what value to give
  Set set{};                         // reads the value into its field of Flags
  const char* belongs_to = nullptr;  // the flag without which this one has no meaning
  const char* then = nullptr;        // between this flag and the next, where they share their help
};

// A part of the help text.
struct Section {
  const char* heading;
  std::vector<Flag> flags;
};

std::span<const Section> sections();

const Flag* find_flag(std::string_view typed);  // by either name; null if there is none

}  // namespace flags
